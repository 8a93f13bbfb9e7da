"""The package ``rocm``: what each extra brings, on which platform, in a wheel and a source distribution that are one."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from build_tools.receipts.record import from_json
from build_tools.rocm.description import DescribedPackage, SdkDescription
from build_tools.rocm.packages.meta import build_meta, extras_of, meta_files
from build_tools.rocm.payload.sdist import rocm_backend
from build_tools.types import GfxTarget, Platform
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.record import encode_hash, parse_record

LINUX, WINDOWS = Platform.LINUX, Platform.WINDOWS


def packages(*keys: str) -> dict[str, tuple[DescribedPackage, ...]]:
    names = {key: "rocm-profiler" if key == "profiler" else f"rocm-sdk-{key}" for key in keys}
    return {
        key: (
            DescribedPackage(
                distribution=name, module=f"_{name.replace('-', '_')}", platforms=(LINUX,) if key == "profiler" else ()
            ),
        )
        for key, name in names.items()
    }


def described(**targets: tuple[str, ...]) -> SdkDescription:
    return SdkDescription(
        version="7.10.0a20260801",
        form="device",
        targets={Platform(platform): tuple(map(GfxTarget, names)) for platform, names in targets.items()},
        families={},
        packages=packages("core", "libraries", "profiler", "devel"),
        libraries={},
    )


def in_families(*keys: str) -> SdkDescription:
    families = {"gfx94X-dcgpu": ("gfx942",), "gfx120X-all": ("gfx1200", "gfx1201")}
    made = {
        key: tuple(
            DescribedPackage(
                distribution=f"rocm-sdk-{key}-{family.lower()}",
                module=f"_rocm_sdk_{key}_{family.lower()}".replace("-", "_"),
                family=family,
                platforms=(LINUX,) if family == "gfx94X-dcgpu" else (),
            )
            for family in families
        )
        for key in keys
    }
    return SdkDescription(
        version="7.10.0",
        form="family",
        targets={LINUX: tuple(map(GfxTarget, ("gfx942", "gfx1200", "gfx1201"))), WINDOWS: (GfxTarget("gfx1201"),)},
        families={family: tuple(map(GfxTarget, targets)) for family, targets in families.items()},
        packages={**packages("core", "devel"), **made},
        libraries={},
    )


def chosen(description: SdkDescription, extra: str, platform: str) -> set[str]:
    """Return what an installer takes for ``rocm[extra]``, as it reads the metadata."""
    metadata = parse_metadata(meta_files(description)["PKG-INFO"])
    environment = {"sys_platform": platform, "extra": extra}
    return {
        str(Requirement(f"{each.name}{each.specifier}"))
        for each in metadata.requires_dist
        if each.marker is None or each.marker.evaluate(environment)
    }


V = "==7.10.0a20260801"
CORE = f"rocm-sdk-core{V}"


@pytest.mark.parametrize(
    ("extra", "names"),
    [
        ("", set()),
        ("libraries", {"rocm-sdk-libraries"}),
        ("devel", {"rocm-sdk-devel"}),
        ("profiler", {"rocm-profiler"}),
        ("device-gfx942", {"rocm-sdk-device-gfx942"}),
        ("device", {"rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1201"}),
        ("device-all", {"rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1201"}),
    ],
)
def test_each_extra_brings_its_packages_at_this_very_version(extra: str, names: set[str]) -> None:
    wanted = {CORE, *(f"{name}{V}" for name in names)}
    assert chosen(described(linux=("gfx942", "gfx1201")), extra, "linux") == wanted


def test_one_platform_needs_no_marker() -> None:
    everything = [each for required in extras_of(described(linux=("gfx942",))).values() for each in required]
    assert not [each for each in everything if ";" in each]


def test_what_one_platform_alone_has_is_marked() -> None:
    both = described(linux=("gfx942", "gfx1201"), windows=("gfx1201", "gfx1151"))
    device = f"rocm-sdk-device-{{}}{V}".format
    assert chosen(both, "device", "linux") == {CORE, device("gfx942"), device("gfx1201")}
    assert chosen(both, "device", "win32") == {CORE, device("gfx1151"), device("gfx1201")}
    assert chosen(both, "device-gfx942", "win32") == {CORE}
    assert chosen(both, "profiler", "linux") == {CORE, f"rocm-profiler{V}"}
    assert chosen(both, "profiler", "win32") == {CORE}


def test_families_have_extras_of_their_own() -> None:
    description = in_families("libraries")
    core, one, other = (
        "rocm-sdk-core==7.10.0",
        "rocm-sdk-libraries-gfx94x-dcgpu==7.10.0",
        "rocm-sdk-libraries-gfx120x-all==7.10.0",
    )
    assert chosen(description, "libraries", "linux") == {core, one, other}
    # Windows has no libraries of the other family.
    assert chosen(description, "libraries", "win32") == {core, other}
    assert chosen(description, "libraries-gfx94x-dcgpu", "linux") == {core, one}
    assert not any("device" in extra for extra in extras_of(description))


def test_development_files_of_a_family_bring_the_shared_ones() -> None:
    description = in_families("libraries", "devel")
    shared = packages("devel")["devel"]
    merged = {**description.packages, "devel": (*shared, *description.packages["devel"])}
    mixed = SdkDescription(**{name: getattr(description, name) for name in description.__struct_fields__} | {"packages": merged})
    assert chosen(mixed, "devel-gfx94x-dcgpu", "linux") == {
        "rocm-sdk-core==7.10.0",
        "rocm-sdk-devel==7.10.0",
        "rocm-sdk-devel-gfx94x-dcgpu==7.10.0",
    }


def test_the_wheel_is_whole(tmp_path: Path) -> None:
    description = described(linux=("gfx942",))
    wheel, sdist = build_meta(description, tmp_path / "dist")
    assert parse_wheel_name(wheel.name).tags == parse_wheel_name("x-1-py3-none-any.whl").tags
    assert (wheel.name, sdist.name) == ("rocm-7.10.0a20260801-py3-none-any.whl", "rocm-7.10.0a20260801.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        members = {name: archive.read(name) for name in archive.namelist()}
    rows = parse_record(members["rocm-7.10.0a20260801.dist-info/RECORD"])
    assert [row.path for row in rows] == list(members)
    assert all(row.value == encode_hash(hashlib.sha256(members[row.path]).digest()) for row in rows[:-1])
    stated = from_json(members["rocm_sdk/dist_info.json"], SdkDescription, name="dist_info.json")
    assert stated == description
    assert b"rocm-sdk = rocm_sdk.__main__:main" in members["rocm-7.10.0a20260801.dist-info/entry_points.txt"]
    assert not [path for path in (tmp_path / "dist").iterdir() if path not in {wheel, sdist}]


def test_the_source_distribution_makes_both_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel, sdist = build_meta(described(linux=("gfx942", "gfx1201")), tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        assert {member.mtime for member in archive} == {315532800}
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path / "rocm-7.10.0a20260801")
    # What an interpreter leaves behind is no part of it.
    Path("rocm_sdk/__pycache__").mkdir()
    Path("rocm_sdk/__pycache__/x.pyc").touch()
    again = tmp_path / "again"
    again.mkdir()
    assert rocm_backend.get_requires_for_build_wheel() == rocm_backend.get_requires_for_build_sdist({}) == []
    assert (again / rocm_backend.build_wheel(str(again))).read_bytes() == wheel.read_bytes()
    assert (again / rocm_backend.build_sdist(str(again))).read_bytes() == sdist.read_bytes()
    prepared = again / rocm_backend.prepare_metadata_for_build_wheel(str(again))
    with zipfile.ZipFile(wheel) as archive:
        for path in prepared.iterdir():
            assert archive.read(f"{prepared.name}/{path.name}") == path.read_bytes()


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=200_000))
def test_stored_bytes_are_gzip(data: bytes) -> None:
    packed = rocm_backend.sdist_file({"PKG-INFO": b"Name: rocm\nVersion: 1\n", "data": data})[1]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
        member = archive.extractfile("rocm-1/data")
        assert member is not None
        assert member.read() == data
