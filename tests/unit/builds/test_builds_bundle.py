from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from build_tools.builds.version import build_version, bundled_version
from build_tools.errors import HipwrightError

_ROCM = st.builds(
    "{}.{}.{}{}".format,
    st.integers(1, 12),
    st.integers(0, 30),
    st.integers(0, 9),
    st.sampled_from(["", "rc2", "a20260101", ".dev0+0123abc"]),
)
_BASE = st.builds(
    "{}.{}{}".format, st.integers(0, 3), st.integers(0, 30), st.sampled_from([".0", ".1a0", ".0+git1234", ".0.post1"])
)


@pytest.mark.parametrize(
    ("version", "rocm", "whole"),
    [
        ("2.9.0+rocm7.10.0", "7.10.0", "2.9.0+bundled.rocm7.10.0"),
        ("2.9.0+rocm7.10.0.local01234567", "7.10.0", "2.9.0+bundled.rocm7.10.0.local01234567"),
        ("2.9.0+devrocm7.14.0.dev0.abc", "7.14.0.dev0+abc", "2.9.0+bundled.devrocm7.14.0.dev0.abc"),
        ("1.2", "7.10.0", "1.2+bundled.rocm7.10.0"),
        ("1.2+cpu", "7.10.0", "1.2+bundled.rocm7.10.0.cpu"),
        ("1.2+rocm7.10.01", "7.10.0", "1.2+bundled.rocm7.10.0.rocm7.10.1"),
    ],
)
def test_the_version_says_that_rocm_is_inside(version: str, rocm: str, whole: str) -> None:
    assert bundled_version(version, rocm) == whole
    assert bundled_version(whole, rocm) == whole


@given(base=_BASE, rocm=_ROCM)
def test_it_is_one_text_everywhere_and_below_those_without(base: str, rocm: str) -> None:
    thin = build_version(base, rocm=rocm, suffix="rocm", local=None)
    fat = bundled_version(thin, rocm)
    assert str(Version(fat)) == fat
    assert str(parse_wheel_filename(f"torch-{fat}-py3-none-any.whl")[1]) == fat
    assert Version(fat).public == Version(thin).public
    assert Version(fat) < Version(thin)


@given(base=_BASE, pair=st.tuples(_ROCM, _ROCM))
def test_among_their_like_they_sort_as_the_others_do(base: str, pair: tuple[str, str]) -> None:
    thin = [Version(build_version(base, rocm=rocm, suffix="rocm", local=None)) for rocm in pair]
    fat = [Version(bundled_version(str(version), rocm)) for version, rocm in zip(thin, pair, strict=True)]
    assert (thin[0] < thin[1], thin[0] == thin[1]) == (fat[0] < fat[1], fat[0] == fat[1])


def test_what_is_no_version() -> None:
    with pytest.raises(HipwrightError) as caught:
        bundled_version("new", "7.10.0")
    assert caught.value.code.name == "bad-version"
