"""Where a source tree stands, noted so that no killed run leaves a wrong word: commits on top are patches of the phase that it says."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from build_tools.patches.applied import note_stage, read_applied
from build_tools.sources.modules import MARKERS
from build_tools.sources.move import is_moving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.sources.git import Git
    from build_tools.types import Stage

__all__ = ["on_the_way_to"]


@contextlib.contextmanager
def on_the_way_to(stage: Stage, tree: Path, *, git: Git, last: bool = False) -> Iterator[None]:
    """Note where the block leaves a tree; while it is at work, and after a run that was killed there, that is nowhere.

    A block that moves nothing leaves a tree that is further on where it is, and so does one that fails before anything has moved.

    Parameters
    ----------
    stage
        The stage that the block carries out, or goes back to.
    tree
        The tree; there may be none yet.
    git
        How git is run.
    last
        Whether the tree stands at the stage afterwards even if nothing moves, because no later one comes into question.
    """
    stood, before = read_applied(tree).stands, _state(tree, git)
    note_stage(tree, None)
    try:
        yield
    except BaseException:
        if _state(tree, git) == before:
            note_stage(tree, stood)
        raise
    moved = _state(tree, git) != before
    # Where a tree that stood nowhere has not moved, the end of the run is what tells.
    there = last or moved or (stood is not None and stood.number + 1 == stage.number)
    note_stage(tree, stage if there else stood)


def _state(tree: Path, git: Git) -> tuple[object, ...] | None:
    """Return what tells whether a tree has moved; None where there is no tree."""
    if not (tree / ".git").exists():
        return None
    root = git.at(tree)
    return root.head(), root.commit_of(f"{MARKERS}finished"), is_moving(tree)
