"""What workflow files may hold beside commands of ours, read from ``data/workflow_rules.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml

__all__ = ["AllowedRun", "WorkflowRules", "workflow_rules"]

_FILE: Final = Path(__file__).parent / "data" / "workflow_rules.toml"


class AllowedRun(Table, frozen=True, kw_only=True):
    """A command that is none of ours and may stand in one workflow file, with the reason."""

    file: NonEmpty
    run: NonEmpty
    reason: NonEmpty


class WorkflowRules(Table, frozen=True, kw_only=True):
    """The table."""

    schema: Literal[1]
    run: tuple[AllowedRun, ...] = ()


@functools.cache
def workflow_rules() -> WorkflowRules:
    """Return the table."""
    return load_toml(_FILE, WorkflowRules)
