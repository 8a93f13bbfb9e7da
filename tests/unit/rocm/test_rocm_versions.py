from __future__ import annotations

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.rocm.versions import custom_version, order_key, rocm_version, today

_SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("release_type", "wheel", "deb", "rpm"),
    [
        ("release", "7.10.0", "7.10.0", "7.10.0"),
        ("prerelease", "7.10.0rc2", "7.10.0~pre2", "7.10.0~rc2"),
        ("nightly", "7.10.0a20260801", "7.10.0~20260801", "7.10.0~20260801"),
        ("dev", f"7.10.0.dev0+{_SHA}", "7.10.0~dev20260801", "7.10.0~20260801g01234567"),
        ("ci", f"7.10.0.dev0+{_SHA}", "7.10.0~dev20260801", "7.10.0~20260801g01234567"),
    ],
)
def test_each_release_type_has_its_form(release_type: str, wheel: str, deb: str, rpm: str) -> None:
    made = rocm_version(
        release_type,  # type: ignore[arg-type]
        "7.10.0",
        date="20260801",
        sha=_SHA,
        candidate=2,
    )
    assert (made.wheel, made.deb, made.rpm) == (wheel, deb, rpm)
    assert str(Version(made.wheel)) == made.wheel


def test_the_table_of_release_types_goes_up() -> None:
    rising = [
        rocm_version("dev", "7.10.0", date="20260801", sha=_SHA).wheel,
        rocm_version("nightly", "7.10.0", date="20260801").wheel,
        rocm_version("nightly", "7.10.0", date="20260802").wheel,
        rocm_version("prerelease", "7.10.0", candidate=0).wheel,
        rocm_version("prerelease", "7.10.0", candidate=10).wheel,
        rocm_version("release", "7.10.0").wheel,
        rocm_version("dev", "10.1.0", date="20250101", sha=_SHA).wheel,
    ]
    for lower, higher in itertools.pairwise(rising):
        assert order_key(lower) < order_key(higher)
        assert Version(lower) < Version(higher), "every installer agrees"


_DAYS = st.dates(dt.date(2024, 1, 1), dt.date(2034, 12, 31)).map(lambda day: day.strftime("%Y%m%d"))
_BASES = st.builds("{}.{}.{}".format, st.integers(0, 40), st.integers(0, 40), st.integers(0, 9))


@given(
    base=_BASES,
    days=st.tuples(_DAYS, _DAYS),
    sha=st.text("0123456789abcdef", min_size=40, max_size=40),
    number=st.integers(0, 99),
)
def test_development_is_below_nightly_below_candidate_below_release(
    base: str, days: tuple[str, str], sha: str, number: int
) -> None:
    rising = [
        rocm_version("dev", base, date=days[0], sha=sha),
        rocm_version("nightly", base, date=days[1]),
        rocm_version("prerelease", base, candidate=number),
        rocm_version("release", base),
    ]
    keys = [order_key(each.wheel) for each in rising]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    for local in ("+rocm{}", "+devrocm{}"):
        torch = [order_key(f"2.12.0{local.format(each.wheel.replace('+', '.'))}") for each in rising]
        assert torch == sorted(torch), "also as the local part of a wheel that was built against it"


@given(lower=_BASES, higher=_BASES)
def test_a_higher_rocm_is_above_a_lower_one_in_local_parts_too(lower: str, higher: str) -> None:
    lower, higher = sorted((lower, higher), key=Version)
    assert order_key(f"2.12.0+rocm{lower}") <= order_key(f"2.12.0+rocm{higher}")


def test_rocm_10_is_above_rocm_7_where_text_says_otherwise() -> None:
    seven, ten = "2.12.0+rocm7.15.0a20260728", "2.12.0+rocm10.1.0a20260807"
    assert max([seven, ten], key=Version) == seven
    assert max([seven, ten], key=order_key) == ten
    assert order_key("2.12.0+rocmsdk20251122") < order_key("2.12.0+rocm7.11.0a20251201")


@pytest.mark.parametrize("suffix", [".post1", "+local", ".1", "rocm"])
def test_a_suffix_above_the_release_is_refused(suffix: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        custom_version("7.10.0", suffix)
    assert caught.value.code.name == "bad-version"


@pytest.mark.parametrize(("suffix", "version"), [(".dev0", "7.10.0.dev0"), ("-alpha3", "7.10.0a3"), ("", "7.10.0")])
def test_a_suffix_below_the_release_is_taken(suffix: str, version: str) -> None:
    assert custom_version("7.10.0", suffix) == version


@pytest.mark.parametrize(
    ("release_type", "more"),
    [
        ("nightly", {}),
        ("nightly", {"date": "20260230"}),
        ("nightly", {"date": "2026-02-03"}),
        ("nightly", {"date": "\u0662\u0660260801"}),
        ("prerelease", {}),
        ("prerelease", {"candidate": -1}),
        ("dev", {"date": "20260801"}),
        ("dev", {"date": "20260801", "sha": "abc"}),
        ("ci", {"sha": _SHA}),
    ],
)
def test_what_a_type_needs_is_asked_for(release_type: str, more: dict[str, object]) -> None:
    with pytest.raises(HipwrightError) as caught:
        rocm_version(release_type, "7.10.0", **more)  # type: ignore[arg-type]
    assert caught.value.code.name == "bad-version"


@pytest.mark.parametrize("base", ["7.10", "7.10.0.1", "7.10.0rc1", "", "v7.10.0"])
def test_a_base_has_three_numbers(base: str) -> None:
    with pytest.raises(HipwrightError, match=r"X\.Y\.Z"):
        rocm_version("release", base)


def test_today_is_a_day_in_utc() -> None:
    before = dt.datetime.now(tz=dt.UTC).strftime("%Y%m%d")
    day = today()
    assert before <= day <= dt.datetime.now(tz=dt.UTC).strftime("%Y%m%d")
    rocm_version("nightly", "7.10.0", date=day)
