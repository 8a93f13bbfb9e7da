"""check-patches on real origins: every ref of a line is tried on clean sources, and the tree in the work dir is held against its series."""

from __future__ import annotations

import dataclasses
import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.config.project import load_project
from build_tools.console.events import GroupBegan, Table
from build_tools.errors import HipwrightError
from build_tools.locking.keep import ensure_locked
from build_tools.pipeline.check_patches import check_patches
from build_tools.pipeline.patch_trees import chain_of
from build_tools.pipeline.source_stages import SOURCE_STAGES, run_sources
from build_tools.types import ProjectName
from tests.support.source_trees import HIPIFY, Person, git, head, make_patch, snapshot, write
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace
    from tests.support.shelf import Shelf

LINES = "".join(f"line {number}\n" for number in range(1, 41))
BASE, HIP, DEEP = "root/base/0001-base.patch", "root/hipified/0001-hip.patch", "third_party/lib/hipified/0001-deep.patch"
TOML = """\
schema = 1
name = "toy"
summary = "a test"
sdk = "none"

[origin]
kind = "git"
url = "{url}"

[[lines]]
ref = "release/*"
line = "1"

[[lines]]
ref = "v1*"
line = "1"

[[lines]]
ref = "*"
why = "none needed"

[version]
file = "version.txt"

[hipify]
script = "tools/hip.py"

[wheel]
distribution = "toy"
"""


@dataclass
class Desk:
    """A clone with one project, its origins, and what is in the series by file."""

    place: Path
    files: dict[str, bytes] = field(default_factory=dict)
    entries: dict[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def clone(self) -> Path:
        return self.place / "clone"

    @property
    def line(self) -> Path:
        return self.clone / "external-builds" / "toy" / "patches" / "1"

    @property
    def origin(self) -> Person:
        return Person(self.place / "origins" / "toy", fresh=False)

    @property
    def tree(self) -> Path:
        return self.place / "work" / "src" / "toy"

    def workplace(self, **settings: object) -> Workplace:
        return dataclasses.replace(workplace(self.place, **settings), clone=self.clone)

    def write(self) -> None:
        text = "schema = 1\n"
        for name in self.files:
            text += f'[[patch]]\nfile = "{name}"\nwhy = "a test"\nupstream = "none"\nowner = "tests"\nadded = 2026-01-01\n'
            for key, value in self.entries.get(name, {}).items():
                inside = (
                    ", ".join(f"{word} = {msgspec.json.encode(one).decode()}" for word, one in value.items())
                    if isinstance(value, dict)
                    else ""
                )
                text += f"{key} = {{ {inside} }}\n" if inside else f"{key} = {msgspec.json.encode(value).decode()}\n"
        write(self.line, {**self.files, "series.toml": text})

    def branch(self, name: str, files: Mapping[str, str], *, start: str = "release/1.0") -> str:
        """Commit upstream on a branch that begins at another one."""
        git(self.origin.folder, "checkout", "--quiet", "-B", name, start)
        return self.origin.commit(dict(files), name)

    def checkout(self, *, ref: str = "release/1.0") -> None:
        place = self.workplace(ref={"toy": ref})
        project = load_project(place.external_builds, ProjectName("toy"))
        entry = ensure_locked([project], place, packages=False, whole=True)["toy"].project
        run_sources(chain_of(project, entry, place), tuple(SOURCE_STAGES), place.origin(project).git)

    def check(self, **settings: object) -> dict[str, Any]:
        document = check_patches(self.workplace(**settings))
        assert not (self.place / "work" / "check-patches").exists()
        return document

    def fail(self, **settings: object) -> tuple[HipwrightError, list[dict[str, Any]]]:
        """Check, with findings; return the failure and what was found."""
        with pytest.raises(HipwrightError) as failure:
            check_patches(self.workplace(**settings))
        assert failure.value.code.name == "patch-findings"
        assert not (self.place / "work" / "check-patches").exists()
        assert failure.value.document is not None
        return failure.value, findings(failure.value.document)


def findings(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for report in document["patches"] for found in report["findings"]]


def told(found: list[dict[str, Any]]) -> list[tuple[str, str, str | None]]:
    return [(one["rule"], one["severity"], one["ref"]) for one in found]


def make(place: Path) -> None:
    """Make a desk with a series, whose base patch is checked out."""
    desk = Desk(place=place)
    lib, origin = Person(place / "origins" / "lib"), Person(place / "origins" / "toy")
    lib.commit({"l.cu": "cuda\n" + LINES, "version.txt": "7\n"})
    origin.commit({"version.txt": "1.0\n", "a.txt": LINES, "k.cu": "cuda one\n" + LINES, "tools/hip.py": HIPIFY})
    origin.submodule(lib, "third_party/lib")
    git(origin.folder, "checkout", "--quiet", "-b", "release/1.0")
    git(origin.folder, "tag", "v1.0")
    write(desk.clone / "external-builds" / "toy", {"project.toml": TOML.format(url=origin.folder)})
    desk.files[BASE] = make_patch(origin.folder, {"a.txt": LINES.replace("line 20\n", "line 20 of ours\n")}, message="base")
    desk.write()
    desk.checkout()
    desk.files[HIP] = make_patch(desk.tree, {"hip/k.hip": "hip two\n" + LINES}, message="hip")
    desk.files[DEEP] = make_patch(desk.tree / "third_party" / "lib", {"hip/l.hip": "hip three\n" + LINES}, message="deep")
    desk.write()


@pytest.fixture
def desk(shelf: Shelf) -> Desk:
    desk = Desk(place=shelf.put_back("to-check", make))
    desk.files.update((name, (desk.line / name).read_bytes()) for name in (BASE, HIP, DEEP))
    return desk


def test_a_series_that_holds_is_tried_on_every_commit_that_finds_it(desk: Desk) -> None:
    desk.branch("release/1.1", {"other.txt": "x"})
    git(desk.origin.folder, "tag", "-a", "-m", "x", "v1.1")
    desk.branch("nightly", {"a.txt": "none of our patches fit"})
    desk.checkout()
    document = desk.check()
    (report,) = document["patches"]
    assert (report["project"], report["line"], report["findings"]) == ("toy", "1", [])
    locked, other = report["refs"]
    assert [(one["ref"], one["compared"]) for one in report["refs"]] == [("release/1.0", True), ("release/1.1", False)]
    assert locked["commit"] == git(desk.origin.folder, "rev-parse", "v1.0")
    assert other["commit"] == git(desk.origin.folder, "rev-parse", "v1.1^{}")
    assert locked["patches"] == dict.fromkeys((BASE, HIP, DEEP), "applied")


def test_the_tree_of_the_work_dir_is_what_the_series_gives_or_it_is_said(desk: Desk) -> None:
    # The tree lacks the patches that were put into the series since.
    _, found = desk.fail()
    assert told(found) == [("other-tree", "error", "release/1.0")] * 2
    assert {one["file"] for one in found} == {"the root", "third_party/lib"}
    assert "hip/k.hip" in found[0]["message"]
    assert "invoke save-patches" in found[0]["hint"]
    desk.checkout()
    assert findings(desk.check()) == []
    before = snapshot(desk.tree), head(desk.tree)
    write(desk.tree, {"b.txt": "mine", "a.txt": "mine"})
    git(desk.tree, "add", "a.txt")
    git(desk.tree, "commit", "--quiet", "-m", "mine")
    error, found = desk.fail()
    assert told(found) == [("other-tree", "error", "release/1.0"), ("uncommitted", "warning", "release/1.0")]
    assert "a.txt" in found[0]["message"]
    assert "b.txt" in found[1]["message"]
    assert "1 error and 1 warning in toy, patches/1" in error.message
    git(desk.tree, "reset", "--quiet", "--hard", before[1])
    (desk.tree / "b.txt").unlink()
    assert findings(desk.check()) == []
    assert (snapshot(desk.tree), head(desk.tree)) == before


def test_each_ref_tells_for_itself_what_does_not_fit(desk: Desk) -> None:
    desk.branch("release/1.1", {"a.txt": "new\nnew\n" + LINES})
    desk.branch("release/1.2", {"a.txt": LINES.replace("line 20\n", "line 20 of theirs\n")})
    desk.branch("release/1.3", {"a.txt": LINES.replace("line 20\n", "line 20 of ours\n")})
    desk.branch("release/1.4", {"a.txt": LINES * 3})
    desk.checkout()
    _, found = desk.fail()
    assert told(found) == [
        ("offset", "note", "release/1.1"),
        ("applies", "error", "release/1.2"),
        ("upstream", "note", "release/1.3"),
        ("applies", "error", "release/1.4"),
    ]
    assert [one["file"] for one in found] == [BASE] * 4
    assert found[1]["line"] == desk.files[BASE].split(b"\n").index(b"@@ -17,7 +17,7 @@ line 16") + 1
    assert "line 20 of ours" in found[1]["excerpt"]
    assert "invoke drop-patch" in found[2]["hint"]
    _, found = desk.fail(strict=True)
    assert ("upstream", "error", "release/1.3") in told(found)


def test_what_is_only_a_note_is_no_failure(desk: Desk) -> None:
    desk.branch("release/1.1", {"a.txt": "new\nnew\n" + LINES})
    desk.checkout()
    document = desk.check()
    assert told(findings(document)) == [("offset", "note", "release/1.1")]
    assert document["patches"][0]["refs"][1]["patches"][BASE] == "offset"


def test_a_patch_whose_time_has_come_is_named(desk: Desk) -> None:
    desk.checkout()
    commit = git(desk.origin.folder, "rev-parse", "release/1.0~1")
    other = git(desk.place / "origins" / "lib", "rev-parse", "HEAD")
    desk.branch("release/1.1", {"version.txt": "1.1\n"})
    desk.entries = {
        BASE: {"drop-when": {"commit": commit}},
        HIP: {"drop-when": {"version": "1.1"}},
        DEEP: {"drop-when": {"commit": other}},
    }
    desk.write()
    _, found = desk.fail()
    expected = [("release/1.0", BASE), ("release/1.0", DEEP), ("release/1.1", BASE), ("release/1.1", HIP), ("release/1.1", DEEP)]
    assert [(one["ref"], one["file"]) for one in found if one["rule"] == "expired"] == expected
    desk.entries = {BASE: {"drop-when": {"commit": "1" * 40}}, HIP: {"drop-when": {"version": "1.1.1"}}}
    desk.write()
    assert findings(desk.check()) == []


def test_a_patch_that_would_be_written_otherwise_is_named_with_its_line(desk: Desk) -> None:
    desk.checkout()
    data = desk.files[BASE]
    desk.files[BASE] = data.replace(b" @@ line 16\n", b" @@\n")
    assert desk.files[BASE] != data
    desk.write()
    _, found = desk.fail()
    assert told(found) == [("round-trip", "warning", "release/1.0")]
    assert found[0]["line"] == data.split(b"\n").index(b"@@ -17,7 +17,7 @@ line 16") + 1
    assert "--refresh" in found[0]["hint"]


def test_a_patch_that_does_not_make_what_it_says_is_an_error(desk: Desk) -> None:
    desk.checkout()
    data = desk.files[BASE]
    desk.files[BASE] = re.sub(rb"\n\+([^+\n]+)\n", rb"\n+\1 by hand\n", data, count=1)
    assert desk.files[BASE] != data
    desk.write()
    _, found = desk.fail()
    (one,) = [one for one in found if one["rule"] == "round-trip"]
    assert (one["severity"], one["file"]) == ("error", BASE)
    assert "than its index lines say" in one["message"]


def test_patches_for_another_platform_are_tried_too(desk: Desk) -> None:
    other = {"platforms": ["windows"]}
    desk.entries = {BASE: other, HIP: other}
    desk.write()
    desk.checkout()
    (report,) = desk.check()["patches"]
    assert report["refs"][0]["patches"] == {BASE: "other-platform", HIP: "other-platform", DEEP: "applied"}
    assert report["findings"] == []
    desk.branch("release/1.1", {"a.txt": LINES.replace("line 20\n", "line 20 of theirs\n")})
    _, found = desk.fail()
    assert [(*one, found[0]["file"]) for one in told(found)] == [("applies", "error", "release/1.1", BASE)]
    (desk.line / HIP).write_bytes(desk.files[HIP].replace(b"-hip one", b"-hip eleven"))
    _, found = desk.fail()
    assert [(one["ref"], one["file"]) for one in found] == [("release/1.0", HIP), ("release/1.1", BASE)]


def test_what_the_files_tell_needs_no_sources(desk: Desk) -> None:
    desk.files[BASE] = desk.files[BASE].replace(b"\n", b"\r\n")
    desk.write()
    write(desk.line, {"root/base/0009-stray.patch": desk.files[HIP]})
    for settings in ({"lint_only": True}, {}):
        error, found = desk.fail(**settings)
        assert told(found) == [("line-ends", "error", None), ("unnamed-file", "error", None)]
        assert "CR LF" in error.message
        assert "0009-stray.patch" in error.message
    _, found = desk.fail(line="1", lint_only=True)
    assert told(found) == [("line-ends", "error", None), ("unnamed-file", "error", None)]
    with pytest.raises(HipwrightError) as failure:
        desk.check(line="2", lint_only=True)
    assert failure.value.code.name == "no-line"


def test_a_line_that_nothing_at_the_origin_finds_is_not_proven(desk: Desk) -> None:
    other = Person(desk.place / "origins" / "empty")
    other.commit({"version.txt": "1.0\n"})
    _, found = desk.fail(origin={"toy": str(other.folder)})
    assert told(found) == [("no-ref", "warning", None)]


def test_a_line_that_no_rule_names_is_told_and_is_no_failure(desk: Desk) -> None:
    write(desk.line.parent / "idle", {"series.toml": "schema = 1\n"})
    place = desk.workplace(lint_only=True)
    (found,) = findings(check_patches(place))
    assert (found["rule"], found["severity"]) == ("unused-line", "note")
    assert "nox -s checkout_toy -- --line idle" in found["hint"]
    assert "REF" not in found["hint"]
    titles = [event.title for event in memory_of(place).events if isinstance(event, Table)]
    assert titles == ["toy: lines and rules"]
    assert findings(desk.check(line="idle", lint_only=True)) == []


def unreachable(desk: Desk, place: Workplace) -> tuple[HipwrightError, list[dict[str, Any]]]:
    with pytest.raises(HipwrightError) as failure:
        check_patches(place)
    assert (failure.value.code.name, failure.value.exit_code) == ("origin-unreachable", 5)
    assert not (desk.place / "work" / "check-patches").exists()
    assert failure.value.document is not None
    return failure.value, failure.value.document["patches"]  # type: ignore[return-value]


def test_an_origin_that_cannot_be_read_keeps_nothing_else_from_being_checked(desk: Desk) -> None:
    folder = desk.clone / "external-builds" / "gone"
    toml = TOML.format(url=desk.place / "nowhere").replace('name = "toy"', 'name = "gone"')
    write(folder, {"project.toml": toml, "patches/1/series.toml": "schema = 1\n"})
    place = desk.workplace(projects=("gone", "toy"))
    desk.checkout()
    error, (first, second) = unreachable(desk, place)
    assert "gone, patches/1: " in error.message
    assert "nowhere" in error.message
    assert [(one["rule"], one["severity"]) for one in first["findings"]] == [("unreachable", "note")]
    assert (second["project"], second["findings"], second["refs"][0]["compared"]) == ("toy", [], True)
    titles = [event.title for event in memory_of(place).events if isinstance(event, Table | GroupBegan)]
    shown, begun = titles.index("gone, patches/1: 0 patches"), next(n for n, text in enumerate(titles) if text.startswith("toy,"))
    assert shown < begun, "each is shown as it comes"
    desk.files[BASE] = desk.files[BASE].replace(b"\n", b"\r\n")
    desk.write()
    _, found = desk.fail(projects=("gone", "toy"))
    assert ("unreachable", "note", None) in told(found)


def test_what_is_locked_is_checked_when_the_other_refs_cannot_be_asked_for(desk: Desk) -> None:
    desk.checkout()
    desk.origin.folder.rename(desk.place / "away")
    _, (report,) = unreachable(desk, desk.workplace())
    assert [one["ref"] for one in report["refs"]] == ["release/1.0"]
    assert report["refs"][0]["patches"] == dict.fromkeys((BASE, HIP, DEEP), "applied")


def test_what_is_locked_is_checked_unless_projects_are_named(desk: Desk) -> None:
    folder = desk.clone / "external-builds" / "other"
    toml = TOML.format(url=desk.place / "nowhere").replace('name = "toy"', 'name = "other"')
    write(folder, {"project.toml": toml, "patches/1/series.toml": "schema = 1\n"})
    place = desk.workplace(lint_only=True)
    assert [report["project"] for report in check_patches(place)["patches"]] == ["toy"]
    assert "the others: invoke check-patches --projects other" in "\n".join(memory_of(place).said)
    lock = desk.place / "work" / "lock.json"
    for text in (
        lock.read_text(encoding="utf-8").replace('"toy": {', '"gone": {').replace('"name": "toy"', '"name": "gone"'),
        None,
    ):
        lock.unlink() if text is None else lock.write_text(text, encoding="utf-8")
        assert [report["project"] for report in desk.check(lint_only=True)["patches"]] == ["other", "toy"]


def test_a_ref_without_a_module_of_the_line_is_offered_a_line_of_its_own(desk: Desk) -> None:
    git(desk.origin.folder, "checkout", "--quiet", "-B", "release/1.1", "release/1.0")
    git(desk.origin.folder, "rm", "-r", "--quiet", "third_party/lib")
    git(desk.origin.folder, "commit", "--quiet", "-m", "without it")
    rebase = "invoke rebase-patches --projects toy --onto release/1.1 --line 1.1"
    desk.checkout()
    place = desk.workplace()
    with pytest.raises(HipwrightError) as failure:
        check_patches(place)
    (found,) = findings(failure.value.document or {})
    assert (found["ref"], found["file"]) == ("release/1.1", DEEP)
    assert found["hint"].endswith(f"so give it one of its own: {rebase}")
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert table.rows[0][2:] == (DEEP, "release/1.1", "is for the module third_party/lib, which this tree does not have")
    (desk.place / "work" / "lock.json").unlink()
    _, (found,) = desk.fail()
    assert f"nox -s checkout_toy -- --line 1, then {rebase}" in found["hint"]


def test_changes_since_an_earlier_state_are_told_apart(desk: Desk) -> None:
    git(desk.clone, "init", "--quiet")
    git(desk.clone, "add", "--all")
    git(desk.clone, "commit", "--quiet", "-m", "x")
    index = desk.files[BASE].index(b"\nindex ")
    desk.files[BASE] = desk.files[BASE][: index + 7] + b"9" * 40 + desk.files[BASE][index + 47 :]
    desk.files[HIP] = desk.files[HIP].replace(b"+hip two", b"+hip four")
    desk.write()
    with (desk.line / "series.toml").open("a") as file:
        file.write("# a word\n")
    (report,) = desk.check(lint_only=True, against="HEAD")["patches"]
    changes = {change["file"]: change["change"] for change in report["changes"]}
    assert changes == {"series.toml": "cosmetic", BASE: "cosmetic", HIP: "real", DEEP: "unchanged"}


def test_a_line_that_is_gone_since_an_earlier_state_is_told(desk: Desk) -> None:
    git(desk.clone, "init", "--quiet")
    write(desk.line.parent / "old", {"series.toml": "schema = 1\n", "root/base/0001-a.patch": desk.files[BASE]})
    git(desk.clone, "add", "--all")
    git(desk.clone, "commit", "--quiet", "-m", "x")
    shutil.rmtree(desk.line.parent / "old")
    wanted = [("series.toml", "removed"), ("root/base/0001-a.patch", "removed")]
    for settings in ({}, {"line": "old"}, {"projects": ("toy",)}):
        place = desk.workplace(lint_only=True, against="HEAD", **settings)
        report = check_patches(place)["patches"][-1]
        assert (report["project"], report["line"]) == ("toy", "old")
        assert sorted((one["file"], one["change"]) for one in report["changes"]) == sorted(wanted)
        assert "toy, patches/old: since HEAD" in [event.title for event in memory_of(place).events if isinstance(event, Table)]
    assert [report["line"] for report in desk.check(lint_only=True, against="HEAD", line="1")["patches"]] == ["1"]
    # Of a project that has no line any more, too.
    shutil.rmtree(desk.line)
    assert [report["line"] for report in desk.check(lint_only=True, against="HEAD")["patches"]] == ["1", "old"]
