"""The ROCm SDK as Python packages: what wheels built against it call when they are imported."""

from __future__ import annotations

import fnmatch
import warnings
from importlib.metadata import version

__all__ = ["__version__", "initialize_process"]

__version__ = version("rocm")


def initialize_process(
    *,
    preload_shortnames: tuple[str, ...] | list[str] = (),
    check_version: str | None = None,
    fail_on_version_mismatch: bool = False,
) -> None:
    """Make ready a process that uses ROCm.

    Parameters
    ----------
    preload_shortnames
        Short names of libraries to load; this SDK is made of headers alone, so it has none to load.
    check_version
        The version that the caller was built against; ``*`` stands for anything.
    fail_on_version_mismatch
        Whether another version is an error, not a warning.

    Raises
    ------
    ModuleNotFoundError
        A library that this SDK does not have.
    RuntimeError
        Another version, with ``fail_on_version_mismatch``.
    """
    for name in preload_shortnames:
        message = f"unknown ROCm library {name!r}"
        raise ModuleNotFoundError(message)
    if check_version is not None and not fnmatch.fnmatchcase(__version__, check_version):
        message = f"built against ROCm {check_version}, but ROCm {__version__} is installed"
        if fail_on_version_mismatch:
            raise RuntimeError(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
