"""What a series says of a patch that a commit became, and where it stands among the others."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from build_tools.patches.series import PatchEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.patches.commits import Commit
    from build_tools.sources.phases import Phase

__all__ = ["Place", "entry_of", "in_order", "with_kept"]

Place: TypeAlias = "tuple[str, Phase]"
"""A module, by its path, and a phase."""

_TRAILER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S.*")
_UPSTREAM: Final = re.compile(r"^(?:Upstream|Forwarded|Link): *(?P<value>\S.*)$", re.MULTILINE | re.IGNORECASE)
_REQUEST: Final = re.compile(r"https?://[^\s<>\"']+/(?:pull|pulls|merge_requests)/\d+")
_NOT_SENT: Final = "not sent"


def entry_of(commit: Commit, file: str) -> PatchEntry:
    """Return what a series says of a new patch, as far as its commit tells.

    The reason is the first paragraph of the message below the subject, else the subject. Where it stands upstream is what a trailer
    ``Upstream``, ``Forwarded`` or ``Link`` says, else the address of a pull request in the message.
    """
    paragraphs = [paragraph.splitlines() for paragraph in re.split(r"\n\s*\n", commit.body) if paragraph.strip()]
    texts = [lines for lines in paragraphs if not all(_TRAILER.fullmatch(line.strip()) for line in lines)]
    why = _one_line(" ".join(texts[0])) if texts else ""
    said, request = _UPSTREAM.search(commit.body), _REQUEST.search(commit.body)
    upstream = said["value"] if said is not None else request[0] if request is not None else _NOT_SENT
    seconds, zone = commit.when
    return PatchEntry(
        file=file,
        why=why or _one_line(commit.subject),
        upstream=_one_line(upstream),
        owner=f"{commit.name} <{commit.email}>".strip(),
        added=_day(seconds, zone),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _day(seconds: int, zone: str) -> dt.date:
    """Return the day where the author was."""
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    offset = dt.timedelta(minutes=-minutes if zone.startswith("-") else minutes)
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds) + offset).date()


def with_kept(before: Sequence[str], history: Sequence[str], kept: frozenset[str]) -> list[str]:
    """Return the patches of one module and phase in order: those of the history, and those that are kept behind their predecessors.

    >>> with_kept(["a", "windows", "b"], ["b", "a", "new"], frozenset({"windows"}))
    ['b', 'a', 'windows', 'new']
    """
    found = list(history)
    last = None
    for name in before:
        if name in kept:
            found.insert(0 if last is None else found.index(last) + 1, name)
        if name in found:
            last = name
    return found


def in_order(before: Sequence[tuple[str, Place]], groups: Mapping[Place, Sequence[str]]) -> list[str]:
    """Return a whole series in order: groups of patches stay where they are, each in its own order; further groups come at the end.

    A module's base patches come before its hipified ones all the same.

    Parameters
    ----------
    before
        The patches as they stood, with their groups: module and phase.
    groups
        The patches of each group as they are to stand.

    >>> one, two, three = (".", "base"), (".", "hipified"), ("lib", "base")
    >>> in_order([("a", one), ("x", two), ("b", one)], {one: ["b", "new", "a"], two: ["x"], three: ["z"]})
    ['b', 'new', 'x', 'a', 'z']
    """
    stood = dict(before)
    waiting = {group: [name for name in names if stood.get(name) == group] for group, names in groups.items()}
    found = []
    for name, group in before:
        if name in groups.get(group, ()):
            found.append(waiting[group].pop(0))
    for (module, phase), names in groups.items():
        behind = groups.get((module, "hipified"), ()) if phase == "base" else ()
        for number, name in enumerate(names):
            if name in found:
                continue
            later = next((other for other in [*names[number + 1 :], *behind] if other in found), None)
            place = found.index(names[number - 1]) + 1 if number else len(found) if later is None else found.index(later)
            found.insert(place, name)
    return found
