"""A change of a series is whole or has not happened, whatever ends it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.series import load_series
from build_tools.patches.write import settle_series, write_series
from tests.support.source_trees import write
from tests.support.warm_python import run_python

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

CLONE = Path(__file__).parents[3]
OLD = {
    "series.toml": b"old list\n",
    "root/base/0001-a.patch": b"a\n",
    "root/base/0002-b.patch": b"b\n",
    "third_party/x/hipified/0001-c.patch": b"c\r\n\0",
}
CHANGE: dict[str, bytes | None] = {
    "series.toml": b"new list\n",
    "root/base/0001-a.patch": b"other a\n",
    "root/base/0002-b.patch": b"b\n",
    "third_party/x/hipified/0001-c.patch": None,
    "root/hipified/0001-d.patch": b"d\n",
}
NEW = {
    "series.toml": b"new list\n",
    "root/base/0001-a.patch": b"other a\n",
    "root/base/0002-b.patch": b"b\n",
    "root/hipified/0001-d.patch": b"d\n",
}

DYING = """
import os, sys
from pathlib import Path
from build_tools.patches import write
count = int(sys.argv[2])

def dying(function):
    def call(*arguments, **more):
        global count
        count -= 1
        if count < 0:
            os._exit(9)
        return function(*arguments, **more)
    return call

for name in ("replace", "unlink", "rmdir", "mkdir"):
    setattr(Path, name, dying(getattr(Path, name)))
write.write_bytes = dying(write.write_bytes)
write.remove_tree = dying(write.remove_tree)
write.write_series(Path(sys.argv[1]), eval(sys.argv[3]))
"""


def dying(place: Path, count: int, change: Mapping[str, bytes | None]) -> subprocess.CompletedProcess[str]:
    """Change a series in a process that dies after so many steps."""
    words = ["-c", DYING, str(place), str(count), repr(change)]
    return run_python(words, clone=CLONE, cwd=CLONE, env={**os.environ, "PYTHONPATH": str(CLONE)})


def line(place: Path) -> Path:
    write(place, OLD)
    return place


def held(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def folders(place: Path) -> set[str]:
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_dir()}


def test_files_are_written_and_taken_away_with_the_folders_that_get_empty(tmp_path: Path) -> None:
    place = line(tmp_path / "1")
    write_series(place, CHANGE)
    assert held(place) == NEW
    assert folders(place) == {"root", "root/base", "root/hipified"}


def test_a_file_with_its_bytes_is_not_touched(tmp_path: Path) -> None:
    place = line(tmp_path / "1")
    before = {path: path.stat() for path in place.rglob("*")}
    write_series(place, OLD)
    assert {path: path.stat() for path in place.rglob("*")} == before
    write_series(place, {"series.toml": b"x"})
    assert (place / "root/base/0001-a.patch").stat().st_ino == before[place / "root/base/0001-a.patch"].st_ino


def test_a_line_is_begun_and_goes_whole(tmp_path: Path) -> None:
    place = tmp_path / "patches" / "1"
    write_series(place, dict(OLD))
    assert held(place) == OLD
    write_series(place, dict.fromkeys(OLD))
    assert not place.exists()
    assert place.parent.exists()


@pytest.mark.parametrize(
    "name",
    [
        "a.patch",
        "../base/a.patch",
        "root/base/a.txt",
        "/root/base/a.patch",
        "other.toml",
        "C:/x/base/a.patch",
        "..\\..\\x/base/a.patch",
        "root/base/a.patch:b.patch",
        "x\ny/base/a.patch",
    ],
)
def test_what_is_no_place_of_a_patch_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    place = line(tmp_path / "1")
    with pytest.raises(HipwrightError) as caught:
        write_series(place, {**CHANGE, name: b"x"})
    assert caught.value.code.name == "bad-series"
    assert held(place) == OLD


@pytest.mark.parametrize(
    "more",
    [
        {"root/base/0001-A.patch": b"x"},
        {"Root/base/0001-a.patch": b"x"},
        {"Root/base/0003-x.patch": b"x"},
        {"root/base/0001-a.patch/base/x.patch": b"x"},
    ],
)
def test_what_a_disk_may_not_hold_is_refused_and_nothing_is_written(tmp_path: Path, more: dict[str, bytes | None]) -> None:
    place = line(tmp_path / "1")
    with pytest.raises(HipwrightError) as caught:
        write_series(place, {**CHANGE, **more})
    assert caught.value.code.name == "bad-series"
    assert held(place) == OLD
    with pytest.raises(HipwrightError):
        write_series(tmp_path / "2", {"root/base/a.patch": b"", "root/base/A.patch": b""})
    assert not (tmp_path / "2").exists()


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    place = line(tmp_path / "1")
    (place / "root/hipified/0001-d.patch").mkdir(parents=True)
    with pytest.raises(HipwrightError, match="folder") as caught:
        write_series(place, CHANGE)
    assert caught.value.code.name == "bad-series"
    assert held(place) == OLD


def test_a_file_may_change_the_case_of_its_name(tmp_path: Path) -> None:
    place = line(tmp_path / "1")
    write_series(place, {"root/base/0001-a.patch": None, "root/base/0001-A.patch": b"a\n"})
    assert held(place) == {**{name: data for name, data in OLD.items() if "0001-a" not in name}, "root/base/0001-A.patch": b"a\n"}


def test_a_run_that_is_killed_leaves_the_old_series_or_the_new_one(tmp_path: Path) -> None:
    seen = set()
    for count in range(60):
        place = line(tmp_path / str(count))
        done = dying(place, count, CHANGE)
        if done.returncode == 0:
            assert held(place) == NEW
            break
        assert done.returncode == 9
        settle_series(place)
        kept = {name: data for name, data in held(place).items() if not name.startswith(".saving-")}
        assert kept in (OLD, NEW)
        seen.add(kept == NEW)
        # The next change finds nothing in its way, and leaves nothing of the earlier one.
        write_series(place, CHANGE)
        assert held(place) == NEW
        assert not [name for name in folders(place) if ".saving" in name]
    else:
        pytest.fail("it never came to its end")
    assert seen == {True, False}


def test_whoever_reads_the_series_finishes_what_a_killed_run_had_begun(tmp_path: Path) -> None:
    mail = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nSubject: x\n\n"
    entry = '[[patch]]\nfile = "root/base/{}.patch"\nwhy = "w"\nupstream = "u"\nowner = "o"\nadded = 2026-01-01\n'
    old = {"series.toml": f"schema = 1\n{entry.format('a')}".encode(), "root/base/a.patch": mail}
    new = {"series.toml": f"schema = 1\n{entry.format('b')}".encode(), "root/base/a.patch": None, "root/base/b.patch": mail}
    seen = set()
    for count in range(60):
        folder = tmp_path / str(count)
        place = folder / "patches" / "1"
        write(place, old)
        done = dying(place, count, new)
        # None of the states in between is one that it would take.
        seen.add(tuple(patch.name for patch in load_series(folder, "1").patches))
        if done.returncode == 0:
            break
    assert seen == {("root/base/a.patch",), ("root/base/b.patch",)}


def test_what_somebody_changed_after_a_run_was_killed_is_not_written_over(tmp_path: Path) -> None:
    place, count = line(tmp_path / "0"), 0
    while not list(place.glob(".saving-*/journal.json")):
        count += 1
        place = line(tmp_path / str(count))
        dying(place, count, CHANGE)
    (place / "root/base/0001-a.patch").write_bytes(b"mine\n")
    for change in ({}, {"series.toml": b"third"}):
        with pytest.raises(HipwrightError, match="was changed while") as caught:
            write_series(place, change)
        assert caught.value.code.name == "bad-series"
        assert str(next(place.glob(".saving-*"))) in (caught.value.hint or "")
    assert (place / "root/base/0001-a.patch").read_bytes() == b"mine\n"


def _stopped(place: Path, name: str, monkeypatch: pytest.MonkeyPatch, change: dict[str, bytes | None]) -> None:
    """Change a line, and be stopped right before a file takes its place or, for the journal, goes."""

    def replace_(staged: Path, target: Path) -> Path:
        if target.name == name != "journal.json":
            raise KeyboardInterrupt
        return replace(staged, target)

    def unlink_(path: Path, *, missing_ok: bool = False) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        unlink(path, missing_ok=missing_ok)

    replace, unlink = Path.replace, Path.unlink
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace_)
        patched.setattr(Path, "unlink", unlink_)
        with pytest.raises(KeyboardInterrupt):
            write_series(place, change)


def test_a_file_that_was_taken_back_after_a_run_was_killed_leaves_no_mixed_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = line(tmp_path / "1")
    _stopped(place, "series.toml", monkeypatch, CHANGE)
    assert (place / "root/base/0001-a.patch").read_bytes() == b"other a\n"
    # As git checkout does.
    write(place, {name: OLD[name] for name in ("root/base/0001-a.patch", "third_party/x/hipified/0001-c.patch")})
    before = held(place)
    for change in ({}, {"series.toml": b"third"}):
        with pytest.raises(HipwrightError, match=r"0001-a\.patch was changed while") as caught:
            write_series(place, change)
        assert caught.value.code.name == "bad-series"
    assert held(place) == before
    # With the file as it is to be, the change comes to its end.
    (place / "root/base/0001-a.patch").write_bytes(b"other a\n")
    settle_series(place)
    assert held(place) == NEW


def test_what_is_left_of_a_change_that_came_to_its_end_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = line(tmp_path / "1")

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("build_tools.patches.write.remove_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            write_series(place, CHANGE)
    (place / "root/base/0001-a.patch").write_bytes(b"edited since\n")
    settle_series(place)
    write_series(place, {"series.toml": b"third"})
    assert held(place) == {**NEW, "series.toml": b"third", "root/base/0001-a.patch": b"edited since\n"}


def _one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make files be found by their names in any letter case, as Windows does."""

    def there(path: Path) -> Path:
        found = path.parent.iterdir() if path.parent.is_dir() else ()
        return next((other for other in found if other.name.casefold() == path.name.casefold()), path)

    def folded(function: Callable[..., object]) -> Callable[..., object]:
        return lambda path, *arguments, **more: function(there(path), *arguments, **more)

    for method in ("read_bytes", "unlink"):
        monkeypatch.setattr(Path, method, folded(getattr(Path, method)))


@pytest.mark.parametrize("data", [b"a\n", b"other a\n"])
def test_a_name_may_change_its_case_where_cases_are_not_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    change: dict[str, bytes | None] = {
        "root/base/0001-a.patch": None,
        "root/base/0001-A.patch": data,
        "series.toml": b"new list\n",
    }
    wanted = {name: known for name, known in OLD.items() if "0001-a" not in name}
    wanted |= {"root/base/0001-A.patch": data, "series.toml": b"new list\n"}
    whole, stopped = line(tmp_path / "1"), line(tmp_path / "2")
    _one_case(monkeypatch)
    write_series(whole, change)
    assert held(whole) == wanted
    # The new file is in place, and the journal still says that the old name goes.
    _stopped(stopped, "journal.json", monkeypatch, change)
    settle_series(stopped)
    assert held(stopped) == wanted


def test_a_change_is_held_by_the_run_that_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = line(tmp_path / "1")
    tried = []

    def try_to_hold(staged: Path, target: Path) -> Path:
        if target.parent.parent.name == "root":
            tried.append(target.name)
            with pytest.raises(filelock.Timeout):
                filelock.FileLock(staged.parent / "hold").acquire(timeout=0)
        return replace(staged, target)

    replace = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", try_to_hold)
        write_series(place, CHANGE)
    assert len(tried) == 2
    other = line(tmp_path / "2")
    _stopped(other, "0001-a.patch", monkeypatch, CHANGE)
    monkeypatch.setattr(Path, "replace", try_to_hold)
    settle_series(other)
    assert len(tried) == 4


def test_a_failure_while_it_is_prepared_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    place = line(tmp_path / "1")
    monkeypatch.setattr("build_tools.patches.write.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_series(place, CHANGE)
    assert held(place) == OLD
    with pytest.raises(OSError, match="No space"):
        write_series(tmp_path / "deep" / "2", CHANGE)
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize("link", ["third_party", "root/base", "root/base/0001-a.patch", "."])
def test_nothing_is_written_through_a_link(tmp_path: Path, link: str) -> None:
    place, elsewhere = tmp_path / "1", tmp_path / "elsewhere"
    write(place, OLD)
    (place / link).rename(elsewhere)
    (place / link).symlink_to(elsewhere)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(HipwrightError, match="is a symbolic link") as caught:
        write_series(place, CHANGE)
    assert caught.value.code.name == "bad-series"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
