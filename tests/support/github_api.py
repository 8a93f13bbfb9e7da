"""A server that answers as GitHub's REST API does about commits and workflow runs."""

from __future__ import annotations

import contextlib
import http.server
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.support.serving import answering_by

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GitHubDouble", "github_api", "run_row"]


@dataclass
class GitHubDouble:
    """What the server knows, and what it was asked.

    ``branches`` has the commits of each, newest first; ``runs`` those of each workflow, ``attempts`` those at a run, by its and their number.
    """

    repository: str = "ROCm/TheRock"
    branches: dict[str, list[str]] = field(default_factory=dict)
    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    attempts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    token: str | None = None
    limited: bool = False
    body: bytes | None = None
    url: str = ""
    asked: list[str] = field(default_factory=list)
    shown: list[str | None] = field(default_factory=list)

    def answer(self, path: str, query: dict[str, str]) -> Any:  # noqa: ANN401 - JSON
        """Return what is at an address, None when nothing is."""
        start = f"/api/v3/repos/{self.repository}/"
        if not path.startswith(start):
            return None
        parts = path[len(start) :].split("/")
        page, size = int(query.get("page", "1")), int(query.get("per_page", "30"))
        chosen = slice((page - 1) * size, page * size)
        match parts:
            case ["commits"]:
                commits = self.branches.get(query["sha"])
                return None if commits is None else [{"sha": commit, "commit": {}} for commit in commits[chosen]]
            case ["commits", digits]:
                known = {commit for commits in self.branches.values() for commit in commits if commit.startswith(digits)}
                return {"sha": known.pop()} if len(known) == 1 else None
            case ["actions", "runs", number, "attempts", attempt]:
                return self.attempts.get((number, attempt))
            case ["actions", "runs"]:
                rows = [row for rows in self.runs.values() for row in rows]
            case ["actions", "workflows", file, "runs"]:
                if file not in self.runs:
                    return None
                rows = self.runs[file]
            case _:
                return None
        fitting = [
            row
            for row in rows
            if query.get("head_sha", row["head_sha"]) == row["head_sha"]
            and query.get("branch", row["head_branch"]) == row["head_branch"]
        ]
        return {"total_count": len(fitting), "workflow_runs": fitting[chosen]}


def run_row(number: int, commit: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a run as the API tells of one."""
    return {
        "id": number,
        "head_sha": commit,
        "head_branch": "main",
        "html_url": f"https://github.invalid/ROCm/TheRock/actions/runs/{number}",
        "created_at": f"2026-08-{number % 28 + 1:02}T00:00:00Z",
        "path": ".github/workflows/multi_arch_ci.yml@refs/heads/main",
        "status": "completed",
        "conclusion": "success",
        "event": "push",
        "head_repository": {"full_name": "ROCm/TheRock", "fork": False},
        **more,
    }


@contextlib.contextmanager
def github_api(double: GitHubDouble) -> Iterator[GitHubDouble]:
    """Serve it for the time of the block; ``url`` is the API's address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            double.asked.append(self.path)
            double.shown.append(self.headers.get("Authorization"))
            parts = urlsplit(self.path)
            found = double.answer(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
            status = 200 if found is not None else 404
            if double.token is not None and self.headers.get("Authorization") != f"Bearer {double.token}":
                status = 401
            if double.limited:
                status = 403
            body = double.body or json.dumps(found if status == 200 else {"message": "no"}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with answering_by(Handler) as url:
        double.url = f"{url}/api/v3"
        yield double
