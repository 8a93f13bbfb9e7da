from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from build_tools.sources import parallel
from build_tools.sources.parallel import for_each
from tests.support.source_trees import write

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_everything_is_done_and_several_at_once() -> None:
    meeting = threading.Barrier(2, timeout=30)
    done: list[int] = []

    def work(item: int) -> None:
        meeting.wait()
        done.append(item)

    for_each(work, [1, 2, 3, 4])
    assert sorted(done) == [1, 2, 3, 4]
    for_each(done.append, [])
    for_each(done.append, [5])
    assert done[-1] == 5


def test_what_has_the_same_place_takes_turns_and_everything_is_counted() -> None:
    at_work: set[str] = set()
    told: list[int] = []

    def work(item: str) -> None:
        assert item[0] not in at_work
        at_work.add(item[0])
        at_work.remove(item[0])

    items = [f"{place}{number}" for number in range(50) for place in "abc"]
    for_each(work, items, place=lambda item: item[0], told=told.append)
    assert told == sorted(told)
    assert told[-1] == 150
    told.clear()
    for_each(work, ["a1", "a2"], place=lambda item: item[0], told=told.append)
    for_each(work, ["a1", "b1"], told=told.append)
    assert (told[:2], told[-1]) == ([1, 2], 2)


def test_the_first_failure_is_raised_and_what_has_not_begun_is_left() -> None:
    begun: list[int] = []
    stop = threading.Event()

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            stop.set()
            message = "no"
            raise ValueError(message)
        stop.wait(30)

    with pytest.raises(ValueError, match="no"):
        for_each(work, list(range(200)))
    assert len(begun) < 200


def test_an_interruption_while_work_is_begun_ends_what_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()

    def wait_for_it(_item: int) -> None:
        stop.wait(30)

    class Interrupted(ThreadPoolExecutor):
        begun = 0

        def submit(self, *job: Any, **more: Any) -> Future[Any]:  # noqa: ANN401 - as the base class has it
            if self.begun == 2:
                raise KeyboardInterrupt
            self.begun += 1
            return super().submit(*job, **more)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Interrupted)
    monkeypatch.setattr(parallel, "_end_children", stop.set)
    try:
        with pytest.raises(KeyboardInterrupt):
            for_each(wait_for_it, [1, 2, 3])
        assert stop.is_set()
    finally:
        stop.set()


DRIVER = """
import os, sys
from pathlib import Path
from build_tools.process import Runner, base_environment
from build_tools.sources.parallel import for_each
runner = Runner(environment=base_environment(os.environ))
try:
    for_each(lambda name: [runner.capture(["git", name], cwd=Path(sys.argv[1]), check=False) for _ in range(3)], ["a", "b", "c"])
except KeyboardInterrupt:
    raise SystemExit(7)
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that waits for three programs called git, each of which says by a file that it runs."""
    write(tmp_path, {"bin/git": f"#!/bin/sh\ntouch '{tmp_path}/runs-'$1\nexec '{tmp_path}/bin/git-sleep' 600\n"})
    shutil.copy(shutil.which("sleep") or "", tmp_path / "bin" / "git-sleep")
    (tmp_path / "bin" / "git").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    process = subprocess.Popen([sys.executable, "-c", DRIVER, tmp_path], env=environment)
    yield process
    process.kill()
    process.wait()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interruption_ends_all_children(tmp_path: Path, waiting: subprocess.Popen[bytes]) -> None:
    while len(list(tmp_path.glob("runs-*"))) < 3:
        assert waiting.poll() is None
    children = psutil.Process(waiting.pid).children(recursive=True)
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(60) == 7
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
