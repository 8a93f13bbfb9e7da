"""The sample with ROCm inside: through the whole chain, and at work where no package of ROCm is."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import Desk, Ran, small_clone

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("bundling")
    return Desk(clone=small_clone(folder, "sample", "sample-companion"), work=folder / "work", cache=cache)


@pytest.fixture(scope="module")
def story(desk: Desk) -> Ran:
    """The whole chain, once."""
    return desk.nox("pipeline", "--bundle-rocm", "--json").well()


def test_it_is_built_checked_tested_and_promoted(desk: Desk, story: Ran) -> None:
    ran = story
    assert set(ran.states.values()) == {"run"}
    assert "the wheel will have about" in ran.talk
    built = ran.receipt("build")["result"]["value"]
    assert (built["bundled"], built["version"], built["pins"]) == ("7.10.0", "1.0.0+bundled.rocm7.10.0", [])
    assert [wheel["version"] for wheel in built["wheels"]] == ["1.0.0+bundled.rocm7.10.0"]
    with zipfile.ZipFile(ran.wheel) as archive:
        note = json.loads(archive.read("hipwright_sample/lib/rocm/bundle.json"))
    assert note["rocm"] == "7.10.0"
    again = desk.nox("pipeline", "--bundle-rocm", "--json").well()
    assert "run" not in again.states.values()


@pytest.mark.usefixtures("story")
def test_a_wheel_without_rocm_is_another_one(desk: Desk) -> None:
    ran = desk.nox("build_sample", "--json").well()
    assert ran.states["build"] == "run"
    assert ran.wheel.name.startswith("hipwright_sample-1.0.0+rocm7.10.0-")


@pytest.mark.usefixtures("story")
def test_what_is_built_with_it_gets_no_rocm_of_its_own(desk: Desk) -> None:
    ran = desk.nox("build_sample_companion", "--bundle-rocm", "--json").well()
    built = ran.receipt("build")["result"]["value"]
    assert built["bundled"] is None
    assert [one["version"] for one in built["against"]] == ["1.0.0+bundled.rocm7.10.0"]


@pytest.mark.usefixtures("story")
def test_two_builds_of_it_are_compared_as_they_are(desk: Desk) -> None:
    ran = desk.nox("build_sample", "--bundle-rocm", "--verify-reproducible", "--json").well()
    assert ran.talk.count("the wheel will have about") == 2
    built = ran.receipt("build")["result"]["value"]
    assert (built["reproducible"], built["version"]) == (True, "1.0.0+bundled.rocm7.10.0")


def test_it_works_where_no_package_of_rocm_is(story: Ran, tmp_path: Path) -> None:
    site = tmp_path / "site"
    command: list[str | Path] = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", site, story.wheel]
    subprocess.run(command, check=True, capture_output=True)
    assert not list(site.glob("rocm*"))
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import hipwright_sample as it; print(it.saxpy(2.0, [1.0], [0.5]), it.__version__)"
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env={})
    assert ran.stdout.split() == ["[2.5]", "1.0.0+bundled.rocm7.10.0"], ran.stderr
