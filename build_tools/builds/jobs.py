"""How many compilers run at once: as many as there are processors, and memory for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

__all__ = ["Jobs", "choose_jobs", "free_memory"]

_MIB: Final = 2**20
_PROC: Final = Path("/proc/self/cgroup")
_CGROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """A number of jobs; ``note`` says what people should know of it, and ``short`` that memory may run out."""

    count: int
    note: str = ""
    short: bool = False


def choose_jobs(asked: int | None, *, processors: int, memory: int, per_job: int) -> Jobs:
    """Return how many compilers a build runs at once.

    A compiler of a large source file of PyTorch takes well over a GiB, and a build that runs out of memory is ended by the system after an
    hour without a word, or brings the machine down.

    Parameters
    ----------
    asked
        The number that a person wants, which counts in any case.
    processors
        How many there are.
    memory
        Bytes that may be used.
    per_job
        MiB that one compiler takes.
    """
    fitting = max(1, memory // (per_job * _MIB))
    has = f"{memory / 2**30:.1f} GiB of memory are free, and a compiler takes {per_job / 1024:.1f}"
    if asked is not None:
        return (
            Jobs(count=asked, note=f"{has}: {asked} jobs may be too many", short=True) if asked > fitting else Jobs(count=asked)
        )
    if fitting < processors:
        return Jobs(count=fitting, note=f"{fitting} of {processors} possible jobs: {has}")
    return Jobs(count=processors)


def free_memory(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int:
    """Return the bytes that may be used: what the machine has left, or what is left of the container's limit when that is less.

    Parameters
    ----------
    proc, cgroups
        Where Linux says which control groups this process is in, and what these have (cgroups(7)).
    """
    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *_container_limits(proc, cgroups)]))


def _container_limits(proc: Path, cgroups: Path) -> list[int]:
    try:
        lines = proc.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    left = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        old = bool(controllers)
        top = cgroups / "memory" if old else cgroups
        files = ("memory.limit_in_bytes", "memory.usage_in_bytes") if old else ("memory.max", "memory.current")
        # Inside a container its own group is the root of what it sees, and the name is one of the outside.
        folder = top / name.lstrip("/")
        while True:
            limit, used = (_number(folder / file) for file in files)
            if limit is not None:
                cache = _inactive(folder / "memory.stat")
                left.append(limit - max(0, (used or 0) - cache))
            if folder == top or top not in folder.parents:
                break
            folder = folder.parent
    return left


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


def _inactive(path: Path) -> int:
    """Return the bytes of files in memory that the system gives up when others want them."""
    try:
        rows = dict(line.split(" ", 1) for line in path.read_text(encoding="ascii").splitlines() if " " in line)
    except (OSError, UnicodeDecodeError):
        return 0
    text = rows.get("total_inactive_file", rows.get("inactive_file", "0"))
    return int(text) if text.isdigit() else 0
