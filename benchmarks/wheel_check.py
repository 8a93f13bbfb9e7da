"""The whole check of one wheel against one plain pass that reads, decompresses and hashes it, and against the field's programs.

Usage: ``python -m benchmarks.wheel_check WHEEL [ROUNDS]``, from the root of the clone. ``WHEEL`` may be ``torch``, the real one that
``nox -s inputs`` fetches. Each part runs in a process of its own, and the parts take turns. All rules judge, with
all that a check of a build knows: a plan, targets, the folders of a build, and an earlier wheel, which is the same one. The programs are
``auditwheel show``, ``check-wheel-contents`` and ``wheel unpack``; where the machine has one of them not, it comes out of an environment
that benchmarks alone use. What they or the rules think of the wheel does not count.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Pair, Timed, of_pairs, pairs, rounds, scratch, show, timed
from benchmarks._rocm import program
from benchmarks._wheels import torch_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks._measure import Result

LIMIT: Final = 1.3
LIMIT_OF_PROGRAMS: Final = 1 / 15
_FAULTS: Final = (0, 1)
"""What a program ends with that found faults."""

_PLAIN: Final = """
import hashlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for entry in archive.infolist():
        digest = hashlib.sha256()
        with archive.open(entry) as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
        digest.digest()
"""
_CHECK: Final = """
import sys
from dataclasses import replace
from pathlib import Path
import msgspec
from build_tools.checks.baseline import member_sizes
from build_tools.checks.expectation import Expectation, StatedCommit
from build_tools.checks.profile import demands_for
from build_tools.checks.run import check_wheels
from build_tools.config.project import load_project
from build_tools.types import Platform
from build_tools.wheels.name import parse_wheel_name
wheel = Path(sys.argv[1])
name = parse_wheel_name(wheel.name)
system = Platform.WINDOWS if "win" in name.platform else Platform.LINUX
project = load_project(Path("external-builds"), "pytorch")
plan = Expectation(
    distribution=name.project, version=name.version, python_tag="cp311", platform=system, sha256="0" * 64, pins=("rocm==7.10.0",),
    members=project.wheel.required_members, source_commit=StatedCommit(member="torch/version.py", name="git_version", commit="0" * 40),
)
demands = demands_for(
    project, system, targets=("gfx942", "gfx1201"), libraries=frozenset(), packages={}, baseline=member_sizes(wheel),
    build_places=("/builds/workshop/trees/pytorch/cp311", "/builds/workshop", "/home/builder"),
)
demands = replace(demands, check=msgspec.structs.replace(demands.check, size_limit=1 << 20, glibc="2.28"), unmet=())
report = check_wheels(
    [wheel], expectations={wheel.name: plan}, demands={wheel.name: demands}, say=lambda _line: None, jobs=int(sys.argv[2])
)
print(len(report.rules))
"""


def of_processors(found: Sequence[Pair]) -> list[Pair]:
    """Return pairs whose times are those of the processors: the work that there is, whatever else the machine does."""

    def worked(part: Timed) -> Timed:
        return replace(part, seconds=part.processor_seconds)

    return [Pair(ours=worked(pair.ours), baseline=worked(pair.baseline)) for pair in found]


def results(wheel: Path, count: int) -> Iterator[Result]:
    """Measure: on the wall with one thread and with two, in processor time, and against the programs that are there."""
    with scratch() as folder:

        def check(jobs: int) -> Timed:
            return timed([sys.executable, "-c", _CHECK, wheel, str(jobs)], cwd=CLONE)

        def plain() -> Timed:
            return timed([sys.executable, "-c", _PLAIN, wheel], cwd=folder)

        one = pairs(lambda: check(1), plain, count)
        yield of_pairs("wheel check, one thread", LIMIT, one, rules=int(one[0].ours.stdout))
        yield of_pairs("wheel check, one thread, processor time", LIMIT, of_processors(one))
        yield of_pairs("wheel check, two threads", LIMIT, pairs(lambda: check(2), plain, count))
        others = pairs(lambda: check(2), lambda: _programs(wheel, folder), count)
        yield of_pairs("wheel check, against auditwheel, check-wheel-contents and wheel unpack", LIMIT_OF_PROGRAMS, others)


def _programs(wheel: Path, folder: Path) -> Timed:
    """Run the field's programs one after the other."""
    target = folder / "unpacked"
    parts = [
        timed([program("auditwheel"), "show", wheel], cwd=folder, statuses=_FAULTS),
        timed([program("check-wheel-contents"), wheel], cwd=folder, statuses=_FAULTS),
        timed([program("wheel"), "unpack", wheel, "--dest", target], cwd=folder),
    ]
    shutil.rmtree(target)
    return Timed(
        seconds=sum(part.seconds for part in parts),
        processor_seconds=sum(part.processor_seconds for part in parts),
        stdout="",
        stderr="",
    )


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        raise SystemExit(__doc__)
    wheel = torch_wheel() if arguments[0] == "torch" else Path(arguments[0]).absolute()
    for found in results(wheel, rounds(arguments[1:], 3)):
        show(found, list)


if __name__ == "__main__":
    main(sys.argv[1:])
