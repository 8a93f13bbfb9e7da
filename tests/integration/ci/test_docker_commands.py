"""``docker_image`` and ``docker_run`` with a program that stands for docker, where no real one can run."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import Desk, small_clone
from tests.support.stand_in import stand_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems")

ENGINE = """
import json, os, pathlib, sys
words = sys.argv[1:]
with open(os.environ["DOCKER_CONFIG"], "a") as log:
    log.write(json.dumps([words, {k: v for k, v in os.environ.items() if k.startswith(("HIPWRIGHT_", "AWS_", "DOCKER_"))}]) + chr(10))
fails = pathlib.Path(os.environ["DOCKER_CONFIG"] + ".fails")
if fails.exists() and words[0] == fails.read_text():
    sys.exit("error: cannot do that")
if words[0] == "save":
    pathlib.Path(words[words.index("--output") + 1]).write_bytes(b"image")
"""


@dataclass(frozen=True)
class Bench:
    """A desk with the stand-in; ``calls`` are what it was told."""

    desk: Desk
    log: Path

    @property
    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        found = [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]
        return [(words, env) for words, env in found if words[0] != "version"]

    def fail_at(self, verb: str) -> None:
        self.log.with_name(f"{self.log.name}.fails").write_text(verb)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    stand_in(tmp_path / "bin", "docker", ENGINE)
    log = tmp_path / "calls"
    variables = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "DOCKER_CONFIG": str(log)}
    clone = small_clone(tmp_path, "sample")
    return Bench(
        desk=Desk(clone=clone, work=tmp_path / "work", cache=tmp_path / "cache", variables=variables, anew=True), log=log
    )


def with_engine(bench: Bench, session: str, *words: str | Path, **more: str) -> Any:  # noqa: ANN401 - what a desk gives
    desk = bench.desk
    environment = {**desk.environment, **more}
    environment["PATH"] = desk.variables["PATH"]
    return Desk(clone=desk.clone, work=desk.work, cache=desk.cache, variables=environment, anew=True).nox(session, *words)


def test_an_image_is_built_saved_whole_and_pushed(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "out" / "image.tar"
    words = ("--image", "registry.invalid/o/ci", "--date", "20260501", "--image-file", file, "--push", "--json")
    document = with_engine(bench, "docker_image", *words, USE_THEROCK_NIGHTLY="1").well().document["image"]
    names = ["registry.invalid/o/ci:nightly-20260501", "registry.invalid/o/ci:latest"]
    assert document["names"] == names
    assert document["engine"] == "docker"
    assert [call[0][0] for call in bench.calls] == ["build", "save", "push", "push"]
    build = bench.calls[0][0]
    assert "USE_THEROCK_NIGHTLY=1" in build
    assert build[-1] == str(bench.desk.clone)
    assert [call[0][1] for call in bench.calls[2:]] == names
    assert file.read_bytes() == b"image"
    assert [path.name for path in file.parent.iterdir()] == ["image.tar"]


def test_an_image_of_the_same_inputs_is_taken_and_else_built(bench: Bench) -> None:
    words = ("--image", "registry.invalid/o/ci", "--date", "20260501", "--reuse", "--push", "--json")
    bench.fail_at("pull")
    document = with_engine(bench, "docker_image", *words).well().document["image"]
    known = document["names"][-1]
    assert known.startswith("registry.invalid/o/ci:inputs-")
    assert not document["reused"]
    assert [call[0][0] for call in bench.calls] == ["pull", "build", "push", "push", "push"]
    assert bench.calls[1][0].count(known) == 1
    bench.log.unlink()
    bench.fail_at("build")
    again = with_engine(bench, "docker_image", *words).well().document["image"]
    assert again["reused"]
    assert [call[0] for call in bench.calls][:3] == [["pull", known], *(["tag", known, name] for name in document["names"][:2])]
    # What goes in is another thing on another day, with other arguments, or by another recipe.
    (bench.desk.clone / ".ci/docker/common").mkdir(parents=True)
    others = [("--date", "20260502"), ("--date", "20260501", "--gfx", "gfx90a"), ("--date", "20260501")]
    for number, other in enumerate(others):
        if number == len(others) - 1:
            (bench.desk.clone / ".ci/docker/common/install.sh").write_text("more")
        told = with_engine(bench, "docker_image", *words[:2], *other, "--reuse", "--dry-run", "--json").well().document["image"]
        assert told["names"][-1] != known
        assert [line.split()[1] for line in told["commands"]] == ["pull", "build"]


def test_a_save_that_fails_leaves_no_file(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "image.tar"
    bench.fail_at("save")
    error = with_engine(bench, "docker_image", "--image-file", file, "--json").failed("image-failed")
    assert "saving the image" in error["message"]
    assert not file.exists()


def test_a_dry_run_asks_no_engine(bench: Bench) -> None:
    done = with_engine(bench, "docker_image", "--dry-run", "--image-tag", "test", "--json").well()
    assert not bench.log.exists()
    assert "building" not in done.talk
    (command,) = done.document["image"]["commands"]
    assert command.startswith("docker build --file ")
    assert "--tag pytorch-therock-rocm-ci:test" in command


def test_a_session_runs_in_a_container_with_the_options_of_the_environment(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "image.tar"
    file.write_bytes(b"image")
    done = with_engine(
        bench, "docker_run", "build_sample", "--image-file", file, "--json", HIPWRIGHT_SAMPLE_REF="nightly", AWS_PROFILE="me"
    ).well()
    assert done.document["container"]["session"] == "build_sample"
    (load, _), (run, env) = bench.calls
    assert load == ["load", "--input", str(file)]
    assert run[:3] == ["run", "--rm", "--init"]
    assert run[-5:] == ["pytorch-therock-rocm-ci:latest", "python", str(bench.desk.clone / "noxw.py"), "-s", "build_sample"]
    assert f"{bench.desk.clone}:{bench.desk.clone}" in run
    assert str(bench.desk.clone / ".venv") in run
    assert env["HIPWRIGHT_SAMPLE_REF"] == "nightly"
    assert env["HIPWRIGHT_WORK_DIR"] == str(bench.desk.work)
    assert env["HIPWRIGHT_CACHE_DIR"] == str(bench.desk.cache)
    assert env["AWS_PROFILE"] == "me"
    assert not [word for word in run if "nightly" in word]


def test_a_session_that_fails_inside_fails_outside(bench: Bench) -> None:
    bench.fail_at("run")
    error = with_engine(bench, "docker_run", "build_sample", "--json").failed("container-failed")
    assert "build_sample in the container" in error["message"]


@pytest.mark.parametrize("words", [(), ("build_sample", "test_sample"), ("build-sample; rm",)])
def test_one_session_is_named(bench: Bench, words: tuple[str, ...]) -> None:
    with_engine(bench, "docker_run", *words, "--json").failed("bad-option-value")
    assert not bench.log.exists()
