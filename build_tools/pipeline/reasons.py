"""Reasons that a person gives in an option, kept on record where they count."""

from __future__ import annotations

from build_tools.errors import HipwrightError

__all__ = ["given_reason"]


def given_reason(text: str | None, *, option: str, hint: str) -> str | None:
    """Return what an option that may be left out gives as a reason, on one line; None without it.

    Parameters
    ----------
    text
        The option's value.
    option, hint
        Its name, and what to say, for people.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it says nothing.
    """
    if text is None:
        return None
    reason = " ".join(text.split())
    if not reason:
        raise HipwrightError("bad-option-value", f"{option} gives no reason", hint=hint)
    return reason
