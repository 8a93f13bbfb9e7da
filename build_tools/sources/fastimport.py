"""Repositories made from bytes in memory: one commit per branch, fixed identity and date, so the same bytes give the same commit ids.

Nothing is written into a work folder, so no attribute, mode or line-end rule of a machine can change a byte (``git fast-import``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.sources.git import EMAIL, IDENTITY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["Branch", "FileContent", "make_repository", "quoted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileContent:
    """One file (``100644``, ``100755``), link (``120000``: ``data`` is its target) or submodule (``160000``: ``data`` is its commit)."""

    mode: str
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """One branch of a single commit: its whole content by path, and the date in seconds since 1970 (UTC)."""

    name: str
    message: str
    date: int
    files: Mapping[bytes, FileContent]


def make_repository(folder: Path, branches: tuple[Branch, ...], *, git: Git) -> dict[str, CommitId]:
    """Make a bare repository in ``folder`` and return the commit of each branch; HEAD names the first branch.

    Raises
    ------
    HipwrightError
        ``command-failed`` when git refuses a name or path.
    """
    repository = git.make_bare(folder, head=f"refs/heads/{branches[0].name}")
    stream = b"".join(_commit(branch) for branch in branches) + b"done\n"
    repository.capture("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream)
    return repository.refs("refs/heads/")


def _commit(branch: Branch) -> bytes:
    message = f"{branch.message}\n".encode()
    parts = [
        f"commit refs/heads/{branch.name}\n".encode(),
        f"committer {IDENTITY} <{EMAIL}> {branch.date} +0000\n".encode(),
        b"data %d\n%s\n" % (len(message), message),
    ]
    for path, content in sorted(branch.files.items()):
        if content.mode == "160000":
            parts.append(b"M 160000 %s %s\n" % (content.data, quoted(path)))
        else:
            head = b"M %s inline %s\n" % (content.mode.encode(), quoted(path))
            parts.append(head + b"data %d\n%s\n" % (len(content.data), content.data))
    return b"".join(parts)


def quoted(path: bytes) -> bytes:
    """Return a path in the C-style quotes that fast-import reads."""
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
