"""All rules, in the order in which their findings are told."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from build_tools.checks.rules import (
    archive,
    binaries,
    binary_tags,
    device_code,
    difference,
    entry_points,
    expected,
    filename,
    forbidden,
    identity,
    leaked_paths,
    member_paths,
    members,
    metadata,
    modes,
    names,
    needed_libraries,
    pe_imports,
    pins,
    record,
    resolves,
    rocm_major,
    run_paths,
    size,
    source_commit,
    symbol_versions,
    version,
    wheel_set,
)
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.checks.rule import Rule, SetRule

__all__ = ["FORMAT", "SET_RULES", "WHEEL_RULES", "rule_named"]

WHEEL_RULES: Final[tuple[Rule, ...]] = (
    archive.RULE,
    names.RULE,
    member_paths.RULE,
    modes.RULE,
    record.RULE,
    filename.RULE,
    identity.RULE,
    metadata.RULE,
    entry_points.RULE,
    version.RULE,
    binary_tags.RULE,
    binaries.RULE,
    needed_libraries.RULE,
    run_paths.RULE,
    symbol_versions.RULE,
    pe_imports.RULE,
    device_code.RULE,
    rocm_major.RULE,
    expected.RULE,
    members.RULE,
    forbidden.RULE,
    difference.RULE,
    size.RULE,
    leaked_paths.RULE,
    pins.RULE,
    source_commit.RULE,
)

SET_RULES: Final[tuple[SetRule, ...]] = (wheel_set.RULE, resolves.RULE)

FORMAT: Final = frozenset({"archive", "member-names", "record", "file-name", "identity", "metadata", "entry-points", "wheel-set"})
"""The rules about wheels as such, whatever is in them."""


def rule_named(name: str) -> Rule | SetRule:
    """Return a rule by its name.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` with the names that are near.
    """
    rules: dict[str, Rule | SetRule] = {rule.name: rule for rule in WHEEL_RULES}
    rules |= {rule.name: rule for rule in SET_RULES}
    if name not in rules:
        near = difflib.get_close_matches(name, rules, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "all rules: nox -s check_wheels -- --explain"
        raise HipwrightError("bad-option-value", f"there is no rule {name!r}", hint=hint)
    return rules[name]
