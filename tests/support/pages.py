"""Read the pages of the documentation: their links, and the command lines that they show."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from build_tools.options.command_line import FRONTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from markdown_it.token import Token

SHELLS = frozenset({"", "sh", "bash", "shell", "console", "text"})
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


def stray_rows(page: Path) -> list[str]:
    """Return the rows of tables on a page that readers see as a sentence with bars: those that no head stands above."""
    return [
        f"{page}:{token.map[0] + 1 if token.map else 0}: {token.content}"
        for token in _parse(page)
        if token.type == "inline" and token.content.startswith("|")
    ]


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
