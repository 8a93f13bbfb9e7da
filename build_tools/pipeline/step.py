"""One step of a chain: a stage is performed, planned or demanded, as the command's options say, and its failure gets its repeat line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.pipeline.engine import Done, decide, perform
from build_tools.pipeline.report import repeat_line

if TYPE_CHECKING:
    from build_tools.pipeline.chain import Chain
    from build_tools.pipeline.engine import Work

__all__ = ["WouldRun", "step"]


class WouldRun(Exception):  # noqa: N818 - no error: the end of what a dry run can tell
    """A dry run came to a stage that would run; what comes after it cannot be told."""


def step(chain: Chain, work: Work) -> Done:
    """Bring one stage of a chain about and note it.

    Raises
    ------
    HipwrightError
        What the stage raises, with the line that repeats it alone; ``stage-missing`` when ``--from`` demands that it is done already.
    WouldRun
        In a dry run, when the stage is not done already.
    """
    place, settings = chain.workplace, chain.workplace.settings
    demanded = settings.from_stage is not None and work.stage.number < settings.from_stage.number
    if demanded or settings.dry_run:
        decision = decide(work, place)
        if decision.earlier is not None:
            chain.done[work.stage] = Done(
                receipt=decision.earlier, path=work.receipt, state="skipped", why=decision.why, seconds=0.0
            )
            return chain.done[work.stage]
        if demanded:
            message = (
                f"--from {settings.from_stage} needs the {work.stage} stage of {work.project} done, and it is not: {decision.why}"
            )
            raise HipwrightError(
                "stage-missing", message, hint=repeat_line(settings.from_stage or work.stage, work.project, place, force=False)
            )
        chain.would_run[work.stage] = decision.why
        if work.plan is not None:
            work.plan()
        raise WouldRun
    try:
        chain.done[work.stage] = perform(work, place)
    except HipwrightError as error:
        chain.failed = work.stage, error.message
        error.reproduce = error.reproduce or repeat_line(work.stage, work.project, place, relock=settings.relock)
        raise
    return chain.done[work.stage]
