"""Writing a series: all of its files or none, whatever ends the work in between.

What is to come is staged inside the line's folder; a journal there says that the staging is whole. From then on the change goes forward:
whoever reads the series next finishes what an interrupted run had begun. A staging is held by the run that works on it, whatever work dir
that has.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import filelock

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import remove_tree, write_bytes
from build_tools.patches.layout import NAME, link_in, patch_files, place_of
from build_tools.process import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["settle_series", "write_series"]

_STAGING: Final = ".saving-"
_JOURNAL: Final = "journal.json"
_HOLD: Final = "hold"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """One file's change: its name in the series, what it was and is to be, by digest, None for no file, and its staged bytes' name."""

    name: str
    before: str | None
    after: str | None
    staged: str


def write_series(place: Path, files: Mapping[str, bytes | None]) -> None:
    """Change files of a line, all or none; a file that has its bytes already is not touched.

    Parameters
    ----------
    place
        The line's folder; it is made when it is not there, and goes when nothing is left in it.
    files
        Bytes by name as a series has it, ``series.toml`` too; None takes a file away, with the folders that get empty by it.

    Raises
    ------
    HipwrightError
        ``bad-series`` when a name is none that a series has, something else lies in a file's place, two names are one on disks that do
        not tell cases apart, or an earlier change cannot be finished; nothing is changed then.
    """
    for other in _stagings(place):
        # One without a journal has changed nothing, and goes.
        _settle(place, other)
    steps = [step for number, name in enumerate(sorted(files, key=_last)) if (step := _step(place, name, files[name], number))]
    if not steps:
        return
    _refuse_clashes(place, steps)
    staging = place / f"{_STAGING}{secrets.token_hex(4)}"
    made = [folder for folder in (*reversed(place.parents), place) if not folder.exists()]
    try:
        staging.mkdir(parents=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_held(staging))
            for step in steps:
                data = files[step.name]
                if data is not None:
                    write_bytes(staging / step.staged, data)
            rows = [[step.name, step.before, step.after, step.staged] for step in steps]
            write_bytes(staging / _JOURNAL, json.dumps({"schema": 1, "steps": rows}, indent=1).encode())
            hold = stack.pop_all()
    except BaseException:
        remove_tree(staging)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    with hold:
        _go_forward(place, staging, steps)
    _remove(place, staging)


def settle_series(place: Path) -> None:
    """Finish a change of a line that was interrupted when all of it was staged already; nothing happens when there is none.

    Raises
    ------
    HipwrightError
        ``bad-series`` when a file was changed since by somebody else.
    """
    for staging in _stagings(place):
        if (staging / _JOURNAL).exists():
            _settle(place, staging)


def _settle(place: Path, staging: Path) -> None:
    """Finish the change of a staging, if it is whole, and take the staging away; a run that works on it is waited for."""
    with _held(staging):
        try:
            document = json.loads((staging / _JOURNAL).read_bytes())
        except FileNotFoundError:
            # It never was whole, or its own run has finished it.
            pass
        else:
            _go_forward(place, staging, list(_parsed(document)))
    _remove(place, staging)


def _held(staging: Path) -> contextlib.AbstractContextManager[object]:
    """Keep other runs from a staging for the block."""
    return filelock.FileLock(staging / _HOLD)


def _remove(place: Path, staging: Path) -> None:
    """Take a staging away, and the line's folder when nothing is left in it."""
    with contextlib.suppress(PermissionError):
        # Windows keeps a file that somebody else has open just then; without its journal it is nothing.
        remove_tree(staging)
    with contextlib.suppress(OSError):
        # Only an empty folder goes.
        place.rmdir()


def _stagings(place: Path) -> list[Path]:
    return sorted(found for found in place.glob(f"{_STAGING}*") if found.is_dir())


def _parsed(document: dict[str, Any]) -> Iterator[_Step]:
    for name, before, after, staged in document["steps"]:
        yield _Step(name=name, before=before, after=after, staged=staged)


def _last(name: str) -> tuple[bool, str]:
    """Sort the list of the series behind the files that it names."""
    return name == NAME, name


def _step(place: Path, name: str, data: bytes | None, number: int) -> _Step | None:
    """Return a file's change, None when there is nothing to change."""
    if name != NAME and place_of(name) is None:
        message = f"{name} is no <module>/base/<name>.patch and no <module>/hipified/<name>.patch"
        raise HipwrightError("bad-series", message, where=Where(file=place))
    link = link_in(place, name)
    if link is not None:
        message = f"{link} is a symbolic link, and {name} would be written where it leads"
        raise HipwrightError("bad-series", message, where=Where(file=link), hint="have a folder or a file of its own there")
    before, after = _digest(place, name), None if data is None else digest.of_bytes(data)
    return None if before == after else _Step(name=name, before=before, after=after, staged=f"{number:04d}")


def _digest(place: Path, name: str) -> str | None:
    """Return the digest of a file of the line, None for none: one whose name has other capital letters is another one, on every disk."""
    path, folder = place / name, place
    for part in PurePosixPath(name).parts:
        try:
            if all(entry.name != part for entry in folder.iterdir()):
                return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        folder = folder / part
    try:
        return digest.of_bytes(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise HipwrightError("bad-series", f"{path} is a folder, and a file is to be there", where=Where(file=path)) from None


def _refuse_clashes(place: Path, steps: Iterable[_Step]) -> None:
    """Refuse what would stop half-way: a file in the place of a folder, and names that differ in their letters' case alone."""
    gone = {step.name for step in steps if step.after is None}
    kept = _with_folders(set(patch_files(place)) - gone)
    coming = {step.name for step in steps if step.after is not None}
    known: dict[str, str] = {}
    for name in sorted(kept | _with_folders(coming)):
        other = known.setdefault(name.casefold(), name)
        if other != name and not {other, name} <= kept:
            message = f"{other} and {name} are one on disks that do not tell cases apart"
            raise HipwrightError("bad-series", message, where=Where(file=place))
    for name in coming:
        for folder in (place / name).parents:
            if folder == place.parent:
                break
            if folder.is_file():
                message = f"{folder} is a file, and the folder of {name} is to be there"
                raise HipwrightError("bad-series", message, where=Where(file=folder))


def _with_folders(names: set[str]) -> set[str]:
    """Return names and those of the folders that they lie in."""
    return names | {folder.as_posix() for name in names for folder in PurePosixPath(name).parents if folder.parts}


def _go_forward(place: Path, staging: Path, steps: list[_Step]) -> None:
    """Bring every file to what it is to be; what another run has done of it already is passed by."""
    for step in steps:
        now = _digest(place, step.name)
        # A file that is as before, and whose new bytes are used up, was taken back by somebody.
        if now != step.after and (now != step.before or not _is_staged(staging, step)):
            raise _changed_by_others(place, staging, step)
    # First away, then in place: on disks that do not tell cases apart a new name may be the old one.
    for step in steps:
        if step.after is None and _digest(place, step.name) is not None:
            _take_away(place, step.name)
    for step in steps:
        target = place / step.name
        if step.after is not None and _digest(place, step.name) != step.after:
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                (staging / step.staged).replace(target)
            if _digest(place, step.name) != step.after:
                raise _changed_by_others(place, staging, step)
    # From here on what is left of the staging is nobody's change.
    (staging / _JOURNAL).unlink(missing_ok=True)


def _is_staged(staging: Path, step: _Step) -> bool:
    return step.after is None or (staging / step.staged).is_file()


def _changed_by_others(place: Path, staging: Path, step: _Step) -> HipwrightError:
    """Return the error for a file that is neither what it was nor what it is to be, or cannot be brought from the one to the other."""
    target = place / step.name
    message = f"{target} was changed while a change of the whole series was under way"
    drop = printable(["rm", "-r", str(staging)])
    status = printable(["git", "-C", str(place), "status", "."])
    hint = f"to drop that change: {drop}; a part of it may be there already, which {status} shows"
    if step.after is not None and _is_staged(staging, step):
        take = printable(["cp", str(staging / step.staged), str(target)])
        hint = f"to go on with that change, which overwrites the file: {take}, and the command again; {hint}"
    return HipwrightError("bad-series", message, where=Where(file=target), hint=hint)


def _take_away(place: Path, name: str) -> None:
    (place / name).unlink(missing_ok=True)
    for folder in (place / name).parents:
        if folder == place:
            return
        try:
            folder.rmdir()
        except OSError:
            return
