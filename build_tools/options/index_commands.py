"""The commands that publish into the outputs of runs, and keep indexes."""

from __future__ import annotations

from typing import Final

from build_tools.options.command import COMMON, KEPT, OUTPUTS, Command

__all__ = ["INDEX_COMMANDS"]

INDEX_COMMANDS: Final = (
    Command(
        name="upload_wheels",
        front="nox",
        summary="Publish any wheels into a run's outputs, with an index.",
        option_names=(
            "projects",
            "artifact-group",
            "run-id",
            "output-dir",
            *OUTPUTS,
            "replace",
            "index-format",
            "jobs",
            "dry-run",
            "verify",
            *COMMON,
        ),
        paths="wheels, or folders that hold some",
    ),
    Command(
        name="upload_run_logs",
        front="nox",
        summary="Put logs, receipts, source manifest and artifacts of this work dir into a run's outputs, after a failure too.",
        option_names=("artifact-group", "artifact-dir", "run-id", "output-dir", *OUTPUTS, "jobs", "dry-run", *COMMON),
    ),
    Command(
        name="verify",
        front="nox",
        summary="Prove an index whole from outside: every link, every byte, every paper, its history.",
        option_names=("channel", *KEPT, "jobs", *COMMON),
        words="indexes by their address, folder or s3://bucket/prefix; the one that the options name without",
        word="INDEX",
    ),
    Command(
        name="freshness",
        front="nox",
        summary="Tell what a channel promises and does not have, or has not had for too long.",
        option_names=("channel", *KEPT, *COMMON),
    ),
    Command(
        name="yank",
        front="nox",
        summary="Offer files of an index no longer to who does not name them exactly, and say why.",
        option_names=("channel", *KEPT, "reason", "undo", "dry-run", *COMMON),
        words="files by their names, or releases as PROJECT==VERSION",
        word="FILE",
    ),
    Command(
        name="rollback",
        front="nox",
        summary="List the history of an index, or go back to a snapshot of it.",
        option_names=("channel", *KEPT, "to", "reason", "apply", *COMMON),
    ),
    Command(
        name="retain",
        front="nox",
        summary="Take what a channel keeps no longer out of its index, delete it after a grace period; delete old runs' outputs.",
        option_names=("channel", *KEPT, "all-runs", "lock", "reason", "apply", *COMMON),
    ),
)
"""In the order of the reference page."""
