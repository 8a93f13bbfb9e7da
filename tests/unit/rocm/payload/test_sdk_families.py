"""Which package a process uses where libraries are made for a GPU family each, and what is said when that cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.rocm.payload.rocm_sdk import _cli, _packages
from build_tools.rocm.payload.rocm_sdk._dist_info import Description, Package, platform_key
from build_tools.rocm.payload.rocm_sdk._errors import MissingPackageError, SdkError

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = {"gfx94X-dcgpu": ("gfx942",), "gfx120X-all": ("gfx1200", "gfx1201")}
LIBRARIES = tuple(
    Package(f"rocm-sdk-libraries-{family.lower()}", f"_rocm_sdk_libraries_{family.lower().replace('-', '_')}", family)
    for family in FAMILIES
)
SET = Description(
    version="7.10.0",
    form="family",
    targets={"linux": ("gfx942", "gfx1200", "gfx1201"), "windows": ("gfx1200", "gfx1201")},
    families=FAMILIES,
    packages={"core": (Package("rocm-sdk-core", "_rocm_sdk_core", None),), "libraries": LIBRARIES},
    libraries={},
)


@pytest.fixture(autouse=True)
def _set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_packages, "description", lambda: SET)
    monkeypatch.setattr(_cli, "description", lambda: SET)
    monkeypatch.setattr(_packages, "find_module", lambda _module: None)
    monkeypatch.setattr(_packages, "detect_targets", lambda _core, **_: ())
    monkeypatch.setattr(_cli, "detected", lambda: ())
    monkeypatch.chdir(tmp_path)


def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *families: str) -> None:
    modules = {package.module[1:] for package in LIBRARIES if package.family in families}
    monkeypatch.setattr(_packages, "find_module", lambda module: tmp_path if module in modules else None)


@pytest.mark.parametrize("spelled", ["gfx120X-all", "GFX120x-ALL"])
def test_the_environment_names_the_family(spelled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_SDK_TARGET_FAMILY", spelled)
    assert _packages.chosen_package("libraries") is LIBRARIES[1]


def test_a_family_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_SDK_TARGET_FAMILY", "gfx94X")
    with pytest.raises(SdkError, match=r"ROCM_SDK_TARGET_FAMILY is gfx94X, and ROCm 7\.10\.0 has gfx120X-all, gfx94X-dcgpu"):
        _packages.chosen_package("libraries")


def test_the_one_that_is_installed_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, "gfx94X-dcgpu")
    assert _packages.chosen_package("libraries") is LIBRARIES[0]


def test_of_several_the_one_for_the_gpu_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, *FAMILIES)
    monkeypatch.setattr(_packages, "detect_targets", lambda _core, **_: ("gfx1201",))
    assert _packages.chosen_package("libraries") is LIBRARIES[1]


def test_a_gpu_that_is_hidden_still_says_whose_package_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, *FAMILIES)
    monkeypatch.setattr(_packages, "detect_targets", lambda _core, settings=None: () if settings is None else ("gfx1201",))
    assert _packages.seen() == ()
    assert _packages.chosen_package("libraries") is LIBRARIES[1]


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ((), "no GPU is found here"),
        (("gfx1201", "gfx942"), "the GPUs here are gfx1201, gfx942"),
        (("gfx906",), "here are gfx906"),
    ],
)
def test_of_several_none_is_guessed(gpus: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, *FAMILIES)
    monkeypatch.setattr(_packages, "detect_targets", lambda _core, **_: gpus)
    with pytest.raises(SdkError, match=said) as error:
        _packages.chosen_package("libraries")
    assert "libraries is installed for gfx120X-all, gfx94X-dcgpu" in str(error.value)
    assert "ROCM_SDK_TARGET_FAMILY" in str(error.value)


def test_none_installed_names_the_line_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingPackageError) as error:
        _packages.chosen_package("libraries")
    assert 'pip install "rocm[libraries-gfx94x-dcgpu]==7.10.0"' in str(error.value)
    assert 'pip install "rocm[libraries-gfx120x-all]==7.10.0"' in str(error.value)
    monkeypatch.setattr(_packages, "detect_targets", lambda _core, **_: ("gfx942",))
    assert _packages.chosen_package("libraries") is LIBRARIES[0]


def test_what_the_set_lacks_is_said() -> None:
    with pytest.raises(MissingPackageError, match=r"ROCm 7\.10\.0 was made without a package profiler"):
        _packages.chosen_package("profiler")


@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        (("gfx1201",), 0, 'to install it: pip install "rocm[libraries-gfx120x-all]==7.10.0"'),
        (("gfx906",), 1, "error: this ROCm has no device code for gfx906, which is here; it has: "),
        ((), 1, "error: no AMD GPU is found here; this ROCm has device code for "),
    ],
)
def test_detect_names_the_requirement(
    found: tuple[str, ...], status: int, said: str, *, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_cli, "detected", lambda: found)
    assert _cli.main(["targets", "--detect"]) == status
    out, err = capsys.readouterr()
    assert out == ("" if status else "gfx1201\nrocm[libraries-gfx120x-all]==7.10.0\n")
    assert err.startswith(said)


@pytest.mark.parametrize(("platform", "key"), [("linux", "linux"), ("win32", "windows")])
def test_platforms_have_their_names(platform: str, key: str) -> None:
    assert platform_key(platform) == key
