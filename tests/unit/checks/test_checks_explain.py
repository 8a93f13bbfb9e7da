"""What is told of a rule: every setting of a project is on the page of a rule that goes by it, spelled as a file has it."""

from __future__ import annotations

import tomllib

import msgspec

from build_tools.checks.explain import all_rules, page_of, text_of
from build_tools.config.wheel_demands import Check


def test_every_setting_is_on_a_page_and_can_be_copied() -> None:
    told: set[str] = set()
    for rule in all_rules():
        keys = getattr(rule, "keys", ())
        table = tomllib.loads("\n".join(keys))
        msgspec.convert(table, Check)
        told |= table.keys()
        page = "\n".join(page_of(rule))
        assert all(line in page and line in text_of(rule) for line in keys)
        assert f"[check.rules.{rule.name}]" in page
        assert f"[check.rules.{rule.name}]" in text_of(rule)
    assert told == {field.encode_name for field in msgspec.structs.fields(Check)} - {"rules"}
