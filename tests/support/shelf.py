"""Places that are made once in a process and put back as they were for each test that begins from one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.files import remove_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Shelf"]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Keeps copies of places. All of them stand at one path, one at a time: origins and receipts inside name it."""

    folder: Path

    @property
    def place(self) -> Path:
        """Where a place stands for the time of a test."""
        return self.folder / "pl ace"

    def put_back(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return the place as it was when it was made, which is done by the first who asks.

        Parameters
        ----------
        name
            Tells this place from others on the shelf.
        make
            Makes the place in a folder that is not there yet.
        """
        kept = self.folder / name
        if self.place.exists():
            remove_tree(self.place)
        if kept.exists():
            shutil.copytree(kept, self.place, symlinks=True)
        else:
            make(self.place)
            half = self.folder / f"{name}-half"
            if half.exists():
                remove_tree(half)
            shutil.copytree(self.place, half, symlinks=True).replace(kept)
        return self.place
