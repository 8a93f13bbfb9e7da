"""Set where a binary looks for libraries, with ``patchelf``, and prove that nothing else of it changed.

``patchelf`` and not ``lief``: for a library of 446 MB the one takes 2 s and the other 18 s, and files of the same size come out. Old ones
of it damage some libraries in silence, so one from 0.19 on is taken, and what came out is compared with what went in, byte by byte.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.wheels.elf import read_elf
from build_tools.wheels.elf_same import differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.process import Runner
    from build_tools.wheels.elf import Elf

__all__ = ["PatchElf", "find_patchelf"]

_SECONDS: Final = 1800.0
_OLDEST: Final = (0, 19)
_VERSION: Final = re.compile(r"(?:patchelf )?(\d+)\.(\d+)[\d.]*")
_SHOWN: Final = 3
_HINT: Final = "python3 noxw.py makes an environment that has it"


class PatchElf:
    """The program ``patchelf`` of this machine, by its path and the version that it states."""

    def __init__(self, path: Path, *, version: str) -> None:
        self.path: Final = path
        self.version: Final = version

    def set_run_path(self, source: Path, target: Path, run_path: Sequence[str], *, runner: Runner) -> None:
        """Write ``source`` to ``target`` with another run path, as DT_RPATH; ``source`` stays as it is.

        Raises
        ------
        HipwrightError
            ``bad-binary`` when it cannot be changed, or when the result differs in more than that; ``disk-space``.
        """
        if run_path:
            change: tuple[str, ...] = ("--force-rpath", "--set-rpath", ":".join(run_path))
        else:
            change = ("--remove-rpath",)
        command: list[str | Path] = [self.path, *change, "--output", target, source]
        # Without a record of its own each call would grow the list that all of them share.
        try:
            runner.with_record().capture(
                command, cwd=target.parent, timeout=_SECONDS, code="bad-binary", what=f"setting the run path of {source}"
            )
        except HipwrightError as error:
            if os.strerror(errno.ENOSPC) in f"{error.message}{error.excerpt}":
                message = f"the disk with {target.parent} is full, while the run path of {source} was set"
                raise HipwrightError("disk-space", message, where=Where(file=target.parent)) from None
            raise
        with source.open("rb") as before, target.open("rb") as after:
            old, new = read_elf(before, name=source), read_elf(after, name=target)
        if old is None or new is None or _with_run_path(old, run_path, device_code=new.device_code) != new:
            raise self._changed_more(source, "what a loader reads of it is other")
        found = differences(source, target)
        if found:
            raise self._changed_more(source, "; ".join(found[:_SHOWN]))

    def _changed_more(self, source: Path, what: str) -> HipwrightError:
        message = f"patchelf {self.version} changed more of {source} than its run path: {what}"
        return HipwrightError("bad-binary", message, where=Where(file=source))


def _with_run_path(elf: Elf, run_path: Sequence[str], *, device_code: tuple[int, int] | None) -> Elf:
    """Return what an ELF file is with another run path; where its sections lie in the file then, and that they are the same, is told apart."""
    return replace(elf, run_path=tuple(run_path), runpath=(), looks_here=False, device_code=device_code)


def find_patchelf(runner: Runner, *, cwd: Path) -> PatchElf:
    """Return the ``patchelf`` beside this Python, or else the one on the path; one that is too old is passed over.

    Raises
    ------
    HipwrightError
        ``missing-tool`` when there is none that is new enough.
    """
    beside = str(Path(sys.executable).parent)
    seen = []
    for folder in (beside, *runner.environment.get("PATH", "").split(os.pathsep)):
        found = shutil.which("patchelf", path=folder) if folder else None
        if found is None:
            continue
        text = runner.capture([found, "--version"], cwd=cwd, timeout=60.0, what="patchelf --version").text.strip()
        version = _VERSION.fullmatch(text)
        if version is not None and (int(version[1]), int(version[2])) >= _OLDEST:
            return PatchElf(Path(found), version=text)
        seen.append(f"{found} says {text!r}")
    wanted = ".".join(map(str, _OLDEST))
    looked = f": {'; '.join(seen)}" if seen else f", neither in {beside} nor on the path"
    raise HipwrightError("missing-tool", f"there is no program patchelf {wanted} or newer{looked}", hint=_HINT)
