"""A patch file as a mail: author, date, subject, body, and where the diff begins; read the way ``git am`` reads it.

``git am`` gives some lines of a mail a meaning that a commit message must not touch: a line that looks like the beginning of a mail or of a
diff ends the message, and a header at the head of the body counts in the place of the mail's own (git's ``mailinfo.c``, ``mailsplit.c``).
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from build_tools.patches.fault import Fault
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["BODY_HINT", "PatchMail", "body_faults", "date_fault", "is_mail_start", "parse_mail"]

_HEADER: Final = re.compile(rb"(?P<name>[!-9;-~]+):[ \t]*(?P<value>.*)", re.DOTALL)
_BODY_HEADER: Final = re.compile(
    rb"(?i:from|subject|date):|\[PATCH\](?:\s|$)|>From\s[0-9a-f]{40}\sMon Sep 17 00:00:00 2001$", re.DOTALL
)
_MAIL: Final = re.compile(rb"From .*[0-9].[0-9]{2}:[0-9]{2}[^:]*$", re.DOTALL)
_ADDRESS: Final = re.compile(r"(?P<name>.*?)\s*<(?P<email>[^<>]*)>\s*")
_QUOTED: Final = re.compile(r"\\(.)", re.DOTALL)
_YEAR: Final = re.compile(rb"\s*(?:[+-]\d+\s+)?(?P<year>\d+)")
_OLDEST_YEAR: Final = 91
_SHORTEST_FROM: Final = 20
_LONGEST_SHOWN: Final = 60

BODY_HINT: Final = "indent the line by a space, or say it otherwise"
"""What to do about a line of a message that git takes for something else."""

_UNIX_FROM: Final = f"From {'0' * 40} Mon Sep 17 00:00:00 2001"
_LINES: Final = {
    "From": "From: Name <address>",
    "Date": "Date: Mon, 4 Mar 2024 05:06:07 +0200",
    "Subject": "Subject: What the patch does",
}
"""The headers without which git makes up what the commit says, each as it may look."""

_DATE_HINT: Final = f"write it as git log --date=rfc does, such as {_LINES['Date']}"
_YEARS: Final = range(1970, 2100)
_FARTHEST: Final = dt.timedelta(hours=14)
_ZONE: Final = re.compile(r"(?:[+-]\d{4}|(?<![A-Z])(?:GMT|UTC?|Z))(?:\s*\([^()]*\))?\s*$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchMail:
    """What the mail says. Bytes that are no UTF-8 are surrogates, as in file names.

    Parameters
    ----------
    author, email
        Who wrote the change.
    date
        The author date as the mail writes it.
    when
        The same as a time with its zone; None when it cannot be read.
    subject
        The first line of the commit message, nothing cut off.
    body
        The rest of the message up to the diff, without blank lines around it.
    diff_line
        The line of the file, counted from 1, at which ``git am`` takes the message to end; one after the last when it is all message.
    faults
        What is wrong with it; empty for a mail that ``git am`` gives back as it is.
    """

    author: str
    email: str
    date: str
    when: dt.datetime | None
    subject: str
    body: str
    diff_line: int
    faults: tuple[Fault, ...]


def parse_mail(data: bytes) -> PatchMail:
    """Read a patch file's mail; what is missing is empty, and named in the faults."""
    lines = data.split(b"\n")
    faults = list(_from_line_faults(lines))
    headers, places, after = _read_headers(lines, start=1 if lines[0].startswith(b"From ") else 0)
    diff = next((number for number in range(after, len(lines)) if _ends_message(lines[number])), len(lines))
    author, email = _read_address(headers.get("from", ""))
    date = headers.get("date", "")
    when = _read_date(date)
    subject = headers.get("subject", "")
    # An author without an address is one that git takes, and gives back.
    faults += _header_faults(headers, places, readable=bool(author or email), when=when)
    message = lines[after:diff]
    faults += body_faults(message, start=after + 1)
    faults += _cut_off(lines, diff)
    return PatchMail(
        author=author,
        email=email,
        date=date,
        when=when,
        subject=subject,
        body=_text(b"\n".join(message)).strip("\n"),
        diff_line=diff + 1,
        faults=tuple(sorted(faults, key=lambda fault: fault.line)),
    )


def body_faults(body: Sequence[bytes], *, start: int = 1) -> Iterator[Fault]:
    """Yield the lines of a commit message's body that ``git am`` would read as something else.

    Parameters
    ----------
    body
        Its lines, without their ends.
    start
        The number of the first, for the faults.
    """
    at_head = True
    for number, line in enumerate(body, start=start):
        if is_mail_start(line):
            yield _body(number, line, "the beginning of another mail")
        elif _ends_message(line):
            yield _body(number, line, "the end of the message")
        elif at_head and _BODY_HEADER.match(line):
            yield _body(number, line, "a header of the mail")
        at_head = at_head and not line.strip()


def date_fault(when: dt.datetime) -> str | None:
    """Return why a date is none that a patch can say, None for one that it can: ``git am`` reads it back from the mail.

    git knows the years 1970 to 2099 there (``match_multi_number`` in its ``date.c``), and zones of up to 14 hours.
    """
    if when.year not in _YEARS:
        return f"git reads no date of the year {when.year} in a mail"
    if abs(when.utcoffset() or dt.timedelta()) > _FARTHEST:
        return f"there is no zone {when:%z}"
    return None


def is_mail_start(line: bytes) -> bool:
    """Return whether git takes a line to be the first of a mail, in any place of the file."""
    if len(line) + 1 < _SHORTEST_FROM or not _MAIL.match(line):
        return False
    year = _YEAR.match(line.rpartition(b":")[2][2:])
    return year is not None and int(year["year"]) >= _OLDEST_YEAR


def _ends_message(line: bytes) -> bool:
    if line.startswith((b"diff -", b"Index: ")):
        return True
    if not line.startswith(b"---"):
        return False
    return not line[3:].strip() or (line[3:4] == b" " and not line[4:5].isspace())


def _from_line_faults(lines: Sequence[bytes]) -> Iterator[Fault]:
    if not is_mail_start(lines[0]):
        message = "the first line is no 'From <commit> <date>', which begins a mail"
        yield Fault(rule="mail-headers", line=1, message=message, hint=f"begin the file with the line {_UNIX_FROM!r}")


def _read_headers(lines: Sequence[bytes], *, start: int) -> tuple[Mapping[str, str], Mapping[str, int], int]:
    """Return the headers by their names in small letters, the lines where they begin, and the number of lines before the body."""
    raw: dict[str, list[bytes]] = {}
    places: dict[str, int] = {}
    last = None
    number = start
    for number, line in enumerate(lines[start:], start=start):
        found = _HEADER.fullmatch(line)
        if line[:1] in {b" ", b"\t"} and last is not None:
            # A folded header goes on; the break counts as one space.
            raw[last].append(line[1:].rstrip())
        elif found is not None:
            last = found["name"].decode("ascii").lower()
            raw[last] = [found["value"].rstrip(b"\r")]
            places[last] = number + 1
        else:
            break
    # A line that is no header begins the body by itself; a blank one only parts it from the headers.
    after = number + 1 if not lines[number].strip() else number
    return {name: _decoded(b" ".join(parts)) for name, parts in raw.items()}, places, after


def _decoded(value: bytes) -> str:
    text = _text(value)
    if "=?" not in text:
        return text
    try:
        # Not make_header: it fails on bytes that are not of the charset that they say.
        parts = decode_header(text)
    except HeaderParseError:
        return text
    words = [(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part, charset) for part, charset in parts]
    try:
        return "".join(word.decode(charset or "utf-8", "surrogateescape") for word, charset in words)
    except LookupError:
        return text


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _read_address(text: str) -> tuple[str, str]:
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        return "", ""
    name = found["name"].strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = _QUOTED.sub(r"\1", name[1:-1])
    return name, found["email"]


def _read_date(text: str) -> dt.datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def _header_faults(
    headers: Mapping[str, str], places: Mapping[str, int], *, readable: bool, when: dt.datetime | None
) -> Iterator[Fault]:
    for name, example in _LINES.items():
        if not headers.get(name.lower(), "").strip():
            line = places.get(name.lower(), 1)
            hint = f"write it among the first lines, such as {example}"
            yield Fault(rule="mail-headers", line=line, message=f"the mail has no {name}", hint=hint)
    if headers.get("from") and not readable:
        message = f"From says no 'Name <address>': {_shown(headers['from'])}"
        yield Fault(rule="mail-headers", line=places["from"], message=message, hint=f"such as {_LINES['From']}")
    if headers.get("date", "").strip():
        why = "it cannot be read" if when is None else date_fault(when)
        if why is None and not _ZONE.search(headers["date"]):
            why = "it says no zone, and git takes that of the machine"
        if why is not None:
            message = f"Date is none that says the same everywhere: {_shown(headers['date'])}; {why}"
            yield Fault(rule="mail-headers", line=places["date"], message=message, hint=_DATE_HINT)
    encoding = headers.get("content-transfer-encoding", "8bit").strip().lower()
    if encoding not in {"7bit", "8bit", "binary"}:
        message = f"the mail is encoded as {_shown(encoding)}, so that nobody can read the diff, nor compare it"
        hint = "save it decoded, without this line"
        yield Fault(rule="mail-headers", line=places["content-transfer-encoding"], message=message, hint=hint)


def _cut_off(lines: Sequence[bytes], diff: int) -> Iterator[Fault]:
    """Yield what stands between the end of the message and the first diff: ``git am`` takes it for no part of the commit."""
    if diff == len(lines) or lines[diff].startswith(b"diff --git "):
        return
    rest = range(diff, len(lines))
    end = next((number for number in rest if lines[number].startswith(b"diff --git ")), len(lines))
    for number in range(diff, end):
        if is_mail_start(lines[number]):
            yield _body(number + 1, lines[number], "the beginning of another mail")
    separator = lines[diff].strip() == b"---"
    text = [number for number in range(diff + separator, end) if lines[number].strip()]
    if text:
        message = f"no commit keeps what stands here, before the diff: {_shown(lines[text[0]])}"
        hint = "move it above, into the message, or into series.toml"
        yield Fault(rule="lost-text", line=text[0] + 1, message=message, hint=hint)


def _body(line: int, text: bytes, taken_for: str) -> Fault:
    message = f"git am takes this line of the message for {taken_for}: {_shown(text)}"
    return Fault(rule="message-line", line=line, message=message, hint=BODY_HINT)


def _shown(text: bytes | str) -> str:
    whole = shown(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return whole if len(whole) <= _LONGEST_SHOWN else f"{whole[: _LONGEST_SHOWN - 1]}…"
