from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.config.project import Project
from build_tools.errors import HipwrightError
from build_tools.patches.series import find_line, load_series, lock_patches
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


def test_an_exact_rule_counts_before_patterns_and_the_first_pattern_before_later_ones(tmp_path: Path) -> None:
    rules = project(
        {"ref": "release/*", "line": "a"}, {"ref": "release/2.?", "line": "b"}, {"ref": "release/2.6", "line": "c", "why": "w"}
    )
    assert find_line(rules, "release/2.6", folder=tmp_path) == (
        "c",
        "release/2.6 is named by the rule 'release/2.6', patches/c: w",
    )
    assert find_line(rules, "release/2.7", folder=tmp_path)[0] == "a"


def test_a_declared_state_of_no_patches_is_a_series_without_patches(tmp_path: Path) -> None:
    rules = project({"ref": "*", "why": "upstream took them all"})
    locked = lock_patches(rules, "anything", folder=tmp_path)
    assert (locked.line, locked.reason) == (None, "anything matches the rule '*', no patches: upstream took them all")
    series = load_series(tmp_path, None)
    assert series.patches == ()
    assert series.digest == locked.digest


def test_a_ref_without_a_line_lists_rules_lines_and_the_way_out(tmp_path: Path) -> None:
    line(tmp_path, "schema = 1\n")
    with pytest.raises(HipwrightError, match=r"'release/1\.\*' → 1; lines on disk: 1") as caught:
        find_line(project({"ref": "release/1.*", "line": "1"}), "nightly", folder=tmp_path)
    assert caught.value.code.name == "no-line"
    assert 'ref = "nightly"' in str(caught.value.hint)


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
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": b"diff --git a/a b/a\n"}, "mail format", 1),
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": MAIL.replace(b"\n", b"\r\n")}, "CR LF", 1),
        (ENTRY.format("root/base/a.patch"), {"root/base/a.patch": MAIL[:-1]}, "end with a newline", 4),
    ],
    ids=["missing", "stray", "phase", "module", "outside", "twice", "quilt", "crlf", "cut"],
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


def test_a_line_without_a_series_and_an_unknown_key_are_errors(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"no series\.toml") as caught:
        load_series(tmp_path, "2")
    assert caught.value.code.name == "bad-series"
    line(tmp_path, "schema = 1\n" + ENTRY.format("root/base/a.patch") + 'ower = "x"\n', **{"root/base/a.patch": MAIL})
    with pytest.raises(HipwrightError, match="ower") as caught:
        load_series(tmp_path, "1")
    assert caught.value.code.name == "bad-data-file"
