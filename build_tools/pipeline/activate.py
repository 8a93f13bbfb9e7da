"""Activate an environment for the later steps of a GitHub Actions job, by the two files that the runner reads."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.files import append_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobFiles", "job_files"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFiles:
    """The files of a job that later steps take their search path and their environment from."""

    path: Path
    environment: Path

    def activate(self, environment: Path, programs: Path) -> None:
        """Let later steps find the programs of an environment first, as its own activation does.

        Parameters
        ----------
        environment, programs
            The environment's folder, and the one that its programs are in.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` for a folder that one line cannot name; ``folder-not-writable``.
        """
        if "\n" in str(programs) or "\r" in str(programs):
            raise HipwrightError("bad-option-value", f"{str(programs)!r} has a line end in its name, and cannot be put on a path")
        append_text(self.path, f"{programs}\n")
        # The runner reads until the delimiter, which no value may hold by chance or by design.
        delimiter = f"end-{secrets.token_hex(16)}"
        append_text(self.environment, f"VIRTUAL_ENV<<{delimiter}\n{environment}\n{delimiter}\n")


def job_files(machine: Mapping[str, str]) -> JobFiles:
    """Return the files of the job that the machine runs.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it runs none.
    """
    path, environment = machine.get("GITHUB_PATH"), machine.get("GITHUB_ENV")
    if not path or not environment:
        message = (
            "an environment can be activated for later steps in GitHub Actions alone: GITHUB_PATH and GITHUB_ENV are not set"
        )
        hint = "leave --activate-in-future-github-actions-steps out"
        raise HipwrightError("bad-option-value", message, hint=hint)
    return JobFiles(path=Path(path), environment=Path(environment))
