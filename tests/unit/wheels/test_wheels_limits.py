"""Absurd numbers and tags out of wheels are refused by whoever reads them, and ordinary ones are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import parse_tag
from packaging.version import InvalidVersion, Version

from build_tools.checks.run import check_wheels
from build_tools.environments.candidate import candidate_of
from build_tools.environments.page import Link
from build_tools.errors import HipwrightError
from build_tools.wheels.limits import count_of_tags, read_tags, read_version
from build_tools.wheels.metadata import parse_metadata, parse_wheel_fields
from build_tools.wheels.name import parse_wheel_name, same_version
from build_tools.wheels.record import parse_record
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from pathlib import Path

_DIGITS = "9" * 5000
_HEAD = "Metadata-Version: 2.4\nName: demo\n"
_PARTS = ".".join(f"a{number}" for number in range(300))
_BOMB = f"{_PARTS}-{_PARTS}-{_PARTS}"


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=5), st.from_regex(r"(\+[a-z0-9]{1,40})?", fullmatch=True))
def test_an_ordinary_version_is_read_as_everywhere(numbers: list[int], local: str) -> None:
    text = ".".join(map(str, numbers)) + local
    assert read_version(text) == Version(text)


@pytest.mark.parametrize("text", [_DIGITS, f"1.0+rocm{_DIGITS}", f"1.0rc{_DIGITS}"])
def test_a_version_of_thousands_of_digits_is_none(text: str) -> None:
    with pytest.raises(InvalidVersion):
        read_version(text)
    assert not same_version(text, text)


@pytest.mark.parametrize(
    "fields",
    [
        f"Version: {_DIGITS}\n",
        f"Version: 1.0\nRequires-Dist: rocm=={_DIGITS}\n",
        f'Version: 1.0\nRequires-Dist: rocm; python_version < "{_DIGITS}"\n',
        f"Version: 1.0\nRequires-Python: >={_DIGITS}\n",
    ],
)
def test_metadata_with_an_absurd_number_is_malformed(fields: str) -> None:
    with pytest.raises(HipwrightError, match="a number of 5000 digits") as caught:
        parse_metadata(f"{_HEAD}{fields}".encode())
    assert caught.value.code.name == "bad-wheel"
    assert len(caught.value.message) < 300


def test_a_description_may_have_any_number() -> None:
    assert parse_metadata(f"{_HEAD}Version: 1.0\n\npi has {_DIGITS}\n".encode()).name == "demo"


@pytest.mark.parametrize("size", [_DIGITS, "²", "-1", "1e3"])
def test_a_size_in_record_is_a_number_of_64_bits(size: str) -> None:
    with pytest.raises(HipwrightError, match="RECORD line 1 has the size") as caught:
        parse_record(f"a.py,sha256=x,{size}\n".encode())
    assert len(caught.value.message) < 100
    assert parse_record(b"a.py,sha256=x,18446744073709551615\n")[0].size == 2**64 - 1


@pytest.mark.parametrize("name", [f"demo-{_DIGITS}-py3-none-any.whl", f"demo-1.0-{_BOMB}.whl"])
def test_a_file_name_of_a_page_is_bounded_too(name: str) -> None:
    with pytest.raises(HipwrightError, match="is no wheel's file name"):
        parse_wheel_name(name)


def test_a_file_that_a_page_lists_with_an_absurd_version_is_passed_by() -> None:
    assert candidate_of(Link(filename=f"demo-{_DIGITS}-py3-none-any.whl", url="https://example.org/x")) is None


@pytest.mark.parametrize("text", ["py3-none-any", "py2.py3-none-any", "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"])
def test_tags_are_counted_before_they_are_made(text: str) -> None:
    assert read_tags(text) == parse_tag(text)
    assert count_of_tags(text) == len(parse_tag(text))


@pytest.mark.parametrize("tags", [[_BOMB], [f"{_PARTS}-none-any", *(f"cp{number}-none-{_PARTS}" for number in range(4))]])
def test_tags_that_stand_for_thousands_are_not_made(tags: list[str]) -> None:
    text = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n" + "".join(f"Tag: {tag}\n" for tag in tags)
    with pytest.raises(HipwrightError, match="tags") as caught:
        parse_wheel_fields(text.encode())
    assert len(caught.value.message) < 400


def test_a_wheel_full_of_them_is_judged_by_every_rule(tmp_path: Path) -> None:
    wheel = WheelMaker(
        metadata=f"{_HEAD}Version: 1.0\nRequires-Dist: rocm=={_DIGITS}\n",
        wheel=f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {_BOMB}\n",
        dist_info=f"demo-{'9' * 5000}.dist-info",
        edit_record=lambda rows: [*rows, f"x,sha256=x,{_DIGITS}"],
    ).write(tmp_path)
    found = check_wheels([wheel], expectations=None, say=lambda _line: None).findings
    assert {"metadata", "identity", "record", "member-names"} <= {
        finding.rule for finding in found if finding.severity == "error"
    }
    assert max(len(finding.message) for finding in found) < 3000
