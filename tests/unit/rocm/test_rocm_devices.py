from __future__ import annotations

from datetime import date

import pytest

from build_tools.environments.candidate import Candidate, candidate_of
from build_tools.environments.page import Link
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.rocm.devices import extras_for, installed_family, is_devel
from build_tools.rocm.pairs import chosen_pair, days_old
from build_tools.types import Sha256

DEVICE = ("libraries", "devel", "device", "device-all", "device-gfx942", "device-gfx1201")
NAMES = ("gfx94x-dcgpu", "gfx120x-all", "gfx1151")
FAMILY = ("libraries", "devel", "profiler", *(f"{key}-{name}" for key in ("libraries", "devel") for name in NAMES))


@pytest.mark.parametrize(
    ("asked", "offered", "targets", "family", "expected"),
    [
        (("libraries",), DEVICE, (), None, ("libraries",)),
        (("libraries",), DEVICE, ("gfx942",), None, ("device-gfx942", "libraries")),
        (("Libraries",), DEVICE, ("gfx942:xnack+", "gfx942"), None, ("device-gfx942", "libraries")),
        (("libraries", "devel"), FAMILY, ("gfx942",), "gfx94X-dcgpu", ("devel-gfx94x-dcgpu", "libraries-gfx94x-dcgpu")),
        (
            ("libraries", "devel", "profiler"),
            FAMILY,
            ("gfx942",),
            None,
            ("devel-gfx94x-dcgpu", "libraries-gfx94x-dcgpu", "profiler"),
        ),
        (("libraries",), FAMILY, ("gfx1201", "gfx942"), None, ("libraries-gfx120x-all", "libraries-gfx94x-dcgpu")),
        (("libraries",), FAMILY, ("gfx1151",), "gfx1151", ("libraries-gfx1151",)),
        (("devel",), FAMILY, ("gfx942",), None, ("devel-gfx94x-dcgpu",)),
        ((), FAMILY, ("gfx942",), None, ("libraries-gfx94x-dcgpu",)),
        (("libraries-gfx1151",), FAMILY, (), None, ("libraries-gfx1151",)),
        (("x",), ("x",), ("gfx942",), None, ("x",)),
    ],
)
def test_extras_for_targets(
    asked: tuple[str, ...], offered: tuple[str, ...], targets: tuple[str, ...], family: str | None, expected: tuple[str, ...]
) -> None:
    assert extras_for(asked, offered, targets=targets, family=family, package="rocm 7.10.0") == expected


@pytest.mark.parametrize(
    ("offered", "targets", "message"),
    [
        (DEVICE, ("gfx942", "gfx950", "gfx90a"), "rocm 7.10.0 has no device package for gfx90a, gfx950; it has: gfx1201, gfx942"),
        (FAMILY, ("gfx1100",), "rocm 7.10.0 has no libraries for gfx1100; it has: gfx1151, gfx120x-all, gfx94x-dcgpu"),
    ],
)
def test_targets_that_a_set_lacks_are_all_named(offered: tuple[str, ...], targets: tuple[str, ...], message: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        extras_for(("libraries",), offered, targets=targets, family=None, package="rocm 7.10.0")
    assert caught.value.message == message
    assert caught.value.code.name == "requirement-missing"


@pytest.mark.parametrize(
    ("installed", "targets", "family", "expected"),
    [
        (("rocm", "rocm-sdk-libraries", "rocm-sdk-devel"), ("gfx942",), None, None),
        (("rocm-sdk-libraries-gfx94x-dcgpu",), (), None, "gfx94x-dcgpu"),
        (("rocm-sdk-devel-gfx94x-dcgpu", "rocm-sdk-libraries-gfx94x-dcgpu"), ("gfx1201",), None, "gfx94x-dcgpu"),
        (("rocm-sdk-devel-gfx94x-dcgpu", "rocm-sdk-libraries-gfx120x-all"), (), None, None),
        (("rocm-sdk-devel-gfx94x-dcgpu", "rocm-sdk-libraries-gfx120x-all"), ("gfx1201",), None, "gfx120x-all"),
        (("rocm_sdk_devel_gfx94X_dcgpu", "rocm-sdk-libraries-gfx120x-all"), ("gfx942",), "gfx94X-dcgpu", "gfx94x-dcgpu"),
        (("rocm-sdk-devel-gfx94x-dcgpu", "rocm-sdk-libraries-gfx120x-all"), ("gfx942", "gfx1201"), None, None),
    ],
)
def test_the_family_that_is_meant(
    installed: tuple[str, ...], targets: tuple[str, ...], family: str | None, expected: str
) -> None:
    assert installed_family(installed, targets=targets, family=family) == expected


def test_development_packages_by_their_name() -> None:
    assert is_devel("rocm-sdk-devel")
    assert is_devel("rocm-sdk-devel-gfx94x-dcgpu")
    assert not is_devel("rocm-sdk-development")


def file_of(name: str, version: str) -> LockedFile:
    return LockedFile(distribution=name, version=version, filename="x.whl", url="https://e/x.whl", sha256=Sha256("0" * 64))


def offered(*versions: str, uploaded: str | None = None) -> list[Candidate]:
    links = [Link(filename=f"torch-{version}-py3-none-any.whl", url="https://e/x", uploaded=uploaded) for version in versions]
    return [candidate for link in links if (candidate := candidate_of(link)) is not None]


TODAY = date(2026, 8, 10)


def test_a_newer_rocm_for_another_torch_is_told() -> None:
    files = (file_of("rocm", "7.15.0a20260728"), file_of("torch", "2.13.0+rocm7.15.0a20260728"))
    there = offered("2.13.0+rocm7.15.0a20260728", "2.12.0+rocm10.1.0a20260807", "2.11.0+rocm10.1.0a20260807", "2.12.0")
    pair = chosen_pair(files, there, today=TODAY)
    assert pair is not None
    assert (pair.days, pair.newer) == (13, "2.12.0+rocm10.1.0a20260807")
    assert str(pair) == "torch 2.13.0+rocm7.15.0a20260728 with ROCm 7.15.0a20260728, 13 days old"
    newest = chosen_pair((file_of("torch", "2.12.0+rocm10.1.0a20260807"),), there, today=TODAY)
    assert newest is not None
    assert newest.newer is None
    assert chosen_pair((file_of("triton", "1"),), there, today=TODAY) is None


def test_the_age_of_a_version() -> None:
    assert days_old("7.10.0a20260809", today=TODAY) == 1
    assert days_old("2.12.0+rocm7.10.0a20260810", today=TODAY) == 0
    assert days_old("7.10.0a20260811", today=TODAY) == 0
    assert days_old("7.10.0a20269999", today=TODAY) is None
    assert days_old("7.10.0", "2026-08-01T10:11:12.131415Z", today=TODAY) == 9
    assert days_old("7.10.0", "yesterday", today=TODAY) is None
    pair = chosen_pair((file_of("torch", "2.12.0"),), offered("2.12.0", uploaded="2026-08-05T00:00:00Z"), today=TODAY)
    assert pair is not None
    assert str(pair) == "torch 2.12.0, 5 days old"
