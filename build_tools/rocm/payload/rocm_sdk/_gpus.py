"""Which GPU targets this machine has: asked of the kernel on Linux, else of ``offload-arch``; never a guess."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["detect_targets"]

_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
_VERSION = re.compile(r"^gfx_target_version (\d+)$", re.MULTILINE)
_TARGET = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_SECONDS = 60


def detect_targets(core: Path | None, *, topology: Path = _TOPOLOGY) -> tuple[str, ...]:
    """Return the targets of the GPUs at hand, each once, sorted; none where there is no GPU.

    Parameters
    ----------
    core
        The folder of the core package's files, whose ``offload-arch`` is asked where the kernel says nothing; None when not installed.
    topology
        The folder in which Linux describes the GPUs to ROCm.
    """
    return _from_kernel(topology) or (_from_program(core) if core is not None else ())


def _from_kernel(topology: Path) -> tuple[str, ...]:
    """Read ``gfx_target_version`` of each node, decimal ``major * 10000 + minor * 100 + stepping``; a CPU's is 0."""
    found = set()
    for properties in topology.glob("*/properties"):
        try:
            match = _VERSION.search(properties.read_text("ascii", errors="replace"))
        except OSError:
            continue  # a GPU that was not given to this container
        if match and (number := int(match[1])):
            found.add(f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}")
    return tuple(sorted(found))


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
