"""What building a source distribution or a source tree requires, read from its ``pyproject.toml`` (PEP 518) without running any of it."""

from __future__ import annotations

import tarfile
import zipfile
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.config.load import parse_toml
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["build_requires", "sdist_build_requires"]

_LEGACY: Final = ("setuptools>=40.8.0",)
"""What sources without ``pyproject.toml``, or without ``build-system`` in it, are built with (PEP 517)."""

_FILE: Final = "pyproject.toml"
_LIMIT: Final = 4 * 2**20


class _BuildSystem(msgspec.Struct, kw_only=True):
    requires: tuple[str, ...]


class _PyProject(msgspec.Struct, kw_only=True, rename="kebab"):
    build_system: _BuildSystem | None = None


def build_requires(text: str | None, path: Path) -> tuple[str, ...]:
    """Return what a ``pyproject.toml`` says that its build requires; ``text`` is None where there is no such file.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it cannot be read.
    """
    if text is None:
        return _LEGACY
    project = parse_toml(text, path, _PyProject)
    return project.build_system.requires if project.build_system is not None else _LEGACY


def sdist_build_requires(path: Path) -> tuple[str, ...]:
    """Return what building a source distribution requires.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when it cannot be read.
    """
    try:
        data = _from_zip(path) if path.name.endswith(".zip") else _from_tar(path)
        return build_requires(None if data is None else data.decode(), path / _FILE)
    except (OSError, EOFError, UnicodeDecodeError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise HipwrightError("bad-wheel", f"{path.name} cannot be read: {error}", where=Where(file=path)) from error
    except HipwrightError as error:
        raise HipwrightError("bad-wheel", error.message, where=error.where) from error


def _from_zip(path: Path) -> bytes | None:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if _is_top(name)]
        return archive.open(names[0]).read(_LIMIT) if names else None


def _from_tar(path: Path) -> bytes | None:
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isfile() and _is_top(member.name):
                stream = tar.extractfile(member)
                return stream.read(_LIMIT) if stream is not None else None
    return None


def _is_top(name: str) -> bool:
    return name.count("/") == 1 and name.endswith(f"/{_FILE}")
