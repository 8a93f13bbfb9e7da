"""A source distribution, imported as a repository of one commit on the branch ``main``.

The files are read out of the archive straight into git, so nothing in the archive can write anywhere, and ``.gitignore`` hides nothing.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.errors import HipwrightError, Where
from build_tools.sources.fastimport import Branch, FileContent, make_repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.sources.git import Git

__all__ = ["import_sdist"]

_FORMAT: Final = 1
_EARLIEST: Final = 315619200
"""1 January 1980 as wheels can date files, with a day's room for time zones."""


def import_sdist(sdist: Path, *, name: str, version: str, cache: Path, git: Git, say: Callable[[str], None]) -> Path:
    """Return the folder below ``cache`` that holds the bare repository ``<name>-<version>.git``, made if need be.

    The folder is named by the archive's digest; it is there whole or not at all. The commit's date is the newest one in the archive.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the file is no tar archive, holds no files, has more than one top folder (PEP 625), or names paths
        outside of it.
    """
    target = cache / "sdist" / f"{digest.of_file(sdist)[:16]}-{_FORMAT}"
    if target.is_dir():
        return target
    with files.hold(target.with_suffix(".lock"), purpose=f"importing {sdist.name}", wait=True, on_wait=say):
        if not target.is_dir():
            branch = _read(sdist, f"{name} {version}")
            with files.finished_folder(target) as partial:
                make_repository(partial / f"{name}-{version}.git", (branch,), git=git)
    return target


def _read(sdist: Path, message: str) -> Branch:
    found: dict[bytes, FileContent] = {}
    tops: set[str] = set()
    date = _EARLIEST
    try:
        with tarfile.open(sdist) as archive:
            for member in archive:
                top, _, path = member.name.removeprefix("./").rstrip("/").partition("/")
                tops.add(top)
                date = max(date, int(member.mtime))
                content = _content(archive, member)
                if content is not None:
                    found[_checked(path)] = content
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise _bad(sdist, f"it cannot be read as a source distribution: {error}") from error
    if tops & {"", ".", ".."}:
        raise _bad(sdist, "it names paths outside of its folder")
    if len(tops) != 1 or not found:
        what = "no files" if not found else f"{len(tops)} top folders"
        raise _bad(sdist, f"a source distribution holds one folder of files, and this one has {what}")
    return Branch(name="main", message=message, date=date, files=found)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> FileContent | None:
    if member.issym():
        return FileContent(mode="120000", data=member.linkname.encode("utf-8", "surrogateescape"))
    if not (member.isfile() or member.islnk()):
        return None
    stream = archive.extractfile(member)
    if stream is None:
        return None
    return FileContent(mode="100755" if member.mode & 0o100 else "100644", data=stream.read())


def _checked(path: str) -> bytes:
    parts = path.split("/")
    if not path or any(part in {"", ".", ".."} or part.casefold() == ".git" for part in parts):
        message = f"git cannot hold a file called {path!r}"
        raise ValueError(message)
    return path.encode("utf-8", "surrogateescape")


def _bad(sdist: Path, message: str) -> HipwrightError:
    return HipwrightError("bad-source-tree", f"{sdist.name}: {message}", where=Where(file=sdist))
