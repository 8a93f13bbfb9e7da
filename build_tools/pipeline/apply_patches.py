"""Bringing source trees to what their patch series say on disk, those that were edited by hand too; the same stages as in a checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.locking.keep import restore
from build_tools.patches.applied import read_applied
from build_tools.patches.series import load_series
from build_tools.pipeline.patch_trees import trees_in_use
from build_tools.pipeline.source_stages import PATCH_STAGES, SOURCE_STAGES, run_sources
from build_tools.pipeline.step import WouldRun
from build_tools.sources.told import called
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.patches.applied import Outcome
    from build_tools.pipeline.chain import Chain
    from build_tools.workplace import Workplace

__all__ = ["apply_patches"]

_COLUMNS: Final = ("patch", "module", "phase", "outcome")
_WORDS: Final[Mapping[Outcome, str]] = {
    "applied": "applied",
    "offset": "applied with an offset",
    "upstream": "left out: the sources have it already",
    "other-platform": "left out: for another platform",
}


def apply_patches(workplace: Workplace) -> dict[str, Any]:
    """Apply the patch series of source trees, as they are on disk, and return what became of each patch as plain data.

    A stage whose input is as it was does nothing. Until the base patches are in, hipify is not run, and what it made is taken out.

    Raises
    ------
    HipwrightError
        ``option-conflict`` for an ``--until`` at which no patch is applied, ``stage-missing`` without a tree, and what the source stages
        raise: ``patch-conflict``, ``patch-misplaced``, ``unsaved-work``, with ``--strict`` ``patch-upstream``.
    """
    stages = _stages(workplace.settings.until)
    chains = trees_in_use(workplace)
    return {"projects": {chain.project.name: _apply(chain, stages) for chain in chains}}


def _stages(until: Stage | None) -> Sequence[Stage]:
    last = until or Stage.HIPIFIED_PATCHES
    if last not in SOURCE_STAGES or last is Stage.CHECKOUT:
        first, final = PATCH_STAGES
        message = f"--until {last}: patches are applied from {first} to {final}"
        raise HipwrightError("option-conflict", message, hint=f"leave --until out, or say --until {first}")
    return [stage for stage in SOURCE_STAGES if stage.number <= last.number]


def _apply(chain: Chain, stages: Sequence[Stage]) -> dict[str, Any]:
    origin = chain.workplace.origin(chain.project, chain.locked().requested.origin)
    try:
        run_sources(chain, stages, origin.git)
    except WouldRun:
        return _planned(chain, stages)
    except HipwrightError as error:
        checked_out = chain.done.get(Stage.CHECKOUT)
        moved = checked_out is not None and checked_out.state == "run"
        if error.code.name == "unsaved-work" and chain.locked_before is not None and not moved:
            # The tree stays where it is, and a lock that says otherwise would stand in the way of building it.
            restore(chain.locked_before, chain.workplace)
            chain.workplace.console.say(f"the lock of {chain.project.name} is as it was before")
        raise
    return _done(chain, stages)


def _planned(chain: Chain, stages: Sequence[Stage]) -> dict[str, Any]:
    """Tell what a dry run found that it would do."""
    first, why = next(iter(chain.would_run.items()))
    ahead = [stage for stage in stages if stage.number >= first.number]
    phases = {PATCH_STAGES[stage] for stage in ahead if stage in PATCH_STAGES}
    series = load_series(chain.folder, chain.locked().patches.line)
    patches = [patch for patch in series.patches if patch.phase in phases]
    reasons = {stage: why if stage is first else f"comes after {first}" for stage in ahead}
    rows = [(stage.value, reason) for stage, reason in reasons.items()]
    chain.workplace.console.table(f"{chain.project.name}: stages that would run", ("stage", "why"), rows)
    for patch in patches:
        chain.workplace.console.say(f"{chain.project.name}: would apply {patch.name} to {called(patch.module)}")
    return {
        "line": series.line,
        "would_run": {stage.value: reason for stage, reason in reasons.items()},
        "would_apply": [patch.name for patch in patches],
    }


def _done(chain: Chain, stages: Sequence[Stage]) -> dict[str, Any]:
    applied = read_applied(chain.tree)
    phases = {PATCH_STAGES[stage] for stage in stages if stage in PATCH_STAGES}
    patches = [patch for patch in applied.patches if patch.phase in phases]
    ran = [stage.value for stage in stages if chain.done[stage].state == "run"]
    title = f"{chain.project.name}: patch line {applied.line}" if applied.line else f"{chain.project.name}: no patches"
    note = "nothing had to be done" if not ran else f"stages that ran: {', '.join(ran)}"
    if patches:
        rows = [(patch.file, called(patch.module), patch.phase, _WORDS[patch.outcome]) for patch in patches]
        chain.workplace.console.table(title, _COLUMNS, rows, note=note)
    else:
        chain.workplace.console.say(f"{title}; {note}")
    return {
        "line": applied.line,
        "tree": str(chain.tree),
        "ran": ran,
        "patches": [
            {
                "patch": patch.file,
                "module": patch.module,
                "phase": patch.phase,
                "outcome": patch.outcome,
                "commit": patch.commit,
            }
            for patch in patches
        ],
    }
