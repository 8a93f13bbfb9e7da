"""Where things lie: folders, stores, runs, channels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from build_tools.options.declare import declare
from build_tools.types import Platform

__all__ = ["WhereOptions"]

PLATFORMS: Final = tuple(platform.value for platform in Platform)
RELEASE_TYPES: Final = ("ci", "dev", "nightly", "prerelease", "release")


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class WhereOptions:
    """Where things lie: folders, stores, runs, channels."""

    work_dir: Path = declare(Path(".work"), "path", "where", "Folder for everything that is made.", metavar="DIR")
    store: str | None = declare(
        None,
        "location",
        "where",
        "Where packages are published to; <work-dir>/store when not given.",
        metavar="DIR|s3://B",
        says="the store",
    )
    bucket: str | None = declare(
        None, "text", "where", "Bucket of the store: the same as --store s3://B.", metavar="B", says="the store"
    )
    endpoint_url: str | None = declare(
        None, "text", "where", "Address of the S3 server, for one that is not Amazon's.", metavar="URL"
    )
    repository: str | None = declare(
        None,
        "text",
        "where",
        "Repository whose runs are meant; decides bucket and folder.",
        metavar="OWNER/NAME",
        other_flags=("--run-github-repo",),
        other_environment=("GITHUB_REPOSITORY",),
    )
    platform: str | None = declare(
        None, "choice", "where", "Operating system that is meant; this machine's when not given.", choices=PLATFORMS, metavar="OS"
    )
    artifact_dir: Path | None = declare(None, "path", "where", "Folder that holds a run's artifacts.", metavar="DIR")
    dist_dir: Path | None = declare(None, "path", "where", "Folder that wheels are put into when they are built.", metavar="DIR")
    dest_dir: Path | None = declare(None, "path", "where", "Folder that packages are written to.", metavar="DIR")
    packages_dir: Path | None = declare(
        None, "path", "where", "Folder with packages, or one whose dist/ has them.", metavar="DIR"
    )
    output_dir: Path | None = declare(None, "path", "where", "Folder that the result is written to.", metavar="DIR")
    for_commit: str | None = declare(
        None, "text", "where", "The newest run of this commit that has what is needed.", metavar="SHA", says="the run"
    )
    for_branch: str | None = declare(
        None, "text", "where", "The newest run of this branch that has what is needed.", metavar="NAME", says="the run"
    )
    include: tuple[str, ...] = declare(
        (), "patterns", "where", "Only files whose name has a match of this regular expression; repeatable.", metavar="RE"
    )
    exclude: tuple[str, ...] = declare(
        (), "patterns", "where", "No files whose name has a match of this regular expression; repeatable.", metavar="RE"
    )
    channel: str = declare("rehearsal", "text", "where", "Channel that promotion fills.", metavar="NAME")
    run_id: str = declare("local", "text", "where", "Name of this run in run outputs.", metavar="ID", says="the run")
    release_type: str | None = declare(
        None,
        "choice",
        "where",
        "Kind of release: decides index, suffix and retention.",
        choices=RELEASE_TYPES,
        other_environment=("RELEASE_TYPE",),
        metavar="TYPE",
    )
    replace: str | None = declare(
        None,
        "text",
        "where",
        "Put other bytes under names that a run's outputs hold, beside the older ones, and keep the reason.",
        metavar="REASON",
    )
    reason: str | None = declare(None, "text", "where", "Why an index is changed; its history keeps it.", metavar="TEXT")
    undo: bool = declare(False, "flag", "where", "Take a yank back.")
    all_runs: bool = declare(False, "flag", "where", "All runs whose outputs are in the store, rather than one.")
    to: str | None = declare(
        None,
        "text",
        "where",
        "Snapshot to go back to, by its first digits; `current` puts pages right alone.",
        metavar="SNAPSHOT",
    )
    apply: bool = declare(False, "flag", "where", "Do what is planned; without it nothing is changed.")
    override: str | None = declare(
        None,
        "text",
        "where",
        "Promote wheels that no machine can test, and keep the reason in the channel.",
        metavar="REASON",
    )
    reversion: str | None = declare(
        None,
        "text",
        "where",
        "Promote wheels under another version, made from the tested ones.",
        metavar="OLD=NEW",
    )
    index_format: str = declare(
        "hipwright",
        "choice",
        "where",
        "Who writes the index: hipwright, or piprepo, whose plain pages take the place of all others.",
        choices=("hipwright", "piprepo"),
        metavar="FORMAT",
    )
    cache_dir: Path | None = declare(
        None, "path", "where", "Folder for what runs share: mirrors, downloads, real inputs.", metavar="DIR"
    )
