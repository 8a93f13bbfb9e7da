"""How long it takes to upload wheels to an S3 server the first time, and when nothing is new, against ``aws s3 sync``.

Usage: ``python -m benchmarks.upload [ROUNDS]``. The server is a real one on this machine. There are two hundred small files and two large
ones. What is measured is the store as the commands use it: several files at a time, each with its SHA-256 known and put on the condition
that there is none of its name; when nothing is new, each is compared by its SHA-256 in the store's index, and by its size in the listing.
Like the other program, ours begins with starting itself.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import program
from build_tools import digest
from tests.support.s3 import seaweed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed
    from build_tools.types import Sha256
    from tests.support.s3 import S3Server

FIRST_LIMIT: Final = 1.0
AGAIN_LIMIT: Final = 0.7

_SMALL: Final = 200
_LARGE: Final = 2
_LARGE_MEBIBYTES: Final = 300


def result(found: Sequence[Pair], *, again: bool) -> Result:
    """Return one of the two goals as measured."""
    name = f"uploading wheels {'when nothing is new' if again else 'the first time'}, against aws s3 sync"
    weight = _SMALL + _LARGE * _LARGE_MEBIBYTES
    return of_pairs(name, AGAIN_LIMIT if again else FIRST_LIMIT, found, mebibytes=weight, files=_SMALL + _LARGE)


@dataclass(kw_only=True)
class Work:
    """The two ways to upload the same files, into a new bucket every time, or again into the last one."""

    server: S3Server
    folder: Path
    aws: Path
    index: Path
    again: bool = False
    bucket: str = ""

    def ours(self) -> Timed:
        """Upload by the store."""
        words = ("-m", "benchmarks._sender", f"s3://{self._target()}/dist", self.server.endpoint, self.index)
        return timed([sys.executable, *words], cwd=CLONE, env={**self.server.machine, "PYTHONPATH": str(CLONE)})

    def sync(self) -> Timed:
        """Upload by ``aws s3 sync``."""
        words = ("s3", "sync", "--no-progress", "--quiet", "--endpoint-url", self.server.endpoint, self.folder)
        return timed([self.aws, *words, f"s3://{self._target()}/dist/"], cwd=CLONE, env=self.server.machine)

    def _target(self) -> str:
        if not self.again:
            self.bucket = self.server.bucket()
        return self.bucket


def fill(folder: Path) -> dict[str, Sha256]:
    """Write the files and return the SHA-256 of each."""
    chance = random.Random(17)  # noqa: S311 - bytes that do not get smaller
    folder.mkdir()
    sizes = {f"small_{number}-1.0+rocm7.1-py3-none-any.whl": 1 for number in range(_SMALL)}
    sizes |= {f"large_{number}-1.0+rocm7.1-py3-none-any.whl": _LARGE_MEBIBYTES for number in range(_LARGE)}
    for name, mebibytes in sizes.items():
        with (folder / name).open("wb") as file:
            for _ in range(mebibytes):
                file.write(chance.randbytes(1 << 20))
    return {name: digest.of_file(folder / name) for name in sizes}


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    aws = program("aws")
    two_processors()
    with scratch() as folder, seaweed(folder / "server", program=program("weed")) as server:
        index = folder / "index.json"
        index.write_text(json.dumps({str(folder / "files" / name): one for name, one in fill(folder / "files").items()}))
        work = Work(server=server, folder=folder / "files", aws=aws, index=index)
        for again in (False, True):
            if again:
                work.ours()
            work.again = again
            found = pairs(work.ours, work.sync, count)
            spent = f"{found[-1].ours.processor_seconds:.1f} s of processor time of {found[-1].ours.seconds:.1f} s"
            show(result(found, again=again), lambda spent=spent: [spent])  # type: ignore[misc] # called at once


if __name__ == "__main__":
    main(sys.argv[1:])
