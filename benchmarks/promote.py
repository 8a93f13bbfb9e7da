"""How long it takes to promote two hundred wheels inside an S3 server, against ``aws s3 cp --recursive``.

Usage: ``python -m benchmarks.promote [ROUNDS]``. The server is a real one on this machine; the wheels and their side files are in the outputs
of a run. Ours is the session's own work in a process that begins with starting itself: judged, copied, named in a snapshot, pages written. The
wheels are of five projects, as those of a release are.
The other program copies the same objects within the bucket, and neither compares them nor writes an index.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import program
from build_tools import digest
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import put_verdict
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.verdict import CPU_ONLY, TestCounts, Verdict
from build_tools.stores.run_outputs import IndexFolder
from tests.support.publishing import write_wheel
from tests.support.s3 import seaweed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed
    from tests.support.s3 import S3Server

LIMIT: Final = 1.2
_WHEELS: Final = 200
_PROJECTS: Final = 5
_MEBIBYTE: Final = 1 << 20
_GROUP: Final = "gfx94X-dcgpu"
_RUN: Final = f"7-linux/pytorch/{_GROUP}"


@dataclass(kw_only=True)
class Work:
    """The two ways to copy the same wheels into a folder of the bucket that nobody has used."""

    server: S3Server
    folder: Path
    aws: Path
    bucket: str
    times: int = 0

    def ours(self) -> Timed:
        """Promote; the channel is emptied before, which is not measured."""
        store = self.server.store(self.bucket)
        for one in list(store.list("channels")):
            store.delete(one.key)
        words = ("-m", "nox", "-f", CLONE / "noxfile.py", "-s", "promote", "--", "--run-id", "7", "--platform", "linux")
        where = ("--store", f"s3://{self.bucket}", "--endpoint-url", self.server.endpoint, "--work-dir", self.folder / "work")
        environment = {**self.server.machine, "PYTHONPATH": str(CLONE), "NOX_ENV_DIR": str(self.folder / "nox")}
        return timed([sys.executable, *words, *where, "--channel", "rehearsal"], cwd=CLONE, env=environment)

    def copy(self) -> Timed:
        """Copy by ``aws s3 cp --recursive``."""
        self.times += 1
        words = ("s3", "cp", "--recursive", "--quiet", "--endpoint-url", self.server.endpoint, f"s3://{self.bucket}/{_RUN}/dist/")
        return timed([self.aws, *words, f"s3://{self.bucket}/copies/{self.times}/"], cwd=CLONE, env=self.server.machine)


def fill(server: S3Server, folder: Path, bucket: str) -> None:
    """Publish the wheels and a verdict on them."""
    versions = [f"1.{number}+rocm7.1" for number in range(_WHEELS // _PROJECTS)]
    names = [f"demo{number}" for number in range(_PROJECTS)]
    wheels = [write_wheel(folder, name, version, text="x" * _MEBIBYTE) for name in names for version in versions]
    store = server.store(bucket)
    index = publish_wheels(wheels, store=store, prefix=_RUN, replace=False, say=lambda _line: None)
    verdict = Verdict(
        project="demo",
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        target=CPU_ONLY,
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
    )
    put_verdict(store, IndexFolder(_RUN), verdict)


def result(found: Sequence[Pair]) -> Result:
    """Return the line."""
    return of_pairs("promoting 200 wheels, against aws s3 cp --recursive", LIMIT, found, mebibytes=_WHEELS, files=_WHEELS)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    aws = program("aws")
    two_processors()
    with scratch() as folder, seaweed(folder / "server", program=program("weed")) as server:
        bucket = server.bucket()
        fill(server, folder / "wheels", bucket)
        work = Work(server=server, folder=folder, aws=aws, bucket=bucket)
        found = pairs(work.ours, work.copy, count)
        show(
            result(found),
            lambda: [f"{found[-1].ours.processor_seconds:.1f} s of processor time of {found[-1].ours.seconds:.1f} s"],
        )


if __name__ == "__main__":
    main(sys.argv[1:])
