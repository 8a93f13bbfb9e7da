"""Publishers in processes of their own, at the same moment, in the same index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from build_tools.stores.local import FolderStore
from tests.support.publishing import same_everywhere, write_wheel

ROOT = Path(__file__).parents[2]
EACH = 4

PUBLISH = """
import sys
from pathlib import Path

from build_tools.publish.upload import publish_wheels
from build_tools.stores.local import FolderStore
from tests.support.publishing import wheel_of

store, *wheels = map(Path, sys.argv[1:])
print("ready", flush=True)
sys.stdin.readline()
for wheel in wheels:
    publish_wheels([(wheel, wheel_of(wheel))], store=FolderStore(store), prefix="run", replace=False, say=lambda _line: None)
"""


def test_publishing_processes_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    wanted = {}
    processes = []
    for number in range(2):
        wheels = []
        for step in range(EACH):
            # One project for all, so that every publisher wants the same pages.
            path, wheel = write_wheel(tmp_path / str(number), "demo", f"1.{step}+by{number}")
            wheels.append(path)
            wanted[wheel.filename] = wheel.sha256
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", PUBLISH, tmp_path / "store", *wheels],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        )
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
    snapshot = same_everywhere(FolderStore(tmp_path / "store"), "run")
    assert {file.filename: file.sha256 for file in snapshot.files} == wanted
    # Every step of the history is there, and each holds all that the one before it held.
    history = [one.key for one in FolderStore(tmp_path / "store").list("run/snapshots")]
    assert len(history) >= 2 * EACH
