"""Publishers in processes of their own, at the same moment, in the same index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.stores.local import FolderStore
from tests.support.at_once import run_at_once
from tests.support.publishing import same_everywhere, write_wheel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

EACH = 4

PREPARE = """
import os
import sys
from pathlib import Path

from build_tools.publish.upload import publish_wheels
from build_tools.stores.open import open_store
from tests.support.publishing import wheel_of

address, endpoint, *wheels = sys.argv[1:]
store = open_store(address, base=Path.cwd(), machine=os.environ, endpoint_url=endpoint or None)
"""

PUBLISH = """
for wheel in map(Path, wheels):
    publish_wheels([(wheel, wheel_of(wheel))], store=store, prefix="run", replace=False, say=lambda _line: None)
"""


def test_publishing_processes_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    _publish_at_once(tmp_path, FolderStore(tmp_path / "store"), "", {})


def test_publishing_processes_lose_nothing_on_the_real_server(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    _publish_at_once(tmp_path, s3_server.store(bucket), s3_server.endpoint, s3_server.machine)


def _publish_at_once(folder: Path, store: Store, endpoint: str, machine: Mapping[str, str]) -> None:
    """Publish from two processes at the same moment, and prove that the index holds all, at every step."""
    wanted = {}
    calls: list[list[str | Path]] = []
    for number in range(2):
        wheels = []
        for step in range(EACH):
            # One project for all, so that every publisher wants the same pages.
            path, wheel = write_wheel(folder / str(number), "demo", f"1.{step}+by{number}")
            wheels.append(path)
            wanted[wheel.filename] = wheel.sha256
        calls.append([store.address, endpoint, *wheels])
    run_at_once(PREPARE, PUBLISH, calls, machine)
    snapshot = same_everywhere(store, "run")
    assert {file.filename: file.sha256 for file in snapshot.files} == wanted
    # Every step of the history is there, and each holds all that the one before it held.
    history = [one.key for one in store.list("run/snapshots")]
    assert len(history) >= 2 * EACH
