"""Fetching real inputs, with pip and git for real and a folder for an index."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.files import hold
from build_tools.inputs.catalogue import Catalogue, Tier
from build_tools.inputs.fetch import fetch_inputs
from build_tools.process import Runner, base_environment
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(kw_only=True)
class Place:
    """An index that is a folder, a cache, and a catalogue of what the index has."""

    index: Path
    cache: Path
    catalogue: Catalogue
    said: list[str] = field(default_factory=list)

    def fetch(self, tier: Tier | str = "real", *, offline: bool = False, wait: bool = True) -> dict[str, Path]:
        environment = base_environment(os.environ)
        if offline:
            # Nothing can be started at all.
            environment["PATH"] = str(self.cache / "no-programs")
        machine = {"PIP_FIND_LINKS": str(self.index), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        return fetch_inputs(
            tier,
            cache=self.cache,
            runner=Runner(environment=environment),
            machine=machine,
            say=self.said.append,
            catalogue=self.catalogue,
            wait=wait,
        )


def sdist(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"src-2/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def pin(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    return {"file": path.name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (index := tmp_path / "index").mkdir()
    one = WheelMaker(name="one").write(index)
    two = WheelMaker(name="two", tag="cp310-cp310-manylinux_2_28_x86_64").write(index)
    trap = "raise SystemExit('setup.py was run')\n"
    source = sdist(index / "src-2.tar.gz", {"setup.py": trap.encode(), "PKG-INFO": b"Metadata-Version: 2.1\n", "patches/1": b"p"})
    data = {
        "schema": 1,
        "wheel": [pin(one), pin(two)],
        "sdist": [{**pin(source), "name": "src", "version": "2"}],
        "input": [
            {"key": "two", "tier": "ci", "kind": "file", "file": two.name},
            {"key": "both", "tier": "real", "kind": "collection", "files": [one.name, two.name]},
            {"key": "patches", "tier": "real", "kind": "folder", "file": source.name, "folder": "patches"},
            {
                "key": "origin",
                "tier": "real",
                "kind": "repository",
                "branch": [{"name": "main", "file": source.name, "date": "2025-01-01T00:00:00Z"}],
            },
        ],
    }
    return Place(index=index, cache=tmp_path / "cache", catalogue=msgspec.convert(data, Catalogue))


def test_what_a_tier_has_is_fetched_verified_and_made(place: Place) -> None:
    found = place.fetch()
    assert list(found) == ["two", "both", "patches", "origin"]
    assert found["two"].read_bytes() == (place.index / found["two"].name).read_bytes()
    assert sorted(path.suffix for path in found["both"].iterdir()) == [".whl", ".whl"]
    assert [(path.name, path.read_bytes()) for path in found["patches"].iterdir()] == [("1", b"p")]
    assert (found["origin"] / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert any("fetching one-1.0-py3-none-any.whl" in line for line in place.said)


def test_a_smaller_tier_fetches_less(place: Place) -> None:
    assert list(place.fetch(Tier.CI)) == ["two"]
    assert not list(place.cache.rglob("one-*"))


def test_the_second_time_nothing_is_started(place: Place) -> None:
    first = place.fetch()
    place.said.clear()
    assert place.fetch(offline=True) == first
    assert place.said == []


def test_only_what_is_missing_is_fetched_again(place: Place) -> None:
    first = place.fetch()
    kept = first["both"].stat().st_ino
    first["two"].unlink()
    place.said.clear()
    place.fetch()
    assert [line.split()[:2] for line in place.said] == [["fetching", first["two"].name]]
    assert first["both"].stat().st_ino == kept


def test_other_bytes_than_pinned_are_refused_and_not_kept(place: Place) -> None:
    (place.index / "src-2.tar.gz").write_bytes(sdist(place.index / "x", {"setup.py": b"other"}).read_bytes())
    with pytest.raises(HipwrightError) as caught:
        place.fetch()
    assert caught.value.code.name == "input-unavailable"
    assert "src-2.tar.gz" in caught.value.message
    assert not list(place.cache.rglob("src-2.tar.gz.verified"))


def test_what_is_not_to_be_had_is_named_and_the_rest_is_kept(place: Place) -> None:
    (place.index / "src-2.tar.gz").unlink()
    with pytest.raises(HipwrightError) as caught:
        place.fetch()
    assert caught.value.code.name == "input-unavailable"
    assert "src" in caught.value.message
    assert list(place.fetch(Tier.CI, offline=True)) == ["two"]


def test_a_wheel_that_is_not_to_be_had_is_named_with_pips_words(place: Place) -> None:
    next(place.index.glob("one-*")).unlink()
    with pytest.raises(HipwrightError, match=r"one-1\.0-py3-none-any\.whl could not be fetched") as caught:
        place.fetch()
    assert caught.value.code.name == "input-unavailable"
    assert "No matching distribution" in (caught.value.excerpt or "")


def test_a_file_put_there_by_hand_counts_when_its_bytes_are_right(place: Place) -> None:
    pinned = place.catalogue.wheel[1]
    by_hand = place.cache / "inputs" / "files" / pinned.sha256 / pinned.file
    by_hand.parent.mkdir(parents=True)
    source = place.index / pinned.file
    by_hand.write_bytes(source.read_bytes())
    source.unlink()
    assert place.fetch(Tier.CI, offline=True) == {"two": by_hand}


def test_half_a_file_of_a_stopped_run_is_fetched_again(place: Place) -> None:
    pinned = place.catalogue.wheel[1]
    half = place.cache / "inputs" / "files" / pinned.sha256 / pinned.file
    half.parent.mkdir(parents=True)
    half.write_bytes(b"PK")
    assert place.fetch(Tier.CI)["two"].stat().st_size == pinned.size
    assert any("fetched again" in line for line in place.said)


def test_a_half_made_folder_is_made_again(place: Place) -> None:
    made = place.fetch()["patches"]
    (partial := made.with_name(f"{made.name}.partial-0123")).mkdir()
    made.rename(made.with_name("away"))
    assert [path.name for path in place.fetch()["patches"].iterdir()] == ["1"]
    assert not partial.exists()


def test_a_second_run_can_be_told_not_to_wait(place: Place) -> None:
    lock = place.cache / "inputs" / "fetch.lock"
    with (
        hold(lock, purpose="fetching inputs", wait=True, on_wait=place.said.append),
        pytest.raises(HipwrightError, match="fetching inputs") as caught,
    ):
        place.fetch(wait=False)
    assert caught.value.code.name == "locked"


def test_two_at_once_fetch_once(place: Place) -> None:
    threads = [threading.Thread(target=place.fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("fetching one-" in line for line in place.said) == 1
    assert list(place.fetch(offline=True)) == ["two", "both", "patches", "origin"]


def test_the_fallback_index_is_asked_where_the_machines_own_has_no_such_wheel(place: Place, tmp_path: Path) -> None:
    wheel = next(place.index.glob("one-*"))
    page = tmp_path / "fallback" / "one" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="{wheel.name}">{wheel.name}</a>', encoding="utf-8")
    wheel.rename(page.parent / wheel.name)
    (empty := tmp_path / "empty").mkdir()
    data = msgspec.to_builtins(place.catalogue)
    data["wheel"] = [{**data["wheel"][0], "fallback-index": (tmp_path / "fallback").as_uri()}]
    data["input"] = [{"key": "one", "tier": "ci", "kind": "file", "file": wheel.name}]
    found = fetch_inputs(
        "ci",
        cache=place.cache,
        runner=Runner(environment=base_environment(os.environ)),
        machine={"PIP_INDEX_URL": empty.as_uri(), "PIP_CONFIG_FILE": os.devnull},
        say=place.said.append,
        catalogue=msgspec.convert(data, Catalogue),
    )
    assert found["one"].read_bytes() == (page.parent / wheel.name).read_bytes()
