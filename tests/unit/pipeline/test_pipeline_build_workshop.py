from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.builds import compiler_cache
from build_tools.builds.compiler_cache import Bucket
from build_tools.builds.progress import Earlier
from build_tools.errors import HipwrightError
from build_tools.pipeline import build_workshop
from build_tools.pipeline.build_workshop import Means, means_of, never_built_twice
from tests.support.builds import lock, project, sdk
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

PARTS = {"environment": "e", "sources": "s", "version": "1", "local changes": "none", "recipe": "r"}
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1"}


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "tools"
        self.tools.mkdir()
        for name in compiler_cache.TOOLS:
            (self.tools / name).touch(mode=stat.S_IRWXU)

    def place(self, *, machine: dict[str, str] | None = None, **settings: object) -> Workplace:
        place = workplace(self.folder, **settings)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return replace(place, python=self.tools / "python", machine={**clean, **(machine or {})})

    def means(self, place: Workplace, parts: dict[str, str] | None = None) -> Means:
        chain: Any = SimpleNamespace(workplace=place, project=project(), targets=(), sdk=sdk, locked=lock)
        return means_of(chain, parts or PARTS)

    def refused(self, code: str, **settings: object) -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            self.means(self.place(machine=None, **settings))
        assert caught.value.code.name == code
        return caught.value


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_without_a_word_there_is_no_cache(desk: Desk) -> None:
    for tool in (None, "none"):
        assert desk.means(desk.place(compiler_cache=tool)).workshop.cache is None
    # A store that a variable of the machine names for all builds is of no use to one that wants no cache, and no fault.
    assert desk.means(desk.place(compiler_cache="none", compiler_cache_store="s3://bucket")).workshop.cache is None


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_a_cache_has_our_settings(desk: Desk, tool: str) -> None:
    place = desk.place(compiler_cache=tool, compiler_cache_size="3G")
    cache = desk.means(place).workshop.cache
    assert cache is not None
    assert (cache.tool, cache.program, cache.size_mib) == (tool, desk.tools / tool, 3072)
    assert (cache.store, cache.base) == (place.cache / "compiler" / tool, place.work_dir)
    assert cache.key.text == "linux/rocm-7.10.0/gfx1201-gfx942/toy-1.2.0/cp312"


def test_a_folder_and_a_bucket_are_stores(desk: Desk) -> None:
    cache = desk.means(desk.place(compiler_cache="sccache", compiler_cache_store="/objects")).workshop.cache
    assert cache is not None
    assert cache.store == Path("/objects")
    named = {"compiler_cache": "sccache", "compiler_cache_store": "s3://bucket/a/folder"}
    workshop = desk.means(desk.place(machine=KEYS, endpoint_url="http://127.0.0.1:9", **named)).workshop
    assert workshop.cache is not None
    expected = Bucket(name="bucket", folder="a/folder", server="http://127.0.0.1:9", region="eu-central-1")
    assert workshop.cache.store == expected
    assert workshop.credentials == KEYS
    assert workshop.store is not None


@pytest.mark.parametrize(
    "settings",
    [
        {"compiler_cache_store": "/objects"},
        {"compiler_cache_size": "3G"},
        {"compiler_cache": "ccache", "compiler_cache_store": "s3://bucket"},
        {"compiler_cache": "sccache", "compiler_cache_store": "https://example.invalid/x"},
        {"compiler_cache": "sccache", "compiler_cache_size": "much"},
    ],
)
def test_what_does_not_go_together_is_refused(desk: Desk, settings: dict[str, object]) -> None:
    desk.refused("bad-option-value", **settings)


def test_half_of_the_credentials_is_refused_before_the_build(desk: Desk) -> None:
    place = desk.place(
        machine={"AWS_ACCESS_KEY_ID": "key"},
        compiler_cache="sccache",
        compiler_cache_store="s3://bucket",
        endpoint_url="http://127.0.0.1:9",
    )
    with pytest.raises(HipwrightError, match="AWS_SECRET_ACCESS_KEY") as caught:
        desk.means(place)
    assert caught.value.code.name == "cache-unusable"


def test_a_tool_that_is_not_there_is_told_with_a_way_to_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.tools / "sccache").unlink()
    monkeypatch.setattr(build_workshop, "_separator", lambda _place: "\0")
    assert "install" in (desk.refused("missing-tool", compiler_cache="sccache").hint or "")


def test_edits_of_sources_take_a_folder_up_and_all_else_does_not(desk: Desk) -> None:
    parts = desk.means(desk.place()).workshop.parts
    assert parts == {"environment": "e", "recipe": "r", "ROCm": "7.10.0"}


@pytest.mark.parametrize(("release_type", "exact"), [(None, False), ("dev", False), ("ci", False), ("nightly", True)])
def test_what_is_published_takes_up_only_itself(desk: Desk, release_type: str | None, exact: bool) -> None:  # noqa: FBT001
    one = desk.means(desk.place(release_type=release_type)).workshop.exactly
    other = desk.means(desk.place(release_type=release_type), {**PARTS, "sources": "others"}).workshop.exactly
    assert (one is not None) is exact
    assert (one != other) is exact


def test_jobs_are_what_memory_allows_and_people_are_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_workshop, "free_memory", lambda: 2 * 2**30)
    place = desk.place()
    assert desk.means(place).jobs == 1
    assert any("1 of 2" in text for text in memory_of(place).said)
    asked = desk.place(jobs=9)
    assert desk.means(asked).jobs == 9
    assert any("9 jobs may be too many" in text for text in memory_of(asked).said)


def test_the_newest_receipt_tells_how_long_it_takes(desk: Desk) -> None:
    place = desk.place()
    assert desk.means(place).workshop.earlier is None
    for name, started, objects in (("a", "2026-01-02", 7), ("b", "2026-01-01", 5)):
        folder = place.work_dir / "build" / "toy" / name
        folder.mkdir(parents=True)
        document = {"started": started, "seconds": 60.5, "result": {"value": {"objects": objects}}}
        (folder / "receipt.json").write_text(json.dumps(document))
    (place.work_dir / "build" / "toy" / "c").mkdir()
    (place.work_dir / "build" / "toy" / "c" / "receipt.json").write_text("{")
    assert desk.means(place).workshop.earlier == Earlier(objects=7, seconds=60.5)


def test_a_build_that_was_not_compared_is_made_again() -> None:
    assert never_built_twice(SimpleNamespace(reproducible=None)) is not None
    assert never_built_twice(SimpleNamespace(reproducible=True)) is None
