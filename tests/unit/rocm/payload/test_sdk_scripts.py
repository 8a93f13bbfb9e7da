"""The console scripts: each finds its program, and no other ROCm of the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.rocm_packages import package_table
from build_tools.rocm.packages.payload import entry_points
from build_tools.rocm.payload.rocm_sdk_core._run import function_name, own_environment, program_in, script_function


def test_each_script_of_the_table_has_a_function_of_its_own() -> None:
    names = [script.name for script in package_table().script]
    lines = entry_points("core", names).decode().splitlines()
    assert lines[0] == "[console_scripts]"
    assert "amdclang++ = rocm_sdk_core._cli:amdclang_plus_plus" in lines
    assert "hipify-clang = rocm_sdk_core._cli:hipify_clang" in lines
    functions = [line.rpartition(":")[2] for line in lines[1:]]
    assert len(set(functions)) == len(functions) == len(names)
    assert all(function.isidentifier() for function in functions)


def test_two_scripts_cannot_share_a_function() -> None:
    with pytest.raises(ValueError, match="the scripts a-b need a function that others have"):
        entry_points("core", ["a_b", "a-b"])


def test_a_function_is_found_by_its_name(tmp_path: Path) -> None:
    table = tmp_path / "scripts.json"
    table.write_text(json.dumps({"amdclang++": {"file": "lib/llvm/bin/amdclang++", "expand": True}}), encoding="utf-8")
    assert callable(script_function(table, "_rocm_sdk_core", function_name("amdclang++")))
    with pytest.raises(AttributeError, match=r"no script of .* has the function amdclang"):
        script_function(table, "_rocm_sdk_core", "amdclang")


@pytest.mark.parametrize("suffix", ["", ".exe", ".bat"])
def test_a_program_is_found_with_its_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"bin/hipcc{suffix}"
    path.parent.mkdir()
    path.touch()
    assert program_in(tmp_path, "bin/hipcc") == path
    assert program_in(tmp_path, "bin/hipconfig") is None


PLACES = st.sampled_from(["/opt/rocm", "/opt/rocm/lib", "/sdk", "/sdk/lib/llvm/bin", "/sdk-other", "", "relative"])
ROOTS = ("ROCM_PATH", "HIP_PATH", "ROCM_HOME", "HSA_PATH")
PARTS = ("HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "HIP_LIB_PATH")


@given(st.dictionaries(st.sampled_from([*ROOTS, *PARTS, "PATH", "HOME"]), PLACES))
def test_the_environment_leads_to_this_sdk_alone(environment: dict[str, str]) -> None:
    root = Path("/sdk")
    own = own_environment(environment, root)
    assert own["ROCM_PATH"] == own["HIP_PATH"] == str(root)
    assert own["HIP_PLATFORM"] == "amd"
    assert {own[name] for name in ROOTS if name in own} == {str(root)}
    assert all(own[name].startswith("/sdk") and not own[name].startswith("/sdk-") for name in PARTS if name in own)
    assert all(own.get(name) == environment.get(name) for name in ("PATH", "HOME"))
    assert all(name in own for name in PARTS if environment.get(name) == "/sdk/lib/llvm/bin")
