"""Text of others as people are shown it: names out of archives and trees can hold what moves a terminal's cursor or turns a line around."""

from __future__ import annotations

__all__ = ["shown"]


def shown(text: bytes | str, *, lines: bool = False) -> str:
    r"""Return a text of others as one printable line, or as several with ``lines``, which keeps line breaks and tabs.

    What is printable stays, in any script; control characters, what turns the direction of writing, and bytes that are no text become
    escapes.

    >>> shown("d\u00e9mo/\u202egnp.so")
    'démo/\\u202egnp.so'
    """
    decoded = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
    kept = "\n\t" if lines else ""
    return "".join(char if char.isprintable() or char in kept else char.encode("unicode_escape").decode() for char in decoded)
