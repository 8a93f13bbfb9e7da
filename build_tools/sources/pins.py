"""Files that pin commits, read strictly: what is no pin is an error with its line, because a guess would check the wrong sources out.

Three forms are in use around PyTorch: rows of ``related_commits`` in the root of its release branches, a file with one commit
(``.ci/docker/ci_commit_pins/triton.txt``), and a file with one version that names a branch (``.ci/docker/triton_version.txt``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.types import CommitId, is_commit_id
from build_tools.urls import mask_userinfo, redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "PinFile",
    "RelatedCommit",
    "branch_for",
    "is_address",
    "is_ref",
    "parse_commit_file",
    "parse_related_commits",
    "parse_version_file",
]

_MARKER: Final = re.compile(r"(<{7}|\|{7}|={7}|>{7})(\s|$)")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_REF: Final = re.compile(r"[^\s~^:?*\[\\\x00-\x1f\x7f-][^\s~^:?*\[\\\x00-\x1f\x7f]*")
_ADDRESS: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:|/|[A-Za-z]:[\\/])[^\s\x00-\x1f\x7f]+")
_FIELDS: Final = ("os", "source", "project", "branch", "commit", "origin")
_PLACES: Final = ("version", "major", "minor", "micro")


@dataclass(frozen=True, kw_only=True, slots=True)
class PinFile:
    """A pin file: ``name`` is its path in whose tree it is, ``of`` names that (``pytorch at commit …``), and its bytes.

    ``path`` is where it lies, for errors alone, of one that lies on this machine.
    """

    name: str
    of: str | None
    data: bytes
    path: Path | None = None

    def refuse(self, message: str, line: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise ``bad-pin`` for this file."""
        raise HipwrightError("bad-pin", message, where=Where(file=self.path or self.name, line=line, key=self.of), hint=hint)


@dataclass(frozen=True, kw_only=True, slots=True)
class RelatedCommit:
    """One row of ``related_commits``: for an operating system, the commit, its branch and its origin of a companion project."""

    os: str
    source: str
    project: str
    branch: str
    commit: CommitId
    origin: str


def parse_related_commits(file: PinFile) -> tuple[RelatedCommit, ...]:
    """Return the rows of a ``related_commits`` file, in order; a row that stands there twice counts once.

    Raises
    ------
    HipwrightError
        ``bad-pin`` with the line of a row that has not six fields, or one that holds no commit, no name or no address; of a conflict
        marker; and of a row that says another thing for the same project on the same operating system.
    """
    found: dict[tuple[str, str], tuple[int, RelatedCommit]] = {}
    for number, text in _lines(file):
        row = _row(file, number, text)
        line, earlier = found.setdefault((row.os, row.project), (number, row))
        if earlier != row:
            message = f"{file.name} pins {row.project} for {row.os} twice, and line {line} says another thing than line {number}"
            file.refuse(message, number)
    return tuple(row for _line, row in found.values())


def parse_commit_file(file: PinFile) -> CommitId:
    """Return the commit of a file that holds one, on a line of its own.

    Raises
    ------
    HipwrightError
        ``bad-pin`` when it holds none, several, or something else.
    """
    number, text = _one_line(file, "commit")
    return _commit(file, number, text)


def parse_version_file(file: PinFile) -> Version:
    """Return the version (PEP 440) of a file that holds one, on a line of its own.

    Raises
    ------
    HipwrightError
        ``bad-pin`` when it holds none, several, or something else.
    """
    number, text = _one_line(file, "version")
    try:
        return Version(text)
    except InvalidVersion:
        file.refuse(f"{file.name} should hold a version, and {shown(text)!r} is none (PEP 440)", number)


def branch_for(template: str, version: Version) -> str:
    """Return the branch of a version: ``{major}``, ``{minor}``, ``{micro}`` and ``{version}`` in the template stand for its parts.

    >>> branch_for("release/{major}.{minor}.x", Version("3.2.0"))
    'release/3.2.x'

    Raises
    ------
    ValueError
        When the template has another field, or braces that are none.
    """
    values = (version.public, str(version.major), str(version.minor), str(version.micro))
    text = template
    for name, value in zip(_PLACES, values, strict=True):
        text = text.replace(f"{{{name}}}", value)
    if "{" in text or "}" in text:
        message = f"{template!r} has another field than {', '.join(f'{{{name}}}' for name in _PLACES)}"
        raise ValueError(message)
    return text


def is_address(text: str) -> bool:
    """Return whether a text is a repository's address that git reads as a place alone, never as a program to run (``ext::``)."""
    return _ADDRESS.fullmatch(text) is not None


def is_ref(text: str) -> bool:
    """Return whether a text is a name that git takes for a branch or tag, and never for an option or anything else."""
    return _REF.fullmatch(text) is not None


def _lines(file: PinFile) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers; line ends are LF or CR LF."""
    for number, raw in enumerate(file.data.split(b"\n"), start=1):
        try:
            text = raw.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            file.refuse(f"line {number} of {file.name} is no UTF-8 text: {shown(raw)!r}", number)
        if _MARKER.match(text):
            hint = "somebody committed a merge that was not finished; tell the people of that branch, or name the ref yourself"
            file.refuse(f"{file.name} has a merge-conflict marker on line {number}: {shown(text)!r}", number, hint)
        stripped = text.strip()
        if stripped and not stripped.startswith("#"):
            if not stripped.isprintable():
                file.refuse(f"line {number} of {file.name} has characters that no pin has: {shown(stripped)!r}", number)
            yield number, stripped


def _one_line(file: PinFile, what: str) -> tuple[int, str]:
    lines = list(_lines(file))
    if not lines:
        file.refuse(f"{file.name} should hold a {what}, and holds nothing")
    if len(lines) > 1:
        file.refuse(f"{file.name} should hold one {what}, and has more to say on line {lines[1][0]}", lines[1][0])
    return lines[0]


def _row(file: PinFile, number: int, text: str) -> RelatedCommit:
    fields = [field.strip() for field in text.split("|")]
    if len(fields) != len(_FIELDS):
        message = (
            f"line {number} of {file.name} has {len(fields)} fields and not the six of a row: {shown(mask_userinfo(text))!r}"
        )
        file.refuse(message, number, f"a row is {'|'.join(f'<{name}>' for name in _FIELDS)}")
    named = dict(zip(_FIELDS, fields, strict=True))
    rules = {"os": _WORD, "source": _WORD, "project": _WORD, "branch": _REF, "origin": _ADDRESS}
    for name, rule in rules.items():
        if not rule.fullmatch(named[name]):
            file.refuse(f"line {number} of {file.name} has {shown(mask_userinfo(named[name]))!r} for its {name}", number)
    if redact(named["origin"]) != named["origin"]:
        message = f"line {number} of {file.name} has a user or password in the address {shown(redact(named['origin']))}"
        file.refuse(message, number, "the token in it is for all to read: tell the people of that branch")
    commit = _commit(file, number, named.pop("commit"))
    return RelatedCommit(commit=commit, **named)


def _commit(file: PinFile, number: int, text: str) -> CommitId:
    if not is_commit_id(text.lower()):
        file.refuse(f"{file.name} should name a commit by its 40 hex digits, and says {shown(text)!r}", number)
    return CommitId(text.lower())
