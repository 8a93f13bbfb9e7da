"""``--dist-dir``: what is put into a person's folder, what takes the place of what, and what is never touched."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.files import copy_file
from build_tools.pipeline import dist_folder
from build_tools.pipeline.develop import refuse_beside_develop
from build_tools.pipeline.dist_folder import put_wheels, refuse_dist_folder
from build_tools.types import Stage
from tests.support.builds import project
from tests.support.source_trees import git
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

NAME = "toy-1.0-py3-none-any.whl"


class Desk:
    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.dist = folder / "dist" / "rocm"
        self.place = workplace(folder, dist_dir=self.dist, **settings)

    def chain(
        self, text: str, *, name: str = "toy", python: str = "cp312", targets: tuple[str, ...] = (), built: bool = True
    ) -> Any:  # noqa: ANN401 - stands for a chain
        """Return a chain whose build has made a wheel with this text in it."""
        path = self.folder / "made" / digest.short(digest.of_bytes(text.encode())) / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        wheel = SimpleNamespace(filename=NAME, sha256=digest.of_file(path))
        return SimpleNamespace(
            project=SimpleNamespace(name=name),
            workplace=self.place,
            done={Stage.BUILD: SimpleNamespace(receipt=SimpleNamespace(python=python))} if built else {},
            wheel_paths=lambda: [path],
            built=lambda: SimpleNamespace(wheels=(wheel,), targets=targets),
            put=(),
        )

    def refused(self, text: str, *, name: str = "toy", python: str = "cp312", targets: tuple[str, ...] = ()) -> HipwrightError:
        before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.dist.rglob("*")}
        with pytest.raises(HipwrightError) as caught:
            put_wheels(self.chain(text, name=name, python=python, targets=targets))
        assert caught.value.code.name == "name-taken"
        assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.dist.rglob("*")} == before
        return caught.value

    @property
    def said(self) -> list[str]:
        return memory_of(self.place).said


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_wheel_is_put_there_and_the_same_bytes_are_left_alone(desk: Desk) -> None:
    chain = desk.chain("one")
    put_wheels(chain)
    assert chain.put == (desk.dist / NAME,)
    assert [path.name for path in desk.dist.iterdir()] == [NAME]
    assert (desk.dist / NAME).read_text(encoding="utf-8") == "one"
    os.utime(desk.dist / NAME, ns=(1, 1))
    again = desk.chain("one")
    put_wheels(again)
    assert again.put == chain.put
    assert (desk.dist / NAME).stat().st_mtime_ns == 1
    assert desk.said == [f"put into {desk.dist}: {NAME}"]


def test_a_later_build_takes_the_place_of_an_earlier_one(desk: Desk) -> None:
    put_wheels(desk.chain("one"))
    put_wheels(desk.chain("two"))
    assert (desk.dist / NAME).read_text(encoding="utf-8") == "two"


def test_the_same_bytes_that_a_person_has_put_there_stay_theirs(desk: Desk) -> None:
    desk.dist.mkdir(parents=True)
    (desk.dist / NAME).write_text("mine", encoding="utf-8")
    chain = desk.chain("mine")
    put_wheels(chain)
    assert chain.put == (desk.dist / NAME,)
    desk.refused("two")
    (desk.dist / NAME).unlink()
    put_wheels(desk.chain("two"))
    (desk.dist / NAME).write_text("mine", encoding="utf-8")
    put_wheels(desk.chain("mine"))
    desk.refused("three")


@pytest.mark.parametrize("copied", [False, True])
def test_a_run_that_ended_in_the_middle_left_what_is_known_to_be_ours(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, copied: bool
) -> None:
    put_wheels(desk.chain("one"))

    def ends(source: Path, target: Path, *, option: str | None = None) -> None:
        if copied:
            copy_file(source, target, option=option)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dist_folder, "copy_file", ends)
        with pytest.raises(KeyboardInterrupt):
            put_wheels(desk.chain("two"))
    assert (desk.dist / NAME).read_text(encoding="utf-8") == ("two" if copied else "one")
    put_wheels(desk.chain("three"))
    assert (desk.dist / NAME).read_text(encoding="utf-8") == "three"
    # What was replaced and lies there again is a person's.
    (desk.dist / NAME).write_text("one", encoding="utf-8")
    desk.refused("four")


def test_a_wheel_for_other_gpu_targets_is_no_later_build(desk: Desk) -> None:
    put_wheels(desk.chain("one", targets=("gfx942", "gfx90a")))
    error = desk.refused("two", targets=("gfx1201",))
    assert "put there for toy and cp312, GPU targets gfx90a, gfx942; this build is for" in error.message
    assert "name another folder with --dist-dir" in (error.hint or "")
    desk.refused("two")
    put_wheels(desk.chain("two", targets=("gfx90a", "gfx942")))
    assert (desk.dist / NAME).read_text(encoding="utf-8") == "two"


def test_what_was_not_put_there_is_not_replaced(desk: Desk) -> None:
    desk.dist.mkdir(parents=True)
    (desk.dist / NAME).write_text("mine", encoding="utf-8")
    error = desk.refused("one")
    assert str(error.where) == str(desk.dist / NAME)
    assert "--dist-dir" in (error.hint or "")
    (desk.dist / NAME).unlink()
    put_wheels(desk.chain("one"))
    (desk.dist / NAME).write_text("changed by me", encoding="utf-8")
    desk.refused("two")


def test_another_project_or_python_is_no_later_build(desk: Desk) -> None:
    put_wheels(desk.chain("one"))
    desk.refused("two", python="cp313")
    desk.refused("two", name="other")


def test_a_folder_or_a_link_of_that_name_is_not_replaced(desk: Desk) -> None:
    (desk.dist / NAME).mkdir(parents=True)
    with pytest.raises(HipwrightError, match="is there already"):
        put_wheels(desk.chain("one"))
    (desk.dist / NAME).rmdir()
    (desk.dist / NAME).symlink_to(desk.folder / "nowhere")
    with pytest.raises(HipwrightError, match="is there already"):
        put_wheels(desk.chain("one"))


def test_a_note_that_cannot_be_read_has_nothing_replaced(desk: Desk) -> None:
    put_wheels(desk.chain("one"))
    (note,) = (desk.place.work_dir / "put").iterdir()
    assert json.loads(note.read_bytes())["wheels"][NAME]["project"] == "toy"
    note.write_text("{", encoding="utf-8")
    desk.refused("two")


def test_a_dry_run_says_it_and_writes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, dry_run=True)
    built, unbuilt = desk.chain("one"), desk.chain("two", built=False)
    put_wheels(built)
    put_wheels(unbuilt)
    assert (built.put, unbuilt.put) == ((desk.dist / NAME,), ())
    assert desk.said == [f"{NAME} would be put into {desk.dist}", f"the wheel of toy would be put into {desk.dist}"]
    assert not desk.dist.exists()
    assert not desk.place.work_dir.exists()


def test_without_the_option_nothing_is_put_anywhere(tmp_path: Path, desk: Desk) -> None:
    chain = desk.chain("one")
    chain.workplace = workplace(tmp_path)
    put_wheels(chain)
    assert chain.put == ()


def judged(place: Workplace, last: Stage = Stage.BUILD) -> HipwrightError | None:
    try:
        refuse_dist_folder([project()], last, place)
    except HipwrightError as error:
        return error
    return None


def test_a_folder_that_cannot_be_is_told_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    error = judged(workplace(tmp_path, dist_dir=tmp_path / "file" / "dist"))
    assert error is not None
    assert error.code.name == "folder-not-writable"
    assert judged(workplace(tmp_path, dist_dir=tmp_path / "file" / "dist"), Stage.LOCK) is None
    assert judged(workplace(tmp_path, dist_dir=tmp_path / "some" / "where")) is None
    assert not (tmp_path / "some").exists()


def test_a_source_tree_is_no_place_for_wheels(tmp_path: Path) -> None:
    error = judged(workplace(tmp_path, dist_dir=tmp_path / "work" / "src" / "toy" / "dist"))
    assert error is not None
    assert error.code.name == "bad-option-value"


def test_in_a_tree_of_a_person_s_git_has_to_ignore_it(tmp_path: Path) -> None:
    tree = tmp_path / "mine"
    tree.mkdir()
    git(tree, "init", "--quiet")
    place = workplace(tmp_path, dist_dir=tree / "dist" / "rocm", dir={"toy": tree})
    error = judged(place)
    assert error is not None
    assert "/dist/rocm/ to .gitignore" in (error.hint or "")
    (tree / ".gitignore").write_text("dist/\n", encoding="utf-8")
    assert judged(place) is None


def test_develop_makes_no_wheel_to_put_anywhere(tmp_path: Path) -> None:
    place = workplace(tmp_path, dist_dir=tmp_path / "dist", develop=True)
    refuse_beside_develop(place)
    origins = {"dist_dir": "command line --dist-dir"}
    typed: Any = SimpleNamespace(settings=place.settings, resolved=SimpleNamespace(origin=origins.__getitem__))
    with pytest.raises(HipwrightError, match="--dist-dir is about a wheel") as caught:
        refuse_beside_develop(typed)
    assert caught.value.code.name == "option-conflict"
