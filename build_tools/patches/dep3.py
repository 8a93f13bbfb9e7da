"""What stands above the diff of a patch that others keep: a mail's headers, or those that Debian's patches have, or both.

Debian's guideline DEP-3 names the fields, which stand in one paragraph or in several, as a mail's do; text between them belongs to the
description, and nothing after a line ``---`` counts. Real headers take liberties: names without addresses, no description at all.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parseaddr, parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from build_tools.patches.mail import body_faults
from build_tools.patches.series import DropWhen
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UNKNOWN", "ForeignHeader", "read_header"]

UNKNOWN: Final = "unknown"
"""The author of a patch that names none."""

_FIELD: Final = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*):(?!//)[ \t]*(?P<value>.*)")
_TAG: Final = re.compile(r"\[[^\]]*PATCH[^\]]*\]\s*")
_COMMIT: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_VERSION: Final = re.compile(r"v?(?P<version>[0-9]+(?:\.[0-9A-Za-z]+)+)(?![^\s,;])")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NEEDLESS: Final = re.compile(r"(?:not?[ -]need(?:ed)?)\b[.:,]?\s*(?P<why>.*)", re.IGNORECASE)
_END: Final = frozenset({"---", "--"})
_BEGINS_FIELDS: Final = frozenset(
    {"description", "subject", "origin", "forwarded", "forward", "author", "from", "last-update", "applied-upstream", "date"}
)
"""Fields with which a later paragraph begins that is one of fields; trailers of a commit message are text."""

_READ: Final = frozenset({"description", "subject", "author", "from", "date", "last-update"})
_OF_THE_WAY: Final = frozenset(
    {
        "to",
        "cc",
        "bcc",
        "sender",
        "reply-to",
        "message-id",
        "references",
        "in-reply-to",
        "mime-version",
        "received",
        "return-path",
    }
    | {"content-type", "content-transfer-encoding", "content-disposition", "status", "delivered-to"}
)
"""What a mail says of the way that it took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignHeader:
    """What the header of a patch says.

    Parameters
    ----------
    author, email
        Who wrote it; the address is empty where only a name is given.
    when
        Its date with a zone; None where it says none.
    subject, body
        The commit message: the first line, and the rest with what other fields say as trailers; no line that ``git am`` would take for
        something else.
    why
        The first paragraph of the description in one line.
    upstream
        Where it stands upstream.
    drop_when
        When it is to go, where that is said.
    """

    author: str
    email: str
    when: dt.datetime | None
    subject: str
    body: str
    why: str
    upstream: str
    drop_when: DropWhen | None

    @property
    def owner(self) -> str:
        """The author as series name an owner."""
        return f"{self.author} <{self.email}>" if self.email else self.author

    @property
    def message(self) -> str:
        """The commit message."""
        return f"{self.subject}\n\n{self.body}\n" if self.body else f"{self.subject}\n"


def read_header(lines: Sequence[str], *, name: str) -> ForeignHeader:
    """Read what stands above a patch's diff.

    Parameters
    ----------
    lines
        The lines up to the diff, without their ends.
    name
        What the patch is called, for a patch that says nothing of itself.
    """
    fields, text = _fields(lines)
    authors = [value for field, value in fields if field.lower() in {"from", "author"}]
    author, email = _address(authors[0]) if authors else (UNKNOWN, "")
    synopsis, long = _description(fields)
    paragraphs = [*([long] if long else []), *([text] if text else [])]
    if not synopsis:
        # What is left says what the patch does, where anything does.
        synopsis, _, rest = text.partition("\n")
        paragraphs = [rest.strip("\n")] if rest.strip() else []
    first = (paragraphs[0] if paragraphs else "").split("\n\n")[0]
    trailers = [f"Co-authored-by: {other}" for other in authors[1:]]
    trailers += [f"{field}: {_joined(value)}" for field, value in fields if not _is_spoken_for(field)]
    body = "\n\n".join([*paragraphs, *(["\n".join(trailers)] if trailers else [])])
    subject = _joined(synopsis) or name
    return ForeignHeader(
        author=author,
        email=email,
        when=_date(fields),
        subject=subject,
        body="\n".join(_harmless(body.split("\n"))).strip("\n"),
        why=_sentence(subject, _joined(first)),
        upstream=_upstream(fields),
        drop_when=_drop_when(fields),
    )


def _fields(lines: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return the fields in order, each with its lines, and the text that is none of them."""
    end = next((number for number, line in enumerate(lines) if line.strip() in _END), len(lines))
    kept = list(lines[:end])
    while kept and (not kept[0].strip() or re.match(r"From [^:]", kept[0])):
        kept.pop(0)
    fields: list[tuple[str, str]] = []
    texts: list[str] = []
    for number, paragraph in enumerate(_paragraphs(kept)):
        count = _count_of_fields(paragraph)
        begin = _FIELD.fullmatch(paragraph[0])
        known = begin is not None and (begin["name"].lower() in _BEGINS_FIELDS or begin["name"].lower().startswith("bug"))
        if number > 0 and not (known and count == len(paragraph)):
            count = 0
        for line in paragraph[:count]:
            found = _FIELD.fullmatch(line)
            if found is not None and not line[:1].isspace():
                fields.append((found["name"], found["value"].rstrip()))
            else:
                field, value = fields[-1]
                fields[-1] = field, f"{value}\n{line[1:].rstrip()}"
        if paragraph[count:]:
            texts.append("\n".join(line.rstrip() for line in paragraph[count:]))
    return fields, "\n\n".join(texts)


def _paragraphs(lines: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


def _count_of_fields(paragraph: Sequence[str]) -> int:
    """Return with how many lines of fields a paragraph begins, those that go on in a line of their own included."""
    if not _FIELD.fullmatch(paragraph[0]):
        return 0
    count = next((number for number, line in enumerate(paragraph) if not line[:1].isspace() and not _FIELD.fullmatch(line)), None)
    return len(paragraph) if count is None else count


def _values(fields: Sequence[tuple[str, str]], *names: str) -> list[str]:
    return [value for field, value in fields if field.lower() in names and value.strip()]


def _description(fields: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the synopsis and the long description, whose blank lines are written as a dot."""
    for value in _values(fields, "description"):
        first, *rest = value.split("\n")
        return first.strip(), "\n".join("" if line.strip() == "." else line for line in rest).strip("\n")
    for value in _values(fields, "subject"):
        return _TAG.sub("", _decoded(_joined(value)), count=1), ""
    return "", ""


def _decoded(text: str) -> str:
    if "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeError):
        return text


def _address(value: str) -> tuple[str, str]:
    text = _decoded(_joined(value))
    name, email = parseaddr(text) if "@" in text else (text, "")
    return (name or email or UNKNOWN).strip(), email


def _date(fields: Sequence[tuple[str, str]]) -> dt.datetime | None:
    for value in _values(fields, "date"):
        try:
            found = parsedate_to_datetime(_joined(value))
        except (ValueError, IndexError):
            continue
        return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
    for value in _values(fields, "last-update"):
        day = _DAY.search(value)
        try:
            return None if day is None else dt.datetime.fromisoformat(day[0]).replace(tzinfo=dt.UTC)
        except ValueError:
            continue
    return None


def _is_spoken_for(field: str) -> bool:
    """Return whether a field is said elsewhere, or says nothing of the change."""
    return field.lower() in _READ | _OF_THE_WAY or field.lower().startswith(("x-", "list-", "dkim-", "arc-"))


def _upstream(fields: Sequence[tuple[str, str]]) -> str:
    bugs = [f"{field}: {_joined(value)}" for field, value in fields if field.lower().startswith("bug") and value.strip()]
    applied, sent, origin = (
        [_joined(value) for value in _values(fields, *names)]
        for names in (("applied-upstream",), ("forwarded", "forward"), ("origin",))
    )
    words = [f"applied upstream: {value}" for value in applied[:1]]
    if not words and sent:
        needless = _NEEDLESS.fullmatch(sent[0])
        if needless is not None:
            words = [f"not for upstream: {needless['why']}" if needless["why"] else "not for upstream"]
        else:
            words = [{"no": "not sent", "yes": "sent"}.get(sent[0].lower().rstrip("."), f"sent: {sent[0]}")]
    elif not words:
        # The guideline takes one that names upstream's bug for sent; the bug's address tells a person more than that.
        words = [] if _values(fields, "bug") else ["not sent"]
    return "; ".join([*words, *(f"origin: {value}" for value in origin), *bugs])


def _drop_when(fields: Sequence[tuple[str, str]]) -> DropWhen | None:
    for value in _values(fields, "applied-upstream"):
        version = _VERSION.match(value.strip())
        commit = _COMMIT.search(value)
        if commit is not None:
            return DropWhen(commit=CommitId(commit[0]))
        if version is not None and _is_version(version["version"]):
            return DropWhen(version=version["version"])
    for value in _values(fields, "origin"):
        commit = _COMMIT.search(value)
        if commit is not None and value.strip().lower().startswith(("upstream", "backport")):
            return DropWhen(commit=CommitId(commit[0]))
    return None


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _joined(text: str) -> str:
    return " ".join(text.split())


def _sentence(subject: str, more: str) -> str:
    """Return a synopsis with the text that goes on after it; its end is marked where the next sentence begins."""
    if not more:
        return subject
    ends = subject[-1] in ".:;,!?" or not more[:2].istitle()
    return f"{subject} {more}" if ends else f"{subject}. {more}"


def _harmless(body: list[str]) -> list[str]:
    """Return the lines of a message with a space before those that ``git am`` would take for something else."""
    raw = [line.encode("utf-8", "surrogateescape") for line in body]
    while faults := list(body_faults(raw)):
        for fault in faults:
            raw[fault.line - 1] = b" " + raw[fault.line - 1]
    return [line.decode("utf-8", "surrogateescape") for line in raw]
