"""How long the patches that Debian keeps for PyTorch take to apply, against plain ``git am`` of the same files.

Usage: ``python -m benchmarks.patches_apply [ROUNDS]``. Ours is the whole stage: the patches are applied beside the tree, their places are
judged, the tree is asked for a person's work, moved, and read. Each round of either begins on the upstream commit, which does not count.
Needs real inputs, which are fetched when they are not there yet.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Pair, Result, Timed, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._real import Bench, with_imported_series
from build_tools.patches.series import load_series
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.stage import StageReceipt

LIMIT: Final = 1.2

_PERSON: Final = ("-c", "user.name=Some One", "-c", "user.email=some.one@example.com")


def result(found: Sequence[Pair], patches: int) -> Result:
    """Return the goal as measured."""
    return of_pairs("applying the imported series to PyTorch, against git am", LIMIT, found, patches=patches)


@dataclass(kw_only=True, slots=True)
class Both:
    """The tree, a plain clone of it, and the patch files; ``receipt`` is of the stage that ran last."""

    bench: Bench
    clone: Path
    files: tuple[Path, ...]
    receipt: StageReceipt | None = None

    def ours(self) -> Timed:
        """Apply by the stage.

        Raises
        ------
        SystemExit
            The stage did nothing.
        """
        self.bench.run((Stage.CHECKOUT,))
        done = self.bench.run((Stage.CHECKOUT, Stage.BASE_PATCHES)).done[Stage.BASE_PATCHES]
        if done.state != "run":
            message = "the stage did nothing; nothing was measured"
            raise SystemExit(message)
        self.receipt = done.receipt
        return Timed(seconds=done.seconds, processor_seconds=0.0, stdout="", stderr="")

    def plain(self) -> Timed:
        """Apply by git am, in an index that is fresh, as after any look at the tree."""
        timed(["git", "reset", "--quiet", "--hard", "refs/remotes/origin/start"], cwd=self.clone)
        timed(["git", "status"], cwd=self.clone)
        return timed(["git", *_PERSON, "am", "--quiet", "--keep-cr", "--", *self.files], cwd=self.clone)


def longest(receipt: StageReceipt | None) -> list[str]:
    """Return the programs that took most of the stage, and what is left."""
    if receipt is None:
        return []
    ordered = sorted(receipt.commands, key=lambda command: -command.seconds)
    told = [f"git {' '.join(command.argv[1:3])}: {command.seconds:.3f} s" for command in ordered[:6]]
    return [f"not in a program: {receipt.overhead_seconds:.3f} s of {receipt.seconds:.3f} s", *told]


def both(folder: Path) -> Both:
    """Make the tree on its upstream commit, and a plain clone of it."""
    bench = with_imported_series(folder)
    bench.run((Stage.CHECKOUT,))
    clone = folder / "plain"
    timed(["git", "clone", "--quiet", "--no-checkout", bench.tree, clone], cwd=folder)
    timed(["git", "fetch", "--quiet", "origin", "+refs/hipwright/upstream:refs/remotes/origin/start"], cwd=clone)
    timed(["git", "checkout", "--quiet", "--detach", "refs/remotes/origin/start"], cwd=clone)
    series = load_series(bench.chain.folder, bench.line)
    return Both(bench=bench, clone=clone, files=tuple(patch.file for patch in series.patches))


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 11)
    two_processors()
    with scratch() as folder:
        place = both(folder)
        found = pairs(place.ours, place.plain, count)
        show(result(found, len(place.files)), lambda: longest(place.receipt))


if __name__ == "__main__":
    main(sys.argv[1:])
