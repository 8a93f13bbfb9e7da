"""Read the pages of the documentation: their links, and the command lines that they show."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.options.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from markdown_it.token import Token

FRONTS = (("nox",), ("invoke",), ("python3", "noxw.py"), ("uvx", "nox"), ("pipx", "run", "nox"))
"""How a command line of ours begins."""

SHELLS = frozenset({"", "sh", "bash", "shell", "console", "text"})
NOX_FLAGS = frozenset({"-l", "--list", "-r", "-R", "--version", "--help", "-h"})
PLACEHOLDER = re.compile(r"[<>…]|\.\.\.|\bARGS\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A command line on a page."""

    page: Path
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {shlex.join(self.words)}"


def find_pages(clone: Path) -> list[Path]:
    """Return all pages: those in the clone's own folder and those in ``docs``."""
    return sorted([*clone.glob("*.md"), *(clone / "docs").rglob("*.md")])


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    found: dict[str, int] = {}
    names = set()
    tokens = _parse(page)
    for token, following in itertools.pairwise(tokens):
        if token.type == "heading_open":
            name = slug("".join(child.content for child in following.children or ()))
            count = found.get(name, 0)
            found[name] = count + 1
            names.add(f"{name}-{count}" if count else name)
    return names


def broken_links(page: Path, clone: Path) -> list[str]:
    """Return what is wrong with a page's links to files and anchors of the clone; addresses elsewhere are not looked at."""
    problems = []
    for line, target in _links(page):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not place.is_relative_to(clone):
            problems.append(f"{page}:{line}: {target} leads out of the clone")
        elif not place.exists():
            problems.append(f"{page}:{line}: {target} leads nowhere")
        elif parts.fragment and place.suffix == ".md" and parts.fragment not in anchors(place):
            problems.append(f"{page}:{line}: {target} names no heading")
    return problems


def linked_pages(start: Path) -> set[Path]:
    """Return the pages that a reader can get to from a page, itself included."""
    reached: set[Path] = set()
    waiting = [start]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = (urlsplit(target) for _, target in _links(page))
        found = ((page.parent / unquote(parts.path)).resolve() for parts in targets if not parts.scheme and parts.path)
        waiting += [place for place in found if place.suffix == ".md" and place.is_file()]
    return reached


def shown_commands(page: Path) -> list[Shown]:
    """Return the command lines of ours that a page shows, in blocks and within sentences; those with placeholders are left out.

    Within a sentence a command needs an argument: a lone ``nox`` is the program's name.
    """
    found = []
    for line, text, block in _code(page):
        words = shlex.split(text.removeprefix("$ "), comments=True)
        ours = any(tuple(words[: len(front)]) == front and (block or len(words) > len(front)) for front in FRONTS)
        if ours and not PLACEHOLDER.search(text):
            found.append(Shown(page=page, line=line, words=tuple(words)))
    return found


def what_is_wrong(words: Sequence[str], *, projects: Sequence[str], others: Collection[str], clone: Path) -> str | None:
    """Return why a command line would be refused, or None.

    Parameters
    ----------
    words
        The command line.
    projects
        All project names.
    others
        Sessions outside the option model: those for development, whose arguments belong to the tools that they run.
    clone
        The clone.
    """
    rest = list(words)
    front = next(front for front in FRONTS if tuple(rest[: len(front)]) == front)
    rest = rest[len(front) :]
    invoke = front == ("invoke",)
    if front == ("python3", "noxw.py") and rest[:1] == ["invoke"]:
        invoke, rest = True, rest[1:]
    if invoke:
        names, arguments = rest[:1], rest[1:]
        if names and names[0].startswith("-"):
            return None
    else:
        divider = rest.index("--") if "--" in rest else len(rest)
        try:
            names = _sessions(rest[:divider])
        except ValueError as error:
            return str(error)
        arguments = rest[divider + 1 :]
    for name in names:
        if not invoke and name in others:
            continue
        command = _command(name, projects, "invoke" if invoke else "nox")
        if command is None:
            return f"there is no {'task' if invoke else 'session'} {name}"
        try:
            resolve(command, arguments, environment={}, typed_in=clone, clone=clone / "nowhere", projects=projects)
        except HipwrightError as error:
            return error.message
    return None


def _sessions(arguments: Sequence[str]) -> list[str]:
    names: list[str] = []
    expecting = False
    for word in arguments:
        if word in {"-s", "--session", "--sessions", "-e"}:
            expecting = True
        elif word.startswith("-"):
            if word not in NOX_FLAGS:
                message = f"nox option {word} is not one that our pages use"
                raise ValueError(message)
            expecting = False
        elif expecting:
            names.append(word)
        else:
            message = f"{word} stands where nox takes none"
            raise ValueError(message)
    if expecting and not names:
        message = "-s names no session"
        raise ValueError(message)
    return names


def _command(name: str, projects: Sequence[str], front: str) -> Command | None:
    by_session = {command.session_of(project): command for command in PROJECT_COMMANDS.values() for project in projects}
    command = COMMANDS.get(name) or by_session.get(name)
    return command if command is not None and command.front == front else None


def _parse(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def _links(page: Path) -> Iterator[tuple[int, str]]:
    for token in _parse(page):
        line = token.map[0] + 1 if token.map else 0
        for child in token.children or ():
            target = (
                child.attrGet("href") if child.type == "link_open" else child.attrGet("src") if child.type == "image" else None
            )
            if target is not None:
                yield line, str(target)


def _code(page: Path) -> Iterator[tuple[int, str, bool]]:
    for token in _parse(page):
        line = token.map[0] + 1 if token.map else 0
        if (token.type == "fence" and token.info.strip() in SHELLS) or token.type == "code_block":
            text = token.content.replace("\\\n", " ")
            first = line + (1 if token.type == "fence" else 0)
            yield from ((first + number, row.strip(), True) for number, row in enumerate(text.splitlines()) if row.strip())
        for child in token.children or ():
            if child.type == "code_inline":
                yield line, child.content, False
