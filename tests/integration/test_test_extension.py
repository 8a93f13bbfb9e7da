"""``test_extension``: a tree installed editable by a real pip, its flags read, and its own tests run in an environment that is there."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline import test_extension as extension
from build_tools.pipeline import test_stage as stage
from build_tools.pipeline.test_extension import test_extension as run_test_extension
from build_tools.testing.choosing import VisibleDevice
from build_tools.testing.devices import GpuDevice
from build_tools.testing.outcome import OutcomeKind, TestOutcome
from build_tools.testing.story import Result, Story
from build_tools.types import GfxTarget
from tests.support.extensions import RECIPE, extension_desk, stub_torch
from tests.support.given_environments import site_of
from tests.support.workplaces import memory_of

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.testing.request import TestRequest
    from build_tools.workplace import Workplace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="environments by links")

SETUP = """
import os, pathlib, setuptools
def detect_hip_arches():
    return ["gfx942"]
if __name__ == "__main__":
    text = f"def kind(): return {os.environ['EXT_KIND']!r}\\nARCHES = {os.environ['EXT_HIP_ARCHES']!r}\\n"
    pathlib.Path("ext/__init__.py").write_text(text)
    setuptools.setup(name="ext", version="1", packages=["ext"], extras_require={"dev": ["iniconfig"]}, install_requires=[INSTALL])
"""
HOOKS = """
def build_environment(context):
    return {"EXT_KIND": KIND} if (context.version, context.targets) == ("1", ("gfx942",)) and context.packages["torch"] else {}
def generated_files(context):
    return {"ext/made.py": context.project.encode().join([b"MADE = '", b"'"])}
"""
UNIT = "import ext, ext.made, iniconfig\ndef test_first(): assert ext.ARCHES == 'gfx942'\ndef test_second(): assert True\ndef test_third(): assert True\n"
HIP = "import torch\ndef test_works(): assert torch.cuda.is_available()\ndef test_other(): assert False\n"


def desk(
    folder: Path,
    *,
    unit: str = UNIT,
    available: str = "True",
    recipe: str = RECIPE,
    requires: str = "",
    build: str = "setuptools",
    **settings: Any,  # noqa: ANN401 - as the options are
) -> Workplace:
    tree = {
        "setup.py": SETUP.replace("INSTALL", repr(requires) if requires else ""),
        "pyproject.toml": f'[build-system]\nrequires = ["{build}"]\nbuild-backend = "setuptools.build_meta"\n',
        "ext/__init__.py": "",
        "tests/test_unit.py": unit,
        "tests/test_hip.py": HIP,
    }
    given = {"projects": ("ext",), "dir": {"ext": folder / "tree"}, "venv": folder / "venv", **settings}
    recipe = recipe.replace('EXT_KIND = "fast"', 'EXT_KIND = "plain"')
    beside = {"hooks.py": HOOKS.replace("KIND}", "'fast'}")}
    torch = stub_torch(available=available)
    return extension_desk(folder, tree, torch=torch, recipe=recipe, beside=beside, machine=dict(os.environ), **given)


def failed(place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        run_test_extension(place)
    return caught.value


def test_an_extension_is_installed_and_tested_with_its_targets(tmp_path: Path) -> None:
    place = desk(tmp_path)
    # The tree has no settings of pytest, and those around it are not its own.
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    document = run_test_extension(place)
    assert document["targets"] == ["gfx942"]
    # What the recipe's constants say, its hook says better.
    assert document["flags"] == [{"name": "ext.kind", "value": "fast"}]
    assert (tmp_path / "tree" / "ext" / "made.py").read_text() == "MADE = 'ext'"
    assert {name.partition("==")[0] for name in document["installed"]} >= {"ext", "iniconfig", "pytest"}
    assert [(part["what"], part["kind"], part["counts"]["passed"]) for part in document["tests"]] == [
        ("unit tests", "passed", 3),
        ("HIP tests", "passed", 1),
    ]
    # What was tested is the tree itself.
    (tmp_path / "tree" / "tests" / "test_unit.py").write_text("def test_one(): assert False\ndef test_two(): assert True\n")
    error = failed(place)
    assert error.code.name == "tests-failed"
    assert "unit tests of ext failed, first tests/test_unit.py::test_one" in error.message
    told: Any = error.document
    # The first failure ends it all.
    assert told["tests"][0]["counts"]["passed"] == 0
    assert told["not_run"] == ["HIP tests"]
    (tmp_path / "tree" / "ext" / "__init__.py").write_text("")
    (tmp_path / "clone" / "external-builds" / "ext" / "hooks.py").write_text(HOOKS.replace("KIND}", "'slow'}"))
    error = failed(place)
    assert error.code.name == "flag-differs"
    assert "ext.kind is 'slow' and should be 'fast'" in error.message


def test_each_gpu_has_its_own_run_and_what_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run of the tests is asked for; that it is done is the runner's own matter."""
    cards = [
        VisibleDevice(
            device=GpuDevice(vendor="amd", index=number, target=GfxTarget("gfx942")),
            variables={"HIP_VISIBLE_DEVICES": str(number)},
        )
        for number in (0, 1)
    ]
    monkeypatch.setattr(stage, "visible_devices", lambda *_machine: tuple(cards))
    asked: list[TestRequest] = []

    def ran(request: TestRequest, *, folder: Path, log: Path, **_more: object) -> TestOutcome:
        asked.append(request)
        result = Result(test="t.py::test_flaky", outcome="passed", attempts=2, message="once")
        return TestOutcome(
            kind=OutcomeKind.PASSED,
            problem=None,
            results={result.test: result},
            story=Story(),
            report=None,
            report_path=folder,
            events_path=folder,
            log=log,
        )

    installed = SimpleNamespace(prepare=lambda: None, install=lambda *_more: ())
    monkeypatch.setattr(extension, "EditableInstall", lambda **_more: installed)
    monkeypatch.setattr(extension, "run_tests", ran)
    recipe = RECIPE.replace('import-name = "ext"\n', "").replace('[[wheel.flags]]\nname = "ext.kind"\nvalue = "fast"\n', "")
    place = desk(tmp_path, recipe=recipe, gfx=("gfx942",), reruns=1, gpu_policy="all")
    parts = run_test_extension(place)["tests"]
    assert [part["what"] for part in parts] == ["unit tests", "HIP tests on gpu-0-gfx942", "HIP tests on gpu-1-gfx942"]
    assert [one.variables["HIP_VISIBLE_DEVICES"] for one in asked] == ["0,1", "0", "1"]
    assert [(one.reruns, "--exitfirst" in one.arguments) for one in asked] == [(1, False)] * 3
    assert parts[0]["flaky"] == [{"test": "t.py::test_flaky", "attempts": 2, "message": "once"}]
    notes = [event.note for event in memory_of(place).events if hasattr(event, "note")]
    assert any("t.py::test_flaky passed at attempt 2: once" in note for note in notes)


def test_without_a_device_the_tests_for_it_are_told_as_not_run(tmp_path: Path) -> None:
    place = desk(tmp_path, available="False", gfx=("gfx942",), unit="def test_crash():\n    import os\n    os.abort()\n")
    error = failed(place)
    assert error.code.name == "tests-crashed"
    assert "test_crash" in error.message
    (tmp_path / "tree" / "tests" / "test_unit.py").write_text("def test_well(): pass\n")
    document = run_test_extension(place)
    assert [part["what"] for part in document["tests"]] == ["unit tests"]
    notes = [event.note for event in memory_of(place).events if hasattr(event, "note")]
    assert any("HIP cannot be used here" in note for note in notes)


@pytest.mark.parametrize("where", ["build", "requires"])
def test_an_owned_package_never_comes_from_the_base_index(tmp_path: Path, where: str) -> None:
    links = tmp_path / "links"
    links.mkdir()
    from tests.support.packages import make_wheel  # noqa: PLC0415 - beside what it is for

    make_wheel(links, "triton", "3.0")
    wanted = {"build": 'setuptools", "triton'} if where == "build" else {"requires": "triton"}
    place = desk(tmp_path, **wanted)
    find = f"{os.environ.get('PIP_FIND_LINKS', '')} {links.as_uri()}".strip()
    error = failed(replace(place, machine={**place.machine, "PIP_FIND_LINKS": find}))
    assert error.code.name == "requirement-missing"
    assert "triton would come from the base index" in error.message
    assert not list(site_of(tmp_path / "venv").glob("triton*"))


def test_a_tree_without_tests_is_told_before_anything_is_installed(tmp_path: Path) -> None:
    place = desk(tmp_path)
    (tmp_path / "tree" / "tests" / "test_unit.py").unlink()
    error = failed(place)
    assert error.code.name == "no-tests"
    assert "has no tests/test_unit.py" in error.message
    assert not list(site_of(tmp_path / "venv").glob("ext*"))


def test_one_project_is_tried(tmp_path: Path) -> None:
    assert failed(desk(tmp_path, projects=())).code.name == "bad-option-value"
