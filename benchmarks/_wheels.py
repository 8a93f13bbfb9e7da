"""What the benchmarks of wheels share: the real torch wheel, ``wheel pack``, and work in a process of its own whose memory is told."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, nox, timed
from benchmarks._rocm import program

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks._measure import Timed

__all__ = ["MEMORY_LIMIT", "in_process", "peak_of", "torch_wheel", "unpacked", "wheel_pack"]

MEMORY_LIMIT: Final = 300
"""MiB that writing a wheel may take, however large the wheel is."""

_PEAK: Final = """
import json, resource
print(json.dumps({"peak": max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024}))
"""


def torch_wheel() -> Path:
    """Return the real torch wheel, fetched when it is not there yet."""
    from pathlib import Path  # noqa: PLC0415 - else named in annotations alone

    return Path(json.loads(timed(nox("-s", "inputs", "--", "--json"), cwd=CLONE).stdout)["torch-wheel"])


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel as ``wheel unpack`` does, and return its folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def wheel_pack(folder: Path, target: Path) -> Timed:
    """Pack an unpacked wheel with the field's program into a new folder, which goes away afterwards."""
    target.mkdir()
    try:
        return timed([program("wheel"), "pack", folder, "--dest-dir", target], cwd=target)
    finally:
        shutil.rmtree(target)


def in_process(code: str, *words: str | Path, target: Path) -> Timed:
    """Run code that writes a wheel into the new folder ``target``, its last argument; print its peak of memory; remove the folder."""
    target.mkdir()
    try:
        return timed([sys.executable, "-c", code + _PEAK, *words, target], cwd=CLONE)
    finally:
        shutil.rmtree(target)


def peak_of(done: Timed) -> float:
    """Return the peak of memory in MiB of work and its programs, as :func:`in_process` made it print it."""
    return float(json.loads(done.stdout.splitlines()[-1])["peak"])
