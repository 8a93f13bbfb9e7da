"""What can be wrong with an installed SDK; each message ends with what to do about it."""

from __future__ import annotations

__all__ = ["BadArchiveError", "MissingLibraryError", "MissingPackageError", "MixedPackagesError", "SdkError"]


class SdkError(Exception):
    """Anything that is wrong with the SDK or with what was asked of it."""


class MissingPackageError(SdkError, ModuleNotFoundError):
    """A package of the SDK is not installed, or the SDK has none that was asked for."""


class MissingLibraryError(SdkError, FileNotFoundError):
    """An installed package lacks a library."""


class MixedPackagesError(SdkError, ImportError):
    """Packages of different builds are installed together."""


class BadArchiveError(SdkError, ValueError):
    """The archive of development files is not what its package says, or would write outside of its folder."""
