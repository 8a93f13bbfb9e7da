"""Where carrying a series to another ref stands: kept beside the work, so that a person can solve a conflict and go on."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools.errors import HipwrightError, Where
from build_tools.files import remove_tree, write_bytes
from build_tools.receipts.ids import CommitId, Sha256
from build_tools.receipts.lock import LockedProject
from build_tools.receipts.record import Record, read_record, to_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Carried", "Ending", "Fate", "RebaseState", "Stopped", "clear", "is_open", "read_state", "write_state"]

_NAME: Final = "state.json"

Fate = Literal["carried", "solved", "upstream", "given-up", "expired", "no-module", "other-platform"]
"""What became of a patch.

``carried``: by git alone. ``solved``: with a conflict that the person solved. ``upstream``: left out, the sources have it. ``given-up``:
left out by the person. ``expired``: left out, it was to go by now. ``no-module``: left out with its submodule. ``other-platform``: kept
as it is, and not tried here.
"""


Ending = Literal["to-come", "writing", "written"]
"""How far the end of the work is: the new line is written into the person's clone, and then the work folder goes."""


class Carried(Record, frozen=True, kw_only=True):
    """One patch that is done with: its name in the series, and its commits on the old sources and on the new ones where it has some."""

    file: str
    fate: Fate
    old: CommitId | None = None
    new: CommitId | None = None


class Stopped(Record, frozen=True, kw_only=True):
    """The patch at which the work stopped: the commit that was picked, None where there is none, and the one that its module stood on."""

    file: str
    module: str
    commit: CommitId | None
    head: CommitId


class RebaseState(Record, frozen=True, kw_only=True):
    """How far a series is carried.

    Parameters
    ----------
    project
        The project.
    ref
        The ref that it is carried to, as it was asked for.
    old_line, new_line
        The line that it comes from, and the one that it is to be.
    old_commit
        The commit of the sources that it comes from.
    digest
        The old series, as it was when the work began.
    entry
        The lock entry of the new sources.
    commits
        The commits that the patches became on the old sources, by name; none for a patch that was left out there.
    lenders
        The repositories that hold those, by the module's path.
    group
        How many groups of patches are done with: those of one level of modules before hipify, or all of those after it.
    standing
        Whether the tree stands where the patches of the group begin.
    done
        The patches that are done with, in order.
    stopped
        The patch that is to be solved.
    ending
        How far the end is.
    """

    schema: Literal[1] = 1
    project: str
    ref: str
    old_line: str
    new_line: str
    old_commit: CommitId
    digest: Sha256
    entry: LockedProject
    commits: dict[str, CommitId]
    lenders: dict[str, str]
    group: int = 0
    standing: bool = False
    done: tuple[Carried, ...] = ()
    stopped: Stopped | None = None
    ending: Ending = "to-come"

    def fate_of(self, file: str) -> Carried | None:
        """Return what became of a patch, None for one that is still to come."""
        return next((one for one in self.done if one.file == file), None)

    def with_done(self, carried: Carried) -> RebaseState:
        """Return the state with one more patch done with; none is to be solved then."""
        return msgspec.structs.replace(self, done=(*self.done, carried), stopped=None)


def read_state(folder: Path) -> RebaseState | None:
    """Return where the work in a folder stands, None when there is none.

    Raises
    ------
    HipwrightError
        ``rebase-state`` when it cannot be read.
    """
    path = folder / _NAME
    if not path.exists():
        return None
    try:
        return read_record(path, RebaseState, code="rebase-state")
    except HipwrightError as error:
        hint = "give it up with --abort, and begin again"
        raise HipwrightError("rebase-state", error.message, where=error.where or Where(file=path), hint=hint) from error


def write_state(folder: Path, state: RebaseState) -> None:
    """Note where the work in a folder stands."""
    write_bytes(folder / _NAME, to_json(state))


def is_open(folder: Path) -> bool:
    """Return whether a folder has work that can be gone on with."""
    return (folder / _NAME).is_file()


def clear(folder: Path) -> None:
    """Remove a folder of work; where it stands goes last, so that a run that is killed meanwhile leaves what the next one understands."""
    if folder.is_dir():
        for found in folder.iterdir():
            if found.name != _NAME:
                remove_tree(found)
    remove_tree(folder)
    with contextlib.suppress(OSError):
        # Only an empty folder goes.
        folder.parent.rmdir()
