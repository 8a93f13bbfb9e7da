"""Wheels as they are published: what the rules about binaries find in them, as docs/explanation/real-wheels.md explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.checks.run import check_wheels
from tests.support.wheels_of_binaries import BINARY_RULES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("real"), pytest.mark.timeout(600)]


def _errors(wheel: Path) -> set[tuple[str, str | None]]:
    report = check_wheels([wheel], expectations=None, say=lambda _: None, jobs=2)
    return {(each.rule, each.member) for each in report.findings if each.rule in BINARY_RULES and each.severity == "error"}


def test_torchvision_has_the_run_path_of_its_build(inputs: dict[str, Path]) -> None:
    assert _errors(inputs["torchvision-wheel"]) == {("run-paths", "torchvision/_C.so")}


def test_torchaudio_requires_no_torch_that_would_bring_what_it_needs(inputs: dict[str, Path]) -> None:
    assert _errors(inputs["torchaudio-wheel"]) == {("needed-libraries", "torchaudio/lib/_torchaudio.abi3.so")}


def test_tritons_plugins_look_where_they_were_built(inputs: dict[str, Path]) -> None:
    errors = _errors(inputs["triton-wheel"])
    assert {rule for rule, _ in errors} == {"run-paths", "needed-libraries"}
    assert all(member is not None and member.startswith("triton/plugins/") for _, member in errors)
