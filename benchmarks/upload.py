"""How long it takes to upload wheels to an S3 server the first time, and when nothing is new, against ``aws s3 sync``.

Usage: ``python -m benchmarks.upload [ROUNDS]``. The server is a real one on this machine. There are two hundred small wheels of ten projects
and two large ones. What is measured is the command itself, ``upload_wheels``, from starting Python to its last table: it reads and hashes each
wheel whose digest it has not noted, sends it on the condition that there is none of its name, with its metadata beside it, and then writes
papers and index, of which the other program does nothing. Three rounds take about three minutes.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, nox, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import program
from benchmarks.wheel_check import of_processors
from tests.support.s3 import seaweed
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed
    from tests.support.s3 import S3Server

FIRST_LIMIT: Final = 1.0
AGAIN_LIMIT: Final = 0.7

_SMALL: Final = 200
_PROJECTS: Final = 10
_LARGE: Final = 2
_LARGE_MEBIBYTES: Final = 300


def result(found: Sequence[Pair], *, again: bool) -> Result:
    """Return one of the two goals as measured."""
    name = f"uploading wheels {'when nothing is new' if again else 'the first time'}, against aws s3 sync"
    weight = _SMALL + _LARGE * _LARGE_MEBIBYTES
    limit = AGAIN_LIMIT if again else FIRST_LIMIT
    worked = of_pairs(name, limit, of_processors(found)).ratio or 0.0
    return of_pairs(name, limit, found, mebibytes=weight, files=_SMALL + _LARGE, processor_ratio=round(worked, 3))


@dataclass(kw_only=True)
class Work:
    """The two ways to upload the same files, into a new bucket every time, or again into the last one."""

    server: S3Server
    folder: Path
    aws: Path
    work_dir: Path
    again: bool = False
    bucket: str = ""

    def ours(self) -> Timed:
        """Upload by the command."""
        store = ("--store", f"s3://{self._target()}", "--endpoint-url", self.server.endpoint)
        # What is noted of wheels is of the upload before, or of none.
        cache = ("--cache-dir", self.work_dir / f"cache-{self.bucket}")
        where = (*cache, "--work-dir", self.work_dir, "--run-id", "1", "--artifact-group", "gfx94X-dcgpu", "--json")
        words = nox("-s", "upload_wheels", "--", self.folder, *store, *where)
        return timed(words, cwd=CLONE, env={**self.server.machine, "PYTHONPATH": str(CLONE)})

    def sync(self) -> Timed:
        """Upload by ``aws s3 sync``."""
        words = ("s3", "sync", "--no-progress", "--quiet", "--endpoint-url", self.server.endpoint, self.folder)
        return timed([self.aws, *words, f"s3://{self._target()}/dist/"], cwd=CLONE, env=self.server.machine)

    def _target(self) -> str:
        if not self.again:
            self.bucket = self.server.bucket()
        return self.bucket


def fill(folder: Path) -> None:
    """Write the wheels: bytes that do not get smaller, stored as they are."""
    chance = random.Random(17)  # noqa: S311 - as above
    folder.mkdir()
    for number in range(_SMALL):
        _write(folder, f"small_{number % _PROJECTS}", f"1.{number // _PROJECTS}+rocm7.1", 1, chance)
    for number in range(_LARGE):
        _write(folder, f"large_{number}", "1.0+rocm7.1", _LARGE_MEBIBYTES, chance)


def _write(folder: Path, name: str, version: str, mebibytes: int, chance: random.Random) -> None:
    data = b"".join(chance.randbytes(1 << 20) for _ in range(mebibytes))
    WheelMaker(name=name, version=version, files={f"{name}.bin": data}, compress=False).write(folder)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    aws = program("aws")
    two_processors()
    with scratch() as folder, seaweed(folder / "server", program=program("weed")) as server:
        fill(folder / "files")
        work = Work(server=server, folder=folder / "files", aws=aws, work_dir=folder / "work")
        for again in (False, True):
            if again:
                work.ours()
            work.again = again
            found = pairs(work.ours, work.sync, count)
            spent = f"{found[-1].ours.processor_seconds:.1f} s of processor time of {found[-1].ours.seconds:.1f} s"
            show(result(found, again=again), lambda spent=spent: [spent])  # type: ignore[misc] # called at once


if __name__ == "__main__":
    main(sys.argv[1:])
