"""What GitHub tells of a repository's commits and workflow runs, by its REST API (version 2022-11-28)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from build_tools.errors import HipwrightError
from build_tools.types import CommitId, is_commit_id
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.environments.network import Network

__all__ = ["GitHub", "WorkflowRun", "open_github"]

M = TypeVar("M")

_API: Final = "https://api.github.com"
_ACCEPT: Final = "application/vnd.github+json"
_PAGE: Final = 100
_HINT: Final = "set GITHUB_TOKEN to a token that may read the repository: without one GitHub answers few questions an hour"


class _Repository(msgspec.Struct, frozen=True):
    full_name: str


class _Run(msgspec.Struct, frozen=True):
    id: int
    head_sha: str
    html_url: str
    created_at: str
    path: str | None = None
    status: str | None = None
    conclusion: str | None = None
    head_repository: _Repository | None = None


class _Runs(msgspec.Struct, frozen=True):
    workflow_runs: tuple[_Run, ...]


class _Commit(msgspec.Struct, frozen=True):
    sha: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowRun:
    """A run of a workflow.

    ``status`` is ``completed`` when it is over, and ``conclusion`` how that was; ``fork`` is whether its commit is of another repository, which
    one that is gone was too. ``created`` is its time as GitHub writes it, in UTC.
    """

    run_id: str
    commit: CommitId
    url: str
    workflow: str
    status: str
    conclusion: str | None
    fork: bool
    created: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GitHub:
    """The API of one repository.

    Parameters
    ----------
    repository
        It, as ``OWNER/NAME``.
    api
        The API's address, without a final ``/``.
    network
        How it is read.
    """

    repository: str
    api: str
    network: Network

    def commit(self, text: str) -> CommitId:
        """Return the full id of a commit that is named by its first digits.

        Raises
        ------
        HipwrightError
            ``unknown-ref`` when GitHub shows no such commit; ``source-unreachable``.
        """
        if is_commit_id(text):
            return CommitId(text)
        found = self._get(f"commits/{quote(text, safe='')}", {}, _Commit)
        if found is None or not is_commit_id(found.sha):
            raise self._nothing(f"commit {text}")
        return CommitId(found.sha)

    def commits(self, branch: str, *, most: int) -> tuple[CommitId, ...]:
        """Return the newest commits of a branch, newest first.

        Raises
        ------
        HipwrightError
            ``unknown-ref`` when GitHub shows no such branch; ``source-unreachable``.
        """
        found = self._get("commits", {"sha": branch, "per_page": str(min(most, _PAGE))}, tuple[_Commit, ...])
        if not found:
            raise self._nothing(f"branch {branch}")
        return tuple(CommitId(row.sha) for row in found if is_commit_id(row.sha))

    def runs(self, workflow: str | None, *, pages: int = 1, **only: str) -> tuple[WorkflowRun, ...] | None:
        """Return the runs of a workflow, newest first; None when GitHub shows no such workflow.

        Parameters
        ----------
        workflow
            The file of the workflow; None for those of all.
        pages
            How many hundreds at the most.
        only
            What they are to have, as the API calls it: ``head_sha``, ``branch``.

        Raises
        ------
        HipwrightError
            ``source-unreachable``.
        """
        path = "actions/runs" if workflow is None else f"actions/workflows/{quote(workflow, safe='')}/runs"
        rows: list[_Run] = []
        for page in range(1, pages + 1):
            found = self._get(path, {**only, "per_page": str(_PAGE), "page": str(page)}, _Runs)
            if found is None:
                return None
            rows += found.workflow_runs
            if len(found.workflow_runs) < _PAGE:
                break
        runs = (self._run(row) for row in rows if is_commit_id(row.head_sha) and row.id > 0)
        return tuple(sorted(runs, key=lambda run: (run.created, int(run.run_id)), reverse=True))

    def attempt(self, run_id: str, number: int) -> WorkflowRun | None:
        """Return one attempt at a run, of which the first has the number 1; None when GitHub shows no such attempt.

        Raises
        ------
        HipwrightError
            ``source-unreachable``.
        """
        row = self._get(f"actions/runs/{quote(run_id, safe='')}/attempts/{number}", {}, _Run)
        return None if row is None else self._run(row)

    def _run(self, row: _Run) -> WorkflowRun:
        head = row.head_repository
        return WorkflowRun(
            run_id=str(row.id),
            commit=CommitId(row.head_sha),
            url=row.html_url,
            # A run of a reusable workflow names the file with the ref behind it.
            workflow=(row.path or "").partition("@")[0].rpartition("/")[2],
            status=row.status or "",
            conclusion=row.conclusion,
            fork=head is None or head.full_name.lower() != self.repository.lower(),
            created=row.created_at,
        )

    def _get(self, path: str, query: Mapping[str, str], model: type[M]) -> M | None:
        url = f"{self.api}/repos/{self.repository}/{path}" + (f"?{urlencode(query)}" if query else "")
        answer = self.network.read(url, accept=_ACCEPT)
        if answer is None:
            return None
        try:
            return msgspec.json.decode(answer.body, type=model)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"{redact(url)} does not answer as GitHub does: {error}"
            raise HipwrightError("source-unreachable", message, hint="see what GITHUB_API_URL names") from error

    def _nothing(self, what: str) -> HipwrightError:
        # The API answers "forbidden" to too many questions too, and "not found" for what one may not see.
        return HipwrightError("unknown-ref", f"GitHub shows no {what} of {self.repository}", hint=_HINT)

    def no_workflow(self, names: tuple[str, ...]) -> HipwrightError:
        """Return the error for a repository of which GitHub shows none of the workflows."""
        message = f"GitHub shows no runs of {' or '.join(names) or 'any workflow'} of {self.repository}"
        return HipwrightError("source-unreachable", message, hint=_HINT)


def open_github(repository: str, *, machine: Mapping[str, str], network: Network) -> GitHub:
    """Return the API of a repository, with this machine's token for it where there is one.

    Parameters
    ----------
    repository
        ``OWNER/NAME``.
    machine
        The environment: ``GITHUB_API_URL`` and ``GITHUB_TOKEN``, or ``GH_TOKEN``, as GitHub's own tools take them.
    network
        How addresses are read.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the API's address is none.
    """
    api = (machine.get("GITHUB_API_URL") or _API).rstrip("/")
    parts = urlsplit(api)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise HipwrightError("bad-option-value", f"GITHUB_API_URL is {redact(api)!r}, which is no address of an API")
    token = machine.get("GITHUB_TOKEN") or machine.get("GH_TOKEN")
    return GitHub(repository=repository, api=api, network=network.bearing(api, token) if token else network)
