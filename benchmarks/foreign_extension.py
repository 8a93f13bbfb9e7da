"""What a build of other people's extension takes beyond the programs that it runs, from the receipt of its build stage.

Usage: ``python -m benchmarks.foreign_extension [--work-dir DIR]``. The build takes minutes and real inputs, so it is not done here: the
newest receipt in the work dir counts, and where there is none the line says how to come by one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Result, show
from build_tools.pipeline.engine import RECEIPT
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import StageReceipt
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: Final = 1.1

PROJECT: Final = "torch-spline-conv"

HOW: Final = (
    "nox -s inputs -- --tier real --json prints where torch-wheel lies; then"
    f" nox -s pipeline -- --projects {PROJECT} --find-links FOLDER_OF_TORCH_WHEEL --work-dir DIR --until build,"
    " and nox -s bench -- foreign_extension --work-dir DIR"
)


def newest(work_dir: Path) -> StageReceipt | None:
    """Return the newest receipt of the extension's build in a work dir."""
    receipts = [read_record(path, StageReceipt) for path in (work_dir / Stage.BUILD / PROJECT).glob(f"*/{RECEIPT}")]
    return max(receipts, key=lambda receipt: receipt.started, default=None)


def result(receipt: StageReceipt | None) -> Result:
    """Return the goal as a build's receipt has it; without one, or one without programs, nothing but how to get it."""
    name = f"building {PROJECT}, beyond its programs"
    programs = sum(command.seconds for command in receipt.commands) if receipt else 0.0
    if receipt is None or not programs:
        return Result(name=name, limit=LIMIT, limit_on="ratio", how=HOW)
    return Result(
        name=name,
        limit=LIMIT,
        limit_on="ratio",
        ours=receipt.seconds,
        baseline=programs,
        ratio=receipt.seconds / programs,
        detail={"started": receipt.started, "overhead": receipt.overhead_seconds},
    )


def longest(receipt: StageReceipt) -> list[str]:
    """Return the programs that took most of a stage, and what is left."""
    ordered = sorted(receipt.commands, key=lambda command: -command.seconds)
    told = [f"{' '.join((Path(command.argv[0]).name, *command.argv[1:4]))}: {command.seconds:.2f} s" for command in ordered[:5]]
    return [f"not in a program: {receipt.overhead_seconds:.2f} s of {receipt.seconds:.2f} s", *told]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="foreign_extension", description=__doc__, allow_abbrev=False)
    parser.add_argument("--work-dir", type=Path, help="where the extension was built; by default .work in the clone")
    work_dir: Path | None = parser.parse_args(arguments).work_dir
    receipt = newest((work_dir or CLONE / ".work").resolve())
    show(result(receipt), lambda: longest(receipt) if receipt else [])
    if receipt is None and work_dir is not None:
        message = f"there is no receipt of a build of {PROJECT} in {work_dir}"
        raise SystemExit(message)


if __name__ == "__main__":
    main(sys.argv[1:])
