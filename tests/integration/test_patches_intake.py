"""Foreign patches become commits of a tree's modules, beside the tree: whose they are, what they hold, and what is refused."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pytest

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.patches.export import export
from build_tools.patches.intake import Taken, open_intake
from build_tools.patches.quilt import read_quilt
from build_tools.patches.series import load_series
from build_tools.sources.modules import load_modules, markers_of
from tests.support.source_trees import Yard, git, raw, snapshot, status, write

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.patches.intake import Intake

LIB = "third_party/lib"
INNER = f"{LIB}/deep/inner"
LINES = "".join(f"line {number}\n" for number in range(1, 41))
LOOK_ALIKE = "".join(f"int f{name}() {{\n{''.join(f'    {call}();{chr(10)}' for call in 'yabcdez')}}}\n\n" for name in "123")
DATE = 1_700_000_000


def diff(name: str, old: str | None, new: str | None, *, tops: tuple[str, str] = ("pkg.orig/", "pkg/")) -> str:
    """Return a plain diff of one file, as quilt writes it; a file that is not there is None."""
    before, after = ("/dev/null" if text is None else f"{top}{name}" for top, text in zip(tops, (old, new), strict=True))
    lines = difflib.unified_diff((old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True), before, after)
    told = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"Index: pkg/{name}\n{'=' * 67}\n{told}"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def tree(yard: Yard) -> Path:
    inner, lib, root = yard.person("inner"), yard.person("lib"), yard.person("toy")
    inner.commit({"in.txt": LINES})
    lib.commit({"lib.txt": LINES})
    lib.submodule(inner, "deep/inner")
    crlf = LINES.replace("\n", "\r\n").encode()
    root.commit(
        {"version.txt": "1.0\n", "a.txt": LINES, "f.c": LOOK_ALIKE, "é b.txt": LINES, "crlf.txt": crlf, "end.txt": "no end"}
    )
    root.submodule(lib, LIB)
    tree = yard.place / "src" / "toy"
    yard.checkout(yard.lock(root), tree)
    return tree


def take(yard: Yard, tree: Path, patches: dict[str, str], *, options: str = "") -> tuple[Intake, tuple[Taken, ...]]:
    """Take patches over, in this order; the repository that holds the commits stays for the test."""
    folder = yard.place / "foreign"
    files.remove_tree(folder)
    for name, text in patches.items():
        write(folder, {name: text.encode("utf-8", "surrogateescape")})
    write(folder, {"series": "".join(f"{name} {options}\n" for name in patches)})
    quilt = read_quilt(folder)
    starts = {}
    for module in load_modules(tree, git=yard.git):
        markers = markers_of(module)
        assert markers is not None
        starts[module] = markers.upstream
    scratch = yard.place / "scratch"
    files.remove_tree(scratch)
    scratch.mkdir()
    intake = open_intake(starts, quilt.patches, scratch=scratch, git=yard.git, date=DATE)
    return intake, intake.take(quilt.patches, progress=lambda _done: None)


def content(intake: Intake, commit: str, name: str) -> bytes:
    return intake.repository.capture("cat-file", "blob", f"{commit}:{name}").stdout


def refused(yard: Yard, tree: Path, code: str, patches: dict[str, str]) -> HipwrightError:
    before = snapshot(tree), status(tree), raw(tree, "for-each-ref"), raw(tree, "count-objects", "-v")
    with pytest.raises(HipwrightError) as caught:
        take(yard, tree, patches)
    assert caught.value.code.name == code
    assert before == (snapshot(tree), status(tree), raw(tree, "for-each-ref"), raw(tree, "count-objects", "-v"))
    return caught.value


def test_a_patch_is_taken_apart_by_module_and_says_who_wrote_it_when(yard: Yard, tree: Path) -> None:
    new = LINES.replace("line 20\n", "LINE\n")
    text = "Description: Do it\n Since it is due.\nAuthor: Ann <ann@x>\nLast-Update: 2024-02-03\n\n"
    text += diff("a.txt", LINES, new) + diff(f"{LIB}/lib.txt", LINES, new) + diff(f"{INNER}/in.txt", LINES, new)
    intake, (taken,) = take(yard, tree, {"it.patch": text})
    assert list(taken.commits) == [".", LIB, INNER]
    for module, name in ((".", "a.txt"), (LIB, "lib.txt"), (INNER, "in.txt")):
        commit = taken.commits[module]
        assert content(intake, commit, name) == new.encode()
        own = tree if module == "." else tree / module
        assert intake.repository.text("rev-parse", f"{commit}~1") == git(own, "rev-parse", "refs/hipwright/upstream")
        changed = intake.repository.text("diff-tree", "-r", "--name-only", f"{commit}~1", commit).split()
        assert changed == [name], "no module records another commit of its submodules"
    said = intake.repository.text("show", "--no-patch", "--format=%an|%ae|%ad|%B", "--date=raw", taken.commits["."])
    assert said == "Ann|ann@x|1706918400 +0000|Do it\n\nSince it is due."


def test_what_says_no_date_gets_the_given_one_and_the_same_patches_make_the_same_commits(yard: Yard, tree: Path) -> None:
    patches = {"it.patch": "Author: Mo Zhou\n" + diff("a.txt", LINES, LINES.replace("line 3\n", ""))}
    intake, (first,) = take(yard, tree, patches)
    said = intake.repository.text("show", "--no-patch", "--format=%an|%ae|%at|%ct|%s", first.commits["."])
    assert said == f"Mo Zhou||{DATE}|{DATE}|it"
    _, (second,) = take(yard, tree, patches)
    assert first.commits == second.commits


def test_files_come_and_go_and_odd_contents_and_names_are_kept(yard: Yard, tree: Path) -> None:
    crlf = LINES.replace("\n", "\r\n")
    patches = {
        "1.patch": diff("new file.txt", None, "x\n") + diff("f.c", LOOK_ALIKE, None),
        "2.patch": diff("é b.txt", LINES, "é\n" + LINES) + diff("end.txt", "no end", "still no end"),
        "3.patch": diff("new file.txt", "x\n", "y\n"),
    }
    patches["4.patch"] = "--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,2 +1,2 @@\n-line 1\r\n+LINE 1\r\n line 2\r\n"
    intake, taken = take(yard, tree, patches)
    last = taken[-1].commits["."]
    assert content(intake, last, "new file.txt") == b"y\n"
    assert content(intake, last, "é b.txt") == f"é\n{LINES}".encode()
    assert content(intake, last, "end.txt") == b"still no end"
    assert content(intake, last, "crlf.txt") == crlf.replace("line 1\r", "LINE 1\r", 1).encode()
    assert "f.c" not in intake.repository.text("ls-tree", "--name-only", last).split("\n")


def test_folders_are_taken_off_as_the_series_says(yard: Yard, tree: Path) -> None:
    intake, (taken,) = take(yard, tree, {"x.patch": diff("a.txt", LINES, "y\n", tops=("", ""))}, options="-p0")
    assert content(intake, taken.commits["."], "a.txt") == b"y\n"


def test_what_changes_nothing_becomes_no_commit(yard: Yard, tree: Path) -> None:
    _, taken = take(yard, tree, {"words.patch": "Description: only words\n", "x.patch": diff("a.txt", LINES, "y\n")})
    assert [list(one.commits) for one in taken] == [[], ["."]]


def test_a_patch_that_does_not_fit_is_named_with_its_file_and_hunk(yard: Yard, tree: Path) -> None:
    fits = diff("a.txt", LINES, LINES.replace("line 20\n", "LINE\n"))
    other = LINES.replace("line 9\n", "line nine\n")
    error = refused(
        yard,
        tree,
        "patch-conflict",
        {"1.patch": fits, "2.patch": f"Description: x\n\n{diff('a.txt', other, other.replace('line 10', 'LINE 10'))}"},
    )
    assert error.message == "2.patch does not apply: the hunk for line 7 of a.txt does not fit"
    lost = refused(yard, tree, "patch-conflict", {"3.patch": diff("none.txt", "a\n", "b\n")})
    assert "none.txt" in lost.message
    nothing = refused(yard, tree, "bad-import", {"4.patch": "--- a/a.txt\n+++ b/a.txt\nno hunk\n"})
    assert nothing.hint


def test_a_patch_without_hunks_is_taken_over(yard: Yard, tree: Path) -> None:
    heads = {
        "mode": "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n",
        "name": "diff --git a/end.txt b/ended.txt\nsimilarity index 100%\nrename from end.txt\nrename to ended.txt\n",
        "empty": "diff --git a/e.txt b/e.txt\nnew file mode 100644\nindex 0000000..e69de29\n",
    }
    intake, taken = take(yard, tree, {f"{name}.patch": text for name, text in heads.items()})
    assert [list(one.commits) for one in taken] == [["."]] * 3
    head = taken[-1].commits["."]
    assert (content(intake, head, "ended.txt"), content(intake, head, "e.txt")) == (b"no end", b"")
    assert intake.repository.text("ls-tree", head, "a.txt").startswith("100755")


def test_a_hunk_that_lies_elsewhere_is_told_and_one_that_fits_twice_is_refused(yard: Yard, tree: Path) -> None:
    moved = "x\n" * 3 + LINES
    _, (taken,) = take(yard, tree, {"x.patch": diff("a.txt", moved, moved.replace("line 20\n", "LINE\n"))})
    assert taken.moved == ("a.txt: the hunk for line 20 applies -3 lines away",)
    hunk = "@@ -{0},5 +{0},5 @@\n     a();\n     b();\n-    c();\n+    C();\n     d();\n     e();\n"
    at_home = f"--- a/f.c\n+++ b/f.c\n{hunk.format(3 + 11)}"
    intake, (there,) = take(yard, tree, {"x.patch": at_home.replace("@@ -14", "@@ -13").replace("+14", "+13")})
    assert content(intake, there.commits["."], "f.c").split(b"}")[1].count(b"C()") == 1
    error = refused(yard, tree, "patch-misplaced", {"x.patch": f"--- a/f.c\n+++ b/f.c\n{hunk.format(8)}"})
    assert "fits in 3 places" in error.message


def test_what_is_exported_gives_the_same_trees_again(yard: Yard, tree: Path) -> None:
    new = LINES.replace("line 20\n", "LINE\n")
    patches = {
        "1.patch": f"Description: subject\n diff --git a/x b/x\n --- not the end\nAuthor: A. B. <>\n\n{diff('a.txt', LINES, new)}",
        "2.patch": f"From: é <e@x>\nSubject: [PATCH] [rocm] é\n\n{diff(f'{LIB}/lib.txt', LINES, new)}{diff('a.txt', new, new + 'x')}",
    }
    intake, taken = take(yard, tree, patches)
    series: dict[str, bytes] = {}
    for number, one in enumerate(taken):
        for module, commit in one.commits.items():
            folder = "root" if module == "." else module
            series |= {f"{folder}/base/{number}.patch": export(intake.repository, [commit], scratch=yard.place / "out")[commit]}
    yard.series(series)
    assert load_series(yard.folder, "1").patches
    yard.patches("base", tree)
    heads = {".": git(tree, "rev-parse", "HEAD^{tree}"), LIB: git(tree / LIB, "rev-parse", "HEAD^{tree}")}
    assert (tree / "a.txt").read_text(encoding="utf-8") == new + "x"
    assert heads[LIB] == intake.repository.tree_of(taken[1].commits[LIB])
    assert git(tree, "log", "--format=%an|%s", "-2", "--skip=1").splitlines() == ["é|[rocm] é", "A. B|subject"]
