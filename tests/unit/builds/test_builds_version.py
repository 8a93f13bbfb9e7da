from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from build_tools.builds.version import build_version
from build_tools.errors import HipwrightError
from build_tools.types import CommitId, Sha256

LOCAL = Sha256("0123456789abcdef" * 4)
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"


@pytest.mark.parametrize(
    ("base", "rocm", "whole"),
    [
        ("2.12.0", "7.10.0", "2.12.0+rocm7.10.0"),
        ("2.12.0", "7.10.0a20251124", "2.12.0+rocm7.10.0a20251124"),
        ("2.12.0", "7.10.0rc2", "2.12.0+rocm7.10.0rc2"),
        ("2.12.0", f"7.10.0.dev0+{HEX}", f"2.12.0+devrocm7.10.0.dev0.{HEX}"),
        ("2.12.0", "10.1.0a20260811+bkc.20260814", "2.12.0+rocm10.1.0a20260811.bkc.20260814"),
        ("2.14.0a0", "7.14.0", "2.14.0a0+rocm7.14.0"),
        ("0.9.0+git1234", "7.10.0", "0.9.0+git1234.rocm7.10.0"),
    ],
)
def test_version_names_the_rocm_packages(base: str, rocm: str, whole: str) -> None:
    assert build_version(base, rocm=rocm, suffix="rocm", local=None) == whole


def test_local_changes_are_in_the_version() -> None:
    assert build_version("1.0.0", rocm="7.10.0", suffix="rocm", local=LOCAL) == "1.0.0+rocm7.10.0.local01234567"


def test_local_changes_are_in_the_version_without_a_suffix() -> None:
    assert build_version("1.0.0", rocm="7.10.0", suffix="none", local=LOCAL) == "1.0.0+local01234567"


def test_base_version_is_normalised() -> None:
    assert build_version("v1.0-rc.1\n", rocm=None, suffix="none", local=None) == "1.0rc1"


@pytest.mark.parametrize(("base", "rocm"), [("not a version", "7.10.0"), ("1.0", "seven"), ("1.0", None), ("", "7.10.0")])
def test_no_version_is_an_error(base: str, rocm: str | None) -> None:
    with pytest.raises(HipwrightError) as caught:
        build_version(base, rocm=rocm, suffix="rocm", local=None)
    assert caught.value.code.name == "bad-version"


RELEASES = st.lists(st.integers(0, 3000), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
LOCALS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)


@given(base=RELEASES, major=st.integers(0, 40), minor=st.integers(0, 40), local=LOCALS)
def test_each_rocm_version_gives_another_wheel_version(base: str, major: int, minor: int, local: str) -> None:
    made = build_version(base, rocm=f"{major}.{minor}.0", suffix="rocm", local=None)
    assert Version(made).public == str(Version(base))
    assert Version(made).local == f"rocm{major}.{minor}.0"
    assert made != build_version(base, rocm=f"{major}.{minor}.0+{local}", suffix="rocm", local=None)


@given(base=RELEASES, rocm=RELEASES)
def test_stable_sorts_above_candidate_above_nightly_above_development(base: str, rocm: str) -> None:
    kinds = [f"{rocm}.0.0.dev0+{HEX}", f"{rocm}.0.0a20261128", f"{rocm}.0.0rc1", f"{rocm}.0.0"]
    made = [Version(build_version(base, rocm=kind, suffix="rocm", local=None)) for kind in kinds]
    assert made[0] < min(made[1:])


@pytest.mark.parametrize(
    ("rocm", "part"),
    [
        ("7.10.0RC2", "rocm7.10.0rc2"),
        ("07.010.0", "rocm7.10.0"),
        ("7.10.0-rc.2", "rocm7.10.0rc2"),
        ("7.10.0_a20251124", "rocm7.10.0a20251124"),
        ("7.10.0-1", "rocm7.10.0.post1"),
        ("7.10.0.DEV0+ABC_def-1", "devrocm7.10.0.dev0.abc.def.1"),
        ("v7.10", "rocm7.10"),
    ],
)
def test_however_rocm_s_version_is_spelled_its_text_is_the_normal_one(rocm: str, part: str) -> None:
    assert build_version("2.9.0", rocm=rocm, suffix="rocm", local=None) == f"2.9.0+{part}"


def test_an_epoch_cannot_be_told_in_a_local_version() -> None:
    with pytest.raises(HipwrightError) as caught:
        build_version("2.9.0", rocm="1!7.10.0", suffix="rocm", local=None)
    assert caught.value.code.name == "bad-version"


def test_a_development_build_names_its_commit_in_front_of_rocm() -> None:
    commit = CommitId("0123456789abcdef0123456789abcdef01234567")
    made = build_version("2.9.0a0", rocm="7.10.0.dev0", suffix="rocm", local=LOCAL, commit=commit)
    assert made == "2.9.0a0+git01234567.devrocm7.10.0.dev0.local01234567"


@given(
    release=st.lists(st.integers(0, 99), min_size=2, max_size=3),
    ending=st.sampled_from(["", "rc2", "a20251124", ".dev0+0012ab", ".post1", "RC1", "-a3", "+bkc.0042", ".dev3+00001234"]),
    local=st.sampled_from([None, LOCAL]),
    commit=st.sampled_from([None, CommitId("00000000" + "1" * 32), CommitId("e1234567" + "1" * 32)]),
)
def test_one_text_survives_names_metadata_and_pins(
    release: list[int], ending: str, local: Sha256 | None, commit: CommitId | None
) -> None:
    rocm = ".".join(map(str, release)) + ending
    made = build_version("2.10.0", rocm=rocm, suffix="rocm", local=local, commit=commit)
    assert str(Version(made)) == made
    assert str(parse_wheel_filename(f"torch-{made}-cp312-cp312-linux_x86_64.whl")[1]) == made
    assert build_version("2.10.0", rocm=str(Version(rocm)), suffix="rocm", local=local, commit=commit) == made
    if commit is not None:
        assert f"+git{commit[:8]}." in made
