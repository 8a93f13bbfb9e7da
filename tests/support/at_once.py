"""Programs in processes of their own that go on at the same moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["run_at_once"]

_ROOT: Final = Path(__file__).parents[2]

_WAIT: Final = """
import sys

print("ready", flush=True)
sys.stdin.readline()
"""


def run_at_once(prepare: str, code: str, calls: Sequence[Sequence[str | Path]], machine: Mapping[str, str]) -> None:
    """Run a program once for each call's arguments: each prepares, all wait for the last one, and then do what ``code`` says."""
    program = prepare + _WAIT + code
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **machine, "PYTHONPATH": str(_ROOT)},
        )
        for arguments in calls
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
