"""Listing series, beginning lines and dropping patches, on the sample and its recipe."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.config.project import load_project
from build_tools.console.events import Table
from build_tools.console.render import plain_table
from build_tools.errors import HipwrightError
from build_tools.patches.applied import AppliedPatch, note_patches
from build_tools.patches.lines import find_line
from build_tools.patches.series import load_series
from build_tools.pipeline.list_patches import list_patches
from build_tools.pipeline.patch_trees import chain_of, checkout_line, held, projects_with_series, task_line, trees_in_use
from build_tools.pipeline.series_commands import drop_patches, new_series
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import to_json
from build_tools.types import ProjectName
from tests.support.locks import locked
from tests.support.source_trees import write
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.workplace import Workplace

GREETER = "third_party/greeter"
BASE = "root/base/0001-Round-the-grid-up.patch"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("sample", "sample-companion"):
        shutil.copytree(CLONE / "external-builds" / name, tmp_path / "clone" / "external-builds" / name)
    return tmp_path / "clone"


def desk(clone: Path, **settings: Any) -> Workplace:  # noqa: ANN401 - any option
    made = workplace(clone.parent, **settings)
    return dataclasses.replace(made, clone=clone, typed_in=clone)


def said(place: Workplace) -> str:
    return "\n".join(memory_of(place).said)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(code: str, body: Any, place: Workplace) -> HipwrightError:  # noqa: ANN401 - a command's body
    before = contents(place.clone)
    with pytest.raises(HipwrightError) as caught:
        body(place)
    assert caught.value.code.name == code
    assert contents(place.clone) == before
    return caught.value


def line_of(clone: Path, ref: str) -> tuple[str | None, str]:
    folder = clone / "external-builds" / "sample"
    return find_line(load_project(folder.parent, ProjectName("sample")), ref, folder=folder)


class TestListing:
    def test_every_patch_is_told_with_all_that_is_said_of_it(self, clone: Path) -> None:
        place = desk(clone)
        document = list_patches(place)
        assert list(document["projects"]) == ["sample"]
        line = document["projects"]["sample"]["lines"]["1.0"]
        assert line["rules"] == ["release/1.*", "nightly"]
        patches = line["patches"]
        assert [(patch["module"], patch["phase"]) for patch in patches] == [
            (".", "base"),
            (".", "hipified"),
            (GREETER, "base"),
            (GREETER, "hipified"),
        ]
        assert patches[0] | {"days": 0} == {
            "file": BASE,
            "module": ".",
            "phase": "base",
            "why": "saxpy leaves out the elements after the last whole block, on every GPU",
            "upstream": "none: the sample has no upstream",
            "owner": "hipwright maintainers",
            "platforms": ["linux", "windows"],
            "added": "2026-11-28",
            "days": 0,
            "drop_when": None,
            "bytes": (clone / "external-builds/sample/patches/1.0" / BASE).stat().st_size,
            "files": 1,
            "lines_added": 1,
            "lines_removed": 1,
            "state": "not-applied",
            "expired": False,
        }
        (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
        assert table.title == "sample, line 1.0 (for release/1.*, nightly)"
        assert [row[:2] for row in table.rows] == [
            ("", "the root, base:"),
            ("not applied", "0001-Round-the-grid-up"),
            ("", "the root, hipified:"),
            ("not applied", table.rows[3][1]),
            ("", f"{GREETER}, base:"),
            ("not applied", table.rows[5][1]),
            ("", f"{GREETER}, hipified:"),
            ("not applied", "0001-Read-the-version-number-as-HIP-writes-it"),
        ]

    def test_the_table_is_narrow_and_the_document_keeps_all(self, clone: Path) -> None:
        series = clone / "external-builds/sample/patches/1.0/series.toml"
        upstream = (
            f"https://github.com/some/where-else/pull/12/files and https://github.com/some/where/commit/{'a' * 40}; {'x' * 90}"
        )
        owner = "A Person With Quite A Long Name <some.one.with.a.long.address@example.com>"
        text = series.read_text(encoding="utf-8")
        text = text.replace("none: the sample has no upstream", upstream, 1).replace("hipwright maintainers", owner, 1)
        series.write_text(text, encoding="utf-8")
        place = desk(clone)
        first = list_patches(place)["projects"]["sample"]["lines"]["1.0"]["patches"][0]
        assert (first["upstream"], first["owner"]) == (upstream, owner)
        (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
        assert table.rows[1][-2:] == ("some/where-else#12 and some/where@aaaaa…", "A Person With Quite A…")
        assert max(map(len, plain_table(table, None).splitlines())) <= 160

    def test_what_does_not_fit_together_is_reported(self, clone: Path) -> None:
        folder = clone / "external-builds" / "sample"
        write(folder / "patches", {"old/series.toml": "schema = 1\n", "0001-a.patch": ""})
        shutil.move(folder / "patches" / "1.0", folder / "patches" / "1.1")
        place = desk(clone)
        document = list_patches(place)["projects"]["sample"]
        assert document["faults"] == {"unused": ["1.1", "old"], "missing": ["1.0"], "stray": ["0001-a.patch"]}
        for words in ("names patches/old", "names patches/1.1", "names patches/1.0, which has no series", "patches/0001-a.patch"):
            assert words in said(place)

    def test_a_patch_file_that_no_series_names_is_an_error(self, clone: Path) -> None:
        write(clone / "external-builds/sample/patches/1.0", {"root/base/0002-b.patch": "From x\n"})
        assert "does not name it" in refused("bad-series", list_patches, desk(clone)).message

    def test_projects_and_lines_narrow(self, clone: Path) -> None:
        assert list_patches(desk(clone, projects=("sample-companion",)))["projects"]["sample-companion"]["lines"] == {}
        write(clone / "external-builds/sample/patches", {"2/series.toml": "schema = 1\n"})
        assert list(list_patches(desk(clone, line="2"))["projects"]["sample"]["lines"]) == ["2"]
        assert "1.0, 2" in refused("no-line", list_patches, desk(clone, line="3")).message
        refused("bad-data-file", list_patches, desk(clone, projects=("nothing",)))

    def test_a_clone_without_series_is_no_error(self, clone: Path) -> None:
        shutil.rmtree(clone / "external-builds/sample/patches")
        place = desk(clone)
        assert list_patches(place) == {"projects": {}}
        assert said(place) == "no project has a patch series"

    def test_the_record_of_a_tree_tells_the_state_even_where_git_cannot_be_asked(self, clone: Path) -> None:
        place = desk(clone)
        tree = place.work_dir / "src" / "sample"
        data = (clone / "external-builds/sample/patches/1.0" / BASE).read_bytes()
        patch = AppliedPatch(file=BASE, module=".", phase="base", digest=digest.of_bytes(data), outcome="offset")
        (tree / ".git").mkdir(parents=True)
        note_patches(tree, "base", [patch], line="1.0")
        states = [row["state"] for row in list_patches(place)["projects"]["sample"]["lines"]["1.0"]["patches"]]
        assert states == ["offset", "not-applied", "not-applied", "not-applied"]
        note_patches(tree, "base", [patch], line="2.0")
        assert not list_patches(place)["projects"]["sample"]["lines"]["1.0"]["tree"]


class TestBeginning:
    def test_a_line_is_begun_and_its_refs_find_it(self, clone: Path) -> None:
        place = desk(clone, projects=("sample",), line="2.0", lines_for=("release/2.*", "refs/heads/next"))
        document = new_series(place)
        assert (document["files"], document["changed"]) == (["patches/2.0/series.toml", "project.toml"], True)
        folder = clone / "external-builds" / "sample"
        assert load_series(folder, "2.0").patches == ()
        assert line_of(clone, "release/2.1")[0] == line_of(clone, "next")[0] == "2.0"
        assert line_of(clone, "release/1.0")[0] == "1.0"
        assert "nox -s checkout_sample -- --sample-ref next" in said(place)
        assert "invoke save-patches" in said(place)

    def test_it_may_begin_with_the_patches_of_another(self, clone: Path) -> None:
        new_series(desk(clone, projects=("sample",), line="1.1", lines_for=("release/1.1",), copy_of="1.0"))
        folder = clone / "external-builds" / "sample"
        assert contents(folder / "patches/1.1") == contents(folder / "patches/1.0")
        assert line_of(clone, "release/1.1")[0] == "1.1"

    def test_refs_are_declared_to_need_no_patches(self, clone: Path) -> None:
        place = desk(clone, projects=("sample",), lines_for=("release/3.0",), words=("upstream", "has them"))
        assert new_series(place)["line"] is None
        assert line_of(clone, "release/3.0") == (
            None,
            "release/3.0 is named by the rule 'release/3.0', no patches: upstream has them",
        )
        assert new_series(place)["changed"] is False

    def test_a_rule_that_is_replaced_is_told_with_its_reason(self, clone: Path) -> None:
        new_series(desk(clone, projects=("sample",), lines_for=("release/3.0",), words=("upstream", "has them")))
        place = desk(clone, projects=("sample",), line="3.0", lines_for=("release/3.0",))
        new_series(place)
        assert "the rule for release/3.0 said no patches; its reason goes with it: upstream has them" in said(place)

    def test_a_ref_that_is_named_twice_counts_once(self, clone: Path) -> None:
        place = desk(clone, projects=("sample",), line="2.0", lines_for=("next", "refs/heads/next", "next"))
        assert new_series(place)["refs"] == ["next"]
        assert said(place).count("next is given") == 1

    @pytest.mark.parametrize("ref", ["x;y", "x'y", "$x"])
    def test_what_is_to_be_run_next_can_be_pasted(self, clone: Path, ref: str) -> None:
        place = desk(clone, projects=("sample",), line="2.0", lines_for=(ref,))
        new_series(place)
        (line,) = [text for text in said(place).splitlines() if "next: " in text]
        assert shlex.split(line.split("next: ")[1])[-2:] == ["--sample-ref", ref]

    @pytest.mark.parametrize("ref", ["", "refs/heads/", 'x y"\n', "a..b", "a.lock", "-x", "a//b", "/a", "a~1", ".a/b", "a/"])
    def test_what_is_no_ref_is_refused_as_the_option_that_it_is(self, clone: Path, ref: str) -> None:
        before = contents(clone)
        error = refused("bad-option-value", new_series, desk(clone, projects=("sample",), line="2.0", lines_for=(ref,)))
        assert "--for-ref" in error.message
        assert contents(clone) == before

    def test_blanks_are_no_reason(self, clone: Path) -> None:
        place = desk(clone, projects=("sample",), lines_for=("x",), words=(" ", ""))
        assert "reason" in refused("bad-option-value", new_series, place).message

    def test_a_line_that_is_there_gets_further_refs(self, clone: Path) -> None:
        before = contents(clone / "external-builds/sample/patches")
        document = new_series(desk(clone, projects=("sample",), line="1.0", lines_for=("trunk",)))
        assert (document["files"], document["changed"]) == (["project.toml"], True)
        assert contents(clone / "external-builds/sample/patches") == before
        assert line_of(clone, "trunk")[0] == "1.0"

    def test_a_dry_run_tells_and_does_nothing(self, clone: Path) -> None:
        before = contents(clone)
        place = desk(clone, projects=("sample",), line="2.0", lines_for=("next",), copy_of="1.0", dry_run=True)
        assert new_series(place)["files"][-2:] == [
            "patches/2.0/third_party/greeter/hipified/0001-Read-the-version-number-as-HIP-writes-it.patch",
            "project.toml",
        ]
        assert contents(clone) == before
        assert "would be" in said(place)

    @pytest.mark.parametrize(
        ("settings", "code", "words"),
        [
            ({"line": "2"}, "bad-option-value", "no project is named"),
            ({"projects": ("sample", "sample-companion"), "line": "2"}, "bad-option-value", "several projects"),
            ({"projects": ("sample",)}, "bad-option-value", "name a line"),
            ({"projects": ("sample",), "lines_for": ("x",)}, "bad-option-value", "reason"),
            ({"projects": ("sample",), "line": "1.0"}, "bad-option-value", "already"),
            ({"projects": ("sample",), "line": "1.0", "lines_for": ("x",), "copy_of": "1.0"}, "bad-option-value", "already"),
            ({"projects": ("sample",), "line": "2", "copy_of": "3"}, "no-line", "it has 1.0"),
            ({"projects": ("sample",), "line": "2", "lines_for": ("nightly",)}, "bad-option-value", "has a rule for nightly"),
            ({"projects": ("sample",), "line": "a/b"}, "bad-option-value", "no name"),
            ({"projects": ("sample",), "line": ".."}, "bad-option-value", "no name"),
            ({"projects": ("sample",), "line": ""}, "bad-option-value", "no name"),
            ({"projects": ("sample",), "line": "nul.x"}, "bad-option-value", "no name"),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_written(
        self, clone: Path, settings: dict[str, Any], code: str, words: str
    ) -> None:
        assert words in refused(code, new_series, desk(clone, **settings)).message

    def test_two_lines_do_not_differ_in_case_alone(self, clone: Path) -> None:
        write(clone / "external-builds/sample/patches/Old", {"series.toml": "schema = 1\n"})
        assert "one folder" in refused("bad-option-value", new_series, desk(clone, projects=("sample",), line="old")).message


class TestDropping:
    @pytest.mark.parametrize(
        "word",
        [
            BASE,
            "0001-Round-the-grid-up.patch",
            "0001-Round-the-grid-up",
            "base/0001-Round-the-grid-up.patch",
            "external-builds/sample/patches/1.0/root/base/0001-Round-the-grid-up.patch",
            "./external-builds/sample/../sample/patches/1.0/root/base/0001-Round-the-grid-up.patch",
        ],
    )
    def test_a_patch_is_named_by_its_file_its_name_or_the_end_of_it(self, clone: Path, word: str) -> None:
        place = desk(clone, words=(word,))
        assert drop_patches(place)["dropped"] == [{"project": "sample", "line": "1.0", "file": BASE}]
        series = load_series(clone / "external-builds/sample", "1.0")
        assert series.patches[0].name.startswith("root/hipified/")
        assert not (clone / "external-builds/sample/patches/1.0/root/base").exists()

    def test_several_go_at_once_and_the_last_leaves_a_series_without_patches(self, clone: Path) -> None:
        names = [patch.name for patch in load_series(clone / "external-builds/sample", "1.0").patches]
        drop_patches(desk(clone, words=(*names, names[0])))
        assert contents(clone / "external-builds/sample/patches") == {"1.0/series.toml": b"schema = 1\n"}

    def test_one_that_another_command_has_dropped_meanwhile_is_told(self, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names = [patch.name for patch in load_series(clone / "external-builds/sample", "1.0").patches]

        @contextlib.contextmanager
        def waits(*_: object, **__: object) -> Iterator[None]:
            with monkeypatch.context() as patched:
                patched.setattr("build_tools.pipeline.series_commands.hold", lambda *_, **__: contextlib.nullcontext())
                drop_patches(desk(clone, words=(names[0],)))
            yield

        monkeypatch.setattr("build_tools.pipeline.series_commands.hold", waits)
        place = desk(clone, words=(names[0], names[1]))
        assert [row["file"] for row in drop_patches(place)["dropped"]] == [names[1]]
        assert f"{names[0]} has gone meanwhile" in said(place)
        assert [patch.name for patch in load_series(clone / "external-builds/sample", "1.0").patches] == names[2:]

    def test_a_dry_run_takes_nothing(self, clone: Path) -> None:
        before = contents(clone)
        place = desk(clone, words=(BASE,), dry_run=True)
        assert drop_patches(place)["dry_run"] is True
        assert contents(clone) == before
        assert "would go" in said(place)

    def test_one_unknown_name_among_others_takes_nothing_and_tells_those_near_it(self, clone: Path) -> None:
        error = refused("bad-option-value", drop_patches, desk(clone, words=(BASE, "0001-Round-the-grid")))
        assert str(error.hint).startswith("did you mean 0001-Round-the-grid-up.patch")
        assert "list-patches" in str(refused("bad-option-value", drop_patches, desk(clone)).hint)

    def test_a_name_that_several_have_is_told_with_all_of_them(self, clone: Path) -> None:
        new_series(desk(clone, projects=("sample",), line="2.0", copy_of="1.0"))
        message = refused("bad-option-value", drop_patches, desk(clone, words=(BASE,))).message
        assert f"sample 1.0 {BASE}, sample 2.0 {BASE}" in message
        assert drop_patches(desk(clone, words=(BASE,), line="2.0"))["dropped"][0]["line"] == "2.0"
        assert "it has 1.0, 2.0" in refused("no-line", drop_patches, desk(clone, words=(BASE,), line="3")).message

    def test_a_tree_that_still_has_it_is_told(self, clone: Path) -> None:
        new_series(desk(clone, projects=("sample",), line="2.0", copy_of="1.0"))
        for line, told in (("2.0", False), ("1.0", True)):
            place = desk(clone, words=(BASE,), line=line)
            tree = place.work_dir / "src" / "sample"
            (tree / ".git").mkdir(parents=True, exist_ok=True)
            note_patches(tree, "base", [], line="1.0")
            drop_patches(place)
            assert ("nox -s checkout_sample" in said(place)) == told


class TestTrees:
    def test_trees_are_those_that_are_locked_and_checked_out(self, clone: Path) -> None:
        place = desk(clone)
        with pytest.raises(HipwrightError) as caught:
            trees_in_use(place)
        assert caught.value.code.name == "stage-missing"
        assert caught.value.hint == "check one out first, such as nox -s checkout_sample"
        with pytest.raises(HipwrightError) as caught:
            trees_in_use(desk(clone, projects=("sample-companion",)))
        assert caught.value.hint == "check it out first: nox -s checkout_sample_companion"
        entry = locked("sample")
        write(place.work_dir, {"lock.json": to_json(Lock(projects={"sample": entry}))})
        with pytest.raises(HipwrightError, match="no source tree") as caught:
            trees_in_use(place)
        assert "nox -s checkout_sample" in str(caught.value.hint)
        named = desk(clone, projects=("sample-companion",))
        with pytest.raises(HipwrightError, match="sample-companion is not locked") as caught:
            trees_in_use(named)
        assert "nox -s checkout_sample_companion" in str(caught.value.hint)

    def test_a_tree_of_another_recipe_is_refused(self, clone: Path) -> None:
        place = desk(clone)
        write(place.work_dir, {"lock.json": to_json(Lock(projects={"sample": locked("sample")}))})
        (place.work_dir / "src" / "sample" / ".git").mkdir(parents=True)
        with pytest.raises(HipwrightError) as caught:
            trees_in_use(place)
        assert caught.value.code.name == "lock-conflict"

    def test_projects_with_a_series_or_those_that_are_named(self, clone: Path) -> None:
        assert [project.name for project in projects_with_series(desk(clone))] == ["sample"]
        both = desk(clone, projects=("sample-companion", "sample", "sample"))
        assert [project.name for project in projects_with_series(both)] == ["sample-companion", "sample"]

    def test_a_tree_is_held_for_one_command(self, clone: Path) -> None:
        place = desk(clone, wait=False)
        project = load_project(place.external_builds, ProjectName("sample"))
        chain = chain_of(project, locked("sample"), place)
        assert chain.locked() == locked("sample")
        with held(chain, "saving"):
            with pytest.raises(HipwrightError, match="saving") as caught, held(chain, "applying"):
                pass
            assert caught.value.code.name == "locked"

    def test_lines_to_paste_say_where_things_lie_as_the_command_was_told(self, clone: Path) -> None:
        place = desk(clone, line="2")
        given = dataclasses.replace(place.resolved, origins={"work_dir": "command line", "line": "command line"})
        place = dataclasses.replace(place, resolved=given)
        where = f"--work-dir {place.work_dir}"
        assert checkout_line("sample-companion", place) == f"nox -s checkout_sample_companion -- {where}"
        assert checkout_line("sample", desk(clone), "--line", "a") == "nox -s checkout_sample -- --line a"
        assert checkout_line("sample", desk(clone)) == "nox -s checkout_sample"
        assert task_line("drop-patch", place, "a b.patch") == f"invoke drop-patch {where} 'a b.patch'"
