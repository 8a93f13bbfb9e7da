"""Files that a wheel must hold and its sources do not: put where the build finds them, and into the wheel where it has left them out.

Build back ends leave out what git ignores, and upstream ignores what is generated. So the files are placed in the build's own copy, where
a build that looks for them finds them, and a wheel without them gets them afterwards, with their rows in ``RECORD``.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.wheels.rewrite import add_members

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["judge_generated", "place_generated", "with_generated"]


_LONGEST_NAME: Final = 255
"""Bytes that a name may have on the disks of today."""


def judge_generated(files: Mapping[str, bytes | Path], *, hooks: Path) -> None:
    """Refuse generated files that are named for no place inside, or are copies of what is not there.

    Parameters
    ----------
    files
        The files by their names in tree and wheel.
    hooks
        The ``hooks.py`` that names them.

    Raises
    ------
    HipwrightError
        ``bad-hooks``; ``missing-tool`` when a file of the machine is to be copied and is not there.
    """
    where = Where(file=hooks, key="generated_files")
    for name, content in files.items():
        path = PurePosixPath(name)
        odd = path.is_absolute() or path.as_posix() != name or ".." in path.parts or bool(set("\\:\0") & set(name))
        if odd or name == "." or any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.parts):
            message = f"generated_files names {shown(name)!r}, which is no path inside a wheel"
            raise HipwrightError("bad-hooks", message, where=where)
        above = next((str(parent) for parent in path.parents if str(parent) in files), None)
        if above is not None:
            message = f"generated_files names {shown(above)!r} as a file, and {shown(name)!r} in it as a folder"
            raise HipwrightError("bad-hooks", message, where=where)
        if isinstance(content, Path) and not content.is_absolute() and ".." in content.parts:
            message = f"generated_files takes {content} for {shown(name)!r}, which is no file of the build's own tree"
            raise HipwrightError("bad-hooks", message, where=where)
        if isinstance(content, Path) and content.is_absolute() and not content.is_file():
            message = f"the wheel is to hold {name}, a copy of {content}, and there is no such file"
            raise HipwrightError("missing-tool", message, where=where)


def place_generated(files: Mapping[str, bytes | Path], folder: Path) -> None:
    """Write generated files into a tree, but those that the build itself makes; one that is there with the same bytes keeps its time, so that nothing is compiled again.

    Parameters
    ----------
    files
        The files by their names.
    folder
        Where in the tree the build begins.

    Raises
    ------
    HipwrightError
        ``bad-hooks`` when the sources have a folder of a file's name.
    """
    for name, content in files.items():
        if isinstance(content, Path) and not content.is_absolute():
            continue
        target = folder / name
        file_above = any(parent.is_file() for parent in target.parents if parent.is_relative_to(folder))
        if file_above or (target.is_dir() and not target.is_symlink()):
            message = f"generated_files names {shown(name)!r}, and the sources have "
            message += "a file where its folder is to be" if file_above else "a folder there"
            raise HipwrightError("bad-hooks", message, where=Where(file=folder, key="generated_files"))
        wanted = content if isinstance(content, bytes) else content.read_bytes()
        if target.is_file() and target.read_bytes() == wanted:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # A link would lead the write out of the tree.
        target.unlink(missing_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            shutil.copyfile(content, target)


def with_generated(
    wheel: Path, files: Mapping[str, bytes | Path], *, folder: Path, jobs: int = 1
) -> tuple[Path, tuple[str, ...]]:
    """Return a wheel that has the generated files for sure, and the names of those that the build had left out of it.

    Parameters
    ----------
    wheel
        The wheel.
    files
        The files by their names; a relative path is one that the build has made.
    folder
        Where in the tree the build began.
    jobs
        How many threads compress.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the wheel cannot be read; ``build-failed`` when the build did not make what it was to make.
    """
    if not files:
        return wheel, ()
    members: dict[str, bytes | Path] = {}
    for name, content in files.items():
        members[name] = content if isinstance(content, bytes) else _existing(content, folder, name)
    return add_members(wheel, members, jobs=jobs)


def _existing(content: Path, folder: Path, name: str) -> Path:
    """Return where a file is that goes into a wheel under a name; one that the build makes lies in its tree, and is no way out of it."""
    path = folder / content
    if not path.is_file():
        raise HipwrightError("build-failed", f"the build made no {path}, which its wheel is to hold as {name}")
    if not content.is_absolute() and not path.resolve().is_relative_to(folder.resolve()):
        message = f"the build made {path} a link that leads out of its tree, and its wheel is to hold that as {name}"
        raise HipwrightError("build-failed", message)
    return path
