"""Addresses: which texts are some, and what in them must not be shown, recorded or sent to anybody else."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "foreign_scheme",
    "holds_secret",
    "is_unclear",
    "is_url",
    "mask_userinfo",
    "parts_of_secret",
    "redact",
    "secrets_in",
    "userinfo_of",
    "without_query",
]

_SCHEMES: Final = frozenset({"http", "https", "file"})
_SCHEME: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):", re.IGNORECASE)
_DRIVE_PATH: Final = re.compile(r"[a-z]:[\\/]", re.IGNORECASE)
_ON_WINDOWS: Final = os.name == "nt"
_USERINFO: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<userinfo>[^/?#\s]*)@", re.IGNORECASE)
_BARE: Final = re.compile(r"^(?P<userinfo>[^/?#@:\s\\]+:[^/?#@\s\\]*)@(?=[\w.-]+(:\d+)?/?$)")
"""A proxy may be named without a scheme, as ``user:password@host:port``."""

# Where a text is searched, schemes have a longest length: each letter of a long word would be looked at as often as the word has letters.
_IN_TEXT: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,31})://(?P<userinfo>[^/?#\s\"'<>`]*)@", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"[a-z][a-z0-9+.-]{0,31}://(?P<authority>[^/?#\\]*)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_PORT: Final = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::[0-9]*)?")
_ENDS_ONE: Final = re.compile(r"[\s\"'<>`]")
"""What ends an address in a text, so that nobody finds the rest of one that holds it."""

_PARTS: Final = re.compile(r"[/:@?&=#,;+]")
_ENDS_QUERY: Final = re.compile(r"[#\s\"'<>`]")
_PLACEHOLDER: Final = "USER:PASSWORD"
"""What hints have in the place of a user and a password."""

_LEAST_PASSWORD: Final = 6
_LEAST_TOKEN: Final = 16
"""A user's name without a password may be a token, and those are long; a short one is a name that paths hold too."""


def is_url(text: str) -> bool:
    r"""Return whether a text is an address that hipwright reads by itself, not a path; ``C:\\wheels`` is a path."""
    scheme, separator, _ = text.partition(":")
    return bool(separator) and scheme.lower() in _SCHEMES


def foreign_scheme(text: str) -> str | None:
    r"""Return the scheme of a text that looks like an address of a kind that hipwright does not read; None for paths and for the others.

    A text that begins as an address does must not be taken for a folder of that name; ``./s3:x`` says that a folder is meant. A single
    letter is a drive of Windows; only with a separator after it is that a whole path.

    >>> foreign_scheme("s3:bucket"), foreign_scheme("./s3:bucket"), foreign_scheme("https://host.example/"), foreign_scheme("c:x")
    ('s3', None, None, 'c')
    """
    found = _SCHEME.match(text)
    if found is None or is_url(text) or (_ON_WINDOWS and _DRIVE_PATH.match(text)):
        return None
    return found["scheme"]


def userinfo_of(url: str) -> str | None:
    """Return the user, or the user and the password as ``user:password``, that an address holds, quoted as there; None without.

    >>> userinfo_of("https://me:pass%20word@host.example/simple/")
    'me:pass%20word'
    """
    found = _USERINFO.match(url) or _BARE.match(url)
    return found["userinfo"] if found else None


def redact(url: str) -> str:
    """Return an address without what is secret in it, for people and records; another text stays as it is.

    The user of an ``ssh://`` address says which account is meant and is no secret, so that only a password goes. Of an address whose password
    cannot be told from the rest, no more is left than stands behind all that may be one.

    >>> redact("https://me:secret@host.example/simple/")
    'https://host.example/simple/'
    """
    if is_unclear(url):
        return f"{url.partition('://')[0]}://{url.rpartition('@')[2]}"
    found = _USERINFO.match(url)
    if found is None:
        return _BARE.sub("", url)
    kept = _account(found)
    return f"{found['scheme']}://{f'{kept}@' if kept else ''}{url[found.end() :]}"


def without_query(url: str) -> str:
    """Return an address as :func:`redact` does, and ``***`` for its query, which may be a token or a signature; another text stays as it is.

    >>> without_query("https://me:secret@host.example/simple?token=abc")
    'https://host.example/simple?***'
    """
    start, mark, query = redact(url).partition("?")
    return f"{start}?***" if is_url(url) and mark and query else redact(url)


def mask_userinfo(text: str) -> str:
    """Return a text in which the secret part of every address is ``***``."""
    if "://" not in text or "@" not in text:
        return text
    return _IN_TEXT.sub(lambda found: f"{found['scheme']}://{_masked(found)}@", text)


def is_unclear(text: str) -> bool:
    """Return whether a text is an address whose user or password cannot be told from the rest, so that nothing could hide it.

    That is a password with a slash, a question mark, a space or the like, which addresses have as ``%2F``, ``%3F`` and ``%20``.

    >>> is_unclear("https://me:pass/word@host.example/x.git"), is_unclear("https://host.example:80/x@1.0")
    (True, False)
    """
    found = _AUTHORITY.search(text)
    if found is None:
        return False
    userinfo, at, _host = found["authority"].rpartition("@")
    if at:
        return _ENDS_ONE.search(userinfo) is not None
    return "@" in found["rest"] and _PORT.fullmatch(found["authority"]) is None


def holds_secret(text: str) -> bool:
    """Return whether an address, or a text with some, holds what nothing is to record."""
    return mask_userinfo(text) != text or redact(text) != text or is_unclear(text)


def secrets_in(text: str) -> frozenset[str]:
    """Return what must not be shown of the addresses in a text: passwords alone and with their user, and users that may be tokens.

    So may the values in an address's query be, or signatures: all but short ones, as written and as meant.

    >>> sorted(secrets_in("--store=https://host.example/simple?token=abcdef123&page=2"))
    ['abcdef123']
    """
    return frozenset(secret for word in text.split() for secret in _secrets_of(word))


def parts_of_secret(text: str) -> frozenset[str]:
    """Return what must not be shown of addresses that are secret as a whole, such as one that holds the tokens of a chat: all but short parts.

    >>> sorted(parts_of_secret("slack://TokenAbc/ci"))
    ['TokenAbc', 'TokenAbc/ci', 'slack://TokenAbc/ci']
    """
    found: set[str] = set()
    for word in text.split():
        rest = word.partition("://")[2]
        pieces = [word, rest, *_PARTS.split(rest)]
        found.update(piece for text in pieces for piece in (text, unquote(text)) if len(piece) >= _LEAST_PASSWORD)
    return frozenset(found)


def _secrets_of(word: str) -> Iterator[str]:
    found = [(match["scheme"], match["userinfo"]) for match in _IN_TEXT.finditer(word)]
    bare = _BARE.match(word)
    for scheme, userinfo in [*found, *([("", bare["userinfo"])] if bare else [])]:
        user, colon, password = userinfo.partition(":")
        for part in (password, unquote(password)):
            if len(part) >= _LEAST_PASSWORD:
                yield part
        if password:
            yield from (userinfo, unquote(userinfo))
        elif not colon and not _is_ssh(scheme) and len(user) >= _LEAST_TOKEN:
            yield from (user, unquote(user))
    for piece in _ENDS_QUERY.split(word):
        query = piece.partition("://")[2].partition("?")[2]
        values = [part.partition("=")[2] or part for part in query.split("&")]
        yield from (text for value in values for text in (value, unquote(value)) if len(text) >= _LEAST_PASSWORD)


def _is_ssh(scheme: str) -> bool:
    return scheme.lower().split("+")[-1] == "ssh"


def _account(found: re.Match[str]) -> str:
    return found["userinfo"].partition(":")[0] if _is_ssh(found["scheme"]) else ""


def _masked(found: re.Match[str]) -> str:
    account = _account(found)
    if found["userinfo"] == _PLACEHOLDER:
        return _PLACEHOLDER
    if not account:
        return "***" if found["userinfo"] else ""
    return account if ":" not in found["userinfo"] else f"{account}:***"
