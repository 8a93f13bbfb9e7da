from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from build_tools.builds.command import IN_TREE, SETUPTOOLS, back_end, build_command, kept_folder
from build_tools.builds.develop import build_in_place, compile_command, install_command
from build_tools.types import Platform
from tests.support.builds import project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.builds.plan import BuildPlan
    from build_tools.process import Runner

PYTHON = Path("/e/bin/python")
SCIKIT = '[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n'
SETTING = "build-dir=build/{wheel_tag}"


def tree(folder: Path, text: str | None, *, setup: bool = False) -> Path:
    if text is not None:
        (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    if setup:
        (folder / "setup.py").touch()
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, SETUPTOOLS),
        ("[project]\nname = 'x'\n", SETUPTOOLS),
        ("[build-system]\nrequires = []\n", SETUPTOOLS),
        ('[build-system]\nbuild-backend = "setuptools.build_meta:__legacy__"\n', SETUPTOOLS),
        (SCIKIT, "scikit_build_core"),
        ('[build-system]\nbuild-backend = "flit_core.buildapi"\n', "flit_core"),
        ('[build-system]\nbuild-backend = "own"\nbackend-path = ["tools"]\n', IN_TREE),
        ("[build-system\n", ""),
    ],
)
def test_the_back_end_is_what_the_sources_name(tmp_path: Path, text: str | None, expected: str) -> None:
    assert back_end(tree(tmp_path, text)) == expected


def test_what_compiles_in_a_folder_that_goes_gets_one_in_the_tree(tmp_path: Path) -> None:
    folder = tree(tmp_path, SCIKIT)
    more = kept_folder(project(), folder, {})
    command = build_command(project(), python=PYTHON, folder=folder, outdir=Path("/o"), more=more)
    assert f"--config-setting={SETTING}" in command
    assert f"--config-settings={SETTING}" in install_command(project(), python=PYTHON, folder=folder)


def test_where_it_compiles_is_for_the_project_and_a_person_to_say_first(tmp_path: Path) -> None:
    folder = tree(tmp_path, SCIKIT)
    assert kept_folder(project(), folder, {"SKBUILD_BUILD_DIR": "/b"}) == {}
    assert kept_folder(project(build={"config-settings": {"build-dir": "b"}}), folder, {}) == {}
    assert kept_folder(project(), tree(tmp_path, f'{SCIKIT}[tool.scikit-build]\nbuild-dir = "b"\n'), {}) == {}
    assert kept_folder(project(), tree(tmp_path, '[build-system]\nbuild-backend = "hatchling.build"\n'), {}) == {}


def test_setup_py_compiles_only_what_it_builds(tmp_path: Path) -> None:
    assert compile_command(project(), python=PYTHON, folder=tree(tmp_path, SCIKIT, setup=True)) is None
    by_setup = project(build={"front-end": "setup-py"})
    assert compile_command(by_setup, python=PYTHON, folder=tmp_path) is not None
    in_tree = '[build-system]\nbuild-backend = "own"\nbackend-path = ["tools"]\n'
    assert compile_command(project(), python=PYTHON, folder=tree(tmp_path, in_tree)) is not None


@dataclass
class Programs:
    """Takes the place of a runner."""

    started: list[list[str]] = field(default_factory=list)
    alone: list[object] = field(default_factory=list)

    def run(self, argv: Sequence[str | Path], **given: Any) -> None:  # noqa: ANN401
        self.started.append([str(part) for part in argv])
        self.alone.append(given["alone"])


@pytest.mark.parametrize(
    ("text", "setup", "again"),
    [(SCIKIT, False, True), (None, True, False)],
    ids=["a back end that compiles when it installs", "setuptools"],
)
def test_edits_are_compiled_though_the_tree_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, *, setup: bool, again: bool
) -> None:
    folder = tree(tmp_path, text, setup=setup)
    monkeypatch.setattr("build_tools.builds.develop.installed_from", lambda *_given, **_named: ("1.0", folder.as_uri()))
    plan = cast("BuildPlan", SimpleNamespace(version="1.0", environment={}, context=SimpleNamespace(environment=tmp_path)))
    programs = Programs()
    installed = build_in_place(
        project(),
        plan,
        folder=folder,
        python=PYTHON,
        runner=cast("Runner", programs),
        log=tmp_path / "log",
        platform=Platform.LINUX,
        anew=False,
    )
    assert installed == again
    assert ["install" in command for command in programs.started] == [again]
    # Nothing that it leaves running writes into the tree afterwards.
    assert programs.alone == [True]
