"""``nox -s workflows``: judge the workflow files, by the linters of others and by our own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.ci.linters import LINTERS, lint
from build_tools.ci.workflow_rules.registry import RULES, judge
from build_tools.ci.workflow_rules.world import world_of
from build_tools.counted import counted
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

__all__ = ["workflows"]


def workflows(workplace: Workplace) -> dict[str, Any]:
    """Judge all workflow files of the clone.

    Returns
    -------
    dict
        Under ``workflows``: ``files``, ``rules``, ``linters``, and ``findings``, each with ``file``, ``line``, ``tool``, ``rule``, ``message``
        and ``hint``.

    Raises
    ------
    HipwrightError
        ``workflow-findings`` with the same document; ``missing-tool`` and ``command-failed`` when a linter could not judge.
    """
    world = world_of(workplace.clone)
    found = list(judge(world))
    for linter in LINTERS:
        found += lint(linter, world.workflows, clone=workplace.clone, runner=workplace.runner)
    found.sort()
    document: dict[str, Any] = {
        "workflows": {
            "files": [workflow.path for workflow in world.workflows.values()],
            "rules": [rule.name for rule in RULES],
            "linters": [linter.name for linter in LINTERS],
            "findings": [
                {
                    "file": one.file,
                    "line": one.line,
                    "tool": one.tool,
                    "rule": one.rule,
                    "message": one.message,
                    "hint": one.hint,
                }
                for one in found
            ],
        }
    }
    note = f"{counted(len(world.workflows), 'file')}, {len(RULES)} rules of ours, {', '.join(linter.name for linter in LINTERS)}"
    hints = dict.fromkeys(f"{one.rule}: {one.hint}" for one in found if one.hint)
    note = "\n".join([note, *hints])
    rows = [(one.place, one.tool, one.rule, one.message) for one in found]
    workplace.console.table("Workflows", ("where", "who", "rule", "what"), rows, note=note)
    for one in found:
        workplace.console.annotate("error", f"{one.tool}: {one.rule}", one.message, file=one.file, line=one.line)
    if found:
        files = len({one.file for one in found})
        raise HipwrightError(
            "workflow-findings",
            f"{counted(len(found), 'finding')} in {files} of {counted(len(world.workflows), 'workflow file')}",
            hint="docs/reference/workflow-rules.md tells why hipwright's own rules are there",
            document=document,
        )
    return document
