"""Environments that are there: nothing in them but an interpreter and, where a test wants it, packages written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["bare_environment", "site_of"]


def bare_environment(folder: Path) -> Path:
    """Make an environment by hand, which takes no time: a link to the interpreter, and where that comes from."""
    real = Path(sys.executable).resolve()
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(real)
    (folder / "pyvenv.cfg").write_text(f"home = {real.parent}\ninclude-system-site-packages = false\n", encoding="utf-8")
    site_of(folder).mkdir(parents=True)
    return folder


def site_of(folder: Path) -> Path:
    """Return where the packages of such an environment are."""
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
