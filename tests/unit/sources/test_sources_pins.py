"""Files that pin commits are read strictly: what is none is told with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.sources.pins import (
    PinFile,
    RelatedCommit,
    branch_for,
    is_address,
    parse_commit_file,
    parse_related_commits,
    parse_version_file,
)
from build_tools.types import CommitId

ONE, TWO = "1" * 40, "2" * 40
VISION = f"ubuntu|pytorch|torchvision|release/0.24|{ONE}|https://github.com/pytorch/vision"
AUDIO = f"ubuntu|pytorch|torchaudio|release/2.9|{TWO}|https://github.com/pytorch/audio"


def file(text: str | bytes) -> PinFile:
    data = text if isinstance(text, bytes) else text.encode()
    return PinFile(name="related_commits", of="pytorch at release/2.9", data=data)


def bad(text: str | bytes, line: int | None) -> str:
    """Return what is said of rows that are none, which must name the line."""
    with pytest.raises(HipwrightError) as caught:
        parse_related_commits(file(text))
    assert caught.value.code.name == "bad-pin"
    where = caught.value.where
    assert where is not None
    assert (where.file, where.line, where.key) == ("related_commits", line, "pytorch at release/2.9")
    return caught.value.message


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_are_read_with_comments_and_blank_lines_between_them(end: str) -> None:
    rows = parse_related_commits(file(end.join(["# pins", "", VISION, "   ", AUDIO, VISION, ""])))
    assert rows == (
        RelatedCommit(
            os="ubuntu",
            source="pytorch",
            project="torchvision",
            branch="release/0.24",
            commit=CommitId(ONE),
            origin="https://github.com/pytorch/vision",
        ),
        RelatedCommit(
            os="ubuntu",
            source="pytorch",
            project="torchaudio",
            branch="release/2.9",
            commit=CommitId(TWO),
            origin="https://github.com/pytorch/audio",
        ),
    )
    assert parse_related_commits(file(b"")) == ()


def test_the_same_project_may_differ_between_operating_systems() -> None:
    rows = parse_related_commits(file(f"{VISION}\n{VISION.replace('ubuntu', 'centos').replace(ONE, TWO)}\n"))
    assert [(row.os, row.commit) for row in rows] == [("ubuntu", ONE), ("centos", TWO)]


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> a1b2c3d (update)", "||||||| base", "<<<<<<<\r"])
@pytest.mark.parametrize("before", [0, 1])
def test_a_conflict_marker_is_told_wherever_it_stands(marker: str, before: int) -> None:
    lines = [VISION] * before + [marker, AUDIO]
    assert "merge-conflict marker" in bad("\n".join(lines), before + 1)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("just words", "1 fields"),
        (VISION.rpartition("|")[0], "5 fields"),
        (f"{VISION}|more", "7 fields"),
        (VISION.replace(ONE, "abc123"), "'abc123'"),
        (VISION.replace(ONE, "g" * 40), "40 hex digits"),
        (VISION.replace(ONE, "1" * 41), "40 hex digits"),
        (VISION.replace(ONE, ""), "''"),
        (VISION.replace("ubuntu", ""), "its os"),
        (VISION.replace("torchvision", "torch vision"), "its project"),
        (VISION.replace("release/0.24", "-evil"), "its branch"),
        (VISION.replace("release/0.24", "a..b c"), "its branch"),
        (VISION.replace("https://github.com/pytorch/vision", "vision"), "its origin"),
        (VISION.replace("https://github.com/pytorch/vision", "ext::sh -c evil"), "its origin"),
        (VISION.replace("https://github.com/pytorch/vision", "ext::evil"), "its origin"),
        (VISION.replace("https://github.com/pytorch/vision", "--upload-pack=evil"), "its origin"),
        (VISION.replace("|pytorch|", "|\rpytorch|"), "characters"),
        (f"\ufeff{VISION}", "characters"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(row: str, words: str) -> None:
    assert words in bad(f"# pins\n\n{AUDIO}\n{row}\n", 4)


@pytest.mark.parametrize("more", ["", "|and more"])
def test_a_row_with_a_password_is_none_and_the_password_is_not_told(more: str) -> None:
    row = f"ubuntu|pytorch|torchvision|main|{'a' * 40}|https://me:secret-word@host.example/vision{more}"
    with pytest.raises(HipwrightError) as caught:
        parse_related_commits(file(f"{row}\n"))
    assert caught.value.code.name == "bad-pin"
    assert caught.value.where is not None
    assert caught.value.where.line == 1
    assert "secret-word" not in f"{caught.value.message} {caught.value.hint}"


def test_two_different_rows_for_one_project_are_told_with_both_lines() -> None:
    for other in (VISION.replace(ONE, TWO), VISION.replace("0.24", "0.25"), VISION.replace("pytorch/vision", "ROCm/vision")):
        message = bad(f"{VISION}\n{AUDIO}\n{other}\n", 3)
        assert "torchvision for ubuntu twice" in message
        assert "line 1" in message
        assert "line 3" in message


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    assert "no UTF-8" in bad(VISION.encode() + b"\n\xff\xfe\n", 2)


@given(st.lists(st.sampled_from([VISION, AUDIO, "", "# x", "   "]), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_whatever_good_lines_there_are_each_pair_is_there_once(lines: list[str], end: str) -> None:
    rows = parse_related_commits(file(end.join(lines)))
    assert [row.project for row in rows] == list(
        dict.fromkeys({VISION: "torchvision", AUDIO: "torchaudio"}[line] for line in lines if "|" in line)
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_a_bad_pin_and_never_something_else(data: bytes) -> None:
    codes = set()
    for parse in (parse_related_commits, parse_commit_file, parse_version_file):
        try:
            parse(file(data))
        except HipwrightError as error:
            codes.add(error.code.name)
    assert codes <= {"bad-pin"}


@given(st.integers(min_value=0, max_value=39), st.text(alphabet="ghxyzG |<>=\t", min_size=1, max_size=3))
def test_a_commit_with_anything_else_in_it_is_none(at: int, junk: str) -> None:
    with pytest.raises(HipwrightError):
        parse_related_commits(file(VISION.replace(ONE, ONE[:at] + junk + ONE[at + len(junk) :] + ("" if junk.strip() else "x"))))


@pytest.mark.parametrize("text", [ONE, f"{ONE}\n", f"# why\r\n\r\n{ONE}\r\n", f"  {ONE}  \n"])
def test_a_file_with_one_commit_is_read(text: str) -> None:
    assert parse_commit_file(file(text)) == ONE


def test_a_commit_in_capital_letters_is_the_same_commit() -> None:
    assert parse_commit_file(file("AB" * 20)) == "ab" * 20


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "holds nothing"), ("# only words\n", "holds nothing"), (f"{ONE}\n{TWO}\n", "line 2"), ("main\n", "'main'")],
)
def test_a_file_with_no_commit_or_several_is_told(text: str, words: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_commit_file(file(text))
    assert caught.value.code.name == "bad-pin"
    assert words in caught.value.message


def test_a_file_with_one_version_names_a_branch() -> None:
    version = parse_version_file(file("# triton\n3.5.1\n"))
    assert version == Version("3.5.1")
    assert branch_for("release/{major}.{minor}.x", version) == "release/3.5.x"
    assert branch_for("v{version}-{micro}", version) == "v3.5.1-1"
    with pytest.raises(ValueError, match="another field"):
        branch_for("release/{patch}", version)


@pytest.mark.parametrize("text", ["", "three\n", "3.5.1\n3.5.2\n", "<<<<<<< HEAD\n3.5.1\n"])
def test_a_file_with_no_version_or_several_is_told(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_version_file(file(text))
    assert caught.value.code.name == "bad-pin"


@pytest.mark.parametrize(
    "text", ["https://host.example/a", "ssh://git@host.example/a", "git@host.example:a/b.git", "/srv/a.git", "file:///srv/a"]
)
def test_addresses_of_places_are_some(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["", "a", "ext::sh", "fd::7", "-x", "--upload-pack=x", "https://a b", "https://", "../a", "a\nb"]
)
def test_programs_options_and_relative_paths_are_no_addresses(text: str) -> None:
    assert not is_address(text)
