"""What tells one build from another where packages are installed: the core package's set id, and which ``rocm`` belongs to it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from build_tools.receipts.record import to_json
from build_tools.rocm.description import DescribedLibrary, DescribedPackage, SdkDescription
from build_tools.rocm.payload.rocm_sdk import _dist_info, _libraries, _packages
from build_tools.rocm.payload.rocm_sdk._errors import MissingLibraryError, MissingPackageError, MixedPackagesError
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DESCRIPTION = to_json(
    SdkDescription(
        version="7.10.0",
        form="device",
        targets={Platform.LINUX: (GfxTarget("gfx942"),), Platform.WINDOWS: (GfxTarget("gfx1151"),)},
        families={},
        packages={
            "core": (DescribedPackage(distribution="rocm-sdk-core", module="_rocm_sdk_core"),),
            "libraries": (DescribedPackage(distribution="rocm-sdk-libraries", module="_rocm_sdk_libraries"),),
            "profiler": (
                DescribedPackage(distribution="rocm-profiler", module="_rocm_profiler", platforms=(Platform.LINUX,)),
                DescribedPackage(distribution="profiler-of-windows", module="_of_windows", platforms=(Platform.WINDOWS,)),
            ),
        },
        libraries={
            "rocblas": DescribedLibrary(package="libraries", patterns=dict.fromkeys(Platform, "lib/*rocblas*")),
            "hipfft": DescribedLibrary(package="libraries", patterns=dict.fromkeys(Platform, "lib/*hipfft*")),
        },
    )
)
ROCM = hashlib.sha256(DESCRIPTION).hexdigest()


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Packages in one folder, found as an interpreter would find them."""
    caches = (_dist_info.description, _dist_info.description_digest, _packages.set_id)
    monkeypatch.setattr(_dist_info, "_data", lambda: DESCRIPTION)
    monkeypatch.setattr(_packages, "_proven", {})
    for module in (_packages, _libraries):
        monkeypatch.setattr(module, "find_module", lambda name: tmp_path / name if (tmp_path / name).is_dir() else None)
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()


def install(site: Path, name: str, **stated: object) -> None:
    (site / name / "lib").mkdir(parents=True)
    (site / name / "_set.json").write_text(json.dumps({"version": "7.10.0", **stated}))


def test_the_core_package_says_which_set_it_is_and_which_rocm_belongs_to_it(site: Path) -> None:
    install(site, "_rocm_sdk_core", set_id="a" * 64, rocm=ROCM)
    install(site, "_rocm_sdk_libraries", set_id="a" * 64)
    assert _packages.set_id() == "a" * 64
    (libraries,) = _dist_info.description().packages["libraries"]
    assert _packages.folder_of("libraries", libraries) == site / "_rocm_sdk_libraries"


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (
            {"set_id": "a" * 64, "rocm": "0" * 64},
            r"rocm-sdk-core .* is of another build of 7\.10\.0 than rocm, which an installer",
        ),
        ({"set_id": "a" * 64}, "is of another build"),
        ({"set_id": "a" * 64, "rocm": "0" * 64, "version": "7.9.0"}, r"is of version 7\.9\.0, and rocm is of 7\.10\.0"),
    ],
)
def test_a_rocm_of_another_build_is_told(site: Path, stated: dict[str, str], said: str) -> None:
    install(site, "_rocm_sdk_core", **stated)
    with pytest.raises(MixedPackagesError, match=said) as caught:
        _packages.set_id()
    assert "pip install --force-reinstall --no-cache-dir" in str(caught.value)


@pytest.mark.parametrize("text", ["no JSON", "[]", ""])
def test_a_core_package_that_says_nothing_is_told(site: Path, text: str) -> None:
    install(site, "_rocm_sdk_core")
    (site / "_rocm_sdk_core" / "_set.json").write_text(text)
    with pytest.raises(MixedPackagesError, match="does not say which build"):
        _packages.set_id()


def test_a_core_package_that_is_not_there_is_missing_and_may_come(site: Path) -> None:
    with pytest.raises(MissingPackageError, match="rocm-sdk-core is not installed"):
        _packages.set_id()
    install(site, "_rocm_sdk_core", set_id="b" * 64, rocm=ROCM)
    assert _packages.set_id() == "b" * 64


def test_packages_of_two_builds_are_told_apart(site: Path) -> None:
    install(site, "_rocm_sdk_core", set_id="a" * 64, rocm=ROCM)
    install(site, "_rocm_sdk_libraries", set_id="b" * 64)
    with pytest.raises(
        MixedPackagesError, match=r"rocm-sdk-libraries .* is of another build of 7\.10\.0 than rocm-sdk-core: b{12}, not a{12}"
    ):
        _libraries.find_libraries("rocblas")


def test_a_library_that_the_package_was_made_without_is_no_damage(site: Path) -> None:
    install(site, "_rocm_sdk_core", set_id="a" * 64, rocm=ROCM)
    install(site, "_rocm_sdk_libraries", set_id="a" * 64, without=["rocblas"])
    assert (_libraries.may_lack("rocblas"), _libraries.may_lack("hipfft")) == (True, False)
    with pytest.raises(MissingLibraryError, match="this SDK was built without it"):
        _libraries.find_libraries("rocblas")
    with pytest.raises(MissingLibraryError, match="to mend the package"):
        _libraries.find_libraries("hipfft")


@pytest.mark.parametrize(("platform", "name"), [("linux", "rocm-profiler"), ("windows", "profiler-of-windows")])
def test_packages_of_another_platform_are_passed_over(monkeypatch: pytest.MonkeyPatch, platform: str, name: str) -> None:
    monkeypatch.setattr(_dist_info, "platform_key", lambda: platform)
    assert [each.distribution for each in _dist_info.read_description(DESCRIPTION).packages["profiler"]] == [name]
