"""All rules for workflow files, and the judgement by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.ci.workflow_rules import commands, data_flow, limits, names

if TYPE_CHECKING:
    from build_tools.ci.workflow_rules.rule import Rule, World

__all__ = ["RULES", "Finding", "judge", "page"]

RULES: Final[tuple[Rule, ...]] = (*commands.RULES, *data_flow.RULES, *names.RULES, *limits.RULES)
"""In the order of the reference page."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Finding:
    """Something that a rule, or a linter, finds wrong with a file of the clone: where, by whose rule, what, and what to do."""

    file: str
    line: int
    rule: str
    message: str
    hint: str = ""
    tool: str = "hipwright"

    @property
    def place(self) -> str:
        """Where it is, as editors take it."""
        return f"{self.file}:{self.line}"


def judge(world: World) -> tuple[Finding, ...]:
    """Return all findings of our own rules, in the order of files and lines."""
    found = {
        Finding(file=workflow.path, line=problem.line, rule=rule.name, message=problem.message, hint=rule.mend)
        for workflow in world.workflows.values()
        for rule in RULES
        for problem in rule.judge(workflow, world)
    }
    return tuple(sorted(found))


def page() -> tuple[str, ...]:
    """Return the parts of the page about the rules, in Markdown."""
    intro = (
        "`nox -s workflows` judges the files below `.github/workflows` by actionlint, zizmor (pedantic, without a network) and the schema of "
        "such files, and by these rules of hipwright's own. Each finding names file, line, rule and what to do; one is enough to fail."
    )
    rules = [f"## `{rule.name}`\n\n{rule.demands}\n\n{rule.why}\n\nTo mend it: {rule.mend}." for rule in RULES]
    return (intro, *rules)
