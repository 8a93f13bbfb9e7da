"""A quilt series that others keep, taken over into the sample's lines: names, order, entries, and that nothing is half written."""

from __future__ import annotations

import dataclasses
import datetime as dt
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project
from build_tools.console.events import Table
from build_tools.errors import HipwrightError, Where
from build_tools.patches.series import load_series
from build_tools.pipeline.import_patches import import_patches
from build_tools.pipeline.run import run_pipeline
from build_tools.pipeline.series_commands import new_series
from build_tools.types import ProjectName, Stage
from tests.support.source_trees import git, snapshot, status, write
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

GREETER = "third_party/greeter"
OWN = "root/base/0001-Round-the-grid-up.patch"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with the sample checked out, which the tests copy."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(CLONE / "external-builds" / "sample", place / "clone" / "external-builds" / "sample")
    run(place, Stage.HIPIFIED_PATCHES)
    return place


@pytest.fixture
def place(tmp_path: Path, made: Path) -> Path:
    shutil.copytree(made, tmp_path / "place", symlinks=True)
    return tmp_path / "place"


def desk(place: Path, **settings: Any) -> Workplace:  # noqa: ANN401 - any option
    made = workplace(place, **settings)
    return dataclasses.replace(made, clone=place / "clone", typed_in=place)


def run(place: Path, until: Stage, **settings: Any) -> None:  # noqa: ANN401 - any option
    here = desk(place, **settings)
    run_pipeline([load_project(here.external_builds, ProjectName("sample"))], until=until, workplace=here)


def tree(place: Path) -> Path:
    return place / "work" / "src" / "sample"


def folder(place: Path) -> Path:
    return place / "clone" / "external-builds" / "sample"


def add_line(file: str, old: str, line: str, *, header: str = "") -> str:
    """Return a plain diff that adds a line at the end of a file."""
    lines = old.splitlines()[-3:]
    first = len(old.splitlines()) - len(lines) + 1
    context = "".join(f" {text}\n" for text in lines)
    return f"{header}\n--- a/{file}\n+++ b/{file}\n@@ -{first},{len(lines)} +{first},{len(lines) + 1} @@\n{context}+{line}\n"


def quilt(place: Path, **patches: str) -> Path:
    """Write a quilt series of patches by stem, in this order."""
    target = place / "quilt"
    shutil.rmtree(target, ignore_errors=True)
    write(target, {f"{name}.patch": text for name, text in patches.items()})
    write(target, {"series": "".join(f"{name}.patch\n" for name in patches)})
    return target


def three(place: Path) -> dict[str, str]:
    readme = (tree(place) / "README.md").read_text(encoding="utf-8")
    words = (tree(place) / GREETER / "README.md").read_text(encoding="utf-8")
    return {
        "first": add_line(
            "README.md", readme, "one", header="Description: The first\nAuthor: A <a@x>\nLast-Update: 2024-05-06\n"
        ),
        "2000-second": add_line("README.md", f"{readme}one\n", "two", header="Author: B <b@x>\nBug: https://bugs/2\n"),
        "third": add_line("README.md", f"{readme}one\ntwo\n", "three") + add_line(f"{GREETER}/README.md", words, "three"),
    }


def importing(place: Path, source: Path, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - any option
    here = desk(place, projects=("sample",), paths=(source,), **settings)
    done: dict[str, Any] = import_patches(here)["import"]
    return done


def refused(place: Path, code: str, source: Path, **settings: Any) -> HipwrightError:  # noqa: ANN401 - any option
    before = snapshot(folder(place)), snapshot(tree(place)), status(tree(place))
    with pytest.raises(HipwrightError) as caught:
        importing(place, source, **settings)
    assert caught.value.code.name == code
    assert (snapshot(folder(place)), snapshot(tree(place)), status(tree(place))) == before
    return caught.value


def names(place: Path, line: str) -> list[str]:
    return [patch.name for patch in load_series(folder(place), line).patches]


def test_a_new_line_has_the_series_in_order_with_what_its_headers_say(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.pipeline.import_patches.utc_now", lambda: "2031-02-03T04:05:06Z")
    heads = snapshot(tree(place)), git(tree(place), "for-each-ref")
    done = importing(place, quilt(place, **three(place)), line="theirs")
    assert names(place, "theirs") == [
        "root/base/0001-first.patch",
        "root/base/2000-second.patch",
        "root/base/2001-third.patch",
        f"{GREETER}/base/0001-third.patch",
    ]
    assert [(row["patch"], row["file"], row["outcome"]) for row in done["patches"]] == [
        ("first.patch", "root/base/0001-first.patch", "imported"),
        ("2000-second.patch", "root/base/2000-second.patch", "imported"),
        ("third.patch", "root/base/2001-third.patch", "imported"),
        ("third.patch", f"{GREETER}/base/0001-third.patch", "imported"),
    ]
    first, second, third, _ = (patch.entry for patch in load_series(folder(place), "theirs").patches)
    assert (first.why, first.upstream, first.owner, first.added) == ("The first", "not sent", "A <a@x>", dt.date(2024, 5, 6))
    assert (second.why, second.upstream, second.owner) == ("2000-second", "Bug: https://bugs/2", "B <b@x>")
    assert (third.owner, third.added) == ("unknown", dt.date(2031, 2, 3)), "the day of the import"
    assert heads == (snapshot(tree(place)), git(tree(place), "for-each-ref")), "the tree is only read"

    run(place, Stage.HIPIFIED_PATCHES, line="theirs")
    assert (tree(place) / "README.md").read_text(encoding="utf-8").endswith("one\ntwo\nthree\n")
    assert (tree(place) / GREETER / "README.md").read_text(encoding="utf-8").endswith("three\n")


def test_the_lines_own_patches_stay_below_and_what_is_there_is_not_imported_again(place: Path) -> None:
    patches = three(place)
    source = quilt(place, first=patches["first"], **{"2000-second": patches["2000-second"]})
    importing(place, source, line="1.0")
    own = names(place, "1.0")
    assert own[0] == OWN
    assert own[-2:] == ["root/base/0002-first.patch", "root/base/2000-second.patch"]
    series = snapshot(folder(place))
    again = importing(place, source, line="1.0")
    assert [row["outcome"] for row in again["patches"]] == ["there already"] * 2
    assert snapshot(folder(place)) == series
    run(place, Stage.HIPIFIED_PATCHES)
    assert [row["outcome"] for row in importing(place, source)["patches"]] == ["there already"] * 2, "whatever the tree stands on"

    grown = quilt(place, **patches)
    importing(place, grown, line="1.0")
    assert names(place, "1.0") == [*own, "root/base/2001-third.patch", f"{GREETER}/base/0002-third.patch"]


def test_a_patch_that_comes_between_goes_behind_the_one_before_it(place: Path) -> None:
    readme = (tree(place) / "README.md").read_text(encoding="utf-8")
    one = add_line("README.md", readme, "one")
    version = "--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-1.0.0\n+1.0.1\n"
    assert (tree(place) / "version.txt").read_text(encoding="utf-8") == "1.0.0\n"
    importing(place, quilt(place, one=one, last=version), line="theirs")
    importing(place, quilt(place, one=one, between=add_line("README.md", f"{readme}one\n", "two"), last=version), line="theirs")
    assert [name.rpartition("/")[2] for name in names(place, "theirs")] == [
        "0001-one.patch",
        "0003-between.patch",
        "0002-last.patch",
    ]


def test_other_bytes_under_a_name_that_is_there_are_refused(place: Path) -> None:
    patches = three(place)
    importing(place, quilt(place, first=patches["first"]), line="theirs")
    error = refused(place, "bad-import", quilt(place, first=patches["first"].replace("+one", "+other")), line="theirs")
    assert "root/base/0001-first.patch is in the line theirs already" in error.message
    assert "invoke drop-patch" in str(error.hint)


def test_one_that_does_not_apply_leaves_nothing_behind(place: Path) -> None:
    patches = three(place)
    error = refused(place, "patch-conflict", quilt(place, first=patches["first"], third=patches["third"]), line="theirs")
    assert "third.patch" in error.message
    assert not (folder(place) / "patches" / "theirs").exists()


def test_hipified_patches_lie_on_what_hipify_made(place: Path) -> None:
    made = (tree(place) / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8")
    importing(place, quilt(place, hip=add_line("csrc/hip/saxpy.hip", made, "// more")), line="1.0", phase="hipified")
    assert names(place, "1.0")[-1] == "root/hipified/0002-hip.patch"
    run(place, Stage.HIPIFIED_PATCHES)
    assert (tree(place) / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8") == f"{made}// more\n"
    source = quilt(place, other=add_line("csrc/hip/saxpy.hip", f"{made}// more\n", "// most"))
    refused(place, "lock-conflict", source, line="theirs", phase="hipified")
    run(place, Stage.BASE_PATCHES)
    refused(place, "stage-missing", source, line="1.0", phase="hipified")


def test_a_new_line_of_hipified_patches_is_begun_as_the_hint_says(place: Path) -> None:
    made = (tree(place) / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8")
    source = quilt(place, hip=add_line("csrc/hip/saxpy.hip", made, "// more"))
    hint = str(refused(place, "lock-conflict", source, line="theirs", phase="hipified").hint)
    assert hint.index("invoke new-series") < hint.index("checkout_sample")
    begin = hint.partition("first: ")[2].partition(" && ")[0]
    assert begin.endswith("invoke new-series --projects sample --line theirs")
    new_series(desk(place, projects=("sample",), line="theirs"))
    assert "new-series" not in str(refused(place, "lock-conflict", source, line="theirs", phase="hipified").hint)
    run(place, Stage.HIPIFIED_PATCHES, line="theirs")
    made = (tree(place) / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8")
    source = quilt(place, hip=add_line("csrc/hip/saxpy.hip", made, "// more"))
    importing(place, source, line="theirs", phase="hipified")
    assert names(place, "theirs") == ["root/hipified/0001-hip.patch"]


def test_what_people_are_shown_is_short_and_without_detours(place: Path) -> None:
    long = "word " * 20
    patches = three(place)
    source = quilt(place, first=patches["first"].replace("The first", long.strip()))
    here = desk(place, projects=("sample",), paths=(place / "clone" / ".." / source.name,), line="theirs", dry_run=True)
    done = import_patches(here)["import"]
    assert (done["series"], done["dry_run"]) == (str(source / "series"), True)
    assert done["patches"][0]["subject"] == long.strip()
    (table,) = [event for event in memory_of(here).events if isinstance(event, Table)]
    assert table.rows[0][2] == "word word word word word word word word word word…"


def test_a_path_through_a_link_names_what_it_did(place: Path) -> None:
    source = quilt(place, **three(place))
    (place / "far" / "deep").mkdir(parents=True)
    source.rename(place / "far" / "quilt")
    write(place / "quilt", {"series": "other.patch\n"})
    (place / "link").symlink_to(place / "far" / "deep")
    assert len(importing(place, place / "link" / ".." / "quilt", line="theirs")["patches"]) == 4


def test_it_is_tried_as_other_platforms_get_the_line(place: Path) -> None:
    version = "--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-1.0.0\n+1.0.1\n"
    importing(place, quilt(place, windows=version), line="theirs")
    path = folder(place) / "patches" / "theirs" / "series.toml"
    path.write_text(f'{path.read_text(encoding="utf-8")}platforms = ["windows"]\n', encoding="utf-8")
    readme = (tree(place) / "README.md").read_text(encoding="utf-8")
    fits = importing(place, quilt(place, readme=add_line("README.md", readme, "one")), line="theirs")
    assert fits["elsewhere"] == {"windows": None}

    here = desk(place, projects=("sample",), paths=(quilt(place, other=version.replace("1.0.1", "1.0.2")),), line="theirs")
    failure = import_patches(here)["import"]["elsewhere"]["windows"]
    assert "root/base/0003-other.patch does not apply" in failure
    assert any("tried as windows gets it" in text and failure in text for text in memory_of(here).said)


def test_a_dry_run_tells_and_writes_nothing(place: Path) -> None:
    source = quilt(place, **three(place))
    write(source, {"stray.patch": "x", "off.patch": "x", "series": (source / "series").read_text() + "#off.patch\n"})
    before = snapshot(folder(place))
    here = desk(place, projects=("sample",), paths=(source,), line="theirs", dry_run=True)
    done = import_patches(here)["import"]
    assert {row["outcome"] for row in done["patches"]} == {"would be imported"}
    assert (done["disabled"], done["unnamed"]) == (["off.patch"], ["stray.patch"])
    assert any("off.patch is switched off" in text for text in memory_of(here).said)
    assert snapshot(folder(place)) == before


def test_what_is_not_said_is_asked_for(place: Path, tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no folders are named"):
        import_patches(desk(place))
    with pytest.raises(HipwrightError, match="is no name for a patch line"):
        importing(place, quilt(place, **three(place)), line="../x")
    source = quilt(place, **three(place))
    shutil.copytree(place / "clone", tmp_path / "elsewhere" / "clone")
    with pytest.raises(HipwrightError, match="nothing is locked") as caught:
        importing(tmp_path / "elsewhere", source, line="x")
    assert caught.value.code.name == "stage-missing"


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 00:00:00 +0000", "Mon, 4 Mar 2024 05:06:07 +1445"])
def test_a_date_that_no_patch_can_have_is_one_of_the_foreign_patch(place: Path, date: str) -> None:
    patches = three(place)
    patches["first"] = patches["first"].replace("Last-Update: 2024-05-06", f"Date: {date}")
    source = quilt(place, **patches)
    error = refused(place, "bad-import", source, line="theirs")
    assert error.where is not None
    assert (error.where.file, error.where.line) == (source / "first.patch", 3)


def test_what_does_not_survive_is_told_of_the_foreign_patch(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = folder(place) / "patches" / "theirs" / "root" / "base" / "2000-second.patch"

    def failing(*_arguments: object, **_more: object) -> None:
        raise HipwrightError("patch-conflict", "git cannot", where=Where(file=written, line=9), hint="look at it")

    monkeypatch.setattr("build_tools.pipeline.import_patches.replay", failing)
    source = quilt(place, **three(place))
    error = refused(place, "bad-import", source, line="theirs")
    assert error.message == "2000-second.patch does not survive being a patch of a series: git cannot"
    assert error.where is not None
    assert (error.where.file, error.where.line) == (source / "2000-second.patch", None)
