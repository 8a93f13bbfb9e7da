"""``hip_check`` on environments with a torch that is one for HIP, for CUDA, without devices, broken, or not there."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.hip_check import hip_check
from tests.support.extensions import extension_desk, stub_torch

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="environments by links")


def desk(folder: Path, torch: str | None, setup: str | None = None, **settings: Any) -> Workplace:  # noqa: ANN401 - as the options are
    if setup is not None:
        settings = {"projects": ("ext",), "dir": {"ext": folder / "tree"}, **settings}
    tree = {} if setup is None else {"setup.py": setup}
    return extension_desk(folder, tree, torch=torch, **{"paths": (folder / "venv",), **settings})


def failed(place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        hip_check(place)
    return caught.value


def test_a_torch_with_devices_says_what_they_are(tmp_path: Path) -> None:
    document = hip_check(desk(tmp_path, stub_torch()))
    assert document["torch"]["available"] is True
    assert document["torch"]["hip"] == "7.0.51831"
    assert [device["name"] for device in document["torch"]["devices"]] == ["card 0", "card 1"]
    assert (document["targets"], document["targets_from"]) == (["gfx942"], "torch")
    assert document["offload_arch"] == ["--offload-arch=gfx942"]


def test_devices_that_are_hidden_from_a_person_are_hidden_from_torch(tmp_path: Path) -> None:
    place = desk(tmp_path, stub_torch())
    document = hip_check(replace(place, machine={"HIP_VISIBLE_DEVICES": "1"}))
    assert [device["name"] for device in document["torch"]["devices"]] == ["card 1"]


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        (None, "torch cannot be imported: ModuleNotFoundError"),
        (stub_torch(hip=None, cuda="12.8", available="True"), "built for CUDA 12.8, not for HIP"),
        (stub_torch(hip=None, cuda=None, available="False"), "built for processors alone, not for HIP"),
        ("raise ImportError('libamdhip64.so.7: cannot open shared object file')", "libamdhip64.so.7: cannot open"),
        ("import os; os.abort()", "ended by the signal SIGABRT"),
        ("import os; os._exit(0)", "ended with status 0"),
        (stub_torch(hip="7.0", cuda=None, available="1 / 0"), "cannot use its devices: ZeroDivisionError"),
        (stub_torch(hip="7.0", cuda=None, available="False"), "sees no device"),
    ],
)
def test_why_hip_cannot_be_used_is_told_with_a_way_out(tmp_path: Path, torch: str | None, words: str) -> None:
    error = failed(desk(tmp_path, torch))
    assert error.code.name == "hip-unavailable"
    assert words in error.message
    assert error.hint
    assert error.document is not None
    assert error.document["environment"] == str(tmp_path / "venv")


def test_a_project_finds_its_targets_its_own_way(tmp_path: Path) -> None:
    setup = "import sys\ndef detect_hip_arches():\n    return ['gfx90a', 'gfx1100', 'gfx90a']\nif __name__ == '__main__':\n    sys.exit('built')"
    document = hip_check(desk(tmp_path, stub_torch(), setup))
    assert (document["targets"], document["targets_from"]) == (["gfx90a", "gfx1100"], "setup.detect_hip_arches")
    assert document["offload_arch"] == ["--offload-arch=gfx90a", "--offload-arch=gfx1100"]


def test_a_text_of_names_is_a_list_too(tmp_path: Path) -> None:
    document = hip_check(desk(tmp_path, stub_torch(), "def detect_hip_arches(): return 'gfx90a;gfx942, gfx1100'"))
    assert document["targets"] == ["gfx90a", "gfx942", "gfx1100"]


def test_the_project_s_own_variable_comes_first(tmp_path: Path) -> None:
    place = desk(tmp_path, stub_torch(), "def detect_hip_arches(): raise SystemError", own_gfx={"ext": ("gfx90a", "gfx942")})
    document = hip_check(place)
    assert (document["targets"], document["targets_from"]) == (["gfx90a", "gfx942"], "EXT_HIP_ARCHES")
    assert document["offload_arch"] == ["--offload-arch=gfx90a", "--offload-arch=gfx942"]


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("def detect_hip_arches(): return []", "it returned an empty list"),
        ("def detect_hip_arches(): return ''", "it returned an empty list"),
        ("def detect_hip_arches(): return None", "it returned None, and a list of names is wanted"),
        ("def detect_hip_arches(): raise RuntimeError('no rocminfo')", "RuntimeError: no rocminfo"),
        ("raise SystemExit('error: no commands supplied')", "SystemExit: error: no commands supplied"),
        ("import os; os.abort()", "ended by the signal SIGABRT"),
        ("x = 1", "AttributeError"),
    ],
)
def test_no_targets_are_an_error_with_the_reason(tmp_path: Path, setup: str, words: str) -> None:
    error = failed(desk(tmp_path, stub_torch(), setup))
    assert error.hint == 'name them: --gfx gfx942, or EXT_HIP_ARCHES="gfx90a,gfx942"'
    assert error.code.name == "no-gpu-targets"
    assert words in error.message
    assert error.document is not None
    assert error.document["targets"] == []


def test_a_name_that_is_no_target_is_refused(tmp_path: Path) -> None:
    error = failed(desk(tmp_path, stub_torch(), "def detect_hip_arches(): return ['sm_90']"))
    assert error.code.name == "bad-option-value"
    assert "sm_90" in error.message


def test_a_tree_that_is_not_there_is_told_with_the_command_that_brings_it(tmp_path: Path) -> None:
    error = failed(desk(tmp_path, stub_torch(), projects=("ext",)))
    assert error.code.name == "stage-missing"
    assert "checkout_ext" in (error.hint or "")


def test_an_environment_has_to_be_named(tmp_path: Path) -> None:
    assert failed(desk(tmp_path, stub_torch(), paths=())).code.name == "bad-option-value"
