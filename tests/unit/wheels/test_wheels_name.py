from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag, parse_tag
from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.wheels.name import escaped_name, is_wheel_name, parse_wheel_name, same_version, wheel_filename


def test_parts_of_a_rocm_wheel() -> None:
    name = parse_wheel_name("torch-2.9.0+rocm7.10.0-cp313-cp313t-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl")
    assert (name.project, name.version, name.build) == ("torch", "2.9.0+rocm7.10.0", "")
    assert (name.python, name.abi) == ("cp313", "cp313t")
    assert name.tags == {Tag("cp313", "cp313t", f"manylinux_2_{minor}_x86_64") for minor in (27, 28)}
    assert is_wheel_name(name.filename)
    assert name.dist_info == "torch-2.9.0+rocm7.10.0.dist-info"


def test_build_tag() -> None:
    name = parse_wheel_name("torch-2.9.0-1rocm-cp313-cp313-win_amd64.whl")
    assert (name.version, name.build, name.platform) == ("2.9.0", "1rocm", "win_amd64")


@pytest.mark.parametrize(
    "filename",
    [
        "torch-2.9.0%2Brocm7-cp313-cp313-win_amd64.whl",
        "torch-2.9.0_rocm7-cp313-cp313-win_amd64.whl",
        "torch-2.9.0 -cp313-cp313-win_amd64.whl",
        "torch -2.9.0-cp313-cp313-win_amd64.whl",
        "torch-2.9.0-cp313-cp313.whl",
        "torch-2.9.0-cp313-cp313-win_amd64.zip",
        "torch-2.9.0-rocm-cp313-cp313-win_amd64.whl",
        "torch-2.9.0-1-2-cp313-cp313-win_amd64.whl",
        "to__rch-2.9.0-cp313-cp313-win_amd64.whl",
        "törch-2.9.0-cp313-cp313-win_amd64.whl",
        "dist/torch-2.9.0-cp313-cp313-win_amd64.whl",
        "torch-2.9.0-cp313-cp313-win_amd64.whl\n",
        ".whl",
        "",
    ],
)
def test_refused_names(filename: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_wheel_name(filename)
    assert caught.value.code.name == "bad-wheel"
    assert repr(filename) in caught.value.message
    assert not is_wheel_name(filename)


_WORDS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=6)
_NAMES = st.lists(_WORDS, min_size=1, max_size=3).map("-".join)
_VERSIONS = st.builds(
    lambda release, local: ".".join(map(str, release)) + (f"+{local}" if local else ""),
    st.lists(st.integers(0, 99), min_size=1, max_size=4),
    st.one_of(st.none(), st.lists(_WORDS, min_size=1, max_size=3).map(".".join)),
)
_TAGS = st.sampled_from(["py3-none-any", "cp311-cp311-linux_x86_64", "cp313-cp313t-win_amd64", "py2.py3-none-any"])


@given(name=_NAMES, version=_VERSIONS, tag=_TAGS, build=st.sampled_from(["", "1", "20_rc"]))
def test_a_made_name_reads_back(name: str, version: str, tag: str, build: str) -> None:
    parsed = parse_wheel_name(wheel_filename(name=name, version=version, tags=parse_tag(tag), build=build))
    assert parsed.project == name
    assert parsed.distribution == escaped_name(name)
    assert Version(parsed.version) == Version(version)
    assert parsed.tags == parse_tag(tag)
    assert parsed.build == build


@given(st.text(max_size=60).map(lambda text: f"{text}.whl"))
def test_any_text_is_read_or_refused(filename: str) -> None:
    if is_wheel_name(filename):
        parsed = parse_wheel_name(filename)
        parts = [parsed.distribution, parsed.version, *filter(None, [parsed.build]), parsed.python, parsed.abi, parsed.platform]
        assert "-".join(parts) + ".whl" == filename


@pytest.mark.parametrize(
    ("version", "tags", "build", "code"),
    [
        ("one", "py3-none-any", "", "bad-version"),
        ("1.0", "py3-none-any", "x1", "bad-wheel"),
        ("1.0", "py3-none-any", "1-2", "bad-wheel"),
    ],
)
def test_names_that_cannot_be_made(version: str, tags: str, build: str, code: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        wheel_filename(name="demo", version=version, tags=parse_tag(tags), build=build)
    assert caught.value.code.name == code


def test_tags_that_no_one_name_stands_for() -> None:
    with pytest.raises(HipwrightError, match="cp311-cp311-win_amd64"):
        wheel_filename(name="demo", version="1", tags=[Tag("cp311", "cp311", "win_amd64"), Tag("py3", "none", "any")])
    with pytest.raises(HipwrightError, match="no tags"):
        wheel_filename(name="demo", version="1", tags=[])


def test_same_version_is_a_matter_of_meaning() -> None:
    assert same_version("1.0+ROCm7.10", "1.0.0+rocm7.10")
    assert not same_version("1.0", "1.0+rocm7.10")
    assert not same_version("one", "one")
