"""The environment of a build: shown as a script that a shell sources, closed to the machine, and one to develop in."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

ITS_OWN = {"HOME", "TMPDIR", "CFLAGS", "CXXFLAGS", "GIT_CEILING_DIRECTORIES"}
"""What names the folders of one build."""

OF_BASH = {"PWD", "OLDPWD", "SHLVL", "_"}


def hostile_machine(folder: Path) -> dict[str, str]:
    """Return what a machine with a ROCm of its own has, and its compiler first on the search path."""
    stray = folder / "AMD ROCm" / "bin"
    stray.mkdir(parents=True)
    (stray / "hipcc").write_text("#!/bin/sh\necho 'this is the wrong hipcc' >&2\nexit 1\n")
    (stray / "hipcc").chmod(0o755)
    return {
        "PATH": f"{stray}:{sys.exec_prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        **dict.fromkeys(("HIP_PATH", "ROCM_PATH", "ROCM_HOME", "HIP_CLANG_PATH"), str(stray.parent)),
        "CC": "false",
        "CXX": "false",
        "CFLAGS": "-no-such-flag",
        "PYTHONPATH": str(folder),
        "HIP_PLATFORM": "nvidia",
        "SAMPLE_BUILD_VERSION": "9.9",
        "USE_ROCM": "0",
        "MAKEFLAGS": "-j99",
    }


@dataclass(frozen=True, kw_only=True)
class Built:
    """A desk of a machine with another ROCm, where the sample was built."""

    desk: Desk
    ran: Ran


@pytest.fixture(scope="module")
def built(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Built:
    there = desk.with_work("hostile", **hostile_machine(tmp_path_factory.mktemp("machine")))
    return Built(desk=there, ran=there.nox("build_sample", "--json", "--build-env", "ODD=it's $ODD").well())


def test_the_sdk_s_compiler_builds_and_is_named(built: Built) -> None:
    receipt = built.ran.receipt("build")
    environment = receipt["environment"]
    assert receipt["tools"]["HIP compiler"].startswith(str(built.desk.work / "envs"))
    assert f"HIP compiler: {receipt['tools']['HIP compiler']}" in built.ran.talk
    assert environment["ROCM_PATH"] == environment["ROCM_HOME"]
    assert environment["ROCM_PATH"].startswith(str(built.desk.work / "envs"))
    assert not {"HIP_PATH", "HIP_CLANG_PATH", "CC", "PYTHONPATH", "HIP_PLATFORM", "MAKEFLAGS"} & environment.keys()
    assert environment["ODD"] == "it's $ODD"
    assert "set by --build-env: ODD" in built.ran.talk


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_gets_the_recorded_environment(built: Built, tmp_path: Path) -> None:
    shown = built.desk.invoke("show-config", "--stage", "build", "--build-env", "ODD=it's $ODD").well()
    script = tmp_path / "build env.sh"
    script.write_text(shown.out, encoding="utf-8")
    machine = {**built.desk.environment, "EVIL": "1\n2"}
    words = ["bash", "--noprofile", "--norc", "-c", '. "$1" && exec /usr/bin/env -0', "bash", str(script)]
    done = subprocess.run(words, env=machine, capture_output=True, check=True)
    pairs = (entry.decode().partition("=") for entry in done.stdout.split(b"\0") if entry)
    found = {name: value for name, _, value in pairs if name not in OF_BASH}
    recorded = built.ran.receipt("build")["environment"]
    assert found.keys() == recorded.keys()
    assert {name: found[name] for name in found.keys() - ITS_OWN} == {name: recorded[name] for name in recorded.keys() - ITS_OWN}


def test_the_same_can_be_had_for_windows_and_as_data(built: Built) -> None:
    ran = built.desk.invoke("show-config", "--stage", "build", "--platform", "windows", "--gfx", "gfx1201", "--json").well()
    document = ran.document
    assert document["environment"]["SAMPLE_ROCM_ARCH"] == "gfx1201"
    assert "$env:SAMPLE_ROCM_ARCH = 'gfx1201'" in document["script"]
    assert document["version"] == "1.0.0+rocm7.10.0"


def test_what_is_missing_is_told_with_the_line_that_brings_it(built: Built) -> None:
    there = built.desk.with_work("nothing")
    ran = there.invoke("show-config", "--stage", "build")
    assert "error[stage-missing]: sample is not locked" in ran.talk
    assert "-s pipeline -- --projects sample --until provision --work-dir" in ran.talk


def test_the_script_speaks_of_the_sources_as_they_stand(built: Built) -> None:
    source = built.desk.work / "src" / "sample" / "hipwright_sample" / "functions.py"
    pristine = source.read_bytes()
    source.write_bytes(pristine + b"# mine\n")
    try:
        ran = built.desk.invoke("show-config", "--stage", "build", "--bundle-rocm", "--json").well()
    finally:
        source.write_bytes(pristine)
    assert re.fullmatch(r"1\.0\.0\+bundled\.rocm7\.10\.0\.local[0-9a-f]{8}", ran.document["version"])
    assert int(ran.document["environment"]["MAX_JOBS"]) > 0


def test_a_tree_is_developed_in_place_and_only_installed_once(built: Built) -> None:
    first = built.desk.nox("build_sample", "--develop", "--json").well().document["develop"][0]
    tree = built.desk.work / "src" / "sample"
    assert first["tree"] == str(tree)
    code = "import hipwright_sample as h; print(h.__file__, h.__version__)"
    told = subprocess.run([first["python"], "-I", "-c", code], capture_output=True, check=True, text=True, cwd="/").stdout.split()
    assert told[0] == str(tree / "hipwright_sample" / "__init__.py")
    # It may be edited at any time, and no build of clean sources has this version.
    assert re.fullmatch(r"1\.0\.0\+rocm7\.10\.0\.local[0-9a-f]{8}", told[1])
    assert first["version"] == told[1]
    again = built.desk.nox("build_sample", "--develop", "--json").well()
    assert (first["installed"], again.document["develop"][0]["installed"]) == (True, False)
    # Nothing that the build has made counts as a person's own.
    assert "has changes of yours" not in again.talk
    assert "build" not in again.states
    assert first["version"] == again.document["develop"][0]["version"]
    for line in first["tests"]:
        subprocess.run(shlex.split(line), check=True, capture_output=True)


def test_a_wheel_is_asked_for_elsewhere(built: Built) -> None:
    built.desk.nox("build_sample", "--develop", "--bundle-rocm", "--json").failed("option-conflict")
