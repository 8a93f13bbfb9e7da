from __future__ import annotations

import shlex

import pytest

from build_tools import digest
from build_tools.patches.applied import Applied, AppliedPatch
from build_tools.patches.prove import told_outcomes


@pytest.mark.parametrize("name", ["third party/lib/base/0001-a.patch", "root/base/0001-it's.patch", "root/base/$(rm).patch"])
def test_a_command_for_a_patch_can_be_pasted_whatever_it_is_called(name: str) -> None:
    one = AppliedPatch(file=name, module=".", phase="base", digest=digest.of_bytes(b""), outcome="upstream")
    (found,) = told_outcomes(Applied(patches=(one,)), strict=False)
    words, _, command = str(found.hint).partition(": ")
    assert words == "drop it"
    assert shlex.split(command) == ["invoke", "drop-patch", name]
