"""What a person can do when a source stage refuses: commands that only the pipeline knows, added to what the stage says."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.patches.applied import read_applied
from build_tools.patches.save import refuse_changed_series
from build_tools.patches.series import load_series
from build_tools.pipeline.patch_trees import task_line
from build_tools.sources.guard import COMMIT
from build_tools.sources.modules import MARKERS
from build_tools.types import Stage, is_commit_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.pipeline.chain import Chain
    from build_tools.sources.git import Git

__all__ = ["hinted"]


@contextlib.contextmanager
def hinted(chain: Chain, git: Git) -> Iterator[None]:
    """Add to the errors of the block how to carry a series over that does not apply, and how commits become patches that would be lost."""
    try:
        yield
    except HipwrightError as error:
        if error.code.name == "patch-conflict":
            raise _with_hint(error, f"{error.hint}; or carry the series over: {_carry_line(chain)}") from error
        if error.code.name == "unsaved-work" and _can_save(chain, error, git):
            save = task_line("save-patches", chain.workplace, "--projects", chain.project.name)
            raise _with_hint(error, f"make patches of your commits: {save}; or {error.hint}") from error
        raise


def _with_hint(error: HipwrightError, hint: str) -> HipwrightError:
    told = HipwrightError(
        error.code.name,
        error.message,
        where=error.where,
        hint=hint,
        log=error.log,
        excerpt=error.excerpt,
        document=error.document,
    )
    told.reproduce = error.reproduce
    return told


def _carry_line(chain: Chain) -> str:
    """Return the command that carries a project's series to the ref that is locked."""
    locked, name = chain.locked(), chain.project.name
    ref = locked.sources.ref
    # A commit gives a line no name.
    line = locked.requested.line or (locked.patches.line if is_commit_id(ref.lower()) else None)
    words = ("--line", line) if line is not None else ()
    return task_line("rebase-patches", chain.workplace, "--projects", name, "--onto", ref, *words)


def _can_save(chain: Chain, error: HipwrightError, git: Git) -> bool:
    """Return whether a tree holds commits that could be patches of the line that is locked."""
    locked = chain.locked()
    commits = any(line.startswith(COMMIT) for line in str(error.excerpt or "").splitlines())
    if not commits or locked.patches.line is None:
        return False
    applied = read_applied(chain.tree)
    upstream = git.at(chain.tree).commit_of(f"{MARKERS}upstream")
    if upstream != locked.sources.commit or applied.stands not in {Stage.BASE_PATCHES, Stage.HIPIFIED_PATCHES}:
        return False
    try:
        series, platform = load_series(chain.folder, locked.patches.line), chain.workplace.platform
        refuse_changed_series(series, applied, stands=applied.stands, platform=platform, restore="")
    except HipwrightError:
        return False
    return True
