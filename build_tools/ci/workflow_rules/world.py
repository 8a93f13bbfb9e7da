"""What rules judge the workflows of a clone with: its projects, sessions and matrices, and what it allows."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from build_tools.ci.matrix import Wanted, build_jobs, follow_up_jobs, test_jobs
from build_tools.ci.workflow_file import read_workflows
from build_tools.ci.workflow_rules.rule import World
from build_tools.config.matrix import matrix_table
from build_tools.config.project import load_project, project_names
from build_tools.config.runners import runner_table
from build_tools.config.support import support_table
from build_tools.config.workflow_rules import workflow_rules
from build_tools.options.command_line import development_sessions
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["world_of"]


def world_of(clone: Path) -> World:
    """Return what the workflows of a clone are judged with.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when a workflow file or a project cannot be read.
    """
    folder = clone / "external-builds"
    projects = project_names(folder)
    return World(
        workflows={workflow.name: workflow for workflow in read_workflows(clone)},
        projects=projects,
        distributions=[load_project(folder, name).wheel.distribution for name in projects],
        development=development_sessions((clone / "noxfile.py").read_text(encoding="utf-8")),
        clone=clone,
        allowed=workflow_rules().run,
        rows=_rows,
        purposes=[row.name for row in matrix_table().purpose],
    )


@functools.cache
def _rows(purpose: str, output: str, platform: str) -> Sequence[Mapping[str, str]]:
    row, known = matrix_table().find(purpose), {one.value: one for one in Platform}
    wanted = Wanted(platforms=(known[platform],)) if platform in known else Wanted()
    if output.startswith("rocm_test_"):
        jobs = test_jobs(row, wanted, runners=runner_table()).jobs
    else:
        jobs = build_jobs(row, wanted, table=matrix_table(), runners=runner_table(), support=support_table()).jobs
    if output.startswith("test_"):
        jobs = follow_up_jobs(jobs, row, wanted, runners=runner_table()).jobs
    return [{name: value if isinstance(value, str) else json.dumps(value) for name, value in job.items()} for job in jobs]
