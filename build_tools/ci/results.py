"""How the jobs of a run ended, as a workflow's ``toJSON(needs)`` tells it, and facts of the run from the runner's variables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from build_tools.errors import HipwrightError
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobResult", "RunFacts", "read_results", "run_facts"]

_SERVER: Final = "https://github.com"
_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class JobResult(msgspec.Struct, frozen=True):
    """How one job ended, and what it handed on.

    GitHub says ``cancelled`` of a job that ran past its time limit, too.
    """

    result: Literal["success", "failure", "cancelled", "skipped"]
    outputs: dict[str, str] = {}


class _Told(msgspec.Struct, frozen=True):
    """The same as runners tell it: some say null of a job that hands nothing on."""

    result: Literal["success", "failure", "cancelled", "skipped"]
    outputs: dict[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """What the runner says of the run in progress; texts are empty where it says nothing.

    ``file`` is the name of the workflow's file; ``inputs`` are what a person gave when starting it.
    """

    workflow: str = ""
    file: str = ""
    repository: str = ""
    run_id: str = ""
    attempt: int = 1
    branch: str = ""
    commit: str = ""
    event: str = ""
    server: str = _SERVER
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str | None:
        """The run's page."""
        if not self.repository or not self.run_id:
            return None
        return f"{self.server}/{self.repository}/actions/runs/{self.run_id}"


def read_results(text: str) -> dict[str, JobResult]:
    """Return how each job ended.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for what no ``toJSON(needs)`` comes to, and for results of no job: nothing is known then.
    """
    hint = "a workflow says HIPWRIGHT_RESULTS: ${{ toJSON(needs) }}, in a job that needs all others"
    results: dict[str, JobResult] = {}
    where = ""
    try:
        for name, job in msgspec.json.decode(text.encode(), type=dict[str, msgspec.Raw]).items():
            where = f"job {shown(name)}: "
            told = msgspec.json.decode(job, type=_Told)
            results[name] = JobResult(result=told.result, outputs=told.outputs or {})
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        message = f"--results is not what toJSON(needs) comes to: {where}{error}"
        raise HipwrightError("bad-option-value", message, hint=hint) from error
    if not results:
        raise HipwrightError("bad-option-value", "--results tells of no job", hint=hint)
    return results


def run_facts(machine: Mapping[str, str]) -> RunFacts:
    """Return what the variables of GitHub's runner say of the run in progress."""
    attempt = machine.get("GITHUB_RUN_ATTEMPT", "")
    return RunFacts(
        workflow=machine.get("GITHUB_WORKFLOW", ""),
        # OWNER/NAME/.github/workflows/FILE@refs/heads/BRANCH
        file=machine.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].rpartition("/")[2],
        repository=machine.get("GITHUB_REPOSITORY", ""),
        run_id=machine.get("GITHUB_RUN_ID", ""),
        attempt=int(attempt) if _NUMBER.fullmatch(attempt) else 1,
        branch=machine.get("GITHUB_REF_NAME", ""),
        commit=machine.get("GITHUB_SHA", ""),
        event=machine.get("GITHUB_EVENT_NAME", ""),
        server=machine.get("GITHUB_SERVER_URL", "").rstrip("/") or _SERVER,
        inputs=_inputs(machine.get("GITHUB_EVENT_PATH", "")),
    )


def _inputs(file: str) -> dict[str, str]:
    """Return the inputs that the event's file has; none where there is no such file, or no person started the run."""
    try:
        event: Any = json.loads(Path(file).read_bytes()) if file else {}
    except (OSError, ValueError, RecursionError):
        return {}
    inputs = event.get("inputs") if isinstance(event, dict) else None
    if not isinstance(inputs, dict):
        return {}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in inputs.items()}
