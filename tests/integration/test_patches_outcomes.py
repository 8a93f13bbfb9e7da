"""What becomes of patches on sources that are not the ones they were made for: told apart, and nothing changed by a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.applied import note_stage, read_applied
from build_tools.patches.apply import replay
from build_tools.patches.series import load_series
from build_tools.sources.modules import load_modules, markers_of, own_folder
from build_tools.types import Platform, Stage
from tests.support.source_trees import Person, Yard, git, head, make_patch, raw, snapshot, status, write

LINES = "".join(f"line {number}\n" for number in range(1, 41))
LOOK_ALIKE = "".join(f"int f{name}() {{\n{''.join(f'    {call}();{chr(10)}' for call in 'yabcdez')}}}\n\n" for name in "123")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def origin(yard: Yard) -> Person:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n", "a.txt": LINES, "f.c": LOOK_ALIKE, "é b.txt": LINES, "r.txt": LINES})
    return origin


@pytest.fixture(autouse=True)
def locked(yard: Yard, origin: Person, tree: Path) -> None:
    yard.checkout(yard.lock(origin), tree)


def move(yard: Yard, origin: Person, tree: Path, files: dict[str, str | bytes], message: str = "upstream's") -> str:
    """Let upstream go on, and check it out."""
    commit = origin.commit(files, message)
    yard.checkout(yard.lock(origin), tree)
    return commit


def outcomes(tree: Path) -> dict[str, str]:
    return {Path(patch.file).stem: patch.outcome for patch in read_applied(tree).patches}


def state(tree: Path) -> tuple[object, ...]:
    return snapshot(tree), status(tree), raw(tree, "for-each-ref"), head(tree), sorted(own_folder(tree).rglob("*"))


def refused(yard: Yard, tree: Path, code: str, *, strict: bool = False, three_way: bool = False) -> HipwrightError:
    """Return the error of applying, which leaves everything as it was, twice the same one."""
    before = state(tree)
    errors = []
    for _ in range(2):
        with pytest.raises(HipwrightError) as caught:
            yard.patches("base", tree, strict=strict, three_way=three_way)
        errors.append(caught.value)
        assert state(tree) == before
    assert [error.code.name for error in errors] == [code] * 2
    assert errors[0].message == errors[1].message
    return errors[0]


def without_index(data: bytes) -> bytes:
    """Return a patch as a person's hand or another program leaves it: it does not say which contents it was made for."""
    return b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"index "))


def test_the_record_tells_each_patch_with_its_commit_and_the_digest_of_its_bytes(yard: Yard, tree: Path) -> None:
    one = make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n")}, message="one")
    two = make_patch(tree, {"new": "x\n"}, message="two")
    yard.series({"root/base/1.patch": one, "root/hipified/2.patch": two})
    yard.patches("base", tree)
    yard.patches("hipified", tree)
    series = load_series(yard.folder, "1")
    record = read_applied(tree)
    assert record.line == "1"
    assert [(patch.file, patch.module, patch.phase, patch.outcome) for patch in record.patches] == [
        ("root/base/1.patch", ".", "base", "applied"),
        ("root/hipified/2.patch", ".", "hipified", "applied"),
    ]
    assert [git(tree, "log", "-1", "--format=%s", str(patch.commit)) for patch in record.patches] == ["one", "two"]
    assert len({patch.digest for patch in record.patches}) == len(series.patches)
    note_stage(tree, Stage.HIPIFIED_PATCHES)
    yard.patches("base", tree, line=None)
    assert [patch.file for patch in read_applied(tree).patches] == ["root/hipified/2.patch"]
    assert read_applied(tree).stands is Stage.HIPIFIED_PATCHES


@pytest.mark.parametrize("name", ["a.txt", "é b.txt"])
def test_a_patch_that_lies_elsewhere_is_applied_and_the_offset_is_shown(
    yard: Yard, origin: Person, tree: Path, name: str
) -> None:
    changed = LINES.replace("line 5\n", "LINE 5\n").replace("line 30\n", "LINE 30\n")
    yard.series({"root/base/1.patch": make_patch(tree, {name: changed})})
    move(yard, origin, tree, {name: "above\nabove\n" + LINES.replace("line 20\n", "")})
    yard.patches("base", tree)
    assert (tree / name).read_text() == "above\nabove\n" + changed.replace("line 20\n", "")
    assert outcomes(tree) == {"1": "offset"}
    said = next(line for line in yard.said if "with an offset" in line)
    assert said == (
        f"toy: root/base/1.patch is applied with an offset: hunk 1 of {name} lies 2 lines further down, "
        f"hunk 2 of {name} lies 1 line further down"
    )


def test_another_file_of_the_same_lines_in_their_places_is_no_offset(yard: Yard, origin: Person, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n")})})
    move(yard, origin, tree, {"a.txt": LINES + "more\n"})
    yard.patches("base", tree)
    assert outcomes(tree) == {"1": "applied"}
    assert not any("offset" in line for line in yard.said)


def in_third(text: str) -> str:
    """Change the third of the functions that look alike."""
    first, third = text.rsplit("    c();\n", 1)
    return f"{first}    C();\n{third}"


def test_a_look_alike_place_is_refused_where_the_file_is_another_one(yard: Yard, origin: Person, tree: Path) -> None:
    # git takes the nearest place: the second function, once there are lines above.
    patch = make_patch(tree, {"f.c": in_third(LOOK_ALIKE)})
    yard.series({"root/base/1.patch": patch})
    yard.patches("base", tree)
    assert (tree / "f.c").read_text() == in_third(LOOK_ALIKE), "in the file that it was made for, the place is known"
    yard.patches("base", tree, line=None)
    above = "".join(f"// {number}\n" for number in range(8))
    move(yard, origin, tree, {"f.c": above + LOOK_ALIKE.replace("f3", "g3")})
    error = refused(yard, tree, "patch-misplaced")
    assert error.where is not None
    assert (error.where.member, error.where.module, Path(str(error.where.file)).name) == ("f.c", ".", "1.patch")
    assert patch.splitlines()[int(error.where.line or 0) - 1].startswith(b"@@ -22,7 +22,7 @@")
    assert "its hunk for line 22 of f.c fits 3 places, at lines 10, 20, 30" in error.message
    assert "f.c is not the one it was made for" in error.message
    assert str(error.excerpt).startswith("@@ -22,7")


def test_a_patch_that_says_no_contents_must_fit_in_one_place_alone(yard: Yard, tree: Path) -> None:
    yard.series({"root/base/1.patch": without_index(make_patch(tree, {"f.c": in_third(LOOK_ALIKE)}))})
    error = refused(yard, tree, "patch-misplaced")
    assert "it does not say for which f.c it was made" in error.message
    yard.series(
        {
            "root/base/1.patch": without_index(
                make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n"), "new": "x\n"}, remove=("r.txt",))
            )
        }
    )
    yard.patches("base", tree)
    assert outcomes(tree) == {"1": "applied"}
    assert (tree / "a.txt").read_text() == LINES.replace("line 5\n", "LINE 5\n")
    assert not (tree / "r.txt").exists()


def test_a_hunk_whose_place_was_changed_by_hand_is_not_put_where_its_header_says(yard: Yard, tree: Path) -> None:
    patch = make_patch(tree, {"f.c": in_third(LOOK_ALIKE)})
    yard.series({"root/base/1.patch": patch.replace(b"@@ -22,7 +22,7 @@", b"@@ -12,7 +12,7 @@")})
    error = refused(yard, tree, "patch-misplaced")
    assert "its index line says that something else comes of f.c" in error.message
    assert "fits 3 places, at lines 2, 12, 22" in error.message


def test_a_hunk_whose_lines_were_changed_by_hand_goes_in_where_it_fits_one_place_and_is_told(yard: Yard, tree: Path) -> None:
    patch = make_patch(tree, {"a.txt": LINES.replace("line 20\n", "LINE 20\n")})
    yard.series({"root/base/1.patch": patch.replace(b"+LINE 20\n", b"+line twenty\n")})
    yard.patches("base", tree)
    assert (tree / "a.txt").read_text() == LINES.replace("line 20\n", "line twenty\n")
    (said,) = [line for line in yard.said if "by hand" in line]
    assert "root/base/1.patch makes something else of a.txt than its index line says" in said
    assert said.endswith("invoke save-patches --projects toy --refresh")


def test_changes_of_all_places_that_look_alike_are_placed_in_their_order(yard: Yard, origin: Person, tree: Path) -> None:
    all_of_them = LOOK_ALIKE.replace("    c();\n", "    C();\n", 1).replace("    c();\n", "    D();\n", 1)
    all_of_them = all_of_them.replace("    c();\n", "    E();\n", 1)
    yard.series({"root/base/1.patch": make_patch(tree, {"f.c": all_of_them})})
    move(yard, origin, tree, {"f.c": "// above\n" + LOOK_ALIKE})
    yard.patches("base", tree)
    assert (tree / "f.c").read_text() == "// above\n" + all_of_them
    assert outcomes(tree) == {"1": "offset"}


@pytest.mark.parametrize("change", ["first", "last", "empty"])
def test_hunks_at_the_ends_of_a_file_hold_on_to_them(yard: Yard, origin: Person, tree: Path, change: str) -> None:
    same = "same\n" * 20
    move(yard, origin, tree, {"a.txt": "" if change == "empty" else same})
    wanted = {"first": "new\n" + same, "last": same + "new\n", "empty": "new\n"}[change]
    patch = without_index(make_patch(tree, {"a.txt": wanted}))
    yard.series({"root/base/1.patch": patch})
    yard.patches("base", tree)
    assert (tree / "a.txt").read_text() == wanted
    assert outcomes(tree) == {"1": "applied"}


def test_a_patch_whose_results_are_there_is_left_out_and_the_others_go_in(yard: Yard, origin: Person, tree: Path) -> None:
    changed = LINES.replace("line 5\n", "LINE 5\n")
    one = make_patch(tree, {"r.txt": LINES.replace("line 9\n", "LINE 9\n")}, message="one")
    two = make_patch(tree, {"a.txt": changed, "new": "x\n"}, message="two", remove=("é b.txt",))
    three = make_patch(tree, {"f.c": in_third(LOOK_ALIKE)}, message="three")
    origin.commit({"a.txt": changed, "new": "x\n"}, "the same upstream", remove=("é b.txt",))
    yard.series({f"root/base/{number}.patch": data for number, data in enumerate((one, two, three), start=1)})
    yard.checkout(yard.lock(origin), tree)
    yard.patches("base", tree)
    assert outcomes(tree) == {"1": "applied", "2": "upstream", "3": "applied"}
    assert git(tree, "log", "-2", "--format=%s").splitlines() == ["three", "one"]
    assert [patch.commit is None for patch in read_applied(tree).patches] == [False, True, False]
    assert (
        "toy: root/base/2.patch is left out, the root has it already: the files are as it leaves them; "
        "drop it: invoke drop-patch root/base/2.patch"
    ) in yard.said
    assert "toy: 2 base patches applied to the root" in yard.said
    assert status(tree) == b""
    yard.patches("base", tree, line=None)
    error = refused(yard, tree, "patch-upstream", strict=True)
    assert error.hint == "drop it: invoke drop-patch root/base/2.patch"
    assert error.exit_code == 6


def test_a_patch_that_can_be_taken_back_is_upstream_though_the_files_have_gone_on(yard: Yard, origin: Person, tree: Path) -> None:
    changed = LINES.replace("line 5\n", "LINE 5\n")
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": changed})})
    move(yard, origin, tree, {"a.txt": "above\n" + changed + "below\n"})
    yard.patches("base", tree)
    assert outcomes(tree) == {"1": "upstream"}
    assert any("what it does is in the files" in line for line in yard.said)


def test_a_patch_is_upstream_by_a_commit_that_is_the_same_change(yard: Yard, origin: Person, tree: Path) -> None:
    changed = LINES.replace("line 5\n", "LINE 5\n")
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": changed})})
    origin.commit({"a.txt": "above\n" + LINES})
    same = origin.commit({"a.txt": "above\n" + changed}, "the same change")
    move(yard, origin, tree, {"a.txt": "above\n" + changed.replace("LINE 5\n", "LINE FIVE\n")})
    yard.patches("base", tree)
    assert outcomes(tree) == {"1": "upstream"}
    assert any(f"commit {same[:12]} of upstream is the same change" in line for line in yard.said)
    assert head(tree) == head(origin.folder)


def test_an_earlier_patch_of_the_series_is_no_commit_of_upstreams(yard: Yard, tree: Path) -> None:
    one = make_patch(tree, {"a.txt": LINES.replace("line 5\n", "LINE 5\n")}, message="one")
    yard.series({"root/base/1.patch": one})
    yard.patches("base", tree)
    write(tree, {"a.txt": LINES.replace("line 5\n", "LINE FIVE\n")})
    git(tree, "commit", "--quiet", "-a", "-m", "two")
    options = ("--keep-subject", "--zero-commit", "--no-signature", "--full-index", "--no-stat", "--binary")
    two = raw(tree, "format-patch", "--stdout", *options, "HEAD~1")
    git(tree, "reset", "--quiet", "--hard", "HEAD~1")
    yard.series({"root/base/1.patch": one, "root/base/2.patch": two, "root/base/3.patch": one})
    assert refused(yard, tree, "patch-conflict").message.startswith("root/base/3.patch does not apply")


def test_a_fix_that_upstream_made_is_not_made_again_in_a_look_alike_place(yard: Yard, origin: Person, tree: Path) -> None:
    text = LOOK_ALIKE.split("int f3")[0]
    one = text.replace("    c();\n", "    c();\n    fix();\n", 1)
    move(yard, origin, tree, {"f.c": text})
    yard.series({"root/base/1.patch": make_patch(tree, {"f.c": one})})
    # Another change above, and the same fix in the first function: only the second still looks like the one without it.
    move(yard, origin, tree, {"f.c": "// above\n// above\n" + one}, "fixed, and more")
    error = refused(yard, tree, "patch-misplaced")
    assert "what it does is in the files already" in error.message
    assert "invoke drop-patch root/base/1.patch" in str(error.hint)


def test_a_conflict_tells_what_the_tree_has_there_and_who_changed_it(yard: Yard, origin: Person, tree: Path) -> None:
    changed = LINES.replace("line 20\n", "LINE 20\n")
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": changed, "r.txt": changed})})
    drifted = LINES.replace("line 19\n", "line nineteen\n")
    origin.commit({"b.txt": "x\n"}, "not this one")
    commit = move(yard, origin, tree, {"a.txt": "above\n" + drifted, "r.txt": drifted}, "Spell it out")
    error = refused(yard, tree, "patch-conflict")
    assert "the hunk for line 17 of a.txt does not fit; nor do hunks for r.txt" in error.message
    lines = str(error.excerpt).splitlines()
    assert lines[0].startswith("@@ -17,7 +17,7 @@")
    there = lines.index("a.txt has there:")
    assert lines[there + 1 : there + 8] == [
        "18: line 17",
        "19: line 18",
        "20: line nineteen",
        "21: line 20",
        "22: line 21",
        "23: line 22",
        "24: line 23",
    ]
    assert lines[there + 8 :] == ["touched upstream since 2024-03-04, the patch's date:", *lines[there + 9 :]]
    assert lines[there + 9] == f"{commit[:12]} 2024-03-04 Spell it out"
    assert not any("not this one" in line for line in lines)


def test_a_conflict_with_a_file_that_is_gone_tells_who_took_it_away(yard: Yard, origin: Person, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {"r.txt": LINES.replace("line 20\n", "LINE 20\n")})})
    commit = origin.commit({}, "Take it away", remove=("r.txt",))
    yard.checkout(yard.lock(origin), tree)
    error = refused(yard, tree, "patch-conflict")
    assert "there is no such file in the root" in error.message
    assert error.where is not None
    assert error.where.member == "r.txt"
    assert f"{commit[:12]} 2024-03-04 Take it away" in str(error.excerpt)


def test_a_part_that_upstream_has_is_told(yard: Yard, origin: Person, tree: Path) -> None:
    changed = LINES.replace("line 20\n", "LINE 20\n")
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": changed, "r.txt": changed})})
    move(yard, origin, tree, {"a.txt": changed})
    error = refused(yard, tree, "patch-conflict")
    assert "what the hunk does is there already, at line 17" in error.message


@pytest.mark.parametrize("phase", ["base", "hipified"])
def test_line_ends_that_a_tool_changed_are_told(yard: Yard, origin: Person, tree: Path, phase: str) -> None:
    yard.series({f"root/{phase}/1.patch": make_patch(tree, {"a.txt": LINES.replace("line 20\n", "LINE 20\n")})})
    move(yard, origin, tree, {"a.txt": LINES.replace("\n", "\r\n").encode()})
    with pytest.raises(HipwrightError) as caught:
        yard.patches(phase, tree)
    assert caught.value.code.name == "patch-conflict"
    assert "the file has CR LF line ends, and the patch LF" in caught.value.message
    assert ("hipify wrote it so" in caught.value.message) == (phase == "hipified")


def test_a_three_way_merge_is_tried_beside_the_tree_and_told(yard: Yard, origin: Person, tree: Path) -> None:
    patch = make_patch(tree, {"a.txt": LINES.replace("line 20\n", "LINE 20\n")})
    yard.series({"root/base/1.patch": patch})
    move(yard, origin, tree, {"a.txt": LINES.replace("line 18\n", "drifted\n")})
    assert "three-way merge" not in str(refused(yard, tree, "patch-conflict").excerpt)
    lines = str(refused(yard, tree, "patch-conflict", three_way=True).excerpt).splitlines()
    at = lines.index("a three-way merge takes it, and makes of it:")
    assert {"+LINE 20", " drifted"} <= set(lines[at:])
    move(yard, origin, tree, {"a.txt": LINES.replace("line 20\n", "theirs\n")})
    lines = str(refused(yard, tree, "patch-conflict", three_way=True).excerpt).splitlines()
    at = lines.index("a three-way merge conflicts in a.txt:")
    assert {" +theirs", "+ LINE 20"} <= set(lines[at:])
    yard.series({"root/base/1.patch": without_index(patch)})
    lines = str(refused(yard, tree, "patch-conflict", three_way=True).excerpt).splitlines()
    assert any("cannot be tried" in line for line in lines)


def test_replaying_moves_nothing_records_nothing_and_needs_no_files(yard: Yard, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {"a.txt": "x\n"}), "root/base/2.patch": make_patch(tree, {"b": "x\n"})})
    series = load_series(yard.folder, "1")
    for patch in series.patches:
        patch.file.unlink()
    before = state(tree)
    (module,) = load_modules(tree, git=yard.git)
    start = module.store.head()
    assert start is not None
    found = replay(series, "base", {module: start}, tree=tree, platform=Platform.LINUX, log=yard.log, say=yard.said.append)
    assert state(tree) == before
    assert [patch.outcome for patch in found["."].patches] == ["applied", "applied"]
    assert found["."].head == found["."].patches[-1].commit
    assert git(tree, "rev-list", "--count", f"{start}..{found['.'].head}") == "2"
    yard.series({patch.name: patch.data for patch in series.patches})
    yard.patches("base", tree)
    assert head(tree) == found["."].head
    markers = markers_of(module)
    assert markers is not None
    assert markers.base == found["."].head


def test_few_files_give_the_same_commits_as_all(yard: Yard, origin: Person, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move(yard, origin, tree, {"dir/x": "x\n", "dir/y": "y\n", "b.bin": bytes(range(256)), 'quo"d\n': LINES, ":colon": LINES})
    write(
        tree,
        {"dir/y": "Y\n", "b.bin": bytes(reversed(range(256))), 'quo"d\n': LINES + "more\n", ":colon": "x\n", "new/deep/é": "x"},
    )
    git(tree, "mv", "a.txt", "moved.txt")
    git(tree, "rm", "--quiet", "dir/x")
    git(tree, "add", "--all")
    git(tree, "update-index", "--chmod=+x", "r.txt")
    git(tree, "commit", "--quiet", "-m", "[x] all sorts\n\nBody é.\n\n  indented\n")
    # What was a folder becomes a file, and the other way round.
    git(tree, "rm", "--quiet", "-r", "dir")
    write(tree, {"dir": "a file\n"})
    git(tree, "rm", "--quiet", "moved.txt")
    write(tree, {"moved.txt/inside": "x\n"})
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "-m", "second", "--author=Ö. Somebody <>", "--date=2023-02-03T04:05:06-0330")
    options = ("--keep-subject", "--zero-commit", "--no-signature", "--full-index", "--no-stat", "--binary")
    patches = {
        f"root/base/{n}.patch": raw(tree, "format-patch", "--stdout", *options, f"HEAD~{3 - n}..HEAD~{2 - n}") for n in (1, 2)
    }
    wanted = git(tree, "rev-parse", "HEAD^{tree}")
    git(tree, "reset", "--quiet", "--hard", "HEAD~2")
    yard.series(patches)
    yard.patches("base", tree)
    few = head(tree)
    assert git(tree, "rev-parse", "HEAD^{tree}") == wanted
    assert b"fast-import" not in yard.log.read_bytes()
    yard.patches("base", tree, line=None)
    monkeypatch.setattr("build_tools.patches.beside.small_commit", lambda *_arguments: None)
    yard.patches("base", tree)
    assert head(tree) == few


@pytest.mark.parametrize("there", ["file", "folder"])
def test_a_file_never_takes_the_place_of_a_folder_without_a_word(yard: Yard, origin: Person, tree: Path, there: str) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {"dir/new" if there == "file" else "dir": "x\n"})})
    move(yard, origin, tree, {"dir" if there == "file" else "dir/other": "y\n"})
    error = refused(yard, tree, "patch-conflict")
    assert "dir" in error.message


def test_a_patch_of_very_many_files_is_applied_all_the_same(yard: Yard, tree: Path) -> None:
    yard.series({"root/base/1.patch": make_patch(tree, {f"many/{number}.txt": "x\n" for number in range(450)})})
    yard.patches("base", tree)
    assert len(list((tree / "many").iterdir())) == 450
    assert outcomes(tree) == {"1": "applied"}
