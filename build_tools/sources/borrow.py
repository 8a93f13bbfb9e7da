"""One repository borrows the objects of others, so that a copy is quick to make and small; it must not outlive the lenders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["borrow", "borrow_more"]


def borrow(git_dir: Path, *, lender: Path, more: Iterable[Path] = ()) -> None:
    """Let the repository ``git_dir`` read the objects of the repository ``lender``, and of more; their histories may be cut off."""
    lenders = [lender, *more]
    listed = git_dir / "objects" / "info" / "alternates"
    listed.parent.mkdir(exist_ok=True)
    listed.write_bytes(b"".join(_line(folder / "objects") for folder in lenders))
    cut = [(folder / "shallow").read_bytes() for folder in lenders if (folder / "shallow").is_file()]
    own = git_dir / "shallow"
    if cut:
        own.write_bytes(b"".join(dict.fromkeys(b"".join(cut).splitlines(keepends=True))))
    else:
        own.unlink(missing_ok=True)


def _line(folder: Path) -> bytes:
    """Return a line of ``objects/info/alternates``, in C-style quotes where the name needs them."""
    raw = os.fsencode(folder.as_posix())
    if raw.startswith((b"#", b'"')) or b"\n" in raw:
        raw = b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    return raw + b"\n"


def borrow_more(git_dir: Path, *, lender: Path) -> None:
    """Let a repository that has objects of its own, and maybe of others, read those of a further one too."""
    listed = git_dir / "objects" / "info" / "alternates"
    known = listed.read_bytes() if listed.is_file() else b""
    line = _line(lender / "objects")
    if line not in known.splitlines(keepends=True):
        listed.parent.mkdir(exist_ok=True)
        listed.write_bytes(known + line)
