"""A project's own target variable: where it counts, for whom, and what it must not say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS
from build_tools.options.render import to_arguments
from build_tools.options.resolve import Resolved, resolve
from build_tools.options.target_variables import with_target_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.options.commands import Command

NAME = "TOY_ARCHES"
BUILD = PROJECT_COMMANDS["build"]


def read(
    *arguments: str,
    environment: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    command: Command = BUILD,
    clone: Path = Path("/clone"),
) -> Resolved:
    resolved = resolve(
        command, arguments, environment=environment, typed_in=Path("/typed"), clone=clone, projects=("toy", "pytorch")
    )
    return with_target_variables(resolved, command, {"toy": NAME} if variables is None else variables, environment)


def refused(*arguments: str, environment: Mapping[str, str]) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        read(*arguments, environment=environment)
    return caught.value


@pytest.mark.parametrize("text", ["gfx90a,gfx942", "gfx90a;gfx942", " gfx90a ; gfx942,", "gfx90a,gfx942,gfx90a"])
def test_it_names_targets_for_its_project(text: str) -> None:
    resolved = read(environment={NAME: text})
    assert resolved.settings.own_gfx == {"toy": ("gfx90a", "gfx942")}
    assert resolved.origin("own_gfx.toy") == f"environment {NAME}"
    assert resolved.settings.gfx == ()


def test_it_is_read_for_its_project_alone() -> None:
    assert read(environment={NAME: "gfx90a"}, variables={}).settings.own_gfx == {}
    assert read(environment={NAME: "gfx90a"}, variables={"pytorch": "OTHER_ARCHES"}).settings.own_gfx == {}
    assert read(environment={NAME: "gfx90a"}, command=COMMANDS["show-hipify"]).settings.own_gfx == {}


@pytest.mark.parametrize("words", [("--gfx", "gfx1201"), ("--target", "gfx1201"), ("--gpu-family", "gfx94X-dcgpu")])
def test_the_command_line_comes_before_it(words: tuple[str, ...]) -> None:
    assert read(*words, environment={NAME: "gfx90a"}).settings.own_gfx == {}


def test_it_comes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "hipwright.toml").write_text('gpu-family = "gfx94X-dcgpu"\n', encoding="utf-8")
    resolved = read(environment={NAME: "gfx90a"}, clone=tmp_path)
    assert resolved.settings.own_gfx == {"toy": ("gfx90a",)}
    # A line that repeats a stage of the project gives it what counted, and not what the file says for all.
    words = to_arguments(resolved, BUILD, project="toy")
    assert words == ["--gfx", "gfx90a"]
    assert to_arguments(resolved, BUILD, project="pytorch") == ["--gpu-family", "gfx94X-dcgpu"]


@pytest.mark.parametrize("other", ["HIPWRIGHT_GFX", "PYTORCH_ROCM_ARCH"])
def test_two_that_say_the_same_agree_and_two_that_differ_do_not(other: str) -> None:
    assert read(environment={NAME: "gfx942;gfx90a", other: "gfx90a,gfx942"}).settings.own_gfx == {"toy": ("gfx942", "gfx90a")}
    error = refused(environment={NAME: "gfx90a", other: "gfx1201"})
    assert error.code.name == "option-conflict"
    assert error.message == f"{NAME} and {other} say different things of the GPU targets of toy in the environment"
    assert error.hint == f"unset one of {NAME}, {other}"


@pytest.mark.parametrize("other", ["HIPWRIGHT_GPU_FAMILY", "AMDGPU_FAMILY"])
def test_a_family_says_the_same_thing_in_another_way(other: str) -> None:
    assert refused(environment={NAME: "gfx90a", other: "gfx94X-dcgpu"}).code.name == "option-conflict"


@pytest.mark.parametrize("text", ["", "  ", ",;"])
def test_one_that_names_nothing_is_an_error_with_the_reason(text: str) -> None:
    error = refused(environment={NAME: text})
    assert error.code.name == "bad-option-value"
    assert NAME in error.message
    assert "none never means all of them" in error.message


def test_a_project_may_name_one_that_is_read_for_all() -> None:
    resolved = read(environment={"PYTORCH_ROCM_ARCH": "gfx90a"}, variables={"toy": "PYTORCH_ROCM_ARCH"})
    assert resolved.settings.own_gfx == {"toy": ("gfx90a",)}
    assert resolved.settings.gfx == ("gfx90a",)
