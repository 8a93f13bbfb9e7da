"""The lines that commands show to people for installing, carried out into a folder."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import uv

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["carry_out_line"]

_KEPT: Final = ("PATH", "HOME", "SYSTEMROOT")


def carry_out_line(line: str, target: Path) -> list[str]:
    """Run a line of pip or of uv with the pip or uv of the tests, without what this machine says to them; return what was installed."""
    words = shlex.split(line)
    by_uv = words[0] == "uv"
    program = [uv.find_uv_bin(), "pip"] if by_uv else [sys.executable, "-m", "pip"]
    words = [*program, *words[words.index("install") :], "--target", str(target)]
    if by_uv:
        words += ["--no-cache", "--offline", "--python", sys.executable]
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=kept)
    assert done.returncode == 0, done.stderr
    return sorted(path.name for path in target.glob("*.dist-info"))
