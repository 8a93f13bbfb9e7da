"""The rules about Windows binaries, on libraries that a cross linker made, and on ones that are written where it makes none."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.demands import Demands
from build_tools.checks.run import check_wheels
from build_tools.config.wheel_demands import Check
from build_tools.types import GfxTarget, Platform
from build_tools.wheels.pe import read_pe
from tests.support.hip_objects import bundle, section
from tests.support.pe_files import link_library, pe_bytes
from tests.support.wheels_of_binaries import binary_wheel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.check import Finding

_TAG = "cp313-cp313-win_amd64"
_MODULE = "demo/_C.cp313-win_amd64.pyd"
_OURS = {"binaries", "needed-libraries", "run-paths", "symbol-versions", "pe-imports", "device-code", "rocm-major", "binary-tags"}


def _findings(wheel: Path, demands: Demands | None = None) -> list[tuple[str, str, str]]:
    report = check_wheels([wheel], expectations=None, say=lambda _: None, demands={wheel.name: demands} if demands else None)
    found: list[Finding] = [each for each in report.findings if each.severity != "note" and each.rule in _OURS]
    return [(each.rule, each.severity, each.message) for each in found]


def _demands(
    *, check: Check | None = None, libraries: Sequence[str] | None = (), preloads: Sequence[str] = (), gfx: str = ""
) -> Demands:
    return Demands(
        platform=Platform.WINDOWS,
        check=check or Check(),
        libraries=None if libraries is None else frozenset(libraries),
        preloads=tuple(preloads),
        targets=(GfxTarget(gfx),) if gfx else (),
    )


def test_a_linkers_library_is_read_as_it_was_linked(tmp_path: Path) -> None:
    data = link_library(tmp_path, "a.dll", {"KERNEL32.dll": ["Sleep"], "amdhip64_7.dll": ["hipMalloc", "hipFree"]})
    pe = read_pe(io.BytesIO(data), name="a.dll")
    assert pe is not None
    assert (sorted(pe.imports), pe.delay_imports) == (["KERNEL32.dll", "amdhip64_7.dll"], ())
    assert (pe.machine, pe.is_library) == ("amd64", True)


def test_the_closure_of_what_is_linked_is_judged(tmp_path: Path) -> None:
    module = link_library(tmp_path, "_C.pyd", {"KERNEL32.dll": ["Sleep"], "c10.dll": ["call"], "python313.dll": ["PyInit"]})
    library = link_library(tmp_path, "c10.dll", {"libomp140.x86_64.dll": ["omp"]})
    wheel = binary_wheel({_MODULE: module, "demo/lib/c10.dll": library}, tag=_TAG).write(tmp_path)
    ((rule, severity, message),) = _findings(wheel, _demands())
    assert (rule, severity) == ("pe-imports", "error")
    assert "libomp140.x86_64.dll" in message
    shipped = {_MODULE: module, "demo/lib/c10.dll": library, "demo/lib/libomp140.x86_64.dll": pe_bytes()}
    assert _findings(binary_wheel(shipped, tag=_TAG).write(tmp_path / "whole"), _demands()) == []


def _imports(folder: Path, *names: str, delayed: Sequence[str] = (), tag: str = _TAG) -> Path:
    return binary_wheel({"demo/a.dll": pe_bytes(names, delayed=delayed)}, tag=tag).write(folder)


def test_parts_of_windows_and_of_its_python_are_there(tmp_path: Path) -> None:
    names = ("kernel32.DLL", "api-ms-win-crt-runtime-l1-1-0.dll", "VCRUNTIME140_1.dll", "python313.dll", "A.DLL")
    assert _findings(_imports(tmp_path, *names), _demands()) == []


@pytest.mark.parametrize("name", ["MSVCP140.dll", "vcomp140.dll"])
def test_what_only_the_redistributable_package_brings_is_a_warning(tmp_path: Path, name: str) -> None:
    wheel = _imports(tmp_path, name)
    assert [each[:2] for each in _findings(wheel, _demands())] == [("pe-imports", "warning")]
    assert _findings(wheel, _demands(check=Check(system_libraries=("msvcp140*.dll", "VCOMP140.dll")))) == []


@pytest.mark.parametrize("name", ["ucrtbased.dll", "vcruntime140d.dll", "uv.dll"])
def test_debug_libraries_and_others_are_errors(tmp_path: Path, name: str) -> None:
    assert [each[:2] for each in _findings(_imports(tmp_path, name), _demands())] == [("pe-imports", "error")]


def test_what_is_loaded_late_and_missing_is_a_warning(tmp_path: Path) -> None:
    assert [each[:2] for each in _findings(_imports(tmp_path, delayed=["nvml.dll"]), _demands())] == [("pe-imports", "warning")]


def test_a_library_of_a_required_package_has_to_be_loaded_before(tmp_path: Path) -> None:
    wheel = _imports(tmp_path, "amdhip64_7.dll")
    there = _demands(libraries=["amdhip64_7.dll"])
    assert _findings(wheel, there) == []
    assert _findings(wheel, _demands(libraries=["amdhip64_7.dll"], preloads=["amdhip64"])) == []
    compiler = _imports(tmp_path / "other", "hiprtc0714.dll", "MIOpen.dll")
    assert _findings(compiler, _demands(libraries=["hiprtc0714.dll", "MIOpen.dll"], preloads=["hiprtc", "miopen"])) == []
    other = _findings(wheel, _demands(libraries=["amdhip64_7.dll"], preloads=["rocblas"]))
    assert [each[:2] for each in other] == [("pe-imports", "warning")]


@pytest.mark.parametrize(
    ("tag", "name", "wrong"),
    [
        ("cp313-cp313-win_amd64", "python313.dll", False),
        ("cp313-cp313t-win_amd64", "python313t.dll", False),
        ("cp313-cp313-win_amd64", "python3.dll", False),
        ("cp313-cp313-win_amd64", "python312.dll", True),
        ("cp313-cp313-win_amd64", "python313t.dll", True),
        ("cp313-cp313t-win_amd64", "python313.dll", True),
        ("cp313-cp313-win_arm64", "python313.dll", True),
    ],
)
def test_the_python_and_the_processor_inside_are_those_of_the_tags(tmp_path: Path, tag: str, name: str, wrong: bool) -> None:  # noqa: FBT001
    found = _findings(_imports(tmp_path, name, tag=tag), _demands())
    assert [each[:2] for each in found] == ([("binary-tags", "error")] if wrong else [])


def test_gpu_code_of_windows_libraries_is_judged_too(tmp_path: Path) -> None:
    code = section(bundle(["gfx1201"]))
    wheel = binary_wheel({"demo/a.dll": pe_bytes(code=code)}, tag=_TAG).write(tmp_path)
    assert _findings(wheel, _demands(gfx="gfx1201")) == []
    assert [each[:2] for each in _findings(wheel, _demands(gfx="gfx1151"))] == [("device-code", "error")] * 2


def test_the_hip_runtime_of_windows_tells_its_rocm(tmp_path: Path) -> None:
    wheel = binary_wheel({"demo/a.dll": pe_bytes(["amdhip64_6.dll"])}, tag=_TAG, version="1.0+rocm7.1").write(tmp_path)
    assert [each[:2] for each in _findings(wheel, _demands(libraries=["amdhip64_6.dll"]))] == [("rocm-major", "error")]
