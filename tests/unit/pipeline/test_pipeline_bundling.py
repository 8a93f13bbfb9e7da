"""Whom ``--bundle-rocm`` is for: told before anything is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.pipeline.bundling import refuse_bundling, takes_rocm
from build_tools.types import ProjectName, Stage
from tests.support.workplaces import CLONE, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.project import Project


def projects(*names: str) -> list[Project]:
    return [load_project(CLONE / "external-builds", ProjectName(name)) for name in names]


def test_rocm_goes_into_what_requires_it_by_itself() -> None:
    taking = [
        project.name
        for project in projects("pytorch", "pytorch-audio", "pytorch-vision", "apex", "triton", "sample", "sample-companion")
        if takes_rocm(project)
    ]
    assert taking == ["pytorch", "sample"]


@pytest.mark.parametrize("names", [("pytorch",), ("triton", "pytorch"), ("sample", "sample-companion"), ("sample-companion",)])
def test_what_can_be_built_so_passes(tmp_path: Path, names: tuple[str, ...]) -> None:
    refuse_bundling(projects(*names), Stage.PROMOTE, workplace(tmp_path, bundle_rocm=True))


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("pytorch", "pytorch-vision"), "not-supported"),
        (("apex",), "not-supported"),
        (("triton",), "bad-option-value"),
        (("torch-spline-conv",), None),
    ],
)
def test_what_cannot_is_told_first(tmp_path: Path, names: tuple[str, ...], code: str | None) -> None:
    place = workplace(tmp_path, bundle_rocm=True)
    refuse_bundling(projects(*names), Stage.PROVISION, place)
    refuse_bundling(projects(*names), Stage.BUILD, workplace(tmp_path))
    if code is None:
        # It is built with a torch, which may have ROCm inside.
        refuse_bundling(projects(*names), Stage.BUILD, place)
        return
    with pytest.raises(HipwrightError) as caught:
        refuse_bundling(projects(*names), Stage.BUILD, place)
    assert caught.value.code.name == code
