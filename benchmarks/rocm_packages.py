"""How long it takes to make the ROCm packages of an artifact tree, against ``tar`` and ``zip`` of the same tree.

Usage: ``python -m benchmarks.rocm_packages [ROUNDS]``. The tree has 28 libraries, 20 targets and thousands of files, and weighs some
hundred MiB. Both pack everything once into a tar, as the devel package holds it, and once compressed, as wheels are.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import heavy_tree, packages_of, program, together, weight

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed

LIMIT: Final = 1.3
_MEBIBYTES: Final = 256


def result(found: Sequence[Pair], *, mebibytes: float, files: int) -> Result:
    """Return the goal as measured."""
    name = "making ROCm packages, against tar and zip of the same tree"
    return of_pairs(name, LIMIT, found, mebibytes=round(mebibytes, 1), files=files)


class Work:
    """The two ways to pack one tree, each into a new place every time."""

    def __init__(self, artifacts: Path, folder: Path) -> None:
        self.artifacts = artifacts
        self.folder = folder
        self.number = 0

    def ours(self) -> Timed:
        """Make the packages."""
        self.number += 1
        return packages_of(self.artifacts, self.folder / f"packages-{self.number}")

    def tar_and_zip(self) -> Timed:
        """Pack the tree with both programs, one after the other."""
        self.number += 1
        tar = timed([program("tar"), "-cf", self.folder / f"{self.number}.tar", "."], cwd=self.artifacts)
        zipped = timed([program("zip"), "-q", "-r", "-y", self.folder / f"{self.number}.zip", "."], cwd=self.artifacts)
        return together(tar, zipped)


def profile(done: Timed) -> list[str]:
    """Return what the command's document says of where the time went, and the processor time."""
    document = json.loads(done.stdout)
    told = [f"{name}: {value}" for name, value in document.items() if isinstance(value, int | float) and name != "schema"]
    return [f"{done.processor_seconds:.1f} s of processor time in {done.seconds:.1f} s", *told]


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    program("zip")
    two_processors()
    with scratch() as folder:
        tree = heavy_tree(folder / "artifacts", mebibytes=_MEBIBYTES)
        work = Work(tree.folder, folder)
        found = pairs(work.ours, work.tar_and_zip, count)
        measured = result(found, mebibytes=weight(tree.folder) / (1 << 20), files=tree.count)
        show(measured, lambda: profile(found[-1].ours))


if __name__ == "__main__":
    main(sys.argv[1:])
