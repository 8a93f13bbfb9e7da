"""The order of projects: those first whose wheels others are built with."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.project import load_project, project_names
from build_tools.errors import HipwrightError
from build_tools.pipeline.order import built_before, in_build_order
from tests.support.builds import project

if TYPE_CHECKING:
    from build_tools.config.project import Project

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"
REAL = [load_project(EXTERNAL_BUILDS, name) for name in project_names(EXTERNAL_BUILDS)]
BY_NAME = {one.name: one for one in REAL}


def toy(
    name: str, *, needs: tuple[str, ...] = (), pins: tuple[str, ...] = (), may: tuple[str, ...] = (), makes: str = ""
) -> Project:
    return project(
        name=name,
        build={"owned-requires": needs},
        wheel={"distribution": makes or name, "pinned-requirements": pins, "optional-pins": may},
    )


@given(st.permutations(sorted(BY_NAME)))
def test_the_real_projects_come_in_build_order_however_they_are_named(names: list[str]) -> None:
    ordered = [one.name for one in in_build_order([BY_NAME[name] for name in names], EXTERNAL_BUILDS)]
    assert sorted(ordered) == sorted(names)
    place = ordered.index
    assert place("triton") < place("pytorch")
    assert all(place("pytorch") < place(name) for name in ("pytorch-audio", "pytorch-vision", "apex", "torch-spline-conv"))
    assert place("sample") < place("sample-companion")


@pytest.mark.parametrize("key", ["needs", "pins", "may"])
def test_each_kind_of_need_counts_and_names_are_normalised(key: str) -> None:
    later = {
        "needs": toy("later", needs=("My.Torch",)),
        "pins": toy("later", pins=("My.Torch",)),
        "may": toy("later", may=("My.Torch",)),
    }[key]
    earlier = toy("earlier", makes="my_torch")
    assert [one.name for one in in_build_order([later, earlier], EXTERNAL_BUILDS)] == ["earlier", "later"]


def test_those_that_need_nothing_of_each_other_keep_their_order_and_each_is_there_once() -> None:
    for names in permutations(["a", "b", "c"]):
        given_twice = [toy(name) for name in (*names, names[0])]
        assert [one.name for one in in_build_order(given_twice, EXTERNAL_BUILDS)] == list(names)


def test_rocm_is_nobodys_wheel_here() -> None:
    builds = [toy("a", pins=("rocm",)), toy("b", makes="rocm")]
    assert [one.name for one in in_build_order(builds, EXTERNAL_BUILDS)] == ["a", "b"]


def test_a_circle_is_refused_with_its_names() -> None:
    circle = [toy("a", needs=("b",)), toy("b", may=("c",)), toy("c", pins=("a",))]
    with pytest.raises(HipwrightError, match="a → b → c → a") as caught:
        in_build_order(circle, EXTERNAL_BUILDS)
    assert caught.value.code.name == "bad-data-file"


def test_two_makers_of_one_package_are_refused_where_a_third_needs_it() -> None:
    twins = [toy("a", makes="torch"), toy("b", makes="torch")]
    assert len(in_build_order(twins, EXTERNAL_BUILDS)) == 2
    with pytest.raises(HipwrightError, match="a and b both make torch"):
        in_build_order([*twins, toy("c", needs=("torch",))], EXTERNAL_BUILDS)


def test_a_project_is_not_built_before_itself() -> None:
    own = project(name="a", build={"owned-requires": ("a",)}, wheel={"distribution": "a"})
    assert built_before(own, [own]) == ()
