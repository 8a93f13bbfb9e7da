"""Wheels as they are published: what the rules about binaries find in them, as docs/explanation/real-wheels.md explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.checks.profile import demands_for
from build_tools.checks.run import check_wheels
from build_tools.config.project import load_project
from build_tools.types import Platform, ProjectName
from tests.support.wheels_of_binaries import BINARY_RULES
from tests.support.workplaces import CLONE

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


@pytest.mark.parametrize(
    ("key", "name", "told"),
    [
        (
            "torchvision-wheel",
            "pytorch-vision",
            {
                ("device-code", "torchvision/_C.so"),
                ("forbidden-members", "torchvision.libs/libcudart.faf08d9a.so.13"),
                ("forbidden-members", "torchvision.libs/libnvjpeg.36e11081.so.13"),
            },
        ),
        ("torchaudio-wheel", "pytorch-audio", {("device-code", "torchaudio/lib/libtorchaudio.abi3.so")}),
        ("triton-wheel", "triton", set()),
    ],
)
def test_recipes_find_what_is_not_for_rocm(inputs: dict[str, Path], key: str, name: str, told: set[tuple[str, str]]) -> None:
    wheel = inputs[key]
    demands = demands_for(load_project(CLONE / "external-builds", ProjectName(name)), Platform.LINUX)
    rules = {"device-code", "forbidden-members", "required-members", "size"}
    report = check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _: None, only=rules, jobs=2)
    assert {(each.rule, each.member) for each in report.findings if each.severity == "error"} == told
