"""Commits as they are stored: who wrote them, what they say, and which paths they change."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.patches.beside import PathChange
from build_tools.shown import shown
from build_tools.sources.phases import TRAILER
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.sources.git import Repository

__all__ = ["Commit", "read_commits"]

_IDENTITY: Final = re.compile(rb"(?P<name>.*?) ?<(?P<email>[^>]*)> (?P<when>-?\d+) (?P<zone>[+-]\d{4})", re.DOTALL)
_OURS: Final = re.compile(rb"^%s: (?:base|hipified)$" % TRAILER.encode(), re.MULTILINE)
_FORMER: Final = b"encoding"
_SHORT: Final = 12
_LONG: Final = 100
"""How much of a subject people are told."""

_RAW: Final = 5


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One commit.

    Parameters
    ----------
    id, tree, parents
        Its ids.
    author
        Who wrote it and when, as git stores it: ``Name <email> seconds zone``.
    committer
        Who committed it, and when, in the same way.
    message
        The whole message, in UTF-8.
    changes
        What it changed against its first parent, by path in its repository.
    """

    id: CommitId
    tree: TreeId
    parents: tuple[CommitId, ...]
    author: bytes
    committer: bytes
    message: bytes
    changes: Mapping[bytes, PathChange]

    @functools.cached_property
    def _identity(self) -> tuple[bytes, bytes, int, bytes]:
        found = _IDENTITY.fullmatch(self.author)
        return (b"", b"", 0, b"+0000") if found is None else (found["name"], found["email"], int(found["when"]), found["zone"])

    @property
    def name(self) -> str:
        """The author's name."""
        return _text(self._identity[0])

    @property
    def email(self) -> str:
        """The author's address."""
        return _text(self._identity[1])

    @property
    def when(self) -> tuple[int, str]:
        """When it was written: seconds since 1970, and the zone as git writes it."""
        return self._identity[2], _text(self._identity[3])

    @property
    def committed_by(self) -> str:
        """The committer's address."""
        found = _IDENTITY.fullmatch(self.committer)
        return "" if found is None else _text(found["email"])

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return _text(self.message.lstrip(b"\n").partition(b"\n")[0])

    @property
    def body(self) -> str:
        """The message below the first line, without blank lines around it."""
        return _text(self.message.lstrip(b"\n").partition(b"\n")[2]).strip("\n")

    @property
    def is_ours(self) -> bool:
        """Whether it says of itself that a stage made it."""
        last = self.message.rstrip(b"\n").rpartition(b"\n\n")[2]
        return _OURS.search(last) is not None

    @property
    def label(self) -> str:
        """The commit as people are told of it."""
        subject = shown(self.subject)
        told = subject if len(subject) <= _LONG else f"{subject[:_LONG]}…"
        return f"{self.id[:_SHORT]} {told!r}"


def read_commits(store: Repository, spec: Sequence[str]) -> tuple[Commit, ...]:
    """Return the commits that a range names, oldest first.

    Parameters
    ----------
    store
        The repository that holds them.
    spec
        What ``git rev-list`` takes: ``A..B``.
    """
    listed = store.capture("rev-list", "--reverse", "--topo-order", *spec, "--").stdout
    ids = [CommitId(line) for line in listed.decode("ascii").split()]
    if not ids:
        return ()
    whole = store.capture("cat-file", "--batch", stdin=listed).stdout
    changes = _changes(store, listed)
    found = []
    at = 0
    for commit in ids:
        end = whole.index(b"\n", at)
        size = int(whole[at:end].rpartition(b" ")[2])
        found.append(_parsed(commit, whole[end + 1 : end + 1 + size], changes.get(commit, {})))
        at = end + 1 + size + 1
    return tuple(found)


def _parsed(commit: CommitId, raw: bytes, changes: Mapping[bytes, PathChange]) -> Commit:
    head, _, message = raw.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        # A line that goes on with an earlier one, as signatures do, begins with a space.
        fields.setdefault(name, []).append(value)
    author = fields[b"author"][0]
    if _FORMER in fields:
        author, message = (_in_utf8(text, fields[_FORMER][0]) for text in (author, message))
    return Commit(
        id=commit,
        tree=TreeId(fields[b"tree"][0].decode()),
        parents=tuple(CommitId(value.decode()) for value in fields.get(b"parent", [])),
        author=author,
        committer=fields[b"committer"][0],
        message=message,
        changes=changes,
    )


def _in_utf8(text: bytes, encoding: bytes) -> bytes:
    try:
        return text.decode(encoding.decode("ascii")).encode()
    except (LookupError, UnicodeError):
        return text


def _changes(store: Repository, listed: bytes) -> dict[CommitId, dict[bytes, PathChange]]:
    """Return what commits change against their first parents; one process tells all of them."""
    first = ("--stdin", "-m", "--first-parent", "--root")
    # A project may tell git to pass over a submodule; its commit counts all the same.
    shape = ("--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    records = iter(store.records("diff-tree", *first, *shape, stdin=listed))
    found: dict[CommitId, dict[bytes, PathChange]] = {}
    own: dict[bytes, PathChange] = {}
    for record in records:
        if not record.startswith(b":"):
            own = found.setdefault(CommitId(record.decode().split()[0]), {})
            continue
        old_mode, new_mode, old, new, _state = record[1:].split(b" ", _RAW - 1)
        own[next(records)] = PathChange(old_mode=old_mode, new_mode=new_mode, old=old.decode(), new=new.decode())
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
