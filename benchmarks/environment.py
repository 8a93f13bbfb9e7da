"""How long it takes to set an environment with ROCm packages up, every file proved, against plain ``uv pip install`` of the same packages.

Usage: ``python -m benchmarks.environment [ROUNDS]``. Both use uv, begin with an empty cache of it, and install the same packages, which weigh
some hundred MiB, from one folder.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, base_interpreter, nox, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import VERSION, heavy_tree, packages_of, program, together, weight

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result, Timed

LIMIT: Final = 1.2
_MEBIBYTES: Final = 768
_REQUIREMENT: Final = f"rocm[libraries,device-all]=={VERSION}"


def result(found: Sequence[Pair], *, mebibytes: float, start: float) -> Result:
    """Return the goal as measured; ``start`` is what nox takes to begin a command that does nothing."""
    name = "setting an environment up, against uv pip install"
    return of_pairs(name, LIMIT, found, mebibytes=round(mebibytes, 1), start_of_nox=round(start, 3))


@dataclass(kw_only=True)
class Work:
    """The two ways to install one set, each into a new folder with a home of its own every time."""

    uv: Path
    dist: Path
    folder: Path
    number: int = 0

    def ours(self) -> Timed:
        """Set up by the command."""
        target, env = self._round()
        where = ("--find-links", self.dist, "--work-dir", target / "work", "--cache-dir", target / "cache")
        words = (target / "venv", "--packages", _REQUIREMENT, "--installer", "uv", *where, "--json")
        return timed(nox("-s", "setup_venv", "--", *words), cwd=CLONE, env=env)

    def plain(self) -> Timed:
        """Set up by uv alone."""
        target, env = self._round()
        made = timed([self.uv, "venv", "--quiet", "--python", base_interpreter(), target / "venv"], cwd=self.folder, env=env)
        words: list[str | Path] = [
            "--quiet",
            "--python",
            target / "venv",
            "--prerelease",
            "allow",
            "--no-index",
            "--find-links",
            self.dist,
        ]
        return together(made, timed([self.uv, "pip", "install", *words, _REQUIREMENT], cwd=self.folder, env=env))

    def start(self) -> Timed:
        """Begin a command that does nothing."""
        return timed(nox("-s", "setup_venv", "--", "--help"), cwd=CLONE)

    def _round(self) -> tuple[Path, dict[str, str]]:
        self.number += 1
        target = self.folder / f"round-{self.number}"
        home = target / "home"
        home.mkdir(parents=True)
        # The children of the command look for uv on their path, and keep its cache in their home.
        return target, {"HOME": str(home), "PATH": f"{self.uv.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    uv = program("uv")
    two_processors()
    with scratch() as folder:
        tree = heavy_tree(folder / "artifacts", mebibytes=_MEBIBYTES)
        packages_of(tree.folder, folder / "packages")
        work = Work(uv=uv, dist=folder / "packages" / "dist", folder=folder)
        found = pairs(work.ours, work.plain, count)
        measured = result(found, mebibytes=weight(work.dist) / (1 << 20), start=work.start().seconds)
        show(measured, lambda: [f"{found[-1].ours.processor_seconds:.1f} s of processor time of {found[-1].ours.seconds:.1f} s"])


if __name__ == "__main__":
    main(sys.argv[1:])
