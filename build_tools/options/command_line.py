"""Command lines of ours as they stand in pages and workflows: which sessions or tasks they name, and whether those take their options."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.options.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

__all__ = ["FRONTS", "Line", "development_sessions", "fault_of_line", "find_command", "is_ours", "parse_line"]

FRONTS: Final = (("nox",), ("invoke",), ("python3", "noxw.py"), ("uvx", "nox"), ("pipx", "run", "nox"))
"""How a command line of ours begins."""

_FLAGS: Final = frozenset({"-l", "--list", "-r", "-R", "--version", "--help", "-h"})
_CHOOSES: Final = frozenset({"-s", "--session", "--sessions", "-e"})
_NAME: Final = re.compile(r"name='([^']+)'")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A command line that was read: the sessions or tasks that it names, and what each is given."""

    invoke: bool
    names: tuple[str, ...]
    arguments: tuple[str, ...]


def is_ours(words: Sequence[str]) -> bool:
    """Say whether a command line begins as one of ours."""
    return any(tuple(words[: len(front)]) == front for front in FRONTS)


def parse_line(words: Sequence[str]) -> Line:
    """Read a command line that begins as one of ours.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for what nox or invoke would not take: an option of theirs that no line of ours has, a word where none stands.
    """
    front = next(front for front in FRONTS if tuple(words[: len(front)]) == front)
    rest = list(words[len(front) :])
    invoke = front == ("invoke",)
    if front == ("python3", "noxw.py") and rest[:1] == ["invoke"]:
        invoke, rest = True, rest[1:]
    if invoke:
        options = bool(rest) and rest[0].startswith("-")
        return Line(invoke=True, names=() if options else tuple(rest[:1]), arguments=() if options else tuple(rest[1:]))
    divider = rest.index("--") if "--" in rest else len(rest)
    return Line(invoke=False, names=_sessions(rest[:divider]), arguments=tuple(rest[divider + 1 :]))


def find_command(name: str, projects: Sequence[str], *, invoke: bool = False) -> Command | None:
    """Return the command that a session, or with ``invoke`` a task, is; None when there is none."""
    by_session = {command.session_of(project): command for command in PROJECT_COMMANDS.values() for project in projects}
    command = COMMANDS.get(name) or by_session.get(name)
    return command if command is not None and (command.front == "invoke") is invoke else None


def fault_of_line(
    words: Sequence[str],
    *,
    projects: Sequence[str],
    others: Collection[str],
    clone: Path,
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """Return why a command line would be refused, or None.

    Parameters
    ----------
    words
        The command line; it begins as one of ours.
    projects
        All project names.
    others
        Sessions outside the option model: those for development, whose arguments belong to the tools that they run.
    clone
        The clone; its settings do not count.
    environment
        The variables that options are read of too.
    """
    try:
        line = parse_line(words)
    except HipwrightError as error:
        return error.message
    for name in line.names:
        if not line.invoke and name in others:
            continue
        command = find_command(name, projects, invoke=line.invoke)
        if command is None:
            return f"there is no {'task' if line.invoke else 'session'} {name}"
        try:
            given = environment or {}
            resolve(command, line.arguments, environment=given, typed_in=clone, clone=clone / "nowhere", projects=projects)
        except HipwrightError as error:
            return error.message
    return None


def development_sessions(noxfile: str) -> frozenset[str]:
    """Return the sessions that the text of a noxfile declares itself: those that are not made from the table of commands."""
    names = set()
    for node in ast.parse(noxfile).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(node, ast.FunctionDef) and ast.unparse(decorator).startswith("nox.session"):
                found = _NAME.search(ast.unparse(decorator))
                names.add(found[1] if found else node.name)
    return frozenset(names)


def _sessions(words: Sequence[str]) -> tuple[str, ...]:
    names: list[str] = []
    expecting = False
    for word in words:
        if word in _CHOOSES:
            expecting = True
        elif word.startswith("-"):
            if word not in _FLAGS:
                raise HipwrightError("bad-option-value", f"nox option {word} is not one that our pages use")
            expecting = False
        elif expecting:
            names.append(word)
        else:
            raise HipwrightError("bad-option-value", f"{word} stands where nox takes none")
    if expecting and not names:
        raise HipwrightError("bad-option-value", "-s names no session")
    return tuple(names)
