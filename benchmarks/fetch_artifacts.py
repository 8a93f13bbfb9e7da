"""How long it takes to fetch a run's artifacts from an S3 server, proved by their side files, against ``aws s3 sync``.

Usage: ``python -m benchmarks.fetch_artifacts [ROUNDS]``. The server is a real one on this machine; the run has a hundred small archives
and some large ones. Neither unpacks. The ``aws`` command lives in an
environment of its own, made on first use.
"""

from __future__ import annotations

import hashlib
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._measure import nox as nox_words
from benchmarks._rocm import program, weight
from tests.support.rocm_trees import archive_tree, make_tree
from tests.support.s3 import seaweed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed
    from tests.support.s3 import S3Server

LIMIT: Final = 1.0

_RUN: Final = "17"
_LARGE: Final = {
    "amd-llvm_run_generic": 224,
    "blas_lib_gfx942": 128,
    "miopen_lib_gfx942": 96,
    "fft_lib_gfx942": 48,
    "rccl_lib_generic": 48,
}
"""Archives that weigh something, by the MiB of each."""


def result(found: Sequence[Pair], *, mebibytes: float, files: int) -> Result:
    """Return the goal as measured."""
    return of_pairs("fetching artifacts, against aws s3 sync", LIMIT, found, mebibytes=round(mebibytes, 1), files=files)


@dataclass(kw_only=True)
class Work:
    """The two ways to fetch one run, each into a new folder every time."""

    server: S3Server
    bucket: str
    folder: Path
    aws: Path
    number: int = 0

    def ours(self) -> Timed:
        """Fetch by the command."""
        target = self._target()
        where = ("--store", f"s3://{self.bucket}", "--endpoint-url", self.server.endpoint, "--work-dir", self.folder / "work")
        words = ("--run-id", _RUN, "--target", "gfx942", "--no-extract", "--output-dir", target, *where, "--json")
        return timed(nox_words("-s", "fetch_artifacts", "--", *words), cwd=CLONE, env=self.server.machine)

    def sync(self) -> Timed:
        """Fetch by ``aws s3 sync``."""
        source = f"s3://{self.bucket}/{_RUN}-linux/"
        words: list[str | Path] = [
            "s3",
            "sync",
            "--no-progress",
            "--quiet",
            "--endpoint-url",
            self.server.endpoint,
            source,
            self._target(),
        ]
        return timed([self.aws, *words], cwd=CLONE, env=self.server.machine)

    def _target(self) -> Path:
        self.number += 1
        return self.folder / f"fetched-{self.number}"


def fill(server: S3Server, folder: Path) -> str:
    """Put a run into a new bucket and return the bucket's name."""
    archives = folder / "run"
    archive_tree(make_tree(folder / "tree", targets=("gfx942",)).folder, archives)
    chance = random.Random(_RUN)  # noqa: S311 - bytes that do not get smaller
    for name, mebibytes in _LARGE.items():
        file = archives / f"{name}.tar.zst"
        file.write_bytes(chance.randbytes(mebibytes << 20))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        file.with_name(f"{file.name}.sha256sum").write_text(f"{digest}  {file.name}\n")
    client, bucket = server.client(), server.bucket()
    for file in sorted(archives.iterdir()):
        client.upload_file(str(file), bucket, f"{_RUN}-linux/{file.name}")
    return bucket


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    aws = program("aws")
    two_processors()
    with scratch() as folder, seaweed(folder / "server", program=program("weed")) as server:
        work = Work(server=server, bucket=fill(server, folder), folder=folder, aws=aws)
        found = pairs(work.ours, work.sync, count)
        run = folder / "run"
        measured = result(found, mebibytes=weight(run) / (1 << 20), files=sum(1 for _ in run.iterdir()))
        show(measured, lambda: [f"{found[-1].ours.processor_seconds:.1f} s of processor time of {found[-1].ours.seconds:.1f} s"])


if __name__ == "__main__":
    main(sys.argv[1:])
