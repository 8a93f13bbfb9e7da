"""Changes of a person's in what hipify read: named before a build, and carried through hipify without a loss."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.hipify.again import hipify_again
from build_tools.hipify.record import read_tree_record, write_tree_record
from build_tools.hipify.stale import refuse_stale, stale_files
from build_tools.receipts.lock import LockedSources
from build_tools.receipts.record import read_record, to_json
from build_tools.sources.export import materialise
from build_tools.sources.modules import own_folder
from build_tools.sources.phases import step_back
from build_tools.sources.written import written_in
from tests.support.source_trees import ODD_NAMES, Person, Yard, git, head, make_patch, snapshot, status, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.shelf import Shelf

LIB = "third party/lib"

TOOL = """
from pathlib import Path
root = Path(__file__).resolve().parents[1]
(root / "tools" / "rules").read_bytes()
for path in sorted(root.rglob("*")):
    if path.suffix == ".cu":
        target = path.parent / "hip" / (path.stem + ".hip")
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(b"made by hipify\\n" + path.read_bytes().replace(b"cuda", b"hip"))
    elif path.suffix == ".cpp" and ".git" not in path.parts:
        data = path.read_bytes()
        if b"cuda" in data:
            path.write_bytes(data.replace(b"cuda", b"hip") + b"hipified\\n")
"""
"""A tool that makes files beside others, some of them hidden by ``.gitignore``, and changes those where they stand that need it."""

LINES = "".join(f"cuda line {number}\n" for number in range(1, 10))


def prepare(place: Path) -> None:
    """Make a tree with base patches, hipify and a hipified patch; of its two modules the submodule hides what hipify makes."""
    yard = Yard(place)
    tree = place / "src" / "toy"
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n", "m.cpp": "int m;\n", ".gitignore": "hip\n"})
    files = {
        "version.txt": "1.0\n",
        "README.md": "about\n",
        "a.cu": LINES,
        "b.cpp": "cuda b\n",
        "plain.cpp": "int plain;\n",
        "tools/hip.py": TOOL,
        "tools/rules": "rules\n",
    }
    origin.commit(files | dict.fromkeys(ODD_NAMES, "cuda odd\n"))
    origin.submodule(lib, LIB)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    yard.series({f"{LIB}/base/1.patch": make_patch(tree / LIB, {"l.cu": "cuda patched\n"})})
    yard.patches("base", tree)
    yard.hipify(tree)
    base = (yard.folder / f"patches/1/{LIB}/base/1.patch").read_bytes()
    patch = make_patch(tree, {"hip/a.hip": (tree / "hip/a.hip").read_text().replace("line 9", "line nine")})
    yard.series({f"{LIB}/base/1.patch": base, "root/hipified/1.patch": patch})
    yard.patches("hipified", tree)
    assert status(tree) == b""
    (place / "locked.json").write_bytes(to_json(locked))


@pytest.fixture
def yard(shelf: Shelf) -> Yard:
    return Yard(shelf.put_back("to-hipify-again", prepare))


@pytest.fixture
def locked(yard: Yard, tree: Path) -> LockedSources:
    yard.locked[tree] = read_record(yard.place / "locked.json", LockedSources)
    return yard.locked[tree]


def stale(yard: Yard, locked: LockedSources, tree: Path) -> list[str]:
    return stale_files(yard.read(locked, tree), git=yard.git)


def again(yard: Yard, locked: LockedSources, tree: Path) -> bool:
    done = hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert stale(yard, locked, tree) == []
    assert list((yard.place / "scratch").iterdir()) == []
    assert not list((tree / ".git" / "hipwright").glob("temporary-*"))
    return done


def local(yard: Yard, locked: LockedSources, tree: Path) -> list[str]:
    found = yard.read(locked, tree).local
    return [] if found is None else list(found.lines)


def runs(yard: Yard) -> int:
    """How often the tool itself has run."""
    return yard.log.read_text().count("tools/hip.py")


def person(folder: Path, *arguments: str) -> None:
    git(folder, "add", "--all")
    git(folder, *(arguments or ("commit", "--quiet", "-m", "mine")))


# What is stale, and what is not.


def test_a_tree_as_the_stages_left_it_is_not_stale(yard: Yard, tree: Path, locked: LockedSources) -> None:
    assert stale(yard, locked, tree) == []


@pytest.mark.parametrize("committed", [False, True])
def test_files_that_hipify_read_are_named_whether_edited_or_committed_in_every_module(
    yard: Yard, tree: Path, locked: LockedSources, *, committed: bool
) -> None:
    write(tree, {"a.cu": "cuda mine\n", f"{LIB}/l.cu": "cuda mine\n", "tools/rules": "others\n", "tools/hip.py": TOOL + "\n"})
    (tree / "tab\t.cu").unlink()
    if committed:
        person(tree / LIB)
        person(tree)
    found = stale(yard, locked, tree)
    assert found == [
        "edited a.cu",
        r"deleted tab\t.cu",
        "edited tools/hip.py",
        "edited tools/rules",
        f"edited {LIB}: l.cu",
    ]


def test_files_beside_those_that_were_read_count_and_others_do_not(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"new.cu": "cuda new\n", "docs/new.cu": "cuda\n", "new.md": "about\n", f"{LIB}/new.cpp": "cuda\n"})
    assert stale(yard, locked, tree) == ["added new.cu", f"added {LIB}: new.cpp"]


def test_what_hipify_wrote_and_what_it_did_not_read_can_be_edited(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"hip/a.hip": "mine\n", "b.cpp": "mine\n", "README.md": "mine\n", f"{LIB}/hip/l.hip": "mine\n"})
    assert stale(yard, locked, tree) == []
    assert len(local(yard, locked, tree)) == 4


def test_a_change_that_was_taken_back_is_none(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": "cuda mine\n"})
    person(tree)
    write(tree, {"a.cu": LINES})
    assert stale(yard, locked, tree) == []


def test_the_error_names_the_first_files_and_the_command(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {f"new{number:02}.cu": "cuda\n" for number in range(25)})
    with pytest.raises(HipwrightError) as caught:
        refuse_stale(yard.read(locked, tree), git=yard.git, command="nox -s checkout_toy -- --force hipify")
    error = caught.value
    assert error.code.name == "stale-hipify"
    assert "25 files, first added new00.cu" in error.message
    assert error.excerpt is not None
    assert error.excerpt.splitlines() == [f"added new{number:02}.cu" for number in range(20)] + ["and 5 more"]
    assert str(error.hint).endswith(": nox -s checkout_toy -- --force hipify")


def test_without_a_record_only_an_untouched_tree_can_be_built(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write_tree_record(tree, None)
    assert stale(yard, locked, tree) == []
    write(tree, {"README.md": "mine\n"})
    with pytest.raises(HipwrightError, match="not known") as caught:
        refuse_stale(yard.read(locked, tree), git=yard.git, command="the command")
    assert caught.value.code.name == "stale-hipify"
    assert "the command" in str(caught.value.hint)
    assert again(yard, locked, tree)
    assert (tree / "README.md").read_text() == "mine\n"


# Running it again.


def test_without_changes_there_is_nothing_to_do(yard: Yard, tree: Path, locked: LockedSources) -> None:
    before = snapshot(tree)
    assert not again(yard, locked, tree)
    assert snapshot(tree) == before


def test_edits_are_carried_and_what_a_patch_made_of_the_output_stays(yard: Yard, tree: Path, locked: LockedSources) -> None:
    before, commits = snapshot(tree), (head(tree), head(tree / LIB))
    index = (tree / ".git" / "index").read_bytes()
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), f"{LIB}/l.cu": "cuda mine\n", "README.md": "mine\n"})
    assert again(yard, locked, tree)
    made = "made by hipify\n" + LINES.replace("line 2\n", "line two\n").replace("line 9", "line nine").replace("cuda", "hip")
    assert (tree / "hip/a.hip").read_text() == made
    assert (tree / LIB / "hip/l.hip").read_text() == "made by hipify\nhip mine\n"
    after = snapshot(tree)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == {
        "a.cu",
        "hip/a.hip",
        "README.md",
        f"{LIB}/l.cu",
        f"{LIB}/hip/l.hip",
    }
    assert (head(tree), head(tree / LIB)) == commits
    assert (tree / ".git" / "index").read_bytes() == index
    assert local(yard, locked, tree) == [
        "edited README.md",
        "edited a.cu",
        "hipified again hip/a.hip",
        f"hipified again {LIB}: hip/l.hip",
        f"edited {LIB}: l.cu",
    ]


def test_new_and_deleted_sources_bring_and_take_outputs_hidden_ones_too(
    yard: Yard, tree: Path, locked: LockedSources, tmp_path: Path
) -> None:
    write(tree, {"new.cu": "cuda new\n", f"{LIB}/new.cu": "cuda new\n"})
    (tree / "plain.cu").unlink()
    assert again(yard, locked, tree)
    assert (tree / "hip/new.hip").read_text() == "made by hipify\nhip new\n"
    assert (tree / LIB / "hip/new.hip").read_text() == "made by hipify\nhip new\n"
    assert not (tree / "hip/plain.hip").exists()
    copy = tmp_path / "copy"
    materialise(yard.read(locked, tree), copy, git=yard.git)
    assert snapshot(copy) == snapshot(tree)
    (tree / LIB / "new.cu").unlink()
    assert stale(yard, locked, tree) == [f"deleted {LIB}: new.cu"]
    assert again(yard, locked, tree)
    assert not (tree / LIB / "hip/new.hip").exists()


def test_files_with_odd_names_are_carried(yard: Yard, tree: Path, locked: LockedSources) -> None:
    for name in ODD_NAMES:
        (tree / name).write_bytes(b"cuda mine\n")
    assert again(yard, locked, tree)
    for name in ODD_NAMES:
        assert (tree / "hip" / f"{name[:-3]}.hip").read_bytes() == b"made by hipify\nhip mine\n"


def test_commits_stay_and_their_changes_are_carried(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    person(tree)
    commit = head(tree)
    assert again(yard, locked, tree)
    assert head(tree) == commit
    assert "hip line two\n" in (tree / "hip/a.hip").read_text()
    assert status(tree) == b" M hip/a.hip\0"


def test_a_second_change_meets_the_output_of_the_first(yard: Yard, tree: Path, locked: LockedSources) -> None:
    for line in ("two", "deux", "zwei"):
        write(tree, {"a.cu": LINES.replace("line 2\n", f"line {line}\n")})
        assert stale(yard, locked, tree) == ["edited a.cu"]
        assert again(yard, locked, tree)
        assert f"hip line {line}\n" in (tree / "hip/a.hip").read_text()
        assert "hip line nine\n" in (tree / "hip/a.hip").read_text()


def test_a_change_that_is_taken_back_takes_its_output_back(yard: Yard, tree: Path, locked: LockedSources) -> None:
    before = snapshot(tree)
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), "new.cu": "cuda\n", f"{LIB}/new.cu": "cuda new\n"})
    (tree / "plain.cu").unlink()
    assert again(yard, locked, tree)
    write(tree, {"a.cu": LINES, "plain.cu": "cuda odd\n"})
    (tree / "new.cu").unlink()
    (tree / LIB / "new.cu").unlink()
    assert stale(yard, locked, tree) == ["taken back a.cu", "deleted new.cu", "added plain.cu", f"deleted {LIB}: new.cu"]
    assert again(yard, locked, tree)
    assert snapshot(tree) == before
    assert status(tree) == b""
    record = read_tree_record(tree)
    assert record is not None
    assert not record.carried
    assert not written_in(tree)


def test_edits_of_the_output_are_merged_and_stay_a_persons(yard: Yard, tree: Path, locked: LockedSources) -> None:
    output = (tree / "hip/a.hip").read_text()
    write(tree, {"hip/a.hip": output.replace("line 6\n", "line six\n"), "a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    text = (tree / "hip/a.hip").read_text()
    assert all(f"hip line {line}\n" in text for line in ("two", "six", "nine"))
    assert "edited hip/a.hip" in local(yard, locked, tree)
    write(tree, {"a.cu": LINES})
    assert again(yard, locked, tree)
    assert (tree / "hip/a.hip").read_text() == output.replace("line 6\n", "line six\n")


@pytest.mark.parametrize("line", [6, 9])
def test_what_does_not_fit_changes_nothing_and_is_named(yard: Yard, tree: Path, locked: LockedSources, line: int) -> None:
    output = (tree / "hip/a.hip").read_text()
    write(tree, {"hip/a.hip": output.replace("line 6\n", "line six\n"), "a.cu": LINES.replace(f"line {line}\n", "line other\n")})
    write(tree, {f"{LIB}/l.cu": "cuda mine\n"})
    before = (snapshot(tree), read_tree_record(tree), status(tree))
    with pytest.raises(HipwrightError) as caught:
        hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert caught.value.code.name == "hipify-conflict"
    assert caught.value.excerpt == "hip/a.hip (hipified patch: [x] patch)"
    assert "1 file was changed where hipify's new output changes" in caught.value.message
    assert "keep your edits" in str(caught.value.hint)
    assert (snapshot(tree), read_tree_record(tree), status(tree)) == before
    assert stale(yard, locked, tree) == ["edited a.cu", f"edited {LIB}: l.cu"]


def test_a_patch_that_new_output_collides_with_is_named_with_the_way_out(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    write(tree, {"a.cu": LINES.replace("line 9\n", "line mine\n")})
    before = snapshot(tree)
    with pytest.raises(HipwrightError, match="1 file was changed by a hipified patch where") as caught:
        hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert caught.value.excerpt == "hip/a.hip (hipified patch: [x] patch)"
    assert "change the patch" in str(caught.value.hint)
    assert "nox -s checkout_toy -- --until base-patches" in str(caught.value.hint)
    assert "your edits of the listed files" not in str(caught.value.hint)
    assert snapshot(tree) == before


def test_a_file_of_a_persons_that_hipify_would_make_is_not_overwritten(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"new.cu": "cuda new\n", "hip/new.hip": "mine by hand\n", f"{LIB}/new.cu": "cuda new\n"})
    write(tree, {f"{LIB}/hip/new.hip": "hidden, by hand\n"})
    before = snapshot(tree)
    for name, place in (("hip/new.hip", tree), ("hip/new.hip", tree / LIB)):
        with pytest.raises(HipwrightError) as caught:
            hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
        assert caught.value.code.name == "hipify-conflict"
        assert str(caught.value.excerpt).endswith(name)
        assert snapshot(tree) == before
        (place / name).unlink()
        before = snapshot(tree)
    assert again(yard, locked, tree)


def test_a_folder_in_the_way_is_named(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {f"{LIB}/new.cu": "cuda new\n", f"{LIB}/hip/new.hip/mine": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert caught.value.code.name == "hipify-conflict"
    assert (tree / LIB / "hip/new.hip/mine").read_text() == "mine\n"


def test_files_that_hipify_changes_where_they_stand_become_its_output(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"plain.cpp": "cuda mine\n", "new.cpp": "cuda new\n"})
    assert stale(yard, locked, tree) == ["added new.cpp", "edited plain.cpp"]
    assert again(yard, locked, tree)
    assert (tree / "plain.cpp").read_text() == "hip mine\nhipified\n"
    assert (tree / "new.cpp").read_text() == "hip new\nhipified\n"
    assert any("has changed your plain.cpp where it stands" in line for line in yard.said)
    assert local(yard, locked, tree) == ["added new.cpp", "edited plain.cpp"]
    write(tree, {"plain.cpp": "hip mine, edited\nhipified\n", "a.cu": LINES.replace("line 2\n", "line two\n")})
    assert stale(yard, locked, tree) == ["edited a.cu"]
    assert again(yard, locked, tree)
    assert (tree / "plain.cpp").read_text() == "hip mine, edited\nhipified\n"
    assert (tree / "new.cpp").read_text() == "hip new\nhipified\n"
    write(tree, {"plain.cpp": "int plain;\n"})
    assert stale(yard, locked, tree) == ["taken back plain.cpp"]
    assert again(yard, locked, tree)
    assert (tree / "plain.cpp").read_text() == "int plain;\n"


@pytest.mark.parametrize("line", [2, 5])
def test_a_change_of_a_source_that_a_hipified_patch_changes_is_carried_without_the_patch(
    yard: Yard, tree: Path, locked: LockedSources, line: int
) -> None:
    base = (yard.folder / f"patches/1/{LIB}/base/1.patch").read_bytes()
    files = {"a.cu": LINES.replace("line 5\n", "line five\n"), "more.cu": "cuda more\n"}
    yard.series({f"{LIB}/base/1.patch": base, "root/hipified/1.patch": make_patch(tree, files, commit="refs/hipwright/hipified")})
    yard.patches("hipified", tree)
    assert stale(yard, locked, tree) == []
    write(tree, {"a.cu": files["a.cu"].replace("line 2\n" if line == 2 else "line five\n", "line mine\n"), "more.cu": "mine\n"})
    before = snapshot(tree)
    assert "edited a.cu" in stale(yard, locked, tree)
    if line == 5:
        with pytest.raises(HipwrightError, match="cannot be told apart") as caught:
            hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
        assert (caught.value.code.name, caught.value.excerpt) == ("hipify-conflict", "a.cu (hipified patch: [x] patch)")
        assert "1 file was changed by you and by a hipified patch" in caught.value.message
        assert "nox -s checkout_toy -- --until base-patches" in str(caught.value.hint)
        assert snapshot(tree) == before
        return
    assert again(yard, locked, tree)
    assert (tree / "hip/a.hip").read_text() == "made by hipify\n" + LINES.replace("line 2\n", "line mine\n").replace(
        "cuda", "hip"
    )
    after = snapshot(tree)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == {"hip/a.hip"}


def test_a_changed_tool_is_the_one_that_runs(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"tools/hip.py": TOOL.replace("made by hipify", "made anew")})
    assert again(yard, locked, tree)
    assert (tree / LIB / "hip/l.hip").read_text() == "made anew\nhip patched\n"
    assert "hip line nine\n" in (tree / "hip/a.hip").read_text()


def test_a_tool_that_fails_changes_nothing(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"tools/hip.py": TOOL + "raise SystemExit('half way')\n"})
    before = (snapshot(tree), read_tree_record(tree))
    with pytest.raises(HipwrightError) as caught:
        hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert caught.value.code.name == "hipify-failed"
    assert (snapshot(tree), read_tree_record(tree)) == before


def test_a_tree_that_is_back_before_hipify_is_none_of_its_business(yard: Yard, tree: Path, locked: LockedSources) -> None:
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    write(tree, {"a.cu": "cuda mine\n"})
    before = snapshot(tree)
    assert not hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert snapshot(tree) == before


def test_modes_are_kept(yard: Yard, tree: Path, locked: LockedSources) -> None:
    (tree / "hip/a.hip").chmod(0o755)
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    assert (tree / "hip/a.hip").stat().st_mode & 0o111
    assert "hip line two\n" in (tree / "hip/a.hip").read_text()


def test_what_hipify_wrote_is_read_strictly_and_counts_as_a_persons_without_its_note(
    yard: Yard, tree: Path, locked: LockedSources
) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    assert list(written_in(tree)) == ["."]
    assert "hipified again hip/a.hip" in local(yard, locked, tree)
    (note,) = own_folder(tree).glob("hipify-written*")
    for text in ("{}", '{"schema": 1, "files": {}, "more": {}}', '{"schema": 1, "files": {".": ["hip/a.hip"]}}', "no JSON"):
        note.write_text(text, encoding="utf-8")
        with pytest.raises(HipwrightError) as caught:
            yard.read(locked, tree)
        assert caught.value.code.name == "bad-source-tree"
        assert str(note) in caught.value.message
        assert str(note) in str(caught.value.hint)
    note.unlink()
    assert "edited hip/a.hip" in local(yard, locked, tree)


def test_a_record_that_was_lost_is_made_anew(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), f"{LIB}/new.cu": "cuda new\n"})
    assert again(yard, locked, tree)
    before, lines = snapshot(tree), local(yard, locked, tree)
    write_tree_record(tree, None)
    assert again(yard, locked, tree)
    assert snapshot(tree) == before
    assert local(yard, locked, tree) == lines


def test_the_next_run_makes_good_what_a_killed_one_left_half_written(
    yard: Yard, tree: Path, locked: LockedSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), "new.cu": "cuda new\n", f"{LIB}/l.cu": "cuda mine\n"})
    real, written = os.replace, 0

    def dying(*arguments: object, **more: object) -> None:
        nonlocal written
        written += 1
        if written > 1:
            raise KeyboardInterrupt
        real(*arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", dying)
        with pytest.raises(KeyboardInterrupt):
            hipify_again(yard.read(locked, tree), yard.hipifier(), git=yard.git, say=yard.said.append)
    assert written > 1
    assert stale(yard, locked, tree) != []
    assert again(yard, locked, tree)
    assert "hip line two\n" in (tree / "hip/a.hip").read_text()
    assert (tree / "hip/new.hip").read_text() == "made by hipify\nhip new\n"
    assert (tree / LIB / "hip/l.hip").read_text() == "made by hipify\nhip mine\n"
    assert [line for line in local(yard, locked, tree) if "hip/" in line] == [
        "hipified again hip/a.hip",
        "hipified again hip/new.hip",
        f"hipified again {LIB}: hip/l.hip",
    ]


# Moving a tree on which hipify ran again.


def test_a_tree_moves_once_the_persons_own_edits_are_gone(yard: Yard, tree: Path, locked: LockedSources) -> None:
    origin = Person.__new__(Person)
    origin.folder = yard.place / "origins" / "toy"
    other = yard.lock(origin, origin.commit({"README.md": "later\n"}))
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), "new.cu": "cuda new\n", f"{LIB}/new.cu": "cuda new\n"})
    (tree / "plain.cu").unlink()
    assert again(yard, locked, tree)
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.code.name == "unsaved-work"
    assert str(caught.value.excerpt).splitlines() == [
        "edited a.cu",
        "deleted plain.cu",
        "untracked new.cu",
        f"untracked {LIB}: new.cu",
    ]
    write(tree, {"a.cu": LINES, "plain.cu": "cuda odd\n"})
    (tree / "new.cu").unlink()
    (tree / LIB / "new.cu").unlink()
    yard.checkout(other, tree)
    fresh = yard.place / "fresh" / "toy"
    yard.checkout(other, fresh)
    assert snapshot(tree) == snapshot(fresh)
    assert status(tree) == b""


def test_discarding_takes_what_hipify_wrote_along(yard: Yard, tree: Path, locked: LockedSources) -> None:
    origin = Person.__new__(Person)
    origin.folder = yard.place / "origins" / "toy"
    other = yard.lock(origin, origin.commit({"README.md": "later\n"}))
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), f"{LIB}/new.cu": "cuda new\n"})
    assert again(yard, locked, tree)
    yard.checkout(other, tree, discard_local=True)
    fresh = yard.place / "fresh" / "toy"
    yard.checkout(other, fresh)
    assert snapshot(tree) == snapshot(fresh)
    assert [line for line in yard.said if line.startswith("discarding")] == [
        "discarding edited a.cu",
        f"discarding untracked {LIB}: new.cu",
    ]


def test_an_edit_of_what_was_written_again_is_a_persons(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    write(tree, {"a.cu": LINES, "hip/a.hip": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert caught.value.excerpt == "edited hip/a.hip"
    assert (tree / "hip/a.hip").read_text() == "mine\n"


def test_what_was_put_into_the_index_is_a_persons(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    git(tree, "add", "hip/a.hip")
    write(tree, {"a.cu": LINES})
    with pytest.raises(HipwrightError) as caught:
        step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert caught.value.excerpt == "edited hip/a.hip"


def test_hipify_on_a_moved_tree_knows_nothing_of_the_past(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n")})
    assert again(yard, locked, tree)
    write(tree, {"a.cu": LINES})
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    yard.hipify(tree)
    yard.patches("hipified", tree)
    assert status(tree) == b""
    assert stale(yard, locked, tree) == []
    write(tree, {"a.cu": LINES.replace("line 3\n", "line three\n")})
    assert again(yard, locked, tree)
    assert "hip line 2\nhip line three\n" in (tree / "hip/a.hip").read_text()


@pytest.mark.parametrize("edited", ["a.cu", "README.md"])
def test_the_tool_itself_runs_each_time_and_nothing_says_otherwise(
    yard: Yard, tree: Path, locked: LockedSources, edited: str
) -> None:
    write(tree, {edited: "cuda mine\n" if edited == "README.md" else LINES.replace("line 2\n", "line two\n")})
    for number in (1, 2):
        before = runs(yard)
        said = len(yard.said)
        assert again(yard, locked, tree)
        assert runs(yard) == before + 1
        assert not any("its result is taken from" in line for line in yard.said[said:])
        assert any("hipify runs again, though" in line for line in yard.said[said:]) == (number == 2)


def test_a_tree_with_nothing_but_what_hipify_wrote_moves(yard: Yard, tree: Path, locked: LockedSources) -> None:
    write(tree, {"a.cu": LINES.replace("line 2\n", "line two\n"), f"{LIB}/new.cu": "cuda new\n"})
    assert again(yard, locked, tree)
    write(tree, {"a.cu": LINES})
    (tree / LIB / "new.cu").unlink()
    assert local(yard, locked, tree) == ["hipified again hip/a.hip", f"hipified again {LIB}: hip/new.hip"]
    origin = Person.__new__(Person)
    origin.folder = yard.place / "origins" / "toy"
    other = yard.lock(origin, origin.commit({"README.md": "later\n"}))
    yard.checkout(other, tree)
    assert yard.read(other, tree).local is None
    assert not (tree / LIB / "hip/new.hip").exists()
    assert not [line for line in yard.said if line.startswith("discarding")]


def test_an_edit_that_is_taken_back_after_hipify_has_read_it_is_told_as_that(
    yard: Yard, tree: Path, locked: LockedSources
) -> None:
    write(tree, {"a.cu": LINES.replace("line 1", "line one")})
    assert again(yard, locked, tree)
    git(tree, "checkout", "--quiet", "a.cu")
    assert stale(yard, locked, tree) == ["taken back a.cu"]
    write(tree, {"a.cu": LINES.replace("line 1", "line two")})
    assert stale(yard, locked, tree) == ["edited a.cu"]
    git(tree, "checkout", "--quiet", "a.cu")
    assert again(yard, locked, tree)
    assert local(yard, locked, tree) == []
