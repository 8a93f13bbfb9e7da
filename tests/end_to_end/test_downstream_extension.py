"""An extension of other people's, as its maintainers build it: their own target variable, a folder for wheels, flags that are proved."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import Desk, add_project, change_file, program_there, small_clone

pytestmark = pytest.mark.end_to_end

NAME = "EXTENSION_HIP_ARCHES"
FLAG = """
[[wheel.flags]]
name = "tiny_project.HAS_SPARSE_ATTENTION"
value = false
platforms = ["linux", "windows"]

[tests]"""

NATIVE = {
    "project.toml": """
schema = 1
name = "native"
summary = "An extension whose setup.py runs the compiler itself"
sdk = "none"
[origin]
kind = "embedded"
folder = "sources"
[refs]
default = "main"
[[lines]]
ref = "main"
why = "the sources are our own"
[version]
fixed = "1.0.0"
[build]
compiles = "setuptools"
[wheel]
distribution = "native"
version-suffix = "none"
""",
    "sources/repository.toml": '[[repository]]\nname = "native"\n[[repository.branch]]\nname = "main"\nfolders = ["main"]\n',
    "sources/main/pyproject.toml": '[build-system]\nrequires = ["setuptools"]\n',
    "sources/main/setup.py": """
from setuptools import Extension, setup
setup(name="native", version="1.0.0", packages=[], ext_modules=[Extension("native", ["native.c"])])
""",
    "sources/main/native.c": """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", 0, -1, 0, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }
""",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("extension")
    clone = small_clone(folder)
    add_project(clone, "other")
    recipe = add_project(clone, "extension") / "project.toml"
    change_file(recipe, "[build]\n", f'[build]\ntarget-variable = "{NAME}"\n')
    change_file(recipe, "\n[tests]", FLAG)
    with (recipe.with_name("sources") / "main" / "tiny_project" / "__init__.py").open("a", encoding="utf-8") as stream:
        stream.write("HAS_SPARSE_ATTENTION = False\n")
    for name, text in NATIVE.items():
        path = clone / "external-builds" / "native" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Desk(clone=clone, work=folder / "work", cache=cache)


def test_a_project_s_own_variable_counts_for_it_alone(desk: Desk) -> None:
    there = desk.with_work("targets", **{NAME: "gfx90a;gfx942"})
    ran = there.nox("pipeline", "--projects", "extension,other", "--until", "build", "--json").well()
    assert f"extension is built for gfx90a, gfx942: environment {NAME}, read for this project alone" in ran.talk
    paths = {stage["project"]: Path(stage["receipt"]) for stage in ran.document["stages"] if stage["stage"] == "build"}
    receipts = {name: json.loads(path.read_bytes()) for name, path in paths.items()}
    assert receipts["extension"]["environment"][NAME] == "gfx90a,gfx942"
    assert receipts["extension"]["result"]["value"]["targets"] == ["gfx90a", "gfx942"]
    assert NAME not in receipts["other"]["environment"]
    assert receipts["other"]["result"]["value"]["targets"] == []
    # The same said in another way is no other build.
    assert there.nox("build_extension", "--gfx", "gfx90a,gfx942", "--json").well().states["build"] == "skipped"
    shown = there.invoke("show-config", "--json").well().document["options"]
    assert shown["--gfx of extension"] == {"value": "gfx90a, gfx942", "from": f"environment {NAME}"}


def test_no_targets_are_never_all_targets(desk: Desk) -> None:
    empty = desk.with_work("none", **{NAME: " ; "})
    error = empty.nox("build_extension", "--json").failed("bad-option-value")
    assert f"{NAME}, the GPU targets of extension, and it names none: none never means all" in error["message"]
    # Of another project's it says nothing.
    empty.nox("build_other", "--dry-run").well()
    error = desk.with_work("none").nox("build_extension", "--json").failed("bad-option-value")
    assert f"or {NAME}=gfx942,gfx1201 in the environment" in error["hint"]


def test_wheels_are_put_where_they_are_asked_for(desk: Desk) -> None:
    folder = desk.clone / "dist" / "rocm"
    ran = desk.nox("build_other", "--dist-dir", "dist/rocm", "--json").well()
    wheel = folder / ran.wheel.name
    assert ran.document["dist"] == [str(wheel)]
    assert wheel.read_bytes() == ran.wheel.read_bytes()
    shutil.rmtree(folder)
    again = desk.nox("build_other", "--dist-dir", "dist/rocm").well()
    assert f"put into: {wheel}" in again.out
    assert wheel.read_bytes() == ran.wheel.read_bytes()
    wheel.write_bytes(b"mine")
    error = desk.nox("pipeline", "--projects", "other", "--until", "build", "--dist-dir", folder, "--json").failed("name-taken")
    assert error["where"] == str(wheel)
    assert wheel.read_bytes() == b"mine"


def test_what_a_package_says_of_itself_is_in_the_verdict(desk: Desk) -> None:
    words = ("--gfx", "gfx90a", "--json")
    ran = desk.nox("test_extension", *words).well()
    flag = {"name": "tiny_project.HAS_SPARSE_ATTENTION", "value": False}
    assert ran.receipt("test")["result"]["value"]["flags"] == [flag]
    recipe = desk.clone / "external-builds" / "extension" / "project.toml"
    change_file(recipe, "value = false", "value = true")
    try:
        ran = desk.nox("test_extension", *words)
        error = ran.failed("flag-differs")
    finally:
        change_file(recipe, "value = true", "value = false")
    assert "tiny_project.HAS_SPARSE_ATTENTION is False and should be True" in error["message"]
    assert ran.states["build"] == "skipped"


@pytest.mark.skipif(not program_there("ccache"), reason="there is no ccache")
def test_what_is_developed_is_compiled_through_a_cache(desk: Desk) -> None:
    words = ("build_native", "--develop", "--compiler-cache", "ccache", "--json")
    (first,) = desk.nox(*words).well().document["develop"]
    assert first["cache"]["misses"] == {"C/C++": 1}
    tree = Path(first["tree"])
    # A person cleans the tree; what was compiled once is not compiled again.
    shutil.rmtree(tree / "build")
    (module,) = tree.glob("native.*.so")
    module.unlink()
    ran = desk.nox(*words).well()
    (again,) = ran.document["develop"]
    assert (again["cache"]["hits"], again["cache"]["misses"]) == ({"C/C++": 1}, {})
    assert again["installed"] is False
    subprocess.run([again["python"], "-I", "-c", "import native"], check=True)
    (without,) = desk.nox("build_native", "--develop", "--json").well().document["develop"]
    assert without["cache"] is None
