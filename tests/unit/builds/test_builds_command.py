from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.builds.command import build_command, working_folder
from build_tools.builds.develop import compile_command, install_command
from tests.support.builds import project

SETTINGS = {"--build-option": ["--cpp_ext", "--cuda_ext"], "wheel.x": "a=b"}


def words(command: list[str | Path] | None) -> list[str]:
    return [str(part) for part in command or []]


def test_command_line_builds_one_wheel_without_isolation_by_pep_517() -> None:
    toy = project(build={"config-settings": SETTINGS})
    assert words(build_command(toy, python=Path("/e/bin/python"), folder=Path("/t"), outdir=Path("/o"))) == [
        "/e/bin/python",
        *("-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", "/o"),
        "--config-setting=--build-option=--cpp_ext",
        "--config-setting=--build-option=--cuda_ext",
        "--config-setting=wheel.x=a=b",
        "/t",
    ]


def test_a_project_of_its_own_setup_py_is_built_by_that_in_its_folder() -> None:
    toy = project(build={"front-end": "setup-py"})
    command = build_command(toy, python=Path("/e/bin/python"), folder=Path("/t"), outdir=Path("/o"))
    assert words(command) == ["/e/bin/python", "setup.py", "bdist_wheel", "--dist-dir", "/o"]
    assert working_folder(toy, folder=Path("/t"), empty=Path("/w")) == Path("/t")
    assert working_folder(project(), folder=Path("/t"), empty=Path("/w")) == Path("/w")


def test_a_tree_is_compiled_in_place_with_the_switches_of_its_build(tmp_path: Path) -> None:
    toy = project(build={"config-settings": SETTINGS})
    assert compile_command(toy, python=Path("/p"), folder=tmp_path) is None
    (tmp_path / "setup.py").touch()
    expected = ["/p", "setup.py", "--cpp_ext", "--cuda_ext", "build_ext", "--inplace"]
    assert words(compile_command(toy, python=Path("/p"), folder=tmp_path)) == expected


def test_a_tree_is_installed_editable_and_nothing_is_fetched() -> None:
    command = words(install_command(project(), python=Path("/p"), folder=Path("/t")))
    assert {"--no-index", "--no-deps", "--no-build-isolation"} < set(command)
    assert command[-2:] == ["--editable", "/t"]
    assert "--config-settings=editable_mode=compat" in command
    own = words(install_command(project(build={"front-end": "setup-py"}), python=Path("/p"), folder=Path("/t")))
    assert own == ["/p", "setup.py", "develop", "--no-deps"]


@pytest.mark.parametrize(
    ("text", "knows"),
    [
        ('[build-system]\nrequires = []\nbuild-backend = "setuptools.build_meta"\n', True),
        ('[build-system]\nrequires = []\nbuild-backend = "setuptools.build_meta:__legacy__"\n', True),
        ("[build-system]\nrequires = []\n", True),
        ("[project]\nname = 'x'\n", True),
        ('[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n', False),
        ('[build-system]\nrequires = []\nbuild-backend = "mesonpy"\n', False),
    ],
)
def test_a_back_end_gets_only_settings_that_it_knows(tmp_path: Path, text: str, *, knows: bool) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    command = words(install_command(project(), python=Path("/p"), folder=tmp_path))
    assert any("editable_mode" in word for word in command) == knows
