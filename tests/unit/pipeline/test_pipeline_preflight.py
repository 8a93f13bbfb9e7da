from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from build_tools.config.project import load_project
from build_tools.config.wheel_demands import RuleSetting
from build_tools.errors import HipwrightError
from build_tools.options.model import Settings
from build_tools.options.resolve import Resolved
from build_tools.pipeline.preflight import long_paths, look_ahead
from build_tools.types import Platform, ProjectName, Stage
from tests.support.workplaces import CLONE, workplace

SAMPLE = load_project(CLONE / "external-builds", ProjectName("sample"))


def refused(folder: Path, last: Stage = Stage.PROMOTE, work_dir: Path | None = None, **settings: object) -> HipwrightError:
    place = workplace(folder, **settings)
    if work_dir is not None:
        object.__setattr__(place, "resolved", Resolved(settings=Settings(work_dir=work_dir)))
    with pytest.raises(HipwrightError) as caught:
        look_ahead([SAMPLE], last, place)
    return caught.value


def test_what_is_right_passes_and_makes_the_work_dir(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    look_ahead([SAMPLE], Stage.PROMOTE, place)
    assert place.work_dir.is_dir()
    look_ahead([SAMPLE], Stage.PROMOTE, workplace(tmp_path / "dry", dry_run=True))
    assert not (tmp_path / "dry").exists()


@pytest.mark.parametrize("run_id", ["a b", "../x", "x" * 300, "é"])
def test_a_bad_run_id_is_told_before_anything_is_made(tmp_path: Path, run_id: str) -> None:
    assert refused(tmp_path, Stage.LOCK, run_id=run_id).code.name == "bad-option-value"
    assert list(tmp_path.iterdir()) == []


def test_a_bad_artifact_group_and_a_bad_channel_are_told_first(tmp_path: Path) -> None:
    assert refused(tmp_path, artifact_group="../../x").code.name == "bad-option-value"
    assert refused(tmp_path, channel="relase").code.name == "unknown-channel"


@pytest.mark.parametrize(
    "settings",
    [
        {"compiler_cache_store": "/objects"},
        {"compiler_cache": "ccache", "compiler_cache_size": "banana"},
        {"compiler_cache": "ccache", "compiler_cache_store": "s3://bucket"},
        {"build_env": {"A": "\udcff"}},
        {"build_env": {"A=B\0": "x"}},
    ],
)
def test_what_a_build_would_refuse_is_told_first(tmp_path: Path, settings: dict[str, object]) -> None:
    assert refused(tmp_path, Stage.BUILD, **settings).code.name == "bad-option-value"  # type: ignore[arg-type]
    look_ahead([SAMPLE], Stage.CHECKOUT, workplace(tmp_path, **settings))


@pytest.mark.parametrize(
    ("length", "told"),
    [(20, None), (27, None), (28, "CMake may configure"), (55, "CMake may configure"), (120, "Windows has 260")],
)
def test_a_work_dir_that_is_too_deep_for_windows_is_told(tmp_path: Path, length: int, told: str | None) -> None:
    place = workplace(tmp_path)
    deep = Path("/" + "x" * (length - 1))
    there = dataclasses.replace(place, platform=Platform.WINDOWS, resolved=Resolved(settings=Settings(work_dir=deep)))
    # What is built lies 23 characters deeper.
    there.__dict__["interpreters"] = {None: dataclasses.replace(next(iter(place.interpreters.values())), python_tag="cp312")}
    message = long_paths(SAMPLE, there)
    assert message is None if told is None else message is not None and told in message and "--work-dir" in message
    assert long_paths(SAMPLE, dataclasses.replace(there, platform=Platform.LINUX)) is None


def test_a_rule_that_there_is_not_is_told_before_a_build(tmp_path: Path) -> None:
    table = msgspec.structs.replace(SAMPLE.check, rules={"nosuch": RuleSetting(severity="off", why="a slip")})
    with pytest.raises(HipwrightError, match="nosuch") as caught:
        look_ahead([msgspec.structs.replace(SAMPLE, check=table)], Stage.BUILD, workplace(tmp_path))
    assert caught.value.code.name == "bad-data-file"


def test_a_store_that_is_none_is_told_first_where_it_will_be_needed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(tmp_path, store=str(tmp_path / "file")).code.name == "store-unusable"
    look_ahead([SAMPLE], Stage.BUILD, workplace(tmp_path, store=str(tmp_path / "file")))


def test_a_store_inside_a_source_tree_or_the_clone_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "src" / "sample" / "store"
    assert "source tree" in refused(tmp_path, store=str(inside)).message
    assert "clone's own files" in refused(tmp_path, dry_run=True, store=str(CLONE / "docs")).message


@pytest.mark.parametrize("name", ["a'b", "a$HOME", "a{b}", "a\nb", "a:b", "`x`", 'q"'])
def test_a_work_dir_that_breaks_build_tools_is_refused_by_its_character(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, work_dir=tmp_path / name)
    assert error.code.name == "bad-option-value"
    assert "--work-dir" in str(error.hint)


def test_a_work_dir_among_the_clones_own_files_is_refused(tmp_path: Path) -> None:
    for folder in (CLONE, CLONE / "docs" / "x", CLONE / ".git" / "x"):
        assert refused(tmp_path, work_dir=folder).code.name == "bad-option-value"


def test_a_cache_that_is_a_file_names_its_option(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    error = refused(tmp_path)
    assert error.code.name == "folder-not-writable"
    assert "--cache-dir" in str(error.hint)
