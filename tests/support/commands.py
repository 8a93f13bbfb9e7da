"""Commands as a person gives them: a clone, a work dir and a cache of one's own, and nox or invoke as a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from tests.support.warm_python import run_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "CASES",
    "CLONE",
    "Desk",
    "Ran",
    "Started",
    "add_project",
    "change_file",
    "program_there",
    "small_clone",
    "tree_of",
    "until",
]

CLONE: Final = Path(__file__).resolve().parents[2]
CASES: Final = CLONE / "tests" / "cases"

_FOLDERS: Final = ("build_tools", "requirements")
_FILES: Final = ("README.md", "noxfile.py", "noxw.py", "pyproject.toml", "tasks.py")
_SECONDS: Final = 150
_TRACEBACK: Final = "Traceback (most recent call last)"


def small_clone(folder: Path, *projects: str | Path) -> Path:
    """Make a clone in ``folder`` with what commands need and these projects, by name or folder; return it.

    What Python has compiled comes with it, or each clone would compile all of ``build_tools`` once more; but not the files that
    it has under another name until they are whole.
    """
    clone = folder / "clone"
    clone.mkdir(parents=True)
    for name in _FOLDERS:
        shutil.copytree(CLONE / name, clone / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in _FILES:
        shutil.copyfile(CLONE / name, clone / name)
    for project in projects:
        source = project if isinstance(project, Path) else CLONE / "external-builds" / project
        shutil.copytree(source, clone / "external-builds" / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return clone


def add_project(
    clone: Path, name: str, *, behaviour: str = "well", hold: Path | None = None, distribution: str | None = None
) -> Path:
    """Add a copy of the tiny project to a clone under a name of its own, and return its folder.

    Parameters
    ----------
    clone
        The clone.
    name
        The project's name.
    behaviour
        How its build behaves: ``well``, ``no-wheel``, ``two-wheels``, ``fails`` or ``waits``.
    hold
        The folder of a build that waits: it puts ``began-<pid>`` there, and goes on when ``go`` is there.
    distribution
        What its wheel is called; ``tiny-project`` without.
    """
    folder = clone / "external-builds" / name
    shutil.copytree(CASES / "tiny-project", folder)
    change_file(folder / "project.toml", 'name = "tiny-project"', f'name = "{name}"')
    change_file(folder / "project.toml", 'TINY_BEHAVIOUR = "well"', f'TINY_BEHAVIOUR = "{behaviour}"')
    if hold is not None:
        hold.mkdir(parents=True, exist_ok=True)
        change_file(folder / "project.toml", 'TINY_HOLD = ""', f"TINY_HOLD = {json.dumps(str(hold))}")
    if distribution is not None:
        change_file(folder / "project.toml", 'distribution = "tiny-project"', f'distribution = "{distribution}"')
        backend = folder / "sources" / "main" / "backend.py"
        change_file(backend, "Name: tiny-project", f"Name: {distribution}")
        text = backend.read_text(encoding="utf-8")
        backend.write_text(text.replace("{NAME}-{version}", f"{distribution}-{{version}}"), encoding="utf-8")
    return folder


def change_file(path: Path, old: str, new: str) -> None:
    """Replace a text that stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} has {text.count(old)} of {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def program_there(name: str) -> bool:
    """Say whether commands find a program: beside the interpreter, or on the search path."""
    return Path(sys.executable).with_name(name).is_file() or shutil.which(name) is not None


def tree_of(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return everything below a folder, by path: time, size and digest; folders are there with neither.

    Of git's objects only the bytes count: git renews the time of those that it would write again.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        plain = path.is_file() and not path.is_symlink()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if plain else ""
        time_ns = 0 if {".git", "objects"} <= set(path.parts) else stat.st_mtime_ns
        found[path.relative_to(folder).as_posix()] = (time_ns, stat.st_size, digest) if plain else (0, 0, "")
    return found


def until(condition: Callable[[], Any], what: str, seconds: float = 90) -> Any:  # noqa: ANN401 - whatever the condition finds
    """Ask a condition again and again until it is true, and return what it found; fail when it takes too long."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"in {seconds:g} s there was no {what}"
        time.sleep(0.005)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command that ended: its status, what it said, and the one JSON document on its stdout when it was asked for."""

    words: tuple[str, ...]
    status: int
    out: str
    talk: str

    def __post_init__(self) -> None:
        assert _TRACEBACK not in self.talk, self.talk
        assert _TRACEBACK not in self.out, self.out

    def well(self) -> Ran:
        """Return itself, having ended well."""
        assert self.status == 0, f"{' '.join(self.words)} ended with {self.status}\n{self.out}\n{self.talk}"
        return self

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document: all of stdout."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def states(self) -> dict[str, str]:
        """What became of each stage, in order; of one project on one Python."""
        return {stage["stage"]: stage["state"] for stage in self.document["stages"]}

    @property
    def wheel(self) -> Path:
        """The one wheel."""
        (wheel,) = self.document["wheels"]
        return Path(wheel)

    def receipt_path(self, stage: str) -> Path:
        """Where the receipt of a stage lies."""
        (path,) = [entry["receipt"] for entry in self.document["stages"] if entry["stage"] == stage]
        return Path(path)

    def receipt(self, stage: str) -> dict[str, Any]:
        """Return the receipt of a stage."""
        receipt = json.loads(self.receipt_path(stage).read_text(encoding="utf-8"))
        assert isinstance(receipt, dict)
        return receipt

    def failed(self, code: str) -> dict[str, Any]:
        """Return the error of a command that failed with this code, as its JSON document has it; its talk says the same."""
        assert self.status != 0, self.out
        document = self.document
        assert document["ok"] is False
        error = document["error"]
        assert isinstance(error, dict)
        assert error["code"] == code, f"{error}\n{self.talk}"
        assert f"error[{code}]: {error['message']}" in self.talk
        return error


@dataclass(kw_only=True)
class Started:
    """A command that runs; it has a process group of its own, as one that is typed into a terminal has."""

    process: subprocess.Popen[bytes]
    words: tuple[str, ...]
    out: Path
    talk: Path

    @property
    def said(self) -> str:
        """What it has said so far."""
        return self.talk.read_text(encoding="utf-8")

    def hear(self, text: str) -> None:
        """Wait until it has said a text."""
        until(lambda: text in self.said or self.process.poll() is not None, f"{text!r} from {' '.join(self.words)}")
        assert text in self.said, self.said

    def family(self) -> list[psutil.Process]:
        """Return all processes that it has started, and they in turn."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to its process group, as a terminal does."""
        if sys.platform != "win32":  # whose signals reach no groups
            os.killpg(self.process.pid, number)

    def kill_group(self) -> None:
        """End its process group the hard way."""
        if sys.platform != "win32":  # whose signals reach no groups
            os.killpg(self.process.pid, signal.SIGKILL)

    def ended(self) -> Ran:
        """Wait for its end."""
        status = self.process.wait(_SECONDS)
        return Ran(words=self.words, status=status, out=self.out.read_text(encoding="utf-8"), talk=self.said)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Where somebody works: a clone, a work dir, a cache, and variables beyond those of the machine.

    Its commands are forks of a Python that has imported what they import, or with ``anew`` a Python of their own each.
    """

    clone: Path
    work: Path
    cache: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    anew: bool = False

    def with_work(self, name: str, **variables: str) -> Desk:
        """Return a desk with the same clone and cache, and a work dir of another name beside this one's."""
        return replace(self, work=self.work.with_name(name), variables={**self.variables, **variables})

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands; the clone's own build_tools count, and it is the nox of these tests that is found."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(self.clone), **self.variables}

    def nox(self, session: str, *words: str | Path) -> Ran:
        """Run a session with options, in this work dir and cache."""
        return self.run("-m", "nox", "-s", session, "--", *words, *self._places())

    def invoke(self, task: str, *words: str | Path) -> Ran:
        """Run a task with options, in this work dir and cache."""
        return self.run("-m", "invoke", task, *words, *self._places())

    def run(self, *words: str | Path, cwd: Path | None = None) -> Ran:
        """Run Python with these arguments, in the clone."""
        done = run_python(words, clone=self.clone, cwd=cwd or self.clone, env=self.environment, timeout=_SECONDS, anew=self.anew)
        return Ran(words=tuple(done.args), status=done.returncode, out=done.stdout, talk=done.stderr)

    def paste(self, line: str) -> Ran:
        """Run a line as it is pasted into a shell, in the clone."""
        done = subprocess.run(  # noqa: S602 - a shell is what lines are pasted into
            line,
            cwd=self.clone,
            env=self.environment,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        return Ran(words=(line,), status=done.returncode, out=done.stdout, talk=done.stderr)

    @contextlib.contextmanager
    def started(self, session: str, *words: str | Path) -> Iterator[Started]:
        """Start a session; at the end of the block it and its family are gone."""
        command = (sys.executable, "-m", "nox", "-s", session, "--", *map(str, words), *map(str, self._places()))
        logs = self.work.with_name(f"{self.work.name}-said")
        logs.mkdir(exist_ok=True)
        number = len(list(logs.iterdir()))
        out, talk = logs / f"{number}.out", logs / f"{number}.talk"
        with out.open("wb") as sink, talk.open("wb") as other:
            process = subprocess.Popen(
                command, cwd=self.clone, env=self.environment, stdout=sink, stderr=other, start_new_session=True
            )
        family: list[psutil.Process] = []
        try:
            yield Started(process=process, words=command, out=out, talk=talk)
        finally:
            if process.poll() is None:
                with contextlib.suppress(psutil.Error):
                    family = psutil.Process(process.pid).children(recursive=True)
                process.kill()
                process.wait()
            for member in family:
                with contextlib.suppress(psutil.Error):
                    member.kill()

    def _places(self) -> tuple[str | Path, ...]:
        return "--work-dir", self.work, "--cache-dir", self.cache
