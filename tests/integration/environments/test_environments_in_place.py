"""Environments in folders of a person's choice: kept, made anew, and never where something else is."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.environments.make import EnvironmentRequest, added_by_hand, make_environment_in
from build_tools.environments.maker import Maker
from build_tools.errors import HipwrightError
from tests.support.commands import tree_of
from tests.support.environments import PLATFORM, Place, base_of, lock_from, marks_in, names_in, place_with, this_interpreter
from tests.support.packages import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from packaging.utils import NormalizedName

    from build_tools.receipts.values import EnvironmentRecord


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_with("uv", tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A source of owned packages."""
    make_wheel(tmp_path / "own", "rocm", "7.10.0", mark="own")
    make_wheel(tmp_path / "own", "torch", "2.9.0", mark="own")
    return tmp_path / "own"


def make(place: Place, folder: Path, request: EnvironmentRequest, **changes: Any) -> tuple[EnvironmentRecord, bool]:  # noqa: ANN401 - as make_environment_in takes them
    arguments: dict[str, Any] = {
        "guard": place.folder / "locks" / "env.lock",
        "cache": place.folder / "cache",
        "base": base_of(),
        "runner": place.runner,
        "platform": PLATFORM,
        "say": place.said.append,
        "wait": True,
        "log": place.folder / "install.log",
    }
    return make_environment_in(folder, request, **{**arguments, **changes})


def wanting(place: Place, own: Path, *requirements: str) -> EnvironmentRequest:
    return EnvironmentRequest(
        interpreter=this_interpreter(), owned=lock_from(place, own, *requirements), purpose="my environment"
    )


def test_the_same_request_changes_nothing(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder" / "env"
    first, made = make(place, folder, wanting(place, own, "rocm"))
    assert made
    assert first.folder == str(folder)
    before = tree_of(folder)
    place.said.clear()
    assert make(place, folder, wanting(place, own, "rocm")) == (first, False)
    assert tree_of(folder) == before
    assert place.said == []
    assert {path.name for path in folder.parent.iterdir()} == {"env"}


def test_another_request_makes_it_anew(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    make(place, folder, wanting(place, own, "rocm"))
    record, made = make(place, folder, wanting(place, own, "torch"))
    assert made
    assert names_in(record) == {"torch": "2.9.0"}
    assert any("made for something else" in line for line in place.said)
    assert not list(folder.rglob("rocm.py"))


def test_what_a_person_added_stays_and_is_told_and_is_not_lost(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    record, _ = make(place, folder, wanting(place, own, "rocm"))
    packages = next(folder.glob("lib/python*/site-packages"))
    added = packages / "mine-1.0.dist-info"
    added.mkdir()
    (added / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    assert make(place, folder, wanting(place, own, "rocm")) == (record, False)
    assert added_by_hand(record, PLATFORM) == ("mine 1.0",)
    (packages / "rocm.py").unlink()
    for request in (wanting(place, own, "rocm"), wanting(place, own, "torch")):
        with pytest.raises(HipwrightError, match=r"mine 1\.0 in it would be lost") as caught:
            make(place, folder, request)
        assert caught.value.code.name == "foreign-folder"
        assert "--clean" in (caught.value.hint or "")
        assert added.is_dir()
    assert make(place, folder, wanting(place, own, "rocm"), renew=True) == (record, True)
    assert not added.exists()
    assert marks_in(record.folder, "rocm") == ["own"]


@pytest.mark.parametrize(
    "where",
    [
        "include/mine.h",
        "bin/run.sh",
        "share/data/d",
        "lib/{packages}/mymodule.py",
        "project/environment.json",
        "work/.rocm_sdk.mine",
    ],
)
def test_a_person_s_file_is_not_lost_wherever_it_is(place: Place, own: Path, tmp_path: Path, where: str) -> None:
    folder = tmp_path / "env"
    make(place, folder, wanting(place, own, "rocm"))
    packages = next(folder.glob("lib/python*/site-packages"))
    mine = folder / where.format(packages=packages.relative_to(folder / "lib"))
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    for renew in (False, True):
        if renew and "packages" in where:
            continue
        with pytest.raises(HipwrightError, match=mine.name) as caught:
            make(place, folder, wanting(place, own, "torch"), renew=renew)
        assert caught.value.code.name == "foreign-folder"
        assert mine.read_text() == "mine"
    mine.unlink()
    if where.startswith(("project", "share", "work")):
        shutil.rmtree(folder / where.partition("/")[0])
    assert make(place, folder, wanting(place, own, "torch"))[1]


@pytest.mark.parametrize("what", ["bin/activate", "pyvenv.cfg", "an empty folder", "a link to a folder", "include/mine/deep"])
@pytest.mark.parametrize("renew", [False, True])
def test_what_a_person_changed_or_made_without_a_file_is_not_lost(
    place: Place, own: Path, tmp_path: Path, what: str, *, renew: bool
) -> None:
    folder = tmp_path / "env"
    make(place, folder, wanting(place, own, "rocm"))
    mine = folder / what
    before = mine.read_text() if mine.is_file() else None
    if before is not None:
        mine.write_text(before + "# mine\n")
    elif what == "a link to a folder":
        (tmp_path / "elsewhere").mkdir()
        mine.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    else:
        mine.mkdir(parents=True)
    with pytest.raises(HipwrightError, match=f"{what} in it would be lost") as caught:
        make(place, folder, wanting(place, own, "torch"), renew=renew)
    assert caught.value.code.name == "foreign-folder"
    if before is not None:
        mine.write_text(before)
    elif mine.is_symlink():
        mine.unlink()
    else:
        shutil.rmtree(folder / what.rpartition("/")[0] if "/" in what else mine)
    assert make(place, folder, wanting(place, own, "torch"), renew=renew)[1]


@pytest.mark.parametrize("damage", ["gone", "cut", "no package"])
def test_what_was_taken_away_comes_back(place: Place, own: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "env"
    record, _ = make(place, folder, wanting(place, own, "rocm"))
    packages = next(folder.glob("lib/python*/site-packages"))
    # Bytecode and what is written beside is no change.
    subprocess.run([record.python, "-c", "import rocm"], check=True)
    assert make(place, folder, wanting(place, own, "rocm")) == (record, False)
    (packages / "rocm.py").unlink()
    if damage == "cut":
        (packages / "rocm.py").touch()
    if damage == "no package":
        shutil.rmtree(packages / "rocm-7.10.0.dist-info")
    assert make(place, folder, wanting(place, own, "rocm")) == (record, True)
    assert any(("no rocm" if damage == "no package" else "1 file of rocm, such as rocm.py") in line for line in place.said)
    assert marks_in(record.folder, "rocm") == ["own"]


def test_what_changes_in_one_environment_changes_in_no_other(place: Place, own: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    make_wheel(tmp_path / "base", "plain-tool", "1.0", mark="plain")
    request = replace(wanting(place, own, "rocm"), requires=("plain-tool",))
    make(place, first, request, base=base_of(tmp_path / "base"))
    for module in ("rocm.py", "plain_tool.py"):
        (path,) = first.glob(f"lib/python*/site-packages/{module}")
        assert path.stat().st_nlink == 1
        with path.open("r+") as stream:
            stream.write("MARK = 'evil'")
            stream.truncate()
    record, _ = make(place, second, request, base=base_of(tmp_path / "base"))
    assert marks_in(record.folder, "rocm", "plain_tool") == ["own", "plain"]


def test_a_half_made_one_is_made_again_and_clean_makes_it_anew(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    record, _ = make(place, folder, wanting(place, own, "rocm"))
    (folder / "environment.json").unlink()
    assert make(place, folder, wanting(place, own, "rocm")) == (record, True)
    assert any("half-made" in line for line in place.said)
    assert make(place, folder, wanting(place, own, "rocm"), renew=True) == (record, True)


@pytest.mark.parametrize("kind", ["file", "folder", "environment", "store"])
@pytest.mark.parametrize("renew", [False, True])
def test_what_is_not_ours_is_never_touched(place: Place, own: Path, tmp_path: Path, kind: str, *, renew: bool) -> None:
    folder = tmp_path / "env"
    if kind == "file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        (folder / {"environment": "pyvenv.cfg", "folder": "letter.txt", "store": "x"}[kind]).write_text("mine")
        if kind == "store":
            # A folder store has a folder of this name too.
            (folder / ".hipwright").mkdir()
    before = tree_of(tmp_path / "env") if folder.is_dir() else folder.read_text()
    with pytest.raises(HipwrightError) as caught:
        make(place, folder, wanting(place, own, "rocm"), renew=renew)
    assert caught.value.code.name == "foreign-folder"
    assert (tree_of(tmp_path / "env") if folder.is_dir() else folder.read_text()) == before


def test_an_empty_folder_is_taken_and_one_with_a_person_s_file_is_not_made_anew(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    assert make(place, folder, wanting(place, own, "rocm"))[1]
    (folder / "notes.txt").write_text("mine")
    assert not make(place, folder, wanting(place, own, "rocm"))[1]
    for request, renew in ((wanting(place, own, "torch"), False), (wanting(place, own, "rocm"), True)):
        with pytest.raises(HipwrightError, match=r"notes\.txt in it would be lost") as caught:
            make(place, folder, request, renew=renew)
        assert caught.value.code.name == "foreign-folder"
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_nothing_that_looks_whole(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    request = EnvironmentRequest(interpreter=this_interpreter(), requires=("nowhere-to-be-had",))
    with pytest.raises(HipwrightError) as caught:
        make(place, folder, request, base=base_of(own))
    assert caught.value.code.name == "install-failed"
    assert not folder.exists()


def test_a_request_that_fails_leaves_the_one_that_was_there(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    request = wanting(place, own, "rocm")
    first, _ = make(place, folder, request)
    before = tree_of(folder)
    with pytest.raises(HipwrightError) as caught:
        make(place, folder, replace(request, requires=("nowhere-to-be-had",)), base=base_of(tmp_path / "empty"))
    assert caught.value.code.name == "install-failed"
    assert tree_of(folder) == before
    assert place.said[-1] == f"{folder} is again what it was before"
    assert [path.name for path in tmp_path.iterdir() if "env" in path.name] == ["env"]
    assert make(place, folder, request) == (first, False)


def test_a_file_that_was_locked_by_a_way_up_is_that_file(place: Place, own: Path, tmp_path: Path) -> None:
    request = wanting(place, own, "rocm")
    (file,) = request.owned
    way = (own.parent / "elsewhere" / ".." / "own" / file.filename).as_uri()
    (own.parent / "elsewhere").mkdir()
    record, _ = make(place, tmp_path / "env", replace(request, owned=(msgspec.structs.replace(file, url=way),)))
    assert names_in(record) == {"rocm": "7.10.0"}


def test_an_environment_is_set_aside_only_when_all_for_the_new_one_is_at_hand(
    place: Place, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "env"
    first, _ = make(place, folder, wanting(place, own, "rocm"))
    before = tree_of(folder)
    fetch, seen = Maker.fetch, []

    def look(maker: Maker) -> dict[NormalizedName, Path]:
        files = fetch(maker)
        seen.append(tree_of(folder) == before)
        return files

    monkeypatch.setattr(Maker, "fetch", look)
    record, _ = make(place, folder, wanting(place, own, "torch"))
    assert (seen, names_in(record)) == ([True], {"torch": "2.9.0"})
    assert first.digest != record.digest


@pytest.mark.parametrize("killed", ["while the new one was made", "when the new one was finished"])
def test_one_that_was_set_aside_by_a_killed_run_is_found_again(place: Place, own: Path, tmp_path: Path, killed: str) -> None:
    folder, aside = tmp_path / "env", tmp_path / ".env.hipwright-before"
    request = wanting(place, own, "rocm")
    first, _ = make(place, folder, request)
    shutil.copytree(folder, aside, symlinks=True)
    if killed == "while the new one was made":
        shutil.rmtree(folder / "lib")
        (folder / "environment.json").unlink()
    assert make(place, folder, request) == (first, False)
    assert not aside.exists()


def test_other_versions_of_what_nobody_owns_are_a_person_s_own_business(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    make_wheel(tmp_path / "base", "plain-tool", "1.0")
    request = EnvironmentRequest(
        interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), requires=("plain-tool",), with_pip=True
    )
    record, _ = make(place, folder, request, base=base_of(tmp_path / "base"))
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in ("pip", "plain_tool"):
        become(next(packages.glob(f"{name}-*.dist-info")), "99.0")
    assert make(place, folder, request, base=base_of(tmp_path / "base")) == (record, False)
    become(packages / "rocm-7.10.0.dist-info", "99.0")
    assert make(place, folder, request, base=base_of(tmp_path / "base")) == (record, True)
    assert any("rocm 99.0 instead of 7.10.0" in line for line in place.said)


def become(info: Path, version: str) -> None:
    """Let an installed package be of another version; uv's own files in its cache stay as they are."""
    metadata = info / "METADATA"
    lines = metadata.read_text().splitlines()
    metadata.unlink()
    metadata.write_text("\n".join(f"Version: {version}" if line.startswith("Version: ") else line for line in lines) + "\n")
