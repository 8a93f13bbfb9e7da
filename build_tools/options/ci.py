"""What continuous integration starts."""

from __future__ import annotations

from dataclasses import dataclass

from build_tools.options.declare import declare

__all__ = ["CiOptions"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class CiOptions:
    """What continuous integration starts."""

    matrix_for: str = declare(
        "ci",
        "choice",
        "what",
        "What jobs are started for: builds of one kind, or tests of what they built.",
        name="for",
        choices=("ci", "nightly", "release", "tests"),
        metavar="WHAT",
    )
    max_parts: int | None = declare(
        None, "integer", "what", "How many matrices a workflow takes; more jobs than they hold are an error.", metavar="N"
    )
    job_image: str | None = declare(
        None, "text", "image", "Image that the job runs in; a release names it by digest.", metavar="NAME@sha256:…"
    )
    publish_role: str | None = declare(
        None, "text", "where", "Role that writes the store, where it is not one of AMD's buckets.", metavar="ARN"
    )
    changed_since: str | None = declare(
        None,
        "text",
        "what",
        "Leave out projects that no file changed since this commit is about, in the clone.",
        metavar="COMMIT",
    )
    results: str | None = declare(
        None,
        "text",
        "what",
        "How the jobs of a run ended: JSON as a workflow's toJSON(needs) has it, or @FILE with it.",
        metavar="JSON|@FILE",
    )
    notify_urls: str | None = declare(
        None,
        "text",
        "where",
        "Who is told: addresses as apprise takes them, parted by blanks. None is no failure: nobody is told.",
        metavar="URLS",
        secret=True,
    )
    previous: str | None = declare(
        None,
        "choice",
        "what",
        "How the run before this one ended; without it, GitHub is asked.",
        choices=("failure", "success"),
        metavar="HOW",
    )
