"""The wrapper for real: a copy of it in a small clone, whose pinned packages lie in a folder beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.tiny_wheels import make_wheel, pin

CLONE = Path(__file__).parents[2]
WINDOWS = os.name == "nt"
MAKING_WORDS = "hipwright: making .venv (once) ..."

REPORT = """
import importlib.util, json, os, sys

def main():
    module = importlib.util.find_spec("build_tools")
    print(json.dumps({
        "tool": "%s",
        "version": "%s",
        "arguments": sys.argv[1:],
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "prefix": sys.prefix,
        "build_tools": module and module.origin,
        "marker": os.environ.get("HIPWRIGHT_TEST_MARKER"),
        "packages": sorted(name for name in ("extra", "nox", "invoke") if importlib.util.find_spec(name)),
    }))
    sys.exit(int(os.environ.get("HIPWRIGHT_TEST_EXIT", "0")))
"""


@dataclass(frozen=True)
class Run:
    """What a run of the wrapper left."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, object]:
        """What the tool that was started says of itself."""
        found = json.loads(self.stdout)
        assert isinstance(found, dict)
        return found


class SmallClone:
    """A folder with the wrapper, a package called build_tools, and pins of two tools that only report."""

    def __init__(self, root: Path, wheels: Path) -> None:
        self.root = root
        self.wheels = wheels
        self.venv = root / ".venv"
        (root / "build_tools").mkdir(parents=True)
        (root / "build_tools" / "__init__.py").touch()
        (root / "requirements").mkdir()
        shutil.copy(CLONE / "noxw.py", root)
        self.tools = [
            make_wheel(wheels, tool, "1.0", REPORT % (tool, "1.0"), scripts={tool: f"{tool}:main"}) for tool in ("nox", "invoke")
        ]
        self.pin(*self.tools)

    def pin(self, *wheels: Path) -> None:
        """Make the clone's pins these."""
        text = "".join(pin(wheel) for wheel in wheels)
        (self.root / "requirements" / "hipwright.txt").write_text(text, encoding="utf-8")

    def command(self, *arguments: str, python: Path | str = sys.executable) -> list[str]:
        """Return the command line that runs the wrapper."""
        return [str(python), str(self.root / "noxw.py"), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment in which pip finds the wheels, and nothing else."""
        return os.environ | {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": self.wheels.as_uri(),
            "PIP_NO_INDEX": "1",
            "HIPWRIGHT_TEST_MARKER": "handed on",
        }

    def run(self, *arguments: str, cwd: Path | None = None, python: Path | str = sys.executable, **variables: str) -> Run:
        """Run the wrapper to its end."""
        done = subprocess.run(
            self.command(*arguments, python=python),
            cwd=cwd or self.root,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture(name="clone")
def small_clone(tmp_path: Path) -> SmallClone:
    return SmallClone(tmp_path / "a clone with späces", tmp_path / "some wheels")


@pytest.fixture(name="made", scope="module")
def made_clone(tmp_path_factory: pytest.TempPathFactory) -> SmallClone:
    """Return one whose environment is there already, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("made")
    clone = SmallClone(folder / "a clone with späces", folder / "some wheels")
    assert clone.run().returncode == 0
    return clone


def test_made_once_then_reused_in_silence(clone: SmallClone) -> None:
    first = clone.run("-s", "x")
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith(MAKING_WORDS)
    assert Path(str(first.report["prefix"])).resolve() == clone.venv.resolve()
    before = {path: path.stat().st_mtime_ns for path in clone.venv.iterdir()}
    second = clone.run("-s", "x")
    assert second.stderr == ""
    assert second.report | {"pid": 0} == first.report | {"pid": 0}
    assert {path: path.stat().st_mtime_ns for path in clone.venv.iterdir()} == before
    assert not (clone.venv / "hipwright.making").exists()


def test_build_tools_comes_from_the_clone(made: SmallClone) -> None:
    origin = made.run(cwd=made.wheels).report["build_tools"]
    assert origin == str((made.root / "build_tools" / "__init__.py").resolve())


def test_arguments_folder_environment_and_status_are_handed_on(made: SmallClone, tmp_path: Path) -> None:
    words = ["-s", "build", "--", "a b", "", "*", "--x=$HOME", 'say "hi"', "ü"]
    run = made.run(*words, cwd=tmp_path, HIPWRIGHT_TEST_EXIT="3")
    assert run.returncode == 3
    assert run.report["arguments"] == ["--noxfile", str(made.root / "noxfile.py"), *words]
    assert run.report["cwd"] == str(tmp_path)
    assert run.report["marker"] == "handed on"
    inside = made.run(*words)
    assert inside.report["arguments"] == words


def test_invoke_is_run_with_what_follows(made: SmallClone) -> None:
    report = made.run("invoke", "list-patches", "--json").report
    assert report["tool"] == "invoke"
    assert report["arguments"] == ["list-patches", "--json"]


def test_changed_pins_change_the_environment(clone: SmallClone) -> None:
    extra = make_wheel(clone.wheels, "extra", "1.0", "")
    clone.pin(*clone.tools, extra)
    assert clone.run().report["packages"] == ["extra", "invoke", "nox"]
    newer = make_wheel(clone.wheels, "nox", "2.0", REPORT % ("nox", "2.0"), scripts={"nox": "nox:main"})
    clone.pin(newer, clone.tools[1])
    marker = clone.venv / "still-here"
    marker.touch()
    run = clone.run()
    assert run.stderr.startswith("hipwright: updating .venv to the changed pins ...")
    assert run.report["version"] == "2.0"
    assert run.report["packages"] == ["invoke", "nox"]
    assert marker.exists()


def test_a_half_made_one_is_made_again(clone: SmallClone) -> None:
    clone.run()
    (clone.venv / "hipwright.making").touch()
    leftover = clone.venv / "lib" / "leftover"
    leftover.parent.mkdir(exist_ok=True)
    leftover.touch()
    run = clone.run()
    assert run.stderr.startswith(MAKING_WORDS)
    assert run.returncode == 0
    assert not leftover.exists()


@pytest.mark.skipif(WINDOWS, reason="there a copy of the interpreter is in the environment")
def test_one_whose_interpreter_vanished_is_made_again(clone: SmallClone) -> None:
    clone.run()
    python = clone.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(clone.root / "gone")
    run = clone.run()
    assert run.returncode == 0
    assert run.stderr.startswith(MAKING_WORDS)


@pytest.mark.skipif(WINDOWS, reason="there an interpreter cannot be had under a second name")
def test_another_interpreter_uses_what_is_there_and_makes_its_own_when_the_pins_change(clone: SmallClone, tmp_path: Path) -> None:
    clone.run()
    mark = clone.venv / "hipwright.made"
    other = tmp_path / "other"
    other.touch()
    text = mark.read_text(encoding="utf-8")
    lines = [f"python={other}" if line.startswith("python=") else line for line in text.splitlines()]
    mark.write_text("\n".join(lines), encoding="utf-8")
    assert clone.run().stderr == ""
    clone.pin(*clone.tools, make_wheel(clone.wheels, "extra", "1.0", ""))
    assert clone.run().stderr.startswith(MAKING_WORDS)
    assert str(other) not in mark.read_text(encoding="utf-8")


def test_a_clone_that_was_moved_gets_a_new_one(clone: SmallClone, tmp_path: Path) -> None:
    clone.run()
    moved = clone.root.rename(tmp_path / "moved")
    clone.root, clone.venv = moved, moved / ".venv"
    run = clone.run()
    assert run.stderr.startswith(MAKING_WORDS)
    assert str(run.report["build_tools"]).startswith(str(moved))


def test_an_environment_of_someone_else_is_left_alone(clone: SmallClone) -> None:
    theirs = clone.venv / "pyvenv.cfg"
    clone.venv.mkdir()
    theirs.write_text("home = /elsewhere\n", encoding="utf-8")
    run = clone.run()
    assert run.returncode == 1
    assert run.stderr.startswith("error[foreign-folder]: ")
    assert "hint: " in run.stderr
    assert [path.name for path in clone.venv.iterdir()] == ["pyvenv.cfg"]


def test_a_file_in_its_place_is_left_alone(clone: SmallClone) -> None:
    clone.venv.write_text("mine", encoding="utf-8")
    run = clone.run()
    assert run.returncode == 1
    assert "error[folder-not-writable]: " in run.stderr
    assert "Traceback" not in run.stderr
    assert clone.venv.read_text(encoding="utf-8") == "mine"


def test_a_pin_that_cannot_be_had_shows_pips_words_and_is_tried_again(clone: SmallClone) -> None:
    wheel = clone.tools[0]
    hidden = wheel.rename(wheel.with_suffix(".hidden"))
    run = clone.run()
    assert run.returncode == 1
    assert "No matching distribution found for nox==1.0" in run.stderr
    assert "error[install-failed]: the pinned dependencies could not be installed" in run.stderr
    assert str(clone.venv / "hipwright.log") in run.stderr
    hidden.rename(wheel)
    assert clone.run().returncode == 0


def test_other_bytes_than_pinned_are_refused(clone: SmallClone) -> None:
    make_wheel(clone.wheels, "nox", "1.0", "print('other')", scripts={"nox": "nox:main"})
    run = clone.run()
    assert run.returncode == 1
    assert "DO NOT MATCH THE HASHES" in run.stderr


def test_of_two_at_once_one_makes_it_and_the_other_waits_for_it(clone: SmallClone) -> None:
    first, second = (
        subprocess.Popen(
            clone.command("-l"),
            cwd=clone.root,
            env=clone.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for _ in range(2)
    )
    talk = [process.communicate()[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    maker, waiter = sorted(talk, key=lambda text: MAKING_WORDS not in text)
    assert MAKING_WORDS in maker
    assert MAKING_WORDS not in waiter
    pid = (first if talk[0] == maker else second).pid
    assert waiter in {f"hipwright: waiting for process {pid}, which is making .venv ...\n", ""}


@pytest.mark.skipif(WINDOWS, reason="the signal is POSIX's")
def test_killed_in_the_middle_it_is_made_again(clone: SmallClone) -> None:
    with subprocess.Popen(clone.command(), cwd=clone.root, env=clone.environment, stderr=subprocess.DEVNULL) as process:
        limit = time.monotonic() + 60
        while not (clone.venv / "hipwright.log").exists():
            assert time.monotonic() < limit
            time.sleep(0.01)
        process.kill()
    assert not (clone.venv / "hipwright.made").exists()
    run = clone.run()
    assert run.returncode == 0
    assert MAKING_WORDS in run.stderr


def test_an_activated_environment_and_another_home_do_not_matter(made: SmallClone, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "nox.py").write_text("raise SystemExit('the wrong nox')", encoding="utf-8")
    run = made.run(PYTHONPATH=str(shadow), VIRTUAL_ENV=str(tmp_path), PIP_TARGET=str(tmp_path / "target"))
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "target").exists()


def test_run_by_its_own_interpreter_it_can_still_make_itself_again(clone: SmallClone) -> None:
    clone.run()
    own = clone.venv / ("Scripts/python.exe" if WINDOWS else "bin/python")
    assert clone.run(python=own).stderr == ""
    (clone.venv / "hipwright.making").touch()
    run = clone.run("-l", python=own)
    assert run.returncode == 0, run.stderr
    assert run.stderr.startswith(MAKING_WORDS)
    assert run.report["arguments"] == ["-l"]


def test_without_a_usable_pip_the_environment_gets_its_own(clone: SmallClone) -> None:
    source = clone.root / "noxw.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("(22, 3)") == 1
    source.write_text(text.replace("(22, 3)", "(99, 0)"), encoding="utf-8")
    run = clone.run()
    assert run.returncode == 0, run.stderr
    assert run.report["packages"] == ["invoke", "nox"]


@pytest.mark.skipif(WINDOWS, reason="there the status comes through a parent, which a unit test shows")
def test_nox_takes_the_wrappers_place(made: SmallClone) -> None:
    with subprocess.Popen(made.command(), cwd=made.root, env=made.environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["pid"] == process.pid
