from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from build_tools.child_end import wait_for_end
from build_tools.process import Runner, base_environment

if TYPE_CHECKING:
    from pathlib import Path

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the end of a child")


@LINUX
def test_an_end_is_seen_without_looking_for_it_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    done = Runner(environment=base_environment(os.environ)).run(
        [sys.executable, "-c", "print('here')"], cwd=tmp_path, log=tmp_path / "x.log", timeout=60
    )
    assert done.returncode == 0
    assert slept == []


def child(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE)


@LINUX
def test_where_the_system_cannot_tell_the_end_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int, _flags: int = 0) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refused)
    with child("raise SystemExit(3)") as process:
        wait_for_end(process, 60)
        assert process.returncode == 3


@pytest.mark.parametrize("timeout", [0.0, 0.05])
def test_a_time_limit_is_one_limit_and_no_two(timeout: float) -> None:
    with child("input()") as process:
        began = time.monotonic()
        with pytest.raises(subprocess.TimeoutExpired):
            wait_for_end(process, timeout)
        assert time.monotonic() - began < timeout + 5
        process.kill()


@pytest.mark.parametrize("timeout", [None, 1e300])
def test_a_child_is_waited_for_as_long_as_it_takes(timeout: float | None) -> None:
    with child("input(); raise SystemExit(4)") as process:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        wait_for_end(process, timeout)
        assert process.returncode == 4
