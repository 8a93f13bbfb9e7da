"""``test_extension``: a tree installed editable by a real pip, its flags read, and its own tests run in an environment that is there."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.test_extension import test_extension as run_test_extension
from tests.support.given_environments import bare_environment, site_of
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="environments by links")

RECIPE = """
schema = 1
name = "ext"
summary = "An extension"
sdk = "none"
[origin]
kind = "git"
url = "https://example.invalid/ext.git"
[version]
fixed = "1"
[build]
target-variable = "EXT_HIP_ARCHES"
[build.environment]
EXT_KIND = "fast"
[wheel]
distribution = "ext"
import-name = "ext"
[[wheel.flags]]
name = "ext.kind"
value = "fast"
[extension]
tests = ["tests/test_unit.py"]
hip-tests = ["tests/test_hip.py", "-k", "works"]
detect-targets = "setup.detect_hip_arches"
"""
SETUP = """
import os, pathlib, setuptools
def detect_hip_arches():
    return ["gfx942"]
if __name__ == "__main__":
    text = f"def kind(): return {os.environ['EXT_KIND']!r}\\nARCHES = {os.environ['EXT_HIP_ARCHES']!r}\\n"
    pathlib.Path("ext/__init__.py").write_text(text)
    setuptools.setup(name="ext", version="1", packages=["ext"], extras_require={"dev": ["iniconfig"]}, install_requires=[INSTALL])
"""
UNIT = "import ext, iniconfig\ndef test_first(): assert ext.ARCHES == 'gfx942'\ndef test_second(): assert True\ndef test_third(): assert True\n"
HIP = "import torch\ndef test_works(): assert torch.cuda.is_available()\ndef test_other(): assert False\n"
TORCH = """
import types
__version__ = "2.13.0"
version = types.SimpleNamespace(hip="7.0", cuda=None)
cuda = types.SimpleNamespace(is_available=lambda: {available}, device_count=lambda: 0)
"""


def desk(
    folder: Path,
    *,
    unit: str = UNIT,
    torch: str = TORCH.format(available=True),
    recipe: str = RECIPE,
    requires: str = "",
    build: str = "setuptools",
    **settings: Any,  # noqa: ANN401 - as the options are
) -> Workplace:
    environment = bare_environment(folder / "venv")
    site = site_of(environment)
    (site / "torch.py").write_text(torch, encoding="utf-8")
    (site / "torch-2.13.0.dist-info").mkdir()
    (site / "torch-2.13.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    files = {
        "clone/external-builds/ext/project.toml": recipe,
        "tree/setup.py": SETUP.replace("INSTALL", repr(requires) if requires else ""),
        "tree/pyproject.toml": f'[build-system]\nrequires = ["{build}"]\nbuild-backend = "setuptools.build_meta"\n',
        "tree/ext/__init__.py": "",
        "tree/tests/test_unit.py": unit,
        "tree/tests/test_hip.py": HIP,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    place = workplace(folder, **{"projects": ("ext",), "dir": {"ext": folder / "tree"}, "venv": environment, **settings})
    return replace(place, clone=folder / "clone", machine=dict(os.environ))


def failed(place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        run_test_extension(place)
    return caught.value


def test_an_extension_is_installed_and_tested_with_its_targets(tmp_path: Path) -> None:
    place = desk(tmp_path)
    document = run_test_extension(place)
    assert document["targets"] == ["gfx942"]
    assert document["flags"] == [{"name": "ext.kind", "value": "fast"}]
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
    (tmp_path / "clone" / "external-builds" / "ext" / "project.toml").write_text(
        RECIPE.replace('EXT_KIND = "fast"', 'EXT_KIND = "slow"')
    )
    error = failed(place)
    assert error.code.name == "flag-differs"
    assert "ext.kind is 'slow' and should be 'fast'" in error.message


def test_without_a_device_the_tests_for_it_are_told_as_not_run(tmp_path: Path) -> None:
    place = desk(
        tmp_path, torch=TORCH.format(available=False), gfx=("gfx942",), unit="def test_crash():\n    import os\n    os.abort()\n"
    )
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


def test_one_project_is_tried(tmp_path: Path) -> None:
    assert failed(desk(tmp_path, projects=())).code.name == "bad-option-value"
