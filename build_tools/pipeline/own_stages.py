"""The source stages of a tree of a person's own: it is looked at, read as it stands, and nothing is done to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.pipeline.engine import RECEIPT, Making, Work, input_digest, perform, stage_folder
from build_tools.pipeline.source_stages import SOURCE_STAGES
from build_tools.pipeline.step import WouldRun
from build_tools.receipts.stage import SourceResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.own import OwnTree
    from build_tools.types import Stage
    from build_tools.workplace import Workplace

__all__ = ["refuse_beside_own", "refuse_received", "take_own_sources"]


def take_own_sources(chain: Chain, tree: OwnTree, stages: Sequence[Stage]) -> None:
    """Note a tree of the person's own as what the source stages would have made, its changes included.

    Parameters
    ----------
    chain
        The project on its way.
    tree
        The tree as it was read when it was locked.
    stages
        Which of the four are ahead.

    Raises
    ------
    WouldRun
        In a dry run, once the tree was found to be complete.
    """
    place, project, folder = chain.workplace, chain.project, chain.tree
    left_out = "no patches are applied" if project.hipify is None else "no patches are applied, and hipify does not run"
    place.console.say(f"{folder} is taken as it stands for the sources of {project.name} ({left_out}):")
    for row in tree.looked:
        place.console.say(f"  {row}")
    if tree.source.local is not None:
        place.console.warn(f"{folder} has changes of yours; a build takes them along:")
        for line in tree.source.local.lines:
            place.console.say(f"  {line}")
    if place.settings.dry_run:
        chain.would_run[stages[0]] = "a tree of your own is read anew each time"
        raise WouldRun
    rows = [[module.path, module.upstream, module.content] for module in tree.source.modules]
    parts = {"folder": str(folder), "sources": digest.of_value(rows), "version": tree.source.base_version}

    def make(_making: Making) -> SourceResult:
        return SourceResult(value=tree.source)

    value = input_digest(stages[0], project.name, parts)
    receipt = stage_folder(place.work_dir, stages[0], project.name, value) / RECEIPT
    work = Work(stage=stages[0], project=project.name, parts=parts, make=make, receipt=receipt, quiet=True)
    done = perform(work, place)
    # What a person did to the tree since the receipt was written may be undone again: what counts is what was read now.
    current = msgspec.structs.replace(done.receipt, result=SourceResult(value=tree.source))
    chain.done[stages[0]] = replace(done, receipt=current)
    for stage in stages[1:]:
        why = "a tree of your own is taken as it stands"
        chain.done[stage] = replace(
            done, receipt=msgspec.structs.replace(current, stage=stage), state="skipped", why=why, seconds=0.0
        )


def refuse_beside_own(projects: Sequence[Project], workplace: Workplace) -> None:
    """Refuse options that a tree of the person's own leaves nothing to do for.

    Raises
    ------
    HipwrightError
        ``option-conflict`` that names both; what names other sources of the project is refused when it is locked.
    """
    settings = workplace.settings
    for name in (project.name for project in projects if project.name in settings.dir):
        forced = [stage.value for stage in settings.force if stage in SOURCE_STAGES]
        others = {
            "--manifest-out writes commits that others can fetch": settings.manifest_out is not None,
            "--line names patches, and none are applied to it": settings.line is not None,
            "--discard-local drops what is a person's": settings.discard_local,
            f"--force {' '.join(forced)} makes sources": bool(forced),
        }
        for does in (does for does, given in others.items() if given):
            message = f"--{name}-dir is a tree that is taken as it stands, and {does}"
            raise HipwrightError("option-conflict", message, hint="give one of them")


def refuse_received(chain: Chain) -> None:
    """Refuse a tree of the person's own for a project of which something was handed over already.

    Raises
    ------
    HipwrightError
        ``option-conflict``.
    """
    if chain.own is None or not chain.done:
        return
    first = next(iter(chain.done))
    message = f"--{chain.project.name}-dir names a tree to build, and the {first} stage of it was handed over by --from-receipt"
    raise HipwrightError("option-conflict", message, hint="give one of them")
