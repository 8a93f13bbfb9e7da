"""Find the newest run of a commit or a branch whose outputs have the artifacts that are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.select import Choice, archives_of, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from build_tools.rocm.artifacts.github import GitHub, WorkflowRun
    from build_tools.rocm.artifacts.select import Wanted
    from build_tools.stores.place import RunPlace
    from build_tools.types import CommitId

__all__ = ["COMMITS", "LookedAt", "find_run", "look_at", "outputs_row"]

COMMITS: Final = 50
"""How many commits of a branch are looked at, from its newest one back."""

_PAGES: Final = 3
_MOST_RUNS: Final = 100
_UNFINISHED: Final = frozenset({"cancelled", "skipped", "startup_failure", "action_required", "stale"})
"""How a run ended that never got to its end: what it left is not what it was to make."""
_TOLD: Final = 3
_S3: Final = "s3://"


@dataclass(frozen=True, kw_only=True, slots=True)
class LookedAt:
    """A run, where its outputs are, and what of them is meant; ``passed_by`` says why a run was not looked into."""

    run: WorkflowRun
    place: RunPlace | None = None
    choice: Choice | None = None
    passed_by: str = ""

    @property
    def has_all(self) -> bool:
        """Whether it has what is needed."""
        return self.choice is not None and not self.choice.missing

    @property
    def reason(self) -> str:
        """Why it is not taken, in words."""
        return self.passed_by or f"it lacks {self.choice.lack if self.choice is not None else ''}"

    def row(self, repository: str) -> dict[str, Any]:
        """Return it as plain data."""
        row: dict[str, Any] = {
            "repository": repository,
            "git_commit_sha": self.run.commit,
            "run_id": self.run.run_id,
            "run_url": self.run.url,
            "workflow": self.run.workflow,
            "status": self.run.status,
            "conclusion": self.run.conclusion,
            "created_at": self.run.created,
            "fork": self.run.fork,
        }
        if self.passed_by:
            row["passed_by"] = self.passed_by
        if self.place is not None and self.choice is not None:
            row |= outputs_row(self.place, self.choice)
        return row


def outputs_row(place: RunPlace, choice: Choice) -> dict[str, Any]:
    """Return a run's outputs, and what of them is meant, as plain data."""
    store, run = place.store, place.run
    return {
        "run_id": run.run_id,
        "platform": str(run.platform),
        "store": store.address,
        "bucket": store.address.removeprefix(_S3).partition("/")[0] if store.address.startswith(_S3) else None,
        "prefix": run.prefix,
        "url": store.url(f"{run.prefix}/"),
        "artifacts": [archive.filename for archive in choice.archives],
        "missing": list(choice.missing),
    }


def look_at(place: RunPlace, wanted: Wanted) -> Choice:
    """Return which archives of a run are meant, and what of that it lacks.

    Raises
    ------
    HipwrightError
        What the store says.
    """
    prefix = place.run.prefix
    return choose(archives_of(place.store.list(prefix), prefix), wanted)


def find_run(
    github: GitHub,
    *,
    commit: str | None,
    branch: str | None,
    workflows: tuple[str, ...],
    look: Callable[[WorkflowRun], LookedAt],
    say: Callable[[str], None],
) -> LookedAt:
    """Return the newest run that has what is needed: of a commit, or of the newest commit of a branch that has one.

    Parameters
    ----------
    github
        The repository.
    commit
        A commit, by its id or the first digits of it.
    branch
        A branch, when it is not a commit; its newest :data:`COMMITS` commits are looked at.
    workflows
        The files of the workflows that make such runs; all runs are looked at when there is none.
    look
        Looks into a run's outputs.
    say
        Told which runs are not taken.

    Raises
    ------
    HipwrightError
        ``run-not-found``, with a document of what was looked at; ``unknown-ref``, ``source-unreachable``; what ``look`` raises.
    """
    if commit is not None:
        full = github.commit(commit)
        runs = _runs(github, workflows, head_sha=full)
        ordered = [run for run in runs if run.commit == full]
        where = f"commit {full[:12]}"
    else:
        ordered = list(_of_branch(github, branch or "", workflows))
        where = f"the newest {COMMITS} commits of {branch}"
    tried: list[LookedAt] = []
    for run in ordered[:_MOST_RUNS]:
        reason = _unfit(run)
        looked = LookedAt(run=run, passed_by=reason) if reason else look(run)
        if looked.has_all:
            return looked
        tried.append(looked)
        say(f"run {run.run_id} of {run.commit[:12]} is passed by: {looked.reason}")
    raise _not_found(github, where, tried)


def _of_branch(github: GitHub, branch: str, workflows: tuple[str, ...]) -> Iterator[WorkflowRun]:
    """Give a branch's runs, those of its newest commit first.

    A fork's branch of the same name has runs too: only those of the branch's own commits count.
    """
    commits = github.commits(branch, most=COMMITS)
    by_commit: dict[CommitId, list[WorkflowRun]] = {commit: [] for commit in commits}
    for run in _runs(github, workflows, pages=_PAGES, branch=branch):
        if run.commit in by_commit:
            by_commit[run.commit].append(run)
    for runs in by_commit.values():
        yield from runs


def _runs(github: GitHub, workflows: tuple[str, ...], *, pages: int = 1, **only: str) -> list[WorkflowRun]:
    """Return the runs of several workflows, newest first.

    Raises
    ------
    HipwrightError
        ``source-unreachable``, also when GitHub shows none of the workflows.
    """
    answers = [github.runs(workflow, pages=pages, **only) for workflow in workflows or (None,)]
    if all(answer is None for answer in answers):
        raise github.no_workflow(workflows)
    found = {run.run_id: run for answer in answers for run in answer or ()}
    return sorted(found.values(), key=lambda run: (run.created, int(run.run_id)), reverse=True)


def _unfit(run: WorkflowRun) -> str:
    if run.status != "completed":
        return "it is not over" if run.status else "GitHub does not say whether it is over"
    return f"it ended as {run.conclusion}" if run.conclusion in _UNFINISHED else ""


def _not_found(github: GitHub, where: str, tried: Sequence[LookedAt]) -> HipwrightError:
    if tried:
        told = "; ".join(f"{one.run.run_id}: {one.reason}" for one in tried[:_TOLD])
        more = f"; and {len(tried) - _TOLD} more" if len(tried) > _TOLD else ""
        message = f"no run of {where} of {github.repository} has what is needed: {told}{more}"
    else:
        message = f"there is no run of {where} of {github.repository}"
    document: dict[str, object] = {
        "status": "not-found",
        "results": [],
        "looked_at": [one.row(github.repository) for one in tried],
    }
    hint = "name a run, --run-id ID, or where else to look: --repository OWNER/NAME, --for-branch NAME"
    return HipwrightError("run-not-found", message, hint=hint, document=document)
