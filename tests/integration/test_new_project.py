"""``new_project``: a recipe that is valid at once, and nothing of anybody's that is overwritten."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project, project_names
from build_tools.console.events import Printed
from build_tools.errors import HipwrightError
from build_tools.pipeline.new_project import new_project
from build_tools.types import ProjectName
from tests.support.commands import small_clone, tree_of
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace


def desk(folder: Path, *words: str, **settings: Any) -> Workplace:  # noqa: ANN401 - as the options are
    (folder / "clone" / "external-builds").mkdir(parents=True, exist_ok=True)
    place = workplace(folder, words=words, **{"git_url": "https://example.org/my-ext.git", **settings})
    return replace(place, clone=folder / "clone")


def failed(place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        new_project(place)
    return caught.value


def test_a_recipe_is_there_and_valid(tmp_path: Path) -> None:
    document = new_project(desk(tmp_path, "my-ext", default_ref="v1.2", distribution="My.Ext", sdk="none", version="1.2"))
    assert project_names(tmp_path / "clone" / "external-builds") == ("my-ext",)
    project = load_project(tmp_path / "clone" / "external-builds", ProjectName("my-ext"))
    assert (project.sdk, project.refs.default, project.version.fixed) == ("none", "v1.2", "1.2")
    assert (project.wheel.distribution, project.wheel.import_name) == ("My.Ext", "My_Ext")
    smoke = tmp_path / "clone" / "external-builds" / "my-ext" / "smoke-tests" / "test_My_Ext.py"
    compile(smoke.read_text(), str(smoke), "exec")
    assert document["files"] == ["project.toml", "smoke-tests/test_My_Ext.py"]
    assert [line.split()[-1] for line in document["next"]] == ["checkout_my_ext", "build_my_ext", "test_my_ext"]


def test_texts_of_a_person_stay_texts(tmp_path: Path) -> None:
    odd = 'a"b\\c\n[tests]\n'
    new_project(desk(tmp_path, "x", default_ref=odd))
    text = (tmp_path / "clone" / "external-builds" / "x" / "project.toml").read_text()
    assert tomllib.loads(text)["refs"]["default"] == odd


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    new_project(desk(tmp_path, "my-ext"))
    before = tree_of(tmp_path / "clone")
    assert failed(desk(tmp_path, "my-ext", distribution="other")).code.name == "foreign-folder"
    assert tree_of(tmp_path / "clone") == before
    (tmp_path / "clone" / "external-builds" / "a-file").write_text("mine")
    assert failed(desk(tmp_path, "a-file")).code.name == "foreign-folder"


def test_a_dry_run_shows_it_and_writes_nothing(tmp_path: Path) -> None:
    place = desk(tmp_path, "my-ext", dry_run=True)
    new_project(place)
    assert not list((tmp_path / "clone" / "external-builds").iterdir())
    (shown,) = [event.text for event in memory_of(place).events if isinstance(event, Printed)]
    assert tomllib.loads(shown)["name"] == "my-ext"


@pytest.mark.parametrize(
    ("words", "settings", "code"),
    [
        ((), {}, "bad-option-value"),
        (("a", "b"), {}, "bad-option-value"),
        (("My-Ext",), {}, "bad-option-value"),
        (("../x",), {}, "bad-option-value"),
        (("x",), {"git_url": None}, "bad-option-value"),
        (("1x",), {}, "bad-option-value"),
        (("x",), {"distribution": "a b"}, "bad-option-value"),
        (("x",), {"git_url": "https://me:secret@example.org/x.git"}, "bad-data-file"),
    ],
)
def test_what_no_recipe_may_have_is_refused_before_anything_is_written(
    tmp_path: Path, words: tuple[str, ...], settings: dict[str, Any], code: str
) -> None:
    assert failed(desk(tmp_path, *words, **settings)).code.name == code
    assert not list((tmp_path / "clone" / "external-builds").iterdir())


def test_the_next_commands_know_it(tmp_path: Path) -> None:
    clone = small_clone(tmp_path, "sample")
    place = replace(workplace(tmp_path, words=("my-ext",), git_url=str(tmp_path / "origin")), clone=clone)
    new_project(place)
    from build_tools.commands import project_sessions  # noqa: PLC0415 - the clone is made first

    assert "build_my_ext" in {name for name, _command, _project in project_sessions(clone)}
