"""This machine as a program may change it: a view of all its files in which changes lie apart, and the programs in it are root's."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["WHY_NOT", "Sandbox", "sandboxes_work"]

WHY_NOT: Final = "needs Linux with unshare and overlay mounts, for root or for user namespaces"

_SCRIPT: Final = """
set -e
changes=$1; shift
mount -t overlay overlay -o "lowerdir=/,upperdir=$changes/upper,workdir=$changes/work" "$changes/root"
mount --rbind /dev "$changes/root/dev"
mount --rbind /proc "$changes/root/proc"
exec chroot "$changes/root" "$@"
"""


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """A folder that holds the changes; programs that run in it one after the other see those of the ones before."""

    folder: Path

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program, whatever comes of it; it gets a search path and what is named."""
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        inside = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "--"]
        return subprocess.run(
            [*inside, "bash", "-c", _SCRIPT, "bash", str(self.folder), *command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    def login(self, line: str) -> str:
        """Run a line in a new login shell, which has to end well, and return what it prints."""
        done = self.run("bash", "--login", "-c", line)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def changed(self, path: str) -> Path:
        """Return where a file lies that was written under this absolute path."""
        return self.folder / "upper" / path.lstrip("/")


@cache
def sandboxes_work(folder: Path) -> bool:
    """Say whether this machine has them."""
    if shutil.which("unshare") is None or not hasattr(os, "geteuid"):
        return False
    return Sandbox(folder=folder).run("true").returncode == 0
