"""Editing series.toml keeps what it does not mean."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.patches.edit import SeriesText
from build_tools.patches.series import DropWhen, PatchEntry
from build_tools.types import CommitId

PATH = Path("patches/1/series.toml")
TEXT = """\
# The series of the release.
schema = 1

# Needed for the wheel.
[[patch]]
file = "root/base/0001-a.patch"   # the first
why   = "because"
upstream = "https://host.example/1"
owner = 'Some One <one@host.example>'
# it was added later than it was written
added = 2026-01-02
drop-when = { version = "2.9" } # soon

## Windows

# Of one file.
[[patch]]
file = "root/base/0002-b.patch"
owner = "o"
why = '''
several
lines'''
upstream = "not sent"
platforms = [
  "windows",  # alone
]
added = 2026-01-03
[patch.drop-when]
commit = "0123456789012345678901234567890123456789"

[[patch]]
file = "third_party/x/hipified/0001-c.patch"
why = "c"
upstream = "u"
owner = "o"
added = 2026-01-04
# nothing comes after this
"""
A, B, C = "root/base/0001-a.patch", "root/base/0002-b.patch", "third_party/x/hipified/0001-c.patch"


def text(source: str = TEXT) -> SeriesText:
    return SeriesText.parse(source, PATH)


def entry(file: str = "root/base/0003-d.patch", **more: object) -> PatchEntry:
    values = {"file": file, "why": "w", "upstream": "not sent", "owner": "o", "added": dt.date(2026, 5, 6), **more}
    return msgspec.convert({key.replace("_", "-"): value for key, value in values.items()}, PatchEntry)


def read_again(series: SeriesText) -> SeriesText:
    again = SeriesText.parse(series.data.decode(), PATH)
    assert again.entries == series.entries
    return again


def test_what_is_read_is_what_is_written() -> None:
    assert text().names == (A, B, C)
    assert text().data == TEXT.encode()
    assert text(TEXT.replace("\n", "\r\n")).data == TEXT.replace("\n", "\r\n").encode()


def test_an_entry_is_put_in_behind_another_or_at_the_end() -> None:
    new = entry(why='say "it"\n\\', platforms=["windows"], drop_when={"version": "2.9"})
    lines = (
        '\n[[patch]]\nfile = "root/base/0003-d.patch"\nwhy = "say \\"it\\"\\n\\\\"\nupstream = "not sent"\nowner = "o"\n'
        'platforms = ["windows"]\nadded = 2026-05-06\ndrop-when = { version = "2.9" }\n'
    )
    assert text().add(new, after=A).data.decode() == TEXT.replace("\n\n## Windows", f"\n{lines}\n## Windows")
    assert text().add(new).data.decode() == TEXT.replace("# nothing comes", f"{lines}# nothing comes")
    assert read_again(text().add(new, after=B)).names == (A, B, new.file, C)
    begun = SeriesText.begin(Path("patches/1"))
    assert begun.data == b"schema = 1\n"
    assert begun.add(new).data.decode() == f"schema = 1\n{lines}"


def test_an_entry_is_put_in_with_the_files_own_line_ends() -> None:
    data = text(TEXT.replace("\n", "\r\n")).add(entry()).rename(B, "root/base/0009-b.patch").data
    assert data.count(b"\n") == data.count(b"\r\n")
    assert tomllib.loads(data.decode())["patch"][1]["file"] == "root/base/0009-b.patch"


def test_an_entry_goes_with_what_is_said_of_it_alone() -> None:
    assert text().remove(A).data.decode() == TEXT[: TEXT.index("\n# Needed")] + TEXT[TEXT.index("\n## Windows") :]
    rest = text().remove(B).data.decode()
    assert rest == TEXT[: TEXT.index("\n# Of one")] + TEXT[TEXT.index('\n[[patch]]\nfile = "third') :]
    assert text().remove(C).data.decode().endswith('6789"\n# nothing comes after this\n')
    assert text().remove(A).remove(B).remove(C).data.decode().startswith("# The series of the release.\nschema = 1\n")


def test_a_rename_changes_one_text() -> None:
    assert text().rename(A, "root/base/0004-z.patch").data.decode() == TEXT.replace(A, "root/base/0004-z.patch")


def test_a_replacement_changes_the_keys_that_say_something_else() -> None:
    old = text().entries[0]
    new = msgspec.structs.replace(old, upstream="merged", drop_when=DropWhen(commit=CommitId("a" * 40)))
    changed = text().replace(A, new)
    expected = TEXT.replace("https://host.example/1", "merged", 1).replace('version = "2.9"', f'commit = "{"a" * 40}"', 1)
    assert changed.data.decode() == expected
    assert text().replace(A, old).data.decode() == TEXT
    everywhere = msgspec.structs.replace(text().entries[1], platforms=("linux", "windows"), drop_when=None)
    assert read_again(text().replace(B, everywhere)).entries[1] == everywhere
    assert b"platforms" not in text().replace(B, everywhere).data


def test_entries_are_brought_into_an_order_with_their_comments() -> None:
    moved = text().reorder([C, A, B])
    assert read_again(moved).names == (C, A, B)
    lines = moved.data.decode().splitlines()
    assert lines[lines.index(f'file = "{A}"   # the first') - 2] == "# Needed for the wheel."
    assert lines[lines.index(f'file = "{B}"') - 2] == "# Of one file."
    assert text().reorder([A, B, C]).data == TEXT.encode()
    assert moved.reorder([A, B, C]).data == TEXT.encode()
    for wrong in ([A, B], [A, B, C, C], [A, B, "x"]):
        with pytest.raises(ValueError, match="not the files"):
            text().reorder(wrong)


def test_a_file_that_the_series_has_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        text().remove("x")
    with pytest.raises(KeyError):
        text().rename("x", "y")
    with pytest.raises(KeyError):
        text().add(entry(), after="x")
    with pytest.raises(KeyError):
        text().replace("x", entry())


@pytest.mark.parametrize(
    "source",
    [
        "schema = 1\npatch = []\n",
        'schema = 1\npatch = [{ file = "a", why = "w", upstream = "u", owner = "o", added = 2026-01-01 }]\n',
    ],
)
def test_patches_in_one_value_are_refused(source: str) -> None:
    with pytest.raises(HipwrightError, match="one value") as caught:
        text(source)
    assert caught.value.code.name == "bad-series"


def test_what_no_series_may_say_is_never_written() -> None:
    with pytest.raises(HipwrightError) as caught:
        _ = text().add(msgspec.structs.replace(entry(), why="")).data
    assert caught.value.code.name == "bad-data-file"


def test_a_missing_or_unreadable_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"no file series\.toml"):
        SeriesText.read(tmp_path)
    (tmp_path / "series.toml").write_bytes(b"\xff")
    with pytest.raises(HipwrightError) as caught:
        SeriesText.read(tmp_path)
    assert caught.value.code.name == "bad-data-file"
    (tmp_path / "series.toml").write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert SeriesText.read(tmp_path).data == TEXT.replace("\n", "\r\n").encode()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
ENTRIES = st.builds(
    PatchEntry,
    file=st.from_regex(r"root/base/[a-z]{1,4}\.patch", fullmatch=True),
    why=WORDS,
    upstream=WORDS,
    owner=WORDS,
    platforms=st.sampled_from([("linux", "windows"), ("windows",), ("linux",)]),
    added=st.dates(min_value=dt.date(1000, 1, 1)),
    drop_when=st.sampled_from([None, DropWhen(version="2.9"), DropWhen(commit=CommitId("a" * 40))]),
)


@given(st.lists(ENTRIES, unique_by=lambda one: one.file, max_size=5), st.data())
def test_any_edits_are_read_back_as_they_were_meant(entries: list[PatchEntry], data: st.DataObject) -> None:
    series = text()
    for one in entries:
        series = series.add(one, after=data.draw(st.sampled_from([None, *series.names])))
    series = read_again(series).reorder(data.draw(st.permutations(series.names)))
    for file in data.draw(st.lists(st.sampled_from(series.names), unique=True, max_size=3)):
        changed = data.draw(ENTRIES)
        if changed.file not in series.names:
            series = series.replace(file, changed)
    for file in data.draw(st.lists(st.sampled_from(series.names), unique=True, max_size=4)):
        series = series.remove(file)
    read_again(series)


def test_bytes_that_are_no_text_are_written_as_escapes() -> None:
    series = text().add(msgspec.structs.replace(entry(), owner="Ren\udce9 <r@host.example>"))
    assert SeriesText.parse(series.data.decode(), PATH).entries[-1].owner == r"Ren\udce9 <r@host.example>"
