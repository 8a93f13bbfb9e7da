"""All rules, in the order in which their findings are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.rules import (
    archive,
    binary_tags,
    expected,
    filename,
    identity,
    members,
    metadata,
    names,
    pins,
    record,
    source_commit,
    wheel_set,
)

if TYPE_CHECKING:
    from build_tools.checks.rule import Rule, SetRule

__all__ = ["SET_RULES", "WHEEL_RULES"]

WHEEL_RULES: Final[tuple[Rule, ...]] = (
    archive.RULE,
    names.RULE,
    record.RULE,
    filename.RULE,
    identity.RULE,
    metadata.RULE,
    binary_tags.RULE,
    expected.RULE,
    members.RULE,
    pins.RULE,
    source_commit.RULE,
)

SET_RULES: Final[tuple[SetRule, ...]] = (wheel_set.RULE,)
