"""The one call that a program makes before it loads its own libraries that need ROCm's."""

from __future__ import annotations

import os
import re
import warnings
from typing import TYPE_CHECKING

from ._dist_info import description
from ._errors import SdkError
from ._libraries import preload_libraries
from ._packages import note

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PRELOAD_VARIABLE", "initialize_process", "version_matches"]

PRELOAD_VARIABLE = "ROCM_SDK_PRELOAD_LIBRARIES"


def initialize_process(
    *,
    preload_shortnames: Iterable[str] = (),
    rtld_global: bool = True,
    env_override: bool = True,
    check_version: str | re.Pattern[str] | None = None,
    fail_on_version_mismatch: bool = False,
) -> None:
    """Make this process ready for libraries that need ROCm's: a framework calls it before it loads its own.

    Parameters
    ----------
    preload_shortnames
        Short names of libraries to load.
    rtld_global
        Whether what they define is offered to whatever is loaded later.
    env_override
        Whether those that ``ROCM_SDK_PRELOAD_LIBRARIES`` names, with commas or semicolons between, are loaded too.
    check_version
        The ROCm version that the caller was built for: a text, in which ``*`` stands for anything, or a compiled pattern that matches
        from the version's start.
    fail_on_version_mismatch
        Whether another version is an error; a warning when not.

    Raises
    ------
    RuntimeError
        For another version; when a library that the variable names cannot be loaded.
    ModuleNotFoundError, FileNotFoundError, ImportError, SdkError, OSError
        As :func:`rocm_sdk.preload_libraries` does.
    """
    _check(check_version, fail=fail_on_version_mismatch)
    names = [preload_shortnames] if isinstance(preload_shortnames, str) else list(preload_shortnames or ())
    preload_libraries(*names, rtld_global=rtld_global)
    text = os.environ.get(PRELOAD_VARIABLE, "") if env_override else ""
    named = [name.strip() for name in re.split("[,;]", text) if name.strip()]
    if named:
        note(f"{PRELOAD_VARIABLE} names {', '.join(named)}")
        try:
            preload_libraries(*named, rtld_global=rtld_global)
        except (SdkError, OSError) as error:
            message = f"{PRELOAD_VARIABLE} is {text!r}, and not all of it can be loaded: {error}. Correct or unset it"
            raise RuntimeError(message) from error


def version_matches(version: str, wanted: str | re.Pattern[str]) -> bool:
    """Return whether a version is the wanted one: a text with ``*`` for anything, or a pattern that matches from its start."""
    if isinstance(wanted, re.Pattern):
        return wanted.match(version) is not None
    return re.fullmatch(".*".join(map(re.escape, wanted.split("*"))), version) is not None


def _check(wanted: str | re.Pattern[str] | None, *, fail: bool) -> None:
    version = description().version
    if not wanted or version_matches(version, wanted):
        return
    shown = wanted.pattern if isinstance(wanted, re.Pattern) else wanted
    message = f"this program was built for ROCm {shown}, and the installed one is {version}"
    if fail:
        raise RuntimeError(message)
    warnings.warn(f"{message}: it may misbehave", RuntimeWarning, stacklevel=3)
