"""How a person calls nox here: by the wrapper where that is what runs, so that a printed line works when it is pasted."""

from __future__ import annotations

import os.path
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["nox_words"]


def nox_words(python: Path, *, clone: Path, typed_in: Path) -> tuple[str, ...]:
    """Return the words that call nox.

    Parameters
    ----------
    python
        The interpreter that hipwright runs in; the wrapper's own lies in the clone's ``.venv``.
    clone
        The clone.
    typed_in
        The folder that the line is to be pasted in.
    """
    if not python.is_relative_to(clone / ".venv"):
        return ("nox",)
    return ("python" if sys.platform == "win32" else "python3", os.path.relpath(clone / "noxw.py", typed_in))
