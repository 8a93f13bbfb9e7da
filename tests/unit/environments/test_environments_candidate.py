from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from build_tools.environments.candidate import candidate_of, version_key
from build_tools.environments.page import Link


def newest(*versions: str) -> str:
    return str(max(map(Version, versions), key=version_key))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2.12.0+rocm7.15.0a20260728", "2.12.0+rocm10.1.0a20260807"),
        ("2.12.0+rocm.7.15", "2.12.0+rocm.10.1"),
        ("2.9.1+devrocm7.12.0a20260101", "2.9.1+rocm7.11.0a20251201"),
        ("2.9.1+rocmsdk20251122", "2.9.1+rocm7.11.0a20251201"),
        ("2.9.1+rocm7.10.0a20251001", "2.9.1+rocm7.10.0rc1"),
        ("2.9.1+rocm7.10.0rc1", "2.9.1+rocm7.10.0"),
        ("2.9.1+rocm7.10.0.dev0.0123abcd", "2.9.1+rocm7.10.0a20251001"),
        ("2.9.1", "2.9.1+rocm7.10.0"),
        ("2.9.1+cpu", "2.9.1+rocm7.10.0"),
        ("2.9.1+cu130", "2.9.1+rocm6.4"),
        ("2.9.1+rocm10.1", "2.10.0a0+rocm7.1"),
        ("7.9.0a20251001", "7.10.0a20250901"),
        ("2.9.1+rocm7.10.0", "2.9.1+rocm7.10.0.local0a1b2c3d"),
        ("2.9.0+bundled.rocm7.15.0", "2.9.0+bundled.rocm10.1.0"),
        ("2.9.0+bundled.rocm10.1.0", "2.9.0+rocm7.10.0"),
        ("2.9.0+bundled.rocm10.1.0", "2.9.0+cpu"),
        ("2.9.0+bundled.git0a1b2c3d.rocm10.1.0", "2.9.0+cpu"),
        ("2.9.0+git0a1b2c3d.rocm7.15.0", "2.9.0+git0a1b2c3d.rocm10.1.0"),
    ],
)
def test_order_of_versions(older: str, newer: str) -> None:
    assert newest(older, newer) == newest(newer, older) == newer


PARTS = st.lists(
    st.sampled_from(["rocm7", "rocm10", "devrocm7", "rocm", "cu12", "7", "15", "0a1", "local00", "cpu"]), min_size=1, max_size=4
)
VERSIONS = st.builds(
    lambda public, local: Version(f"{public}+{'.'.join(local)}" if local else public),
    st.sampled_from(["1.0", "2.0a1", "2.0", "10.0"]),
    st.one_of(st.just([]), PARTS),
)


@given(st.lists(VERSIONS, min_size=2, max_size=6))
def test_order_is_total_and_keeps_the_public_order(versions: list[Version]) -> None:
    ordered = sorted(versions, key=version_key)
    for low, high in itertools.pairwise(ordered):
        assert version_key(low) <= version_key(high)
        assert Version(low.public) <= Version(high.public)
        assert (version_key(low) == version_key(high)) == (low == high) or low.local != high.local


@given(st.integers(1, 40), st.integers(1, 40))
def test_rocm_numbers_are_compared_as_numbers(first: int, second: int) -> None:
    low, high = sorted((first, second))
    keys = [version_key(Version(f"2.9+rocm{number}.0")) for number in (low, high)]
    assert (keys[0] < keys[1]) == (low < high)


def test_files_that_are_no_packages_are_passed_by() -> None:
    names = ["torch-2.9.whl", "torch.tar.gz", "torch-2.9-cp311-cp311.whl", "x-not!a!version-py3-none-any.whl", "readme-.zip"]
    assert [candidate_of(Link(filename=name, url=f"https://e/{name}")) for name in names] == [None] * len(names)


def test_a_wheel_is_known_by_its_name() -> None:
    link = Link(filename="Torch-2.9.0+rocm7.10.0-1-cp311-cp311-manylinux_2_28_x86_64.whl", url="https://e/x")
    found = candidate_of(link)
    assert found is not None
    assert (found.name, str(found.version), found.kind, found.build) == ("torch", "2.9.0+rocm7.10.0", "wheel", (1, ""))
