"""Commits as patch files, whose bytes follow from the commits alone: not from git's settings or version, nor from whose machine it is.

``git format-patch`` runs in an empty repository beside the module, which borrows its objects: neither the module's own settings and
attributes nor the person's count there. What git may choose is said outright, and binary contents are written without compression,
since the bytes of compressed ones follow from the zlib that git was built with.
"""

from __future__ import annotations

import base64
import itertools
import re
import zlib
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.sources.borrow import borrow
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from build_tools.sources.git import Repository

__all__ = ["export", "plain_binaries"]

_SETTINGS: Final = (
    "core.bigFileThreshold=512m",
    "core.compression=0",
    "core.quotePath=true",
    "diff.suppressBlankEmpty=false",
    "diff.wordRegex=",
    "format.useAutoBase=false",
)
"""What has no option of its own."""

_OPTIONS: Final = (
    # The mail.
    "--keep-subject",
    "--zero-commit",
    "--no-signature",
    "--encoding=UTF-8",
    "--no-encode-email-headers",
    "--no-add-header",
    "--no-attach",
    "--no-base",
    "--no-cc",
    "--no-cover-letter",
    "--no-from",
    "--no-notes",
    "--no-numbered",
    "--no-signoff",
    "--no-thread",
    "--no-to",
    "--numbered-files",
    # An empty commit is a file too: whoever asks for a patch of each commit gets one.
    "--always",
    # The differences.
    "--no-stat",
    "--binary",
    "--full-index",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=3",
    "--inter-hunk-context=0",
    "--no-function-context",
    "--find-renames=50%",
    "-l0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-relative",
    "--ignore-submodules=none",
    "--submodule=short",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-color-moved",
    "--ws-error-highlight=none",
)

_ATTRIBUTES: Final = b"* !diff\n"
"""No file has a driver of its own: what stands after ``@@`` is found by git's general rule, and git itself tells text from binary."""

_FIRST: Final = re.compile(rb"^diff --git ", re.MULTILINE)
_BINARY: Final = re.compile(rb"^(?P<kind>literal|delta) (?P<size>\d+)\n(?P<lines>(?:[A-Za-z][!-~]+\n)*)(?=\n)", re.MULTILINE)
_BLOCK: Final = 0xFFFF
_ROW: Final = 52
_SMALL: Final = 26


def export(module_store: Repository, commits: Sequence[CommitId], *, scratch: Path) -> dict[CommitId, bytes]:
    """Return commits as patch files, by commit, in the order in which they are named.

    Parameters
    ----------
    module_store
        The repository that holds them, with the contents of the files that they change.
    commits
        Commits with one parent each; those that follow one another are exported in one go.
    scratch
        A name for a folder that is not there; it is gone afterwards.

    Raises
    ------
    HipwrightError
        ``bad-commit`` when one is a merge, or has no parent; ``command-failed`` when git cannot read what a commit changes.
    """
    if not commits:
        return {}
    found: dict[CommitId, bytes] = {}
    try:
        bare = module_store.git.make_bare(scratch, head="refs/heads/none")
        borrow(scratch, lender=module_store.git_dir)
        (scratch / "info").mkdir(exist_ok=True)
        (scratch / "info" / "attributes").write_bytes(_ATTRIBUTES)
        for number, (below, run) in enumerate(_runs(bare, commits)):
            folder = scratch / f"out-{number}"
            settings = itertools.chain.from_iterable(("-c", pair) for pair in _SETTINGS)
            what = f"exporting commits of {module_store.folder}"
            bare.capture(*settings, "format-patch", *_OPTIONS, "-o", folder, f"{below}..{run[-1]}", "--", what=what)
            for position, commit in enumerate(run, start=1):
                found[commit] = plain_binaries((folder / str(position)).read_bytes())
    finally:
        files.remove_tree(scratch)
    return {commit: found[commit] for commit in commits}


def _runs(repository: Repository, commits: Sequence[CommitId]) -> Iterator[tuple[CommitId, list[CommitId]]]:
    """Yield the commits in runs that follow one another, each with the commit below it."""
    names = "".join(f"{commit}\n" for commit in commits).encode()
    parents = {}
    for line in repository.text("rev-list", "--no-walk=unsorted", "--parents", "--stdin", stdin=names).splitlines():
        commit, *above = map(CommitId, line.split())
        if len(above) != 1:
            what = f"has {len(above)} parents" if above else "has no parent"
            raise HipwrightError("bad-commit", f"commit {commit} {what}, and no patch says that", where=Where(key=commit))
        parents[commit] = above[0]
    run: list[CommitId] = []
    for commit in dict.fromkeys(commits):
        if run and parents[commit] != run[-1]:
            yield parents[run[0]], run
            run = []
        run.append(commit)
    yield parents[run[0]], run


def plain_binaries(data: bytes) -> bytes:
    """Return a patch file whose binary contents are written without compression, so that they are the same whatever zlib wrote them.

    >>> plain_binaries(b"text") == b"text"
    True
    """
    begin = _FIRST.search(data)
    if begin is None or b"\nGIT binary patch\n" not in data:
        return data
    return data[: begin.start()] + _BINARY.sub(_plain, data[begin.start() :])


def _plain(found: re.Match[bytes]) -> bytes:
    try:
        packed = b"".join(_row(line) for line in found["lines"].splitlines())
        raw = zlib.decompress(packed)
    except (ValueError, zlib.error):
        return found[0]
    if len(raw) != int(found["size"]):
        return found[0]
    stored = _stored(raw)
    rows = (stored[start : start + _ROW] for start in range(0, len(stored), _ROW))
    lines = b"".join(_length(len(row)) + base64.b85encode(row, pad=True) + b"\n" for row in rows)
    return b"%s %s\n%s" % (found["kind"], found["size"], lines)


def _row(line: bytes) -> bytes:
    """Return the bytes that one line of a binary patch stands for: its first letter says how many there are."""
    length = line[0] - ord("A") + 1 if line[:1].isupper() else line[0] - ord("a") + _SMALL + 1
    return base64.b85decode(line[1:])[:length]


def _length(count: int) -> bytes:
    return bytes([ord("A") + count - 1 if count <= _SMALL else ord("a") + count - _SMALL - 1])


def _stored(raw: bytes) -> bytes:
    """Return bytes as a zlib stream (RFC 1950) of stored blocks (RFC 1951, section 3.2.4) that are as long as they can be."""
    parts = [b"\x78\x01"]
    starts = range(0, len(raw), _BLOCK) or range(1)
    for start in starts:
        block = raw[start : start + _BLOCK]
        last = start == starts[-1]
        parts += [bytes([last]), len(block).to_bytes(2, "little"), (len(block) ^ _BLOCK).to_bytes(2, "little"), block]
    return b"".join((*parts, zlib.adler32(raw).to_bytes(4, "big")))
