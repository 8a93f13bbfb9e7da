"""How long it takes to give the real torch wheel another version, against ``wheel pack`` of the same files.

Usage: ``python -m benchmarks.wheel_rewrite [ROUNDS]``. ``wheel pack`` finds everything unpacked; what unpacking takes does not count.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import of_pairs, pairs, rounds, scratch, show, two_processors
from benchmarks._wheels import MEMORY_LIMIT, in_process, peak_of, torch_wheel, unpacked, wheel_pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks._measure import Pair, Result

LIMIT: Final = 0.05
_VERSION: Final = "2.13.0+rocm7.13.0"
_CODE: Final = """
import sys
from pathlib import Path
from build_tools.wheels.rewrite import rewrite_wheel
rewrite_wheel(Path(sys.argv[1]), Path(sys.argv[3]), version=sys.argv[2])
"""


def result(found: Sequence[Pair], *, mebibytes: float, peak: float) -> Result:
    """Return the goal as measured; ``peak`` is the most memory that ours took, in MiB."""
    name = "writing the torch wheel with another version, against wheel pack"
    return of_pairs(name, LIMIT, found, mebibytes=round(mebibytes, 1), peak_mebibytes=round(peak, 1), peak_limit=MEMORY_LIMIT)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    wheel = torch_wheel()
    two_processors()
    with scratch() as folder:
        files = unpacked(wheel, folder / "files")
        found = pairs(
            lambda: in_process(_CODE, wheel, _VERSION, target=folder / "ours"),
            lambda: wheel_pack(files, folder / "theirs"),
            count,
        )
        peak = max(peak_of(pair.ours) for pair in found)
        show(result(found, mebibytes=wheel.stat().st_size / (1 << 20), peak=peak), list)


if __name__ == "__main__":
    main(sys.argv[1:])
