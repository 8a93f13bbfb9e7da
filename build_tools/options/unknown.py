"""Sessions and tasks that do not exist: nox and invoke tell a wrong name, but none of those near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.options.values import close_to

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_unknown_sessions", "refuse_unknown_tasks"]


def refuse_unknown_sessions(arguments: Sequence[str], known: Sequence[str]) -> str | None:
    """Return a sentence about the first session in nox's own arguments that does not exist, with names near it; None when all do.

    nox names an unknown session but not its neighbours, so the noxfile asks here before nox does.
    """
    names: list[str] = []
    taking = False
    for word in arguments:
        if word == "--":
            break
        if word in {"-s", "--session", "--sessions", "-e"}:
            taking = True
        elif word.startswith(("--session=", "--sessions=")):
            names.append(word.split("=", 1)[1])
        elif word.startswith("-"):
            taking = False
        elif taking:
            names.append(word)
    for name in names:
        bare = name.split("(")[0]
        if bare not in known and not any(bare.startswith(f"{session}-") for session in known):
            return _unknown("session", name, close_to(bare, known, "sessions") or "nox -l lists them")
    return None


def refuse_unknown_tasks(arguments: Sequence[str], known: Sequence[str]) -> str | None:
    """Return a sentence about a task in invoke's own arguments that does not exist, with names near it; None when all is well."""
    first = next((word for word in arguments if not word.startswith("-")), None)
    options = any(word.startswith("-") for word in arguments[: list(arguments).index(first)]) if first else False
    if first is None or first in known or options:
        # After an option of invoke's own the first word may be its value: invoke judges that itself.
        return None
    return _unknown("task", first, close_to(first, known, "tasks") or "invoke --list lists them")


def _unknown(what: str, name: str, hint: str) -> str:
    from build_tools.console.render import failure_text  # noqa: PLC0415 - only a wrong name pays for it

    return failure_text(HipwrightError("unknown-session", f"there is no {what} {name!r}", hint=hint))
