"""Says which hipwright-sample it was built with, and which one is installed beside it."""

from __future__ import annotations

from importlib import metadata

from hipwright_sample_companion.version import __version__, built_with, git_version, runtime_version

__all__ = ["__version__", "built_with", "git_version", "runtime_version", "sample_version"]


def sample_version() -> str | None:
    """Return the version of the hipwright-sample that is installed, None without one."""
    try:
        return metadata.version("hipwright-sample")
    except metadata.PackageNotFoundError:
        return None
