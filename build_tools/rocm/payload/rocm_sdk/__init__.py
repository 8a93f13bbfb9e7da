"""ROCm in a Python environment: finds its libraries, loads them, and expands its development files.

``rocm-sdk``, or ``python -m rocm_sdk``, is the same for the command line.
"""

from __future__ import annotations

from ._errors import BadArchiveError, MissingLibraryError, MissingPackageError, MixedPackagesError, SdkError
from ._libraries import find_libraries, preload_libraries
from ._process import initialize_process

__all__ = [
    "BadArchiveError",
    "MissingLibraryError",
    "MissingPackageError",
    "MixedPackagesError",
    "SdkError",
    "__version__",
    "find_libraries",
    "initialize_process",
    "preload_libraries",
]

__version__: str


def __getattr__(name: str) -> object:
    if name == "__version__":
        from ._dist_info import description  # noqa: PLC0415 - asked for by few

        return description().version
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
