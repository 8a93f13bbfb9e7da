"""Binaries of real compilers, and wheels as they are published, before the rules about binaries."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.demands import Demands
from build_tools.checks.run import check_wheels
from build_tools.types import GfxTarget, Platform
from build_tools.wheels.binary_probe import BINARIES, BinaryProbe
from build_tools.wheels.code_object import target_of_code
from build_tools.wheels.contents import read_contents
from build_tools.wheels.pe import read_pe
from tests.support.debian_clang import Clang
from tests.support.wheels_of_binaries import BINARY_RULES, binary_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.check import Finding

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(300)]

_TARGETS = ("gfx900", "gfx906:xnack-", "gfx90a", "gfx1030")


@pytest.fixture
def clang(inputs: dict[str, Path], tmp_path: Path) -> Clang:
    return Clang(inputs["debian-rocm"], tmp_path)


def _judge(wheel: Path, *targets: str) -> list[Finding]:
    demands = Demands(platform=Platform.LINUX, targets=tuple(map(GfxTarget, targets)), libraries=None)
    report = check_wheels([wheel], expectations=None, say=lambda _: None, demands={wheel.name: demands}, jobs=2)
    return [each for each in report.findings if each.rule in BINARY_RULES]


def _errors(findings: list[Finding]) -> set[tuple[str, str | None]]:
    return {(each.rule, each.member) for each in findings if each.severity == "error"}


def test_the_targets_of_a_compiled_library_are_found(clang: Clang, tmp_path: Path) -> None:
    wheel = binary_wheel({"demo/libkernels.so": clang.hip_library(_TARGETS, _TARGETS)}).write(tmp_path)
    seen = read_contents(wheel, probes=(BinaryProbe(),)).seen[BINARIES]["demo/libkernels.so"]
    bundles = getattr(seen, "bundles", ())
    assert [set(each.targets) for each in bundles] == [set(_TARGETS)] * 2
    assert [each for each in _judge(wheel, *_TARGETS) if each.severity != "note"] == []
    assert _errors(_judge(wheel, *_TARGETS, "gfx942")) == {("device-code", "demo/libkernels.so")}
    assert _errors(_judge(wheel, "gfx900")) == {("device-code", "demo/libkernels.so")}


def test_a_part_that_was_compiled_for_fewer_targets_is_told(clang: Clang, tmp_path: Path) -> None:
    library = clang.hip_library(["gfx90a", "gfx1030"], ["gfx90a"])
    wheel = binary_wheel({"demo/libkernels.so": library}).write(tmp_path)
    (found,) = [each for each in _judge(wheel, "gfx90a", "gfx1030") if each.severity != "note"]
    assert (found.rule, found.severity) == ("device-code", "warning")
    assert "1 of its 2 parts" in found.message


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx906:sramecc-", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-"])
def test_a_code_object_tells_what_it_was_compiled_for(clang: Clang, target: str) -> None:
    assert target_of_code(clang.code_object(target)[:64]) == target


def test_a_library_of_windows_tells_what_it_loads_at_once_and_late(clang: Clang) -> None:
    pe = read_pe(io.BytesIO(clang.windows_library("amdhip64_7.dll", "dbghelp.dll")), name="it.dll")
    assert pe is not None
    assert (pe.imports, pe.delay_imports, pe.machine) == (("amdhip64_7.dll",), ("dbghelp.dll",), "amd64")


def test_torch_for_processors_breaks_what_is_known(inputs: dict[str, Path]) -> None:
    findings = _judge(inputs["torch-wheel"])
    errors = [each for each in findings if each.severity == "error"]
    assert {each.rule for each in errors} == {"run-paths", "needed-libraries"}
    # Only programs for tests, which no import loads.
    assert all(each.member is None or each.member.startswith(("torch/bin/", "torch/test/")) for each in errors)
    assert "its binaries are for manylinux_2_28_x86_64" in {each.message for each in findings}
