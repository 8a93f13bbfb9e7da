"""What a rule demands, why, and what to do about a finding: as text for a terminal, and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.checks.registry import SET_RULES, WHEEL_RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.checks.rule import Rule, SetRule

__all__ = ["all_rules", "document_of", "page_of", "text_of"]


def all_rules() -> tuple[Rule | SetRule, ...]:
    """Return all rules, in the order in which they judge."""
    return (*WHEEL_RULES, *SET_RULES)


def text_of(rule: Rule | SetRule) -> str:
    """Return a rule in words, for people at a terminal."""
    lines = [f"{rule.name} ({rule.severity}): {rule.summary}"]
    if rule.why:
        lines.append(f"  why: {rule.why}")
    if rule.mend:
        lines.append(f"  what to do: {rule.mend}")
    lines += [f"  in [check]: {line}" for line in getattr(rule, "keys", ())]
    lines.append(
        f'  as the project takes it: [check.rules.{rule.name}] severity = "error", "warning", "note" or "off", and why = "…"'
    )
    return "\n".join(lines)


def document_of(rule: Rule | SetRule) -> Mapping[str, str]:
    """Return a rule as plain data, for programs."""
    return {"name": rule.name, "severity": rule.severity, "summary": rule.summary, "why": rule.why, "mend": rule.mend}


def page_of(rule: Rule | SetRule) -> tuple[str, ...]:
    """Return the paragraphs of a rule's page, in Markdown, without its title."""
    judged = "It judges wheels that belong together." if rule in SET_RULES else "It judges each wheel."
    if getattr(rule, "planned", False):
        judged += " It needs a plan, and so runs in `nox -s check_<p>` alone."
    parts = [rule.summary, f"{judged} Findings are of the kind {rule.severity} where they do not say otherwise."]
    if rule.why:
        parts += ["## Why", rule.why]
    if rule.mend:
        parts += ["## What to do", rule.mend]
    if keys := getattr(rule, "keys", ()):
        parts += [
            "## What a project says",
            "In `project.toml`; names of members and libraries may be shell patterns, whose `*` spans folders:",
        ]
        parts.append("\n".join(("```toml", "[check]", *keys, "```")))
    parts += [
        "## Setting it for a project",
        "In `project.toml`; `severity` is `error`, `warning`, `note` or `off`, and `why` is told in every report:",
        f'```toml\n[check.rules.{rule.name}]\nseverity = "warning"\nwhy = "…"\n```',
    ]
    return tuple(parts)
