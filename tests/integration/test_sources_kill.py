"""Source stages that are killed at any git process: the next run ends with the same commits and files, and loses nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedSources
from build_tools.receipts.record import read_record, to_json
from build_tools.sources.modules import own_folder
from tests.support.source_trees import HIPIFY, Yard, git, head, make_patch, raw, snapshot, status, write
from tests.support.warm_python import run_python

if TYPE_CHECKING:
    import subprocess

CLONE = Path(__file__).parents[2]
MIDDLE = "third party/middle"
PINNED = "pinned here"

DRIVER = """
import sys
from pathlib import Path
from tests.support.source_trees import Yard
from build_tools.receipts.lock import LockedSources
from build_tools.receipts.record import read_record
yard = Yard(Path(sys.argv[1]))
tree = yard.place / "src" / "toy"
yard.checkout(read_record(yard.place / sys.argv[2], LockedSources), tree)
yard.patches("base", tree)
yard.hipify(tree)
yard.patches("hipified", tree)
"""

WRAPPER = """#!/bin/sh
until mkdir '{count}.held' 2> /dev/null; do :; done
read -r n < '{count}'
n=$((n + 1))
echo $n > '{count}'
echo "$1 $2" >> '{count}.names'
rmdir '{count}.held'
if [ "$n" = '{kill_at}' ]; then
  if [ '{mode}' = after ]; then '{git}' "$@" > /dev/null 2>&1 < /dev/null; fi
  kill -9 $PPID
  exit 1
fi
exec '{git}' "$@"
"""


def prepare(place: Path) -> Yard:
    """Make an origin whose two refs differ in files, submodules and patches' results; patches move one submodule and bring a nested one."""
    yard = Yard(place)
    middle, gone, origin = yard.person("middle"), yard.person("gone"), yard.person("toy")
    middle.commit({"m.cu": "cuda m\n", "m.txt": "cuda\n"})
    gone.commit({"g.cu": "cuda\n"})
    files = {f"f{number}.cu": f"cuda {number}\n" for number in range(5)}
    origin.commit({"version.txt": "1.0\n", ".gitignore": "hip\n", "tools/hip.py": HIPIFY, **files})
    origin.submodule(middle, MIDDLE)
    origin.submodule(gone, "gone")
    pinned = yard.person("pinned")
    pinned.commit({"p.cu": "cuda one\n"})
    origin.submodule(pinned, PINNED)
    pinned.commit({"p.cu": "cuda two\n"})
    moved = pinned.submodule(gone, "nested")
    git(origin.folder, "branch", "first")
    middle.commit({"m.cu": "cuda m2\n"})
    git(origin.folder / MIDDLE, "pull", "--quiet", "origin", "main")
    git(origin.folder, "rm", "--quiet", "-f", "gone", "f4.cu")
    origin.commit({"f0.cu": "cuda changed\n", "gone/now.cu": "cuda plain\n", "version.txt": "2.0\n"})
    patches: dict[str, bytes] = {}
    for name, folder, file in (("root", origin.folder, "f1.cu"), (MIDDLE, origin.folder / MIDDLE, "m.txt")):
        patches[f"{name}/base/0001-patch.patch"] = make_patch(folder, {file: "cuda patched\n"})
    git(origin.folder, "update-index", "--cacheinfo", f"160000,{moved},{PINNED}")
    git(origin.folder, "commit", "--quiet", "-m", "move")
    patches["root/base/0002-move.patch"] = raw(origin.folder, "format-patch", "--stdout", "--zero-commit", "HEAD~1")
    git(origin.folder, "reset", "--quiet", "--hard", "HEAD~1")
    yard.series(patches)
    for ref in ("first", "main"):
        (place / ref).write_bytes(to_json(yard.lock(origin, ref)))
    return yard


def drive(place: Path, ref: str, *, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(CLONE),
        "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"],
    }
    return run_python(["-c", DRIVER, place, ref], clone=CLONE, cwd=CLONE, env=environment)


def killed(place: Path, ref: str, kill_at: int, mode: str) -> tuple[int, int]:
    """Drive with a git that kills us at its n-th call; return our exit status and how many calls there were."""
    real = shutil.which("git")
    count = place / "count"
    count.write_text("0\n")
    write(place / "bin", {"git": WRAPPER.format(count=count, kill_at=kill_at, mode=mode, git=real)})
    (place / "bin" / "git").chmod(0o755)
    done = drive(place, ref, path=str(place / "bin"))
    # A git beside the one that killed us may have died while it wrote.
    return done.returncode, int(count.read_text() or "0")


def outcome(place: Path) -> tuple[object, ...]:
    tree = place / "src" / "toy"
    folders = [tree / module for module in (".", MIDDLE, PINNED, f"{PINNED}/nested")]
    refs = [raw(folder, "for-each-ref", "refs/hipwright") for folder in folders]
    return snapshot(tree), [head(folder) for folder in folders], refs, status(tree)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[object, ...], int]:
    """Return a place whose tree stands on the first ref, what a whole run to the second gives, and its number of git calls."""
    top = tmp_path_factory.mktemp("kill")
    place = top / "place"
    prepare(place)
    assert drive(place, "first").returncode == 0
    shutil.copytree(place, top / "kept", symlinks=True)
    status_code, calls = killed(place, "main", -1, "before")
    assert status_code == 0
    result = outcome(place)
    shutil.copyfile(place / "count.names", top / "names")
    shutil.rmtree(place)
    return top / "kept", result, calls


# A place can be used at its own path only: its origins are named by it.
def fresh(kept: Path) -> Path:
    place = kept.with_name("place")
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(kept, place, symlinks=True)
    return place


def test_the_whole_run_is_clean_and_has_its_patches(prepared: tuple[Path, tuple[object, ...], int]) -> None:
    _, (files, _, _, changed), calls = prepared
    assert changed == b""
    assert isinstance(files, dict)
    assert files["hip/f1.hip"] == b"  hip patched\n"
    assert files[f"{MIDDLE}/m.txt"] == b"  hip patched\nhipified\n"
    assert files["gone/now.cu"] == b"  cuda plain\n"
    assert files[f"{PINNED}/hip/p.hip"] == b"  hip two\n"
    assert files[f"{PINNED}/nested/hip/g.hip"] == b"  hip\n"
    assert calls > 50


@pytest.mark.parametrize("mode", ["before", "after"])
@pytest.mark.parametrize("part", range(8))
def test_a_run_that_is_killed_is_carried_to_its_end_by_the_next(
    prepared: tuple[Path, tuple[object, ...], int], part: int, mode: str
) -> None:
    kept, wanted, calls = prepared
    offset = 0 if mode == "before" else calls // 16
    kill_at = 1 + part * calls // 8 + offset
    place = fresh(kept)
    code, _ = killed(place, "main", kill_at, mode)
    assert code == -9
    again = drive(place, "main")
    assert again.returncode == 0, again.stderr
    assert outcome(place) == wanted
    left = {path.name for path in own_folder(place / "src" / "toy").iterdir()}
    assert left == {"applied-patches.json", "hipify-record.json", "modules.json"}
    assert not list((place / "scratch").glob(".*partial*"))


def test_a_checkout_that_died_while_it_wrote_files_is_repaired(prepared: tuple[Path, tuple[object, ...], int]) -> None:
    place, tree = die_while_writing(prepared)
    again = drive(place, "main")
    assert again.returncode == 0, again.stderr
    assert outcome(place) == prepared[1]
    assert not (tree / ".git" / "index.lock").exists()


def test_what_a_person_changed_after_the_death_is_not_overwritten(prepared: tuple[Path, tuple[object, ...], int]) -> None:
    place, tree = die_while_writing(prepared)
    write(tree, {"f3.cu": "my own words\n", "mine.txt": "mine\n"})
    yard = Yard(place)
    with pytest.raises(HipwrightError, match="would lose 2 changes") as caught:
        yard.checkout(read_record(place / "main", LockedSources), tree)
    assert caught.value.code.name == "unsaved-work"
    assert str(caught.value.excerpt).splitlines() == ["edited f3.cu", "untracked mine.txt"]
    assert (tree / "f3.cu").read_text() == "my own words\n"
    git(tree, "checkout", "--quiet", "--force", "HEAD", "--", "f3.cu")
    (tree / "mine.txt").unlink()
    assert drive(place, "main").returncode == 0
    assert outcome(place) == prepared[1]


def die_while_writing(prepared: tuple[Path, tuple[object, ...], int]) -> tuple[Path, Path]:
    """Leave a tree as a machine leaves it that lost power while git wrote the second ref's files."""
    kept, _, _ = prepared
    calls = kept.with_name("names").read_text().splitlines()
    place = fresh(kept)
    tree = place / "src" / "toy"
    killed(place, "main", calls.index("read-tree -m") + 1, "before")
    assert (own_folder(tree) / "moving.json").exists()
    assert not (tree / "gone" / "g.cu").exists()
    origin = place / "origins" / "toy"
    assert (tree / "f0.cu").read_text() == "cuda 0\n"
    (tree / "f0.cu").write_text("cuda ch")
    (tree / "version.txt").write_bytes(raw(origin, "show", "main:version.txt"))
    (tree / "gone").mkdir(exist_ok=True)
    (tree / "gone" / "now.cu").touch()
    (tree / "f4.cu").unlink()
    (tree / ".git" / "index.lock").touch()
    (tree / ".git" / "HEAD.lock").touch()
    return place, tree
