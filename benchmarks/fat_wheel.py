"""How long it takes to put ROCm into the real torch wheel, against ``wheel pack`` of the files that come out.

Usage: ``python -m benchmarks.fat_wheel [ROUNDS]``. The ROCm is a generated one of some hundred MiB with 28 libraries and 20 targets, all of
which go in. The wheel is PyTorch's own for processors alone, whose libraries are made to need ROCm as those of a build for GPUs do: run
paths are set in them, and they are compressed anew. ``wheel pack`` finds everything unpacked.
"""

from __future__ import annotations

import os
import sys
import zipfile
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import VERSION, heavy_tree, packages_of
from benchmarks._wheels import MEMORY_LIMIT, in_process, peak_of, torch_wheel, unpacked, wheel_pack
from build_tools.process import Runner, base_environment
from build_tools.wheels.rewrite import rewrite_wheel
from build_tools.wheels.run_path import find_patchelf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks._measure import Pair, Result

LIMIT: Final = 0.2
_MEBIBYTES: Final = 768
_NEEDING: Final = ("torch/lib/libc10.so", "torch/lib/libtorch_python.so", "torch/lib/libtorch_cpu.so")
_CODE: Final = """
import os, sys
from pathlib import Path
from build_tools.builds.bundle import Rocm, bundle_wheel
from build_tools.config.rocm_packages import package_table
from build_tools.process import Runner, base_environment
from build_tools.types import Platform
wheels = sorted(Path(sys.argv[2]).glob("*.whl"))
targets = [wheel.name.split("-")[0].rpartition("_")[2] for wheel in wheels if "_device_" in wheel.name]
bundle_wheel(
    Path(sys.argv[1]), Path(sys.argv[4]), rocm=Rocm(version=sys.argv[3], wheels=wheels), targets=targets, platform=Platform.LINUX,
    preloads=[library.name for library in package_table().library if library.linux],
    runner=Runner(environment=base_environment(os.environ)), jobs=2,
)
"""


def result(found: Sequence[Pair], *, mebibytes: float, peak: float) -> Result:
    """Return the goal as measured; ``peak`` is the most memory that ours or one of its programs took, in MiB."""
    name = "putting ROCm into the torch wheel, against wheel pack"
    return of_pairs(name, LIMIT, found, mebibytes=round(mebibytes, 1), peak_mebibytes=round(peak, 1), peak_limit=MEMORY_LIMIT)


def needing_rocm(wheel: Path, folder: Path) -> Path:
    """Return a copy of the torch wheel whose libraries need the HIP runtime."""
    runner = Runner(environment=base_environment(os.environ))
    patchelf = find_patchelf(runner, cwd=folder)
    members: dict[str, Path] = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in _NEEDING:
            archive.extract(member, folder / "needing")
            members[member] = folder / "needing" / member
            timed([patchelf.path, "--add-needed", "libamdhip64.so.7", members[member]], cwd=folder)
    return rewrite_wheel(wheel, folder / "thin", version=f"2.13.0+rocm{VERSION}", members=dict(members), jobs=2)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    two_processors()
    with scratch() as folder:
        packages_of(heavy_tree(folder / "artifacts", mebibytes=_MEBIBYTES).folder, folder / "rocm")
        thin, rocm = needing_rocm(torch_wheel(), folder), folder / "rocm" / "dist"
        once = folder / "once"
        once.mkdir()
        timed([sys.executable, "-c", _CODE, thin, rocm, VERSION, once], cwd=CLONE)
        (fat,) = once.glob("*.whl")
        files = unpacked(fat, folder / "files")
        found = pairs(
            lambda: in_process(_CODE, thin, rocm, VERSION, target=folder / "ours"),
            lambda: wheel_pack(files, folder / "theirs"),
            count,
        )
        peak = max(peak_of(pair.ours) for pair in found)
        show(result(found, mebibytes=fat.stat().st_size / (1 << 20), peak=peak), list)


if __name__ == "__main__":
    main(sys.argv[1:])
