"""What of a series a source tree has: which commit each patch became, and at which stage the tree stands.

Kept in the root's ``.git/hipwright``. Patches that were left out, for another platform's sake or because the sources have them already,
are told from those that a person has taken out of the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools.errors import HipwrightError
from build_tools.files import write_bytes
from build_tools.receipts.ids import CommitId, Sha256
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.modules import own_folder
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from build_tools.sources.phases import Phase

__all__ = ["Applied", "AppliedPatch", "Outcome", "note_all", "note_patches", "note_stage", "read_applied"]

Outcome = Literal["applied", "offset", "upstream", "other-platform"]
"""``offset``: applied, at other lines than it was made for. ``upstream``: left out, because the sources have it already."""

_NAME: Final = "applied-patches.json"


class AppliedPatch(Record, frozen=True, kw_only=True):
    """One patch of a series: its name there, its place, the digest of its bytes, and the commit that it became, if it did."""

    file: str
    module: str
    phase: Literal["base", "hipified"]
    digest: Sha256
    outcome: Outcome
    commit: CommitId | None = None


class Applied(Record, frozen=True, kw_only=True):
    """The patches that a tree has, in the order of their series.

    ``stands`` is the stage at which the tree was left: a person's commits on top are base patches after ``base-patches``, and hipified
    ones after ``hipified-patches``. It is None while stages move the tree.
    """

    schema: Literal[1] = 1
    line: str | None = None
    stands: Stage | None = None
    patches: tuple[AppliedPatch, ...] = ()


def read_applied(tree: Path) -> Applied:
    """Return what a tree has of its series; an empty record when nothing was noted.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the record cannot be read.
    """
    path = own_folder(tree) / _NAME
    if not path.is_file():
        return Applied()
    try:
        return read_record(path, Applied, code="bad-source-tree")
    except HipwrightError as error:
        command = f"nox -s checkout_{tree.name.replace('-', '_')} -- --force base-patches --force hipified-patches"
        hint = f"remove {path}, and have it made anew, which moves nothing: {command}"
        raise HipwrightError("bad-source-tree", error.message, where=error.where, hint=hint) from error


def note_patches(tree: Path, phase: Phase, patches: Iterable[AppliedPatch], *, line: str | None) -> None:
    """Note the patches of a phase, in the place of those that were noted; those of the other phase stay."""
    known = read_applied(tree)
    others = [patch for patch in known.patches if patch.phase != phase]
    ours = list(patches)
    both = (*ours, *others) if phase == "base" else (*others, *ours)
    _write(tree, msgspec.structs.replace(known, line=line, patches=both), known)


def note_stage(tree: Path, stage: Stage | None) -> None:
    """Note the stage at which a tree is left; None while it moves, and after a move that was killed."""
    known = read_applied(tree)
    _write(tree, msgspec.structs.replace(known, stands=stage), known)


def note_all(tree: Path, applied: Applied) -> None:
    """Note all that a tree has of its series."""
    _write(tree, applied, read_applied(tree))


def _write(tree: Path, new: Applied, known: Applied) -> None:
    if new != known:
        write_bytes(own_folder(tree) / _NAME, to_json(new))
