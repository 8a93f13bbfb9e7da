"""Programs that stand for others at the edge of the machine: Python scripts under their names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["stand_in"]


def stand_in(folder: Path, name: str, code: str) -> Path:
    """Write a program of that name into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
    program.chmod(0o755)
    return program
