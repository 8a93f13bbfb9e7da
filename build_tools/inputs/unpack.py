"""What inputs are made of pinned files: unpacked archives, and bare repositories whose branches hold them."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError, Where
from build_tools.sources.fastimport import Branch as Commit
from build_tools.sources.fastimport import FileContent, make_repository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.inputs.catalogue import Branch
    from build_tools.process import Runner
    from build_tools.sources.git import Git

__all__ = ["make_origin", "unpack", "unpack_package"]


def unpack(archive: Path, target: Path, *, folder: str = "") -> None:
    """Unpack a tar archive into an existing folder, without its single top folder if it has one.

    Members that would land outside are refused, and owners are not taken over (:func:`tarfile.data_filter`).

    Parameters
    ----------
    archive
        The archive.
    target
        Where its content goes.
    folder
        A folder of the archive to take alone; its content goes straight into ``target``.

    Raises
    ------
    HipwrightError
        ``input-unavailable`` when the archive is broken, unsafe, or holds nothing there.
    """
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(target, members=_members(tar, archive, folder), filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _broken(archive, error) from error


def unpack_package(package: Path, target: Path, *, runner: Runner, log: Path) -> None:
    """Unpack the files of a binary package of Debian into an existing folder; none of its scripts is run.

    Parameters
    ----------
    package
        The package.
    target
        Where its files go.
    runner
        Starts dpkg-deb.
    log
        Where its talk goes.

    Raises
    ------
    HipwrightError
        ``input-unavailable`` when it is broken, or dpkg-deb is not there.
    """
    command: list[str | Path] = ["dpkg-deb", "--extract", package, target]
    runner.run(command, cwd=target, log=log, timeout=600, code="input-unavailable", what=f"dpkg-deb of {package.name}")


def make_origin(target: Path, branches: Sequence[tuple[Branch, Path]], *, git: Git) -> None:
    """Make a bare repository, each of whose branches is one commit that holds the content of an archive.

    Author, committer and dates are fixed, and files that the tree's own ``.gitignore`` hides count: the same archives give the
    same commit ids everywhere. HEAD names the first branch.

    Parameters
    ----------
    target
        The repository's folder, not there yet.
    branches
        The branches and their archives.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``input-unavailable`` when an archive is broken or empty; ``command-failed`` when git refuses what one holds.
    """
    commits = tuple(
        Commit(
            name=branch.name,
            message=f"Content of {archive.name}",
            date=int(branch.date.timestamp()),
            files=_contents(archive),
        )
        for branch, archive in branches
    )
    make_repository(target, commits, git=git)


def _contents(archive: Path) -> dict[bytes, FileContent]:
    found: dict[bytes, FileContent] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in _members(tar, archive, ""):
                path = member.name.encode("utf-8", "surrogateescape")
                if member.issym():
                    found[path] = FileContent(mode="120000", data=member.linkname.encode("utf-8", "surrogateescape"))
                elif stream := tar.extractfile(member):
                    found[path] = FileContent(mode="100755" if member.mode & 0o100 else "100644", data=stream.read())
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _broken(archive, error) from error
    return found


def _members(tar: tarfile.TarFile, archive: Path, folder: str) -> list[tarfile.TarInfo]:
    """Return the members below ``folder``, named from there."""
    members = tar.getmembers()
    tops = {member.name.split("/")[0] for member in members}
    # Debian's own part of a source package is all below `debian`, which is no wrapping.
    prefix = "" if len(tops) != 1 or tops == {"debian"} else f"{tops.pop()}/"
    prefix += f"{folder}/" if folder else ""
    chosen = [_moved(member, prefix) for member in members if member.name.startswith(prefix) and member.name != prefix]
    if not chosen:
        message = f"{archive.name} holds nothing below {prefix or 'its root'}"
        raise HipwrightError("input-unavailable", message, where=Where(file=archive))
    return chosen


def _broken(archive: Path, error: Exception) -> HipwrightError:
    message = f"{archive.name} cannot be unpacked: {error}"
    return HipwrightError("input-unavailable", message, where=Where(file=archive))


def _moved(member: tarfile.TarInfo, prefix: str) -> tarfile.TarInfo:
    """Return a member without the prefix; a hard link names another member, and that loses the prefix too."""
    link = member.linkname.removeprefix(prefix) if member.islnk() else member.linkname
    return member.replace(name=member.name.removeprefix(prefix), linkname=link, deep=False)
