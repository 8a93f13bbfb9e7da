"""ROCm packages installed for real: found, loaded, tested, and taken away without a trace."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import find_uv
from tests.support.rocm_environments import RocmEnvironment, make_environment
from tests.support.rocm_sets import RocmSet, compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="no C compiler to make libraries with"),
    pytest.mark.skipif(sys.platform == "win32", reason="the set's programs are shell scripts"),
]


LOAD_BOTH = "import rocm_sdk; rocm_sdk.preload_libraries('rccl', 'rocblas')"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return RocmSet().write(tmp_path_factory.mktemp("rocm") / "dist")


@pytest.fixture(scope="module")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> RocmEnvironment:
    """One that no test changes."""
    return make_environment(tmp_path_factory.mktemp("environment"), dist)


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_what_is_installed_works_and_goes_without_a_trace(installer: str, dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm", installer=installer)
    before = {path.name for path in environment.site.iterdir() if "rocm" not in path.name}
    environment.install("rocm[libraries,devel,device]")
    assert environment.say("rocm-sdk", "path", "--root") == str(environment.tree)
    assert (environment.tree / "lib/librccl.so").resolve() == environment.tree / "lib/librccl.so.1"
    environment.uninstall("rocm-sdk-devel", "rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1201")
    left = [path for path in environment.tree.rglob("*") if not path.is_dir()] if environment.tree.exists() else []
    assert left == []
    environment.uninstall("rocm", "rocm-sdk-core", "rocm-sdk-libraries")
    after = {path for path in environment.site.rglob("*rocm*") if not path.is_dir() and path.suffix != ".pyc"}
    assert after == set()
    assert before <= {path.name for path in environment.site.iterdir()}


@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_tests_pass_on_each_python(version: str, dist: Path, tmp_path: Path) -> None:
    command = [str(find_uv()), "python", "find", "--no-config", "--offline", version]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    python = next((path for path in [found.stdout.strip(), *_from_pyenv(version)] if path), None)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    environment = make_environment(tmp_path, dist, python=python)
    status, document = environment.tested()
    assert status == 0, document
    assert document["python"].startswith(f"{version}.")
    suites = document["suites"]
    assert {name: suite["status"] for name, suite in suites.items()} == {
        "base": "passed",
        "core": "passed",
        "libraries": "passed",
        "devel": "passed",
        "profiler": "untested",
        "device": "passed",
    }
    # Each part of a test that could not be tested is told, with its reason.
    assert any("amd_smi" in left["test"] for left in suites["core"]["untested"])
    assert {left["reason"] for left in suites["profiler"]["untested"]} == {"this ROCm was made without a package profiler"}


def test_the_source_distribution_needs_nothing_and_makes_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    alone = tmp_path / "sdist"
    alone.mkdir()
    for path in dist.iterdir():
        if not path.name.startswith("rocm-7.10.0-"):
            (alone / path.name).symlink_to(path)
    environment = make_environment(tmp_path, alone, "rocm[libraries]", installer="pip")
    assert environment.say("rocm-sdk", "version") == "7.10.0"
    environment.pip("wheel", "--no-index", "--no-deps", "--find-links", str(alone), "--wheel-dir", str(tmp_path), "rocm")
    (made,) = tmp_path.glob("rocm-*.whl")
    assert made.read_bytes() == next(dist.glob("rocm-7.10.0-*.whl")).read_bytes()


def test_libraries_are_found_and_loaded(environment: RocmEnvironment) -> None:
    code = """
import rocm_sdk, ctypes
print(*rocm_sdk.find_libraries("rocblas", "hipblas", "amdhip64"), sep="\\n")
rocm_sdk.preload_libraries("rocblas", "amdhip64", "rocblas")
print(ctypes.CDLL("librocblas.so.4").here())
print(rocm_sdk.__version__)
"""
    done = environment.code(code, environment={"ROCM_SDK_VERBOSE": "1"})
    site = environment.site
    # This platform has no hipblas in the set: it is left out.
    found = [str(site / "_rocm_sdk_libraries/lib/librocblas.so.4"), str(site / "_rocm_sdk_core/lib/libamdhip64.so.7")]
    assert done.stdout.splitlines() == [*found, "42", "7.10.0"], done.stderr
    assert done.stderr.splitlines() == [f"rocm_sdk: load rocblas: {found[0]}", f"rocm_sdk: load amdhip64: {found[1]}"]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        ("find_libraries('rocfft')", "MissingPackageError", "no ROCm library is called rocfft; there are: amd_smi, amdhip64, "),
        ("find_libraries('amd_smi')", "MissingLibraryError", "this SDK was built without it"),
        (
            "initialize_process(check_version='7.9.*', fail_on_version_mismatch=True)",
            "RuntimeError",
            "was built for ROCm 7.9.*, ",
        ),
        (
            "initialize_process(check_version=__import__('re').compile('7.9'), fail_on_version_mismatch=True)",
            "RuntimeError",
            "was built for ROCm 7.9, and the installed one is 7.10.0",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call: str, error: str, said: str, environment: RocmEnvironment) -> None:
    done = environment.code(f"import rocm_sdk; rocm_sdk.{call}")
    assert done.returncode == 1
    assert error in done.stderr.splitlines()[-1]
    assert said in done.stderr


@pytest.mark.parametrize("version", ["'7.10.0'", "'7.*'", "'*'", "re.compile('7[.]10')"])
def test_a_fitting_version_is_quiet(version: str, environment: RocmEnvironment) -> None:
    done = environment.code(
        f"import re, rocm_sdk; rocm_sdk.initialize_process(preload_shortnames=['amdhip64'], check_version={version})"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_another_version_is_a_warning(environment: RocmEnvironment) -> None:
    done = environment.code("import re, rocm_sdk; rocm_sdk.initialize_process(check_version=re.compile('7.9'))")
    assert done.returncode == 0
    assert "RuntimeWarning: this program was built for ROCm 7.9, and the installed one is 7.10.0" in done.stderr


def test_the_environment_names_libraries_to_load(environment: RocmEnvironment) -> None:
    code = "import rocm_sdk; rocm_sdk.initialize_process({})"
    named = {"ROCM_SDK_PRELOAD_LIBRARIES": " amdhip64 ;rocblas,", "ROCM_SDK_VERBOSE": "1"}
    assert environment.code(code.format(""), environment=named).stderr.count("rocm_sdk: load ") == 2
    assert environment.code(code.format("env_override=False"), environment=named).stderr == ""
    wrong = environment.code(code.format(""), environment={"ROCM_SDK_PRELOAD_LIBRARIES": "rocblass"})
    assert "ROCM_SDK_PRELOAD_LIBRARIES is 'rocblass', and not all of it can be loaded: no ROCm library" in wrong.stderr


def test_no_other_rocm_misleads_the_compiler(environment: RocmEnvironment, tmp_path: Path) -> None:
    stray = {"ROCM_PATH": "/opt/rocm", "HIP_PATH": str(tmp_path), "HIP_CLANG_PATH": str(tmp_path), "HIP_PLATFORM": "amd"}
    tree = environment.tree
    wanted = f"hipcc at {tree}/bin/hipcc, ROCM_PATH={tree}, HIP_PATH={tree}, HIP_PLATFORM=amd, HIP_CLANG_PATH={tree}/"
    assert environment.say("hipcc", "--version", environment=stray) == f"{wanted}lib/llvm/bin"
    # A part of this SDK may be chosen.
    assert environment.say("hipcc", "--version", environment={"HIP_CLANG_PATH": str(tree / "bin")}) == f"{wanted}bin"


def test_a_tool_that_only_shows_waits_for_no_expansion(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist)
    assert environment.say("rocminfo") == f"rocminfo at {environment.site}/_rocm_sdk_core/bin/rocminfo"
    assert not environment.tree.exists()


def test_a_missing_package_is_named_with_the_line_that_installs_it(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm", installer="pip")
    for command in (
        ("python", "-I", "-c", "import rocm_sdk; rocm_sdk.find_libraries('rocblas', 'amdhip64')"),
        ("rocm-sdk", "path", "--root"),
    ):
        failed = environment.run(*command)
        assert failed.returncode == 1
        line = re.search(r"(pip install \"[^\"]+\")", failed.stderr)
        assert line is not None, failed.stderr
        environment.pip(*shlex.split(line[1])[1:], "--no-index", "--find-links", str(dist))
        environment.say(*command)


def test_a_package_of_another_build_of_the_version_is_told_and_mended(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, installer="pip")
    other = RocmSet(build="other").core(tmp_path / "other")
    environment.pip("install", "--no-index", "--no-deps", "--force-reinstall", str(other))
    failed = environment.code("import rocm_sdk; rocm_sdk.find_libraries('rocblas', 'amdhip64')")
    assert "MixedPackagesError" in failed.stderr
    assert "is of another build of 7.10.0 than rocm-sdk-core" in failed.stderr
    assert environment.tested()[0] == 1
    line = re.search(r"(pip install --force-reinstall --no-cache-dir \"[^\"]+\")", failed.stderr)
    assert line is not None
    assert '"rocm[devel,libraries,device-gfx1201,device-gfx942]==7.10.0"' in line[1]
    environment.pip(*shlex.split(line[1])[1:], "--no-index", "--find-links", str(dist))
    assert environment.tested()[0] == 0


def test_a_kept_wheel_of_another_build_is_told_and_mended(tmp_path: Path) -> None:
    """pip keeps the wheel that it made of a source distribution, and takes it for a rebuilt one of the same name too."""
    dist = tmp_path / "dist"

    def publish(build: str, *targets: str) -> None:
        shutil.rmtree(dist, ignore_errors=True)
        RocmSet(build=build, targets=targets).write(dist)
        next(dist.glob("rocm-7.10.0-*.whl")).unlink()

    publish("one", "gfx942", "gfx1201")
    environment = make_environment(tmp_path, dist, "rocm", installer="pip")
    environment.say("rocm-sdk", "version")
    environment.uninstall("rocm", "rocm-sdk-core")
    publish("two", "gfx942")
    environment.install("rocm")
    failed = environment.code("import rocm_sdk; rocm_sdk.find_libraries('amdhip64')")
    assert "MixedPackagesError" in failed.stderr, "pip keeps no wheel any more"
    assert "rocm-sdk-core in " in failed.stderr
    assert "is of another build of 7.10.0 than rocm, which an installer may have kept" in failed.stderr
    line = re.search(r"(pip install --force-reinstall --no-cache-dir \"[^\"]+\")", failed.stderr)
    assert line is not None
    environment.pip(*shlex.split(line[1])[1:], "--no-index", "--find-links", str(dist))
    assert environment.code("import rocm_sdk; rocm_sdk.find_libraries('amdhip64')").returncode == 0


def test_what_is_wrong_fails_and_what_was_not_tested_is_no_pass(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries,device]")
    site = environment.site
    (site / "_rocm_sdk_libraries/lib/rocblas/library/kernels_gfx942.kpack").unlink()
    broken = site / "_rocm_sdk_libraries/lib/librocblas.so.4"
    broken.unlink()  # an installer may share the file's bytes with its cache
    broken.write_bytes(b"no library")
    (environment.folder / "bin/hipcc").unlink()
    done = environment.run("rocm-sdk", "test")
    assert done.returncode == 1
    status, document = environment.tested()
    assert (status, document["status"]) == (1, "failed")
    failed = {(name, fault["test"].partition(" ")[0]) for name, suite in document["suites"].items() for fault in suite["failed"]}
    assert failed == {
        ("base", "test_all_files_are_there"),
        ("core", "test_scripts_start"),
        ("libraries", "test_libraries_are_found_and_load"),
        ("libraries", "test_shared_libraries_load"),
        ("device", "test_files_are_there"),
    }
    devel = document["suites"]["devel"]
    assert (devel["status"], devel["passed"]) == ("untested", 0)
    assert 'pip install "rocm[devel]==7.10.0"' in devel["untested"][0]["reason"]
    # People are told the same.
    assert "invalid ELF header" in done.stdout or "file too short" in done.stdout
    assert "ROCm 7.10.0: failed" in done.stdout
    # In words: no list or set as Python writes it, and not what was compared with what.
    reasons = [fault["reason"] for suite in document["suites"].values() for fault in suite["failed"]]
    assert "lib/rocblas/library/kernels_gfx942.kpack is gone" in reasons
    assert not [reason for reason in reasons if re.search(r"\[\]|\['|\{'|!= \S| == ", reason)]

    environment.uninstall("rocm-sdk-core")
    status, document = environment.tested()
    assert (status, document["suites"]["core"]["status"]) == (1, "failed")
    assert 'to install it: pip install "rocm==7.10.0"' in document["suites"]["core"]["failed"][0]["reason"]


def test_targets_are_named_and_none_is_guessed(environment: RocmEnvironment) -> None:
    assert environment.say("rocm-sdk", "targets") == "gfx942;gfx1201"
    if Path("/dev/kfd").exists():
        pytest.skip("this machine may have a GPU")
    done = environment.run("rocm-sdk", "targets", "--detect")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: no AMD GPU is found here; this ROCm has device code for gfx942, gfx1201\n"


def test_what_of_the_set_is_installed_is_told(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries]")
    done = environment.run("rocm-sdk", "targets")
    assert (done.returncode, done.stdout) == (0, "gfx942;gfx1201\n")
    assert "none is installed here" in done.stderr
    assert 'pip install "rocm[libraries,device-gfx942]==7.10.0"' in done.stderr
    none = environment.run("rocm-sdk", "targets", "--installed")
    assert (none.returncode, none.stdout) == (1, "")
    assert 'pip install "rocm[libraries,device]==7.10.0"' in none.stderr
    environment.install("rocm[device-gfx1201]")
    done = environment.run("rocm-sdk", "targets")
    assert done.stdout == "gfx942;gfx1201\n"
    assert "that of gfx1201 is installed here; to install that of gfx942" in done.stderr
    assert environment.say("rocm-sdk", "targets", "--installed") == "gfx1201"
    environment.install("rocm[device]")
    assert environment.run("rocm-sdk", "targets").stderr == ""


def test_a_library_that_not_every_rocm_has(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries]")
    assert environment.code("import rocm_sdk; rocm_sdk.preload_libraries('rccl')").returncode == 0
    (environment.site / "_rocm_sdk_libraries/lib/librccl.so.1").unlink()
    assert "MissingLibraryError" in environment.code("import rocm_sdk; rocm_sdk.find_libraries('rccl')").stderr
    passed_by = environment.code("import rocm_sdk; rocm_sdk.initialize_process(preload_shortnames=['rccl', 'rocblas'])")
    assert passed_by.returncode == 0, "what not every ROCm has keeps no process from starting"
    environment.uninstall("rocm-sdk-libraries")
    failed = environment.code(LOAD_BOTH).stderr
    assert "not installed here: rocm-sdk-libraries" in failed
    assert 'pip install "rocm[libraries]==7.10.0"' in failed


def test_a_device_package_takes_nothing_from_another_when_it_goes(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries,device]")
    environment.uninstall("rocm-sdk-device-gfx942")
    assert environment.code(LOAD_BOTH).returncode == 0
    assert environment.tested()[0] == 0


def test_the_cause_of_many_failures_is_told_once(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries,devel]")
    mixed = environment.site / "_rocm_sdk_libraries/_set.json"
    stated = json.loads(mixed.read_bytes()) | {"set_id": "b" * 64}
    mixed.unlink()  # an installer may share the file's bytes with its cache
    mixed.write_text(json.dumps(stated))
    done = environment.run("rocm-sdk", "test")
    assert done.returncode == 1
    assert done.stdout.count("is of another build of 7.10.0") == 1
    assert "more: for the reason told at base" in done.stdout
    status, document = environment.tested()
    assert status == 1
    assert sum("another build" in part["reason"] for suite in document["suites"].values() for part in suite["failed"]) > 3


def _from_pyenv(version: str) -> list[str]:
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return [str(path) for path in sorted(folder.glob(f"{version}.*/bin/python"))]
