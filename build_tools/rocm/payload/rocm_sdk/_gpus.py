"""Which GPU targets this machine has: asked of the kernel on Linux, else of ``offload-arch``; never a guess."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ._visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["detect_targets", "gfx_name", "uuid_of"]

_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
_NUMBERS = re.compile(r"^(gfx_target_version|unique_id) (\d+)$", re.MULTILINE)
_TARGET = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_SECONDS = 60


def gfx_name(version: int) -> str:
    """Return the name of the architecture that the driver states as a number: ``major * 10000 + minor * 100 + stepping``."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def uuid_of(unique_id: int) -> str | None:
    """Return the name of a device that never moves, by what the driver states; None where it states none."""
    return f"GPU-{unique_id:016x}" if unique_id else None


def detect_targets(
    core: Path | None, *, topology: Path = _TOPOLOGY, settings: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the targets of the GPUs that programs may use, each once, sorted; none where there is no GPU.

    Parameters
    ----------
    core
        The folder of the core package's files, whose ``offload-arch`` is asked where the kernel says nothing; None when not installed.
    topology
        The folder in which Linux describes the GPUs to ROCm.
    settings
        What may hide GPUs; this process's environment where it is not given. The program follows that by itself.
    """
    there = _from_kernel(topology)
    if there:
        left, seen = visible([uuid for _, uuid in there], os.environ if settings is None else settings)
        return tuple(sorted({there[left[place]][0] for place in seen}))
    return _from_program(core) if core is not None else ()


def _from_kernel(topology: Path) -> list[tuple[str, str | None]]:
    """Return target and name of each GPU, in the order in which programs count them; a CPU is a node too, of version 0."""
    found = []
    for properties in sorted(topology.glob("*/properties"), key=lambda path: (len(path.parent.name), path.parent.name)):
        try:
            known = {name: int(number) for name, number in _NUMBERS.findall(properties.read_text("ascii", errors="replace"))}
        except OSError:
            continue  # a GPU that was not given to this container
        if version := known.get("gfx_target_version", 0):
            found.append((gfx_name(version), uuid_of(known.get("unique_id", 0))))
    return found


def _from_program(core: Path) -> tuple[str, ...]:
    program = next(
        (path for name in ("offload-arch", "offload-arch.exe") if (path := core / "lib/llvm/bin" / name).is_file()), None
    )
    if program is None:
        return ()
    import subprocess  # noqa: PLC0415 - slow to import, and seldom needed

    try:
        done = subprocess.run([program], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(sorted(set(_TARGET.findall(done.stdout)))) if done.returncode == 0 else ()
