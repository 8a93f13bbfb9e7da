"""How the run before this one ended, as GitHub tells it; and whether a newer one took this one's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from build_tools.ci.results import RunFacts
    from build_tools.rocm.artifacts.github import GitHub

__all__ = ["Previous", "previous_run"]

_BAD: Final = frozenset({"failure", "timed_out", "startup_failure"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Previous:
    """How the run before ended, None when there was none; whether a newer run of the branch is there."""

    ended: Literal["failure", "success"] | None
    superseded: bool = False


def previous_run(github: GitHub, facts: RunFacts) -> Previous:
    """Return how the newest earlier run of the same workflow and branch ended, those that were cancelled or did nothing left out.

    Of a run that is repeated, its attempt before counts.

    Raises
    ------
    HipwrightError
        ``source-unreachable``.
    """
    runs = [run for run in github.runs(facts.file, branch=facts.branch) or () if not run.fork]
    own = int(facts.run_id)
    superseded = any(int(run.run_id) > own for run in runs)
    if facts.attempt > 1:
        before = github.attempt(facts.run_id, facts.attempt - 1)
        conclusions = [] if before is None else [before.conclusion]
    else:
        earlier = (run for run in runs if int(run.run_id) < own and run.status == "completed")
        conclusions = [run.conclusion for run in earlier]
    decided = next((one for one in conclusions if one in _BAD or one == "success"), None)
    ended: Literal["failure", "success"] | None = None if decided is None else ("failure" if decided in _BAD else "success")
    return Previous(ended=ended, superseded=superseded)
