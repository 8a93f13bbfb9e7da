"""One repository borrows another's objects, so that a copy of it is quick to make and small; it must not outlive the lender."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["borrow"]


def borrow(git_dir: Path, *, lender: Path) -> None:
    """Let the repository ``git_dir`` read the objects of the repository ``lender``, whose history may end where it was cut off."""
    listed = git_dir / "objects" / "info" / "alternates"
    listed.parent.mkdir(exist_ok=True)
    listed.write_bytes(_line(lender / "objects"))
    cut, own = lender / "shallow", git_dir / "shallow"
    if cut.is_file():
        shutil.copy2(cut, own)
    else:
        own.unlink(missing_ok=True)


def _line(folder: Path) -> bytes:
    """Return a line of ``objects/info/alternates``, in C-style quotes where the name needs them."""
    raw = os.fsencode(folder.as_posix())
    if raw.startswith((b"#", b'"')) or b"\n" in raw:
        raw = b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    return raw + b"\n"
