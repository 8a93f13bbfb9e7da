"""How long the hipify stage of PyTorch takes when its result is known on the machine, against the tree's own tool.

Usage: ``python -m benchmarks.hipify_cache [ROUNDS]``. The tool ran in one work dir, and the stage is measured in another one. Each round has
a work dir of its own, and copies of its own for the tool and for the reset: a file system is slow to make the files again that were removed
the moment before. Needs a real input, which is fetched when it is not there yet.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Result, Timed, median, rounds, scratch, show, timed, two_processors
from benchmarks._real import Bench, pytorch_origin
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.pipeline.engine import Done
    from build_tools.receipts.stage import StageReceipt

LIMIT: Final = 1 / 30

BEFORE: Final = (Stage.CHECKOUT, Stage.BASE_PATCHES)
"""The stages whose result the tool is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """The hipify stage with a known result, the tool itself, and a bare ``git reset`` between the same two commits, one after another."""

    ours: Done
    tool: Timed
    reset: Timed


def result(found: Sequence[Round]) -> Result:
    """Return the goal as measured; the bare reset says what is left to gain."""
    return Result(
        name="hipify of PyTorch with a known result, against its tool",
        limit=LIMIT,
        limit_on="ratio",
        ours=median([one.ours.seconds for one in found]),
        baseline=median([one.tool.seconds for one in found]),
        ratio=median([one.ours.seconds / one.tool.seconds for one in found]),
        detail={
            "rounds": len(found),
            "times faster": round(median([one.tool.seconds / one.ours.seconds for one in found]), 1),
            "times faster, a bare reset": round(median([one.tool.seconds / one.reset.seconds for one in found]), 1),
        },
    )


def settle() -> None:
    """Let the disk finish what came before, so that nothing pays for the files of another."""
    if hasattr(os, "sync"):
        os.sync()


def copied(bench: Bench, copy: Path) -> Path:
    """Make a repository of its own with the base patches of a tree in its work folder."""
    timed(["git", "init", "--quiet", copy], cwd=copy.parent)
    timed(["git", "fetch", "--quiet", bench.tree, "+refs/hipwright/*:refs/bench/*"], cwd=copy)
    timed(["git", "reset", "--quiet", "--hard", "refs/bench/base"], cwd=copy)
    return copy


def tool(bench: Bench, copy: Path) -> Timed:
    """Run the tree's tool on pristine files."""
    hipify = bench.chain.project.hipify
    if hipify is None:
        message = "PyTorch's recipe names no hipify tool; nothing was measured"
        raise SystemExit(message)
    settle()
    return timed([sys.executable, "-X", "utf8", hipify.script, *hipify.arguments], cwd=copy, env={"PYTHONDONTWRITEBYTECODE": "1"})


def reset(copy: Path) -> Timed:
    """Put hipify's result there by git alone."""
    settle()
    return timed(["git", "reset", "--quiet", "--hard", "refs/bench/hipified"], cwd=copy)


def known(bench: Bench) -> Done:
    """Make a tree up to its base patches, and run its hipify stage.

    Raises
    ------
    SystemExit
        The stage did nothing, or ran the tool.
    """
    bench.run(BEFORE)
    settle()
    done = bench.run((*BEFORE, Stage.HIPIFY)).done[Stage.HIPIFY]
    if done.state != "run" or any(sys.executable in command.argv for command in done.receipt.commands):
        message = "the stage did nothing, or ran the tool although its result was known; nothing was measured"
        raise SystemExit(message)
    return done


def one_round(folder: Path, origin: Path, number: int) -> Round:
    """Measure the three once, and leave nothing behind that the next round would have to work around."""
    bench = Bench(folder=folder, origin=origin, work_dir=f"work-{number}")
    ours = known(bench)
    found = Round(
        ours=ours,
        tool=tool(bench, copied(bench, folder / f"tool-{number}")),
        reset=reset(copied(bench, folder / f"reset-{number}")),
    )
    for name in ("work", "tool", "reset"):
        shutil.rmtree(folder / f"{name}-{number}")
    return found


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    origin = pytorch_origin()
    two_processors()
    with scratch() as folder:
        Bench(folder=folder, origin=origin, work_dir="first").run((*BEFORE, Stage.HIPIFY))
        found = [one_round(folder, origin, number) for number in range(count)]
        show(result(found), lambda: longest(found[-1].ours.receipt))


def longest(receipt: StageReceipt) -> list[str]:
    """Return the programs that took most of a stage, and what is left."""
    ordered = sorted(receipt.commands, key=lambda command: -command.seconds)
    told = [f"git {command.argv[1]}: {command.seconds:.3f} s" for command in ordered[:5]]
    return [f"not in a program: {receipt.overhead_seconds:.3f} s of {receipt.seconds:.3f} s", *told]


if __name__ == "__main__":
    main(sys.argv[1:])
