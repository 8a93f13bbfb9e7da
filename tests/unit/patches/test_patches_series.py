from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.config.project import Project
from build_tools.errors import HipwrightError
from build_tools.patches.series import load_series, lock_patches
from build_tools.types import Platform
from tests.support.source_trees import PROJECT, write

if TYPE_CHECKING:
    from pathlib import Path

MAIL = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n"
ENTRY = '[[patch]]\nfile = "{}"\nwhy = "w"\nupstream = "u"\nowner = "o"\nadded = 2026-01-01\n'


def project(*lines: dict[str, str]) -> Project:
    return msgspec.convert({**PROJECT, "lines": list(lines)}, Project)


def line(folder: Path, series: str, **files: bytes) -> Path:
    place = folder / "patches" / "1"
    write(place, {"series.toml": series, **files})
    return place


def test_a_declared_state_of_no_patches_is_a_series_without_patches(tmp_path: Path) -> None:
    rules = project({"ref": "*", "why": "upstream took them all"})
    locked = lock_patches(rules, "anything", folder=tmp_path)
    assert (locked.line, locked.reason) == (None, "anything matches the rule '*', no patches: upstream took them all")
    series = load_series(tmp_path, None)
    assert series.patches == ()
    assert series.digest == locked.digest


def test_patches_are_selected_by_phase_module_and_platform_in_the_files_order(tmp_path: Path) -> None:
    names = ["root/base/0002-b.patch", "root/base/0001-a.patch", "third_party/x/base/0001.patch", "root/hipified/0001.patch"]
    text = "schema = 1\n" + "".join(ENTRY.format(name) for name in names) + 'platforms = ["windows"]\n'
    line(tmp_path, text, **dict.fromkeys(names, MAIL))
    series = load_series(tmp_path, "1")
    assert [patch.name for patch in series.select("base", ".", Platform.LINUX)] == names[:2]
    assert [patch.name for patch in series.select("base", "third_party/x", Platform.LINUX)] == [names[2]]
    assert series.select("hipified", ".", Platform.LINUX) == ()
    assert [patch.name for patch in series.select("hipified", ".", Platform.WINDOWS)] == [names[3]]


def test_the_digest_covers_bytes_order_and_data_and_not_the_layout_of_the_file(tmp_path: Path) -> None:
    names = ["root/base/a.patch", "root/base/b.patch"]
    one, two = (ENTRY.format(name) for name in names)
    files = dict.fromkeys(names, MAIL)

    def digest(text: str, **changes: bytes) -> str:
        line(tmp_path, text, **{**files, **changes})
        return load_series(tmp_path, "1").digest

    first = digest(f"schema = 1\n{one}{two}")
    assert digest(f"schema = 1\n# a word\n{one}\n\n{two}") == first
    others = [
        digest(f"schema = 1\n{two}{one}"),
        digest(f"schema = 1\n{one}{two}", **{names[0]: MAIL + b"\n"}),
        digest(f'schema = 1\n{one}{two}platforms = ["linux"]\n'),
    ]
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    ("series", "files", "words", "number"),
    [
        (ENTRY.format("root/base/a.patch"), {}, "named here and cannot be read", 3),
        ("", {"root/base/a.patch": MAIL}, r"on disk, and series\.toml does not name it", None),
        (ENTRY.format("root/a.patch"), {"root/a.patch": MAIL}, "no <module>/base", 3),
        (ENTRY.format("base/a.patch"), {"base/a.patch": MAIL}, "no <module>/base", 3),
        (ENTRY.format("../base/a.patch"), {}, "no <module>/base", 3),
        (ENTRY.format("root/base/a.patch") * 2, {"root/base/a.patch": MAIL}, "named 2 times", 9),
        (ENTRY.format("C:/x/base/a.patch"), {}, "no <module>/base", 3),
        # The name stands in the other's too.
        (
            ENTRY.format("root/base/a.patch") + ENTRY.format("x/root/base/a.patch"),
            {"x/root/base/a.patch": MAIL},
            "cannot be read",
            3,
        ),
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": b"diff --git a/a b/a\n"}, "mail format", 1),
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": MAIL.replace(b"\n", b"\r\n")}, "CR LF", 1),
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": MAIL[:-1]}, "end with a newline", 4),
    ],
    ids=["missing", "stray", "phase", "module", "outside", "twice", "drive", "line", "quilt", "crlf", "cut"],
)
def test_a_series_and_its_files_must_agree(
    tmp_path: Path, series: str, files: dict[str, bytes], words: str, number: int | None
) -> None:
    line(tmp_path, f"schema = 1\n\n{series}".replace("\n\n[[", "\n[[", 1), **files)
    with pytest.raises(HipwrightError, match=words) as caught:
        load_series(tmp_path, "1")
    assert caught.value.code.name == "bad-series"
    assert caught.value.where is not None
    assert caught.value.where.line == number


@pytest.mark.parametrize(
    ("change", "divides"),
    [
        (f"index {'1' * 40}..{'2' * 40} 160000\n--- a/x\n+++ b/x\n", True),
        ("similarity index 100%\nrename from x\nrename to y\n", True),
        (f"similarity index 90%\nrename from x\nrename to y\nindex {'1' * 40}..{'2' * 40} 100644\n", False),
        (f"index {'1' * 40}..{'2' * 40} 100644\n--- a/.gitmodules\n+++ b/.gitmodules\n", True),
        (f"index {'1' * 40}..{'2' * 40} 100644\n--- a/x\n+++ b/x\n", False),
    ],
    ids=["commit", "place", "file", "address", "contents"],
)
def test_a_patch_for_one_platform_alone_cannot_move_submodules(tmp_path: Path, change: str, divides: bool) -> None:  # noqa: FBT001
    name = "root/base/a.patch"
    data = MAIL.removesuffix(b"---\n") + f"diff --git a/x b/y\n{change}".encode()
    for words in ("", 'platforms = ["windows", "linux"]\n', 'platforms = ["windows"]\n', 'platforms = ["linux"]\n'):
        line(tmp_path, f"schema = 1\n{ENTRY.format(name)}{words}", **{name: data})
        if divides and words.count('"') == 2:
            with pytest.raises(HipwrightError, match="may move submodules") as caught:
                load_series(tmp_path, "1")
            assert caught.value.code.name == "bad-series"
            assert (caught.value.where and caught.value.where.line) == 3
        else:
            assert load_series(tmp_path, "1").patches


def test_a_command_in_a_hint_can_be_pasted_whatever_the_patch_is_called(tmp_path: Path) -> None:
    line(tmp_path, "schema = 1\n" + ENTRY.format("a b/base/it's.patch"))
    with pytest.raises(HipwrightError, match="cannot be read") as caught:
        load_series(tmp_path, "1")
    assert "a b/base/it's.patch" in shlex.split(str(caught.value.hint).partition("; ")[2])


def test_a_line_without_a_series_and_an_unknown_key_are_errors(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"no series\.toml") as caught:
        load_series(tmp_path, "2")
    assert caught.value.code.name == "bad-series"
    line(tmp_path, "schema = 1\n" + ENTRY.format("root/base/a.patch") + 'ower = "x"\n', **{"root/base/a.patch": MAIL})
    with pytest.raises(HipwrightError, match="ower") as caught:
        load_series(tmp_path, "1")
    assert caught.value.code.name == "bad-data-file"
