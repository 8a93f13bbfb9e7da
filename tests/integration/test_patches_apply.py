"""A series on real trees: exact commits, no fuzz, and nothing changed when a patch fails."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.modules import own_folder
from build_tools.types import Platform
from tests.support.source_trees import (
    ODD_NAMES,
    Person,
    Tree,
    Yard,
    git,
    head,
    identity,
    make_patch,
    raw,
    snapshot,
    status,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LIB = "third party/lib"
DEEP = f"{LIB}/deep"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


LINES = "".join(f"line {number}\n" for number in range(1, 41))


@pytest.fixture
def origin(yard: Yard) -> Person:
    deep, lib, origin = yard.person("deep"), yard.person("lib"), yard.person("toy")
    deep.commit({"d.txt": LINES})
    lib.commit({"l.txt": LINES})
    lib.submodule(deep, "deep")
    origin.commit(
        {
            "version.txt": "1.0\n",
            "a.txt": LINES,
            "crlf.txt": LINES.replace("\n", "\r\n"),
            "b.bin": bytes(range(256)),
            "run.bat": "x\ny\n",
            ".gitattributes": "*.bat text eol=crlf\n",
        }
    )
    origin.submodule(lib, LIB)
    return origin


@pytest.fixture
def locked(yard: Yard, origin: Person, tree: Path) -> None:
    yard.checkout(yard.lock(origin), tree)


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def refs(folder: Path) -> dict[str, str]:
    lines = git(folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/hipwright/").splitlines()
    return dict(line.split(" ") for line in lines)


@pytest.mark.usefixtures("locked")
def test_patches_land_in_every_module_with_subjects_authors_and_dates_verbatim(yard: Yard, tree: Path) -> None:
    upstream = {module: head(tree / module) for module in (".", LIB, DEEP)}
    first = make_patch(
        tree / DEEP, {"d.txt": LINES.replace("line 5\n", "LINE 5\n")}, message="[ROCm] [x] é\n\nBody.\n--\nnot a footer"
    )
    second = make_patch(tree, {"a.txt": LINES + "more\n"}, message="root one")
    yard.series({f"{DEEP}/base/0001-d.patch": first, "root/base/0002.patch": second})
    yard.patches("base", tree)
    assert status(tree) == b""
    assert subjects(tree / DEEP)[0] == "[ROCm] [x] é"
    assert git(tree / DEEP, "log", "-1", "--format=%an %ae %aI %cn %ce %cI") == (
        "Some One some.one@example.com 2024-03-04T05:06:07+02:00 hipwright hipwright@localhost 2024-03-04T05:06:07+02:00"
    )
    assert git(tree / DEEP, "log", "-1", "--format=%B").rstrip() == "[ROCm] [x] é\n\nBody.\n--\nnot a footer"
    recorded = "Record the submodules with their base patches"
    assert subjects(tree)[:2] == [recorded, "root one"]
    assert subjects(tree / LIB)[0] == recorded
    for module, commit in upstream.items():
        now = head(tree / module)
        assert refs(tree / module) == {"upstream": commit, "base": now, "hipified": now, "finished": now}
    assert git(tree, "log", "-1", "--format=%(trailers:key=Hipwright-Phase,valueonly)").strip() == "base"
    date = git(tree, "show", "-s", "--format=%ct", upstream["."])
    assert git(tree, "log", "-1", "--format=%at %ct %ae %ce") == f"{date} {date} hipwright@localhost hipwright@localhost"
    assert (tree / DEEP / "d.txt").read_text().splitlines()[4] == "LINE 5"


@pytest.mark.usefixtures("locked")
def test_a_patch_that_is_exported_again_is_the_same_bytes(yard: Yard, tree: Path) -> None:
    names: Tree = {name: "odd\n" for name in ODD_NAMES if "\n" not in name}
    changes: Tree = {
        "a.txt": LINES.replace("line 20\n", "line 20  \t\n"),
        "crlf.txt": LINES.replace("\n", "\r\n").replace("line 7\r", "LINE 7\r"),
        "b.bin": bytes(reversed(range(256))),
        "run.bat": b"x\r\nY\r\n",
        "new\nline": "n\n",
        **names,
    }
    patch = make_patch(tree, changes, message="[everything] at once", remove=("version.txt",))
    yard.series({"root/base/0001.patch": patch})
    yard.patches("base", tree)
    assert status(tree) == b""
    options = ("--keep-subject", "--zero-commit", "--no-signature", "--full-index", "--no-stat", "--binary")
    assert raw(tree, "format-patch", "--stdout", *options, "HEAD~1") == patch
    assert snapshot(tree)["run.bat"] == b"  x\r\nY\r\n"
    assert snapshot(tree)["crlf.txt"].count(b"\r\n") == 40


def test_two_machines_get_the_same_commits(yard: Yard, origin: Person) -> None:
    trees = [yard.place / "one" / "toy", yard.place / "two é\n" / "toy"]
    for tree in trees:
        yard.checkout(yard.lock(origin), tree)
    yard.series(
        {
            "root/base/1.patch": make_patch(trees[0], {"a.txt": "x\n"}),
            f"{DEEP}/base/1.patch": make_patch(trees[0] / DEEP, {"d.txt": "x\n"}),
            f"{LIB}/hipified/1.patch": make_patch(trees[0] / LIB, {"l.txt": "x\n"}),
        }
    )
    for tree in trees:
        yard.patches("base", tree)
        yard.patches("hipified", tree)
    first, second = ([refs(tree / module) for module in (".", LIB, DEEP)] for tree in trees)
    assert first == second


@pytest.mark.usefixtures("locked")
def test_applying_again_changes_nothing_and_keeps_work_on_top(yard: Yard, tree: Path) -> None:
    yard.series(
        {"root/base/1.patch": make_patch(tree, {"a.txt": "x\n"}), "root/hipified/1.patch": make_patch(tree, {"c.txt": "x\n"})}
    )
    yard.patches("base", tree)
    yard.patches("hipified", tree)
    write(tree, {"a.txt": "my edit\n"})
    git(tree, "commit", "--quiet", "-a", "-m", "mine")
    before = (refs(tree), head(tree))
    yard.patches("base", tree)
    yard.patches("hipified", tree)
    assert (refs(tree), head(tree)) == before


@pytest.mark.usefixtures("locked")
def test_another_series_takes_the_place_of_the_old_one_unless_work_would_be_lost(yard: Yard, tree: Path) -> None:
    upstream = head(tree)
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": "x\n"})})
    yard.patches("base", tree)
    write(tree, {"a.txt": "mine\n"})
    yard.series({"root/base/1.patch": make_patch(tree, {"b.txt": "y\n"}, commit=upstream)})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "unsaved-work"
    git(tree, "checkout", "--quiet", "--", "a.txt")
    yard.patches("base", tree)
    assert (tree / "a.txt").read_text() == LINES
    assert (tree / "b.txt").read_text() == "y\n"
    yard.patches("base", tree, line=None)
    assert head(tree) == upstream
    assert status(tree) == b""


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("module", [".", DEEP])
def test_a_patch_that_does_not_apply_is_named_and_leaves_everything_as_before(yard: Yard, tree: Path, module: str) -> None:
    file = "a.txt" if module == "." else "d.txt"
    good = make_patch(tree / module, {"new.txt": "new\n"})
    changed = LINES.replace("line 3\n", "LINE 3\n").replace("line 30\n", "LINE 30\n")
    bad = make_patch(tree / module, {file: changed}).replace(b"\n line 29\n", b"\n line elsewhere\n")
    name = "root" if module == "." else module
    yard.series(
        {
            f"{LIB}/base/1.patch": make_patch(tree / LIB, {"l.txt": "x\n"}),
            f"{name}/base/1-good.patch": good,
            f"{name}/base/2-bad.patch": bad,
            f"{name}/base/3-never.patch": good,
        }
    )

    def state() -> tuple[object, ...]:
        modules = [(raw(tree / path, "for-each-ref"), head(tree / path)) for path in (".", LIB, DEEP)]
        return snapshot(tree), status(tree), modules, sorted(own_folder(tree).rglob("*"))

    before = state()
    for _ in range(2):
        with pytest.raises(
            HipwrightError, match=f"{name}/base/2-bad.patch does not apply to .*the hunk for line 27 of {file}"
        ) as caught:
            yard.patches("base", tree)
        error = caught.value
        assert error.code.name == "patch-conflict"
        assert error.where is not None
        assert (error.where.module, error.where.member) == (module, file)
        assert error.where.line is not None
        patch = Path(str(error.where.file))
        assert patch.name == "2-bad.patch"
        assert patch.read_text().splitlines()[error.where.line - 1].startswith("@@ -27,7 +27,7 @@")
        assert str(error.excerpt).splitlines()[3] == " line elsewhere"
        assert error.log == yard.log
        assert state() == before
    assert b"patch failed" in yard.log.read_bytes()
    yard.series({f"{name}/base/1-good.patch": good})
    (yard.folder / "patches/1" / name / "base/2-bad.patch").unlink()
    (yard.folder / "patches/1" / name / "base/3-never.patch").unlink()
    (yard.folder / "patches/1" / LIB / "base/1.patch").unlink()
    yard.patches("base", tree)
    assert (tree / module / "new.txt").read_text() == "new\n"


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.replace(b"a/a.txt", b"a/gone.txt").replace(b"b/a.txt", b"b/gone.txt"), r"gone\.txt"),
        (lambda data: data.replace(b" line 4\n", b" line 4 \n"), "does not fit"),
    ],
    ids=["missing-file", "other-context"],
)
def test_patches_that_git_refuses_are_conflicts_too(yard: Yard, tree: Path, change: object, words: str) -> None:
    patch = change(make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n")}))  # type: ignore[operator]
    yard.series({"root/base/1.patch": patch})
    before = head(tree)
    with pytest.raises(HipwrightError, match=words) as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "patch-conflict"
    assert (head(tree), status(tree)) == (before, b"")


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (lambda data: data.replace(b"@@ -2,7 +2,7 @@", b"@@ -2,9 +2,7 @@"), "9 lines before and 7 after", "@@ -2,9"),
        (lambda data: data.replace(b"@@ -2,7 +2,7 @@", b"@@ -2,6 +2,6 @@"), "6 lines before and 6 after", "@@ -2,6"),
        (lambda data: data[: data.index(b"@@")], "no hunk follows", "+++ b/a.txt"),
        (lambda data: data.replace(b"\n line 4\n", b"\n"), "7 lines before and 7 after", "@@ -2,7"),
        (lambda data: data.replace(b" line 8\n", b" line 8\n+int lost;\n"), "7 lines before and 7 after", "@@ -2,7"),
        (lambda data: data.replace(b" line 8\n", b" line 8\n\n+int lost;\n"), "belongs to no hunk", "+int lost;"),
        (lambda data: data.replace(b"a/a.txt", b"a/../../evil").replace(b"b/a.txt", b"b/../../evil"), "leads out", "diff --git"),
        (lambda data: data.replace(b"b/a.txt", b"b/.GIT/hooks/x"), "git's own folder", "diff --git"),
        (lambda data: b"".join(data.partition(b"diff --git")[::2]).replace(b" a/a.txt b/a.txt\n", b""), "diff --git", ""),
        (
            lambda data: data.replace(b"diff --git", b"--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n+b\ndiff --git"),
            "applies this diff too",
            "--- a/b.txt",
        ),
        (lambda data: re.sub(rb"From: .*\n", b"", data), "no From", "From 0"),
        (lambda data: re.sub(rb"Date: .*\n", b"", data), "no Date", "From 0"),
        (lambda data: re.sub(rb"Subject: .*\n", b"", data), "no Subject", "From 0"),
        (lambda data: re.sub(rb"(Date: .*) \+0200\n", rb"\1\n", data), "says no zone", "Date: "),
        (lambda data: re.sub(rb"(Date: .*) \+0200\n", rb"\1 +1445\n", data), "no zone .1445", "Date: "),
        (lambda data: data.replace(b" 2024 ", b" 2101 "), "of the year 2101", "Date: "),
    ],
    ids=[
        "wrong-count",
        "too-few",
        "no-hunk",
        "lost-line",
        "line-more",
        "line-apart",
        "outside",
        "git-folder",
        "no-diff",
        "bare-diff",
        "no-from",
        "no-date",
        "no-subject",
        "no-zone",
        "odd-zone",
        "far-year",
    ],
)
def test_a_patch_that_git_would_read_otherwise_than_a_person_is_refused_at_its_line(
    yard: Yard, tree: Path, change: Callable[[bytes], bytes], words: str, line: str
) -> None:
    good = make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n")})
    patch = change(good)
    assert patch != good
    yard.series({"root/base/1.patch": patch})
    before = head(tree)
    with pytest.raises(HipwrightError, match=words) as caught:
        yard.patches("base", tree)
    error = caught.value
    assert error.code.name == "bad-series"
    assert error.hint
    assert error.where is not None
    assert str(error.where.file).endswith("1.patch")
    assert error.where.module == "."
    if line:
        assert error.where.line is not None
        assert patch.decode().splitlines()[error.where.line - 1].startswith(line)
    assert (head(tree), status(tree)) == (before, b"")


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("name", ["é a.txt", 'quote".txt', "back\\slash.txt"])
def test_files_of_any_name_are_named_in_a_conflict(yard: Yard, tree: Path, origin: Person, name: str) -> None:
    origin.commit({name: LINES})
    yard.checkout(yard.lock(origin), tree)
    patch = make_patch(tree, {name: LINES.replace("line 20\n", "LINE 20\n")}).replace(b" line 19\n", b" line nineteen\n")
    yard.series({"root/base/1.patch": patch})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.where is not None
    assert (caught.value.where.member, caught.value.where.line is not None) == (name, True)


@pytest.mark.usefixtures("locked")
def test_there_is_no_fuzz_and_no_merging(yard: Yard, tree: Path, origin: Person) -> None:
    patch = make_patch(tree, {"a.txt": LINES.replace("line 20\n", "LINE 20\n")})
    origin.commit({"a.txt": LINES.replace("line 18\n", "drifted\n")})
    yard.checkout(yard.lock(origin), tree)
    yard.series({"root/base/1.patch": patch})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "patch-conflict"


@pytest.mark.usefixtures("locked")
def test_a_file_with_two_patches_is_refused(yard: Yard, tree: Path) -> None:
    one, two = make_patch(tree, {"x": "x\n"}), make_patch(tree, {"y": "y\n"})
    yard.series({"root/base/1.patch": one + two})
    with pytest.raises(HipwrightError, match="another patch begins here") as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "bad-series"
    assert status(tree) == b""


@pytest.mark.usefixtures("locked")
def test_a_patch_for_a_module_that_is_not_there_is_refused(yard: Yard, tree: Path) -> None:
    yard.series({"third_party/nobody/base/1.patch": make_patch(tree, {"x": "x\n"})})
    with pytest.raises(HipwrightError, match="third_party/nobody, which this tree does not have") as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "bad-series"


@pytest.mark.usefixtures("locked")
def test_a_patch_for_another_platform_is_left_out_and_said_so(yard: Yard, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {"x": "x\n"})}, platforms=["windows"])
    upstream = head(tree)
    yard.patches("base", tree)
    assert head(tree) == upstream
    assert any("1.patch is left out: it is for windows only" in line for line in yard.said)
    yard.patches("base", tree, platform=Platform.WINDOWS)
    assert (tree / "x").exists()


@pytest.mark.usefixtures("locked")
def test_hidden_and_odd_files_of_a_patch_are_part_of_the_tree(yard: Yard, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {".gitignore": "hip\n", "hip/x": "x\n"})})
    yard.patches("base", tree)
    assert (tree / "hip" / "x").read_text() == "x\n"
    assert status(tree) == b""


@pytest.mark.usefixtures("locked")
def test_a_persons_own_git_am_in_the_tree_is_left_alone(yard: Yard, tree: Path) -> None:
    bad = yard.place / "bad.patch"
    bad.write_bytes(make_patch(tree, {"a.txt": LINES.replace("line 5", "x")}).replace(b"line 4", b"line four"))
    subprocess.run(["git", "am", bad], cwd=tree, env=identity(), capture_output=True, check=False)
    assert (tree / ".git" / "rebase-apply").exists()
    yard.series({"root/base/1.patch": make_patch(tree, {"x": "x\n"})})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert str(caught.value.excerpt).splitlines()[0] == "git am is under way in the root"
    assert f"git -C '{tree}' am --abort" in str(caught.value.hint)
    git(tree, "am", "--abort")
    yard.patches("base", tree)
    assert (tree / "x").exists()
