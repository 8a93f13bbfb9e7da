"""Numbers of things as people read them: one file, two files."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with the word for what is counted; ``things`` is its plural where an ``s`` does not make it.

    >>> [counted(1, "file"), counted(0, "file"), counted(2, "patch", "patches")]
    ['1 file', '0 files', '2 patches']
    """
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"
