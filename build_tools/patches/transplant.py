"""Commits on a tree of a few files, made anew on the whole tree that these are of: same authors, dates and messages, same changes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.sources.contents import read_blobs
from build_tools.sources.fastimport import quoted
from build_tools.sources.git import CommitFacts
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from build_tools.sources.git import Repository

__all__ = ["Made", "PathChange", "commits_on", "small_commit", "transplanted"]

_NOTHING: Final = b"000000"
"""The mode where there is no file."""

_FOLDER: Final = b"040000"
_RAW: Final = re.compile(rb"\n?:(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) .*", re.DOTALL)
_IDENTITY: Final = re.compile(rb"(?:author|committer) ")
_MANY: Final = 400
"""More names than this make a command line that is too long for some system."""

_MARKS: Final = "marks"


@dataclass(frozen=True, kw_only=True, slots=True)
class PathChange:
    """What a commit did to one path: modes and objects before and after; only zeros where there is no file."""

    old_mode: bytes
    new_mode: bytes
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A commit that a patch became, and what it changed, by path in its repository; a rename is a file that goes and one that comes."""

    commit: CommitId
    parent: CommitId
    changes: dict[bytes, PathChange]


def commits_on(repository: Repository, start: CommitId) -> tuple[Made, ...]:
    """Return the commits between a start and HEAD, oldest first; one process tells all of them."""
    form = "--format=%H%x00%T %ct"
    arguments = ("log", "--reverse", "-z", "--raw", "-r", "--no-renames", "--no-abbrev", form, f"{start}..HEAD", "--")
    records = iter(repository.records(*arguments))
    found: list[Made] = []
    parent = start
    for record in records:
        raw = _RAW.fullmatch(record)
        if raw is not None:
            change = PathChange(old_mode=raw[1], new_mode=raw[2], old=raw[3].decode(), new=raw[4].decode())
            found[-1].changes[next(records)] = change
            continue
        tree, date = next(records).decode().split(" ")
        commit = CommitId(record.decode())
        repository.git.facts[commit] = CommitFacts(tree=TreeId(tree), date=int(date))
        found.append(Made(commit=commit, parent=parent, changes={}))
        parent = commit
    return tuple(found)


def small_commit(repository: Repository, commit: CommitId, names: Collection[bytes]) -> CommitId | None:
    """Return a commit of those files alone that are named, as a commit has them; None where that takes more than a few files.

    Parameters
    ----------
    repository
        Where the objects are; its index is made anew.
    commit
        The commit of all files.
    names
        Files that it has, or may get.
    """
    if not names or len(names) > _MANY:
        return None
    paths = [os.fsdecode(name) for name in sorted(names)]
    arguments = ("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", *paths)
    listed = [
        record.partition(b"\t") for record in repository.capture(*arguments, what="git ls-tree").stdout.split(b"\0") if record
    ]
    entries = [(facts, path) for facts, _, path in listed if path in names]
    if any(facts.startswith(_FOLDER) for facts, _ in entries):
        return None
    lines = b"".join(b"%s\t%s\0" % (facts, path) for facts, path in entries)
    repository.capture("update-index", "-z", "--index-info", stdin=lines)
    return repository.commit(TreeId(repository.text("write-tree")), parent=commit, message="some files\n", date=0)


def transplanted(small: Repository, made: Sequence[Made], start: CommitId, *, whole: Repository) -> tuple[Made, ...] | None:
    """Make commits on a few files anew on top of a commit of all files; None when that changes more files than these.

    Parameters
    ----------
    small
        The repository with the commits.
    made
        The commits, oldest first.
    start
        The commit of all files that they go on top of.
    whole
        The repository whose HEAD is that commit, and afterwards the last of the new ones if there are any.
    """
    texts = read_blobs(small, [one.commit for one in made])
    marks = whole.git_dir / _MARKS
    stream = b"".join(_commit(number, one, texts[one.commit], start) for number, one in enumerate(made, start=1)) + b"done\n"
    options = ("--quiet", "--done", "--date-format=raw", f"--export-marks={marks}")
    # As loose objects, like those that git am writes.
    whole.capture("-c", "fastimport.unpackLimit=1000000", "fast-import", *options, stdin=stream, what="git fast-import")
    ids = dict(line.split(b" ") for line in marks.read_bytes().splitlines())
    whole.set_refs({"HEAD": ids[b":%d" % len(made)].decode()})
    found = commits_on(whole, start)
    if [one.changes for one in found] == [one.changes for one in made]:
        return found
    # A file took the place of a folder that is not among the few.
    whole.set_refs({"HEAD": start})
    return None


def _commit(number: int, made: Made, text: bytes, start: CommitId) -> bytes:
    head, _, message = text.partition(b"\n\n")
    people = [line for line in head.split(b"\n") if _IDENTITY.match(line)]
    before = start.encode() if number == 1 else b":%d" % (number - 1)
    lines = [
        b"commit refs/made",
        b"mark :%d" % number,
        *people,
        b"data %d" % len(message),
        message,
        b"from %s" % before,
    ]
    for path, change in made.changes.items():
        name = quoted(path)
        gone = change.new_mode == _NOTHING
        lines.append(b"D %s" % name if gone else b"M %s %s %s" % (change.new_mode, change.new.encode(), name))
    return b"\n".join(lines) + b"\n"
