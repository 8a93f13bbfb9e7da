from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.builds import kept_tree
from build_tools.builds.kept_tree import BuildInputs, KeptTree, changes, held_tree, inputs_of
from build_tools.errors import HipwrightError
from build_tools.process import Runner
from build_tools.sources.git import Git
from tests.support.builds import copy_sources_plainly
from tests.support.builds import tree as source_tree

if TYPE_CHECKING:
    from pathlib import Path


INPUTS = BuildInputs(parts={"ROCm": "7.10.0", "the variable CC": "gcc"}, version="1.0")
GIT = Git(runner=Runner(environment={}))


class Desk:
    """A build folder whose sources are copied by simple means."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self.source.mkdir()
        (self.source / "a.cpp").write_text("one")
        self.said: list[str] = []
        self.kept = KeptTree(folder=folder / "trees" / "toy" / "cp312", say=self.said.append)

    def prepare(self, **changed: object) -> bool:
        inputs = msgspec.structs.replace(INPUTS, **changed)
        return self.kept.prepare(source_tree(folder=str(self.source)), inputs, git=GIT)

    def compile(self, *names: str) -> None:
        for name in names or ("build/a.o",):
            path = self.kept.sources / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("object")

    @property
    def compiled(self) -> list[str]:
        build = self.kept.sources / "build"
        return sorted(path.relative_to(build).as_posix() for path in build.rglob("*") if path.is_file())


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    copy_sources_plainly(monkeypatch)
    return Desk(tmp_path)


def test_the_same_build_goes_on(desk: Desk) -> None:
    assert not desk.prepare()
    desk.compile()
    (desk.source / "a.cpp").write_text("two")
    assert desk.prepare()
    assert desk.compiled == ["a.o"]
    assert (desk.kept.sources / "a.cpp").read_text() == "two"
    assert "goes on" in desk.said[-1]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"parts": {**INPUTS.parts, "ROCm": "7.11.0"}}, "ROCm changed"),
        ({"parts": {**INPUTS.parts, "the variable CC": "clang"}}, "the variable CC changed"),
        ({"parts": {"ROCm": "7.10.0"}}, "the variable CC changed"),
        ({"exactly": "other"}, "to be published changed"),
    ],
)
def test_another_build_begins_anew_and_says_why(desk: Desk, changed: dict[str, Any], word: str) -> None:
    desk.prepare()
    desk.compile()
    assert not desk.prepare(**changed)
    assert desk.compiled == []
    assert word in desk.said[-1]


def test_what_was_killed_before_it_was_ready_is_begun_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.prepare()
    desk.compile()

    def killed(*_arguments: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kept_tree, "refresh", killed)
        with pytest.raises(KeyboardInterrupt):
            desk.prepare()
    assert not desk.prepare()
    assert desk.compiled == []


def test_sources_that_cannot_be_brought_up_to_date_are_copied_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.prepare()
    desk.compile()

    def fails(*_arguments: object, **_more: object) -> None:
        raise HipwrightError("command-failed", "a file is in the way")

    monkeypatch.setattr(kept_tree, "refresh", fails)
    assert not desk.prepare()
    assert desk.compiled == []
    assert "in the way" in desk.said[-1]


def test_copies_of_modules_go_and_objects_stay(desk: Desk) -> None:
    desk.prepare()
    desk.compile("build/lib.linux-x86_64/toy/gone.py", "build/bdist.linux/x", "build/temp.linux/a.o", "build/lib/libc10.so")
    (desk.kept.sources / "toy.egg-info").mkdir()
    assert desk.prepare()
    assert desk.compiled == ["lib/libc10.so", "temp.linux/a.o"]
    assert not (desk.kept.sources / "toy.egg-info").exists()


def test_another_version_is_configured_again_and_not_compiled_again(desk: Desk) -> None:
    desk.prepare()
    desk.compile("build/CMakeCache.txt", "build/a.o")
    assert desk.prepare()
    assert desk.compiled == ["CMakeCache.txt", "a.o"]
    assert desk.prepare(version="1.1")
    assert desk.compiled == ["a.o"]


def test_removing_leaves_what_is_not_the_trees(desk: Desk) -> None:
    desk.prepare()
    (desk.kept.folder / "cache").mkdir()
    desk.kept.remove()
    assert [path.name for path in desk.kept.folder.iterdir()] == ["cache"]


def test_variables_that_do_not_count_are_left_out() -> None:
    made = inputs_of(
        parts={"ROCm": "7"},
        environment={"CC": "gcc", "MAX_JOBS": "3"},
        ignored=frozenset({"MAX_JOBS"}),
        version="1",
        exactly=None,
    )
    assert made.parts == {"ROCm": "7", "the variable CC": "gcc"}
    assert changes(made, made) == []


def test_a_folder_is_held_by_one_run(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with held_tree(tmp_path / "t", purpose="a build", wait=True, say=print, lock=lock) as kept:
        assert kept.sources == tmp_path / "t" / "src"
        with (
            pytest.raises(HipwrightError, match="a build") as caught,
            held_tree(tmp_path / "t", purpose="b", wait=False, say=print, lock=lock),
        ):
            pass
    assert caught.value.code.name == "locked"
