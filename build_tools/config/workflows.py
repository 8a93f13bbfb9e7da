"""Which workflows make runs with artifacts, read from ``data/workflows.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml

__all__ = ["WorkflowTable", "workflow_table"]

_FILE: Final = Path(__file__).parent / "data" / "workflows.toml"


class _Row(Table, frozen=True, kw_only=True):
    repository: NonEmpty
    release_types: tuple[NonEmpty, ...]
    files: tuple[NonEmpty, ...]


class WorkflowTable(Table, frozen=True, kw_only=True):
    """The table; ``repository`` is the one whose runs are meant when nobody says."""

    schema: Literal[1]
    repository: NonEmpty
    workflows: tuple[_Row, ...]

    def files(self, repository: str, release_type: str) -> tuple[str, ...]:
        """Return the workflow files of a repository for a release type; none where the table knows none."""
        return tuple(
            file
            for row in self.workflows
            if row.repository.lower() == repository.lower() and release_type in row.release_types
            for file in row.files
        )


@functools.cache
def workflow_table() -> WorkflowTable:
    """Return the table."""
    return load_toml(_FILE, WorkflowTable)
