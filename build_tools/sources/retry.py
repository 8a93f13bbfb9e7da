"""Trying again what asks an origin over a network: which failures of git can pass by themselves, and how often they are tried.

git has no exit status of its own for them, so the texts of git, curl, the TLS libraries and ssh decide; they are untranslated, because
git runs in the C locale. What nobody knows is not tried again: a wrong address must fail at once.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.process import Completed

__all__ = ["ATTEMPTS", "retried", "transient", "unreachable"]

ATTEMPTS: Final = 4
"""How often a call is made at the most."""

_FIRST_PAUSE: Final = 0.5
_JITTER: Final = 0.5
"""The share of a pause by which it is longer at the most, so that several that failed together do not come back together."""

_NEVER: Final = re.compile(
    r"""
    not\ our\ ref | unadvertised\ object | couldn't\ find\ remote\ ref | no\ such\ remote\ ref | invalid\ refspec
    | repository\ (?:'[^']*'\ )?not\ found | does\ not\ appear\ to\ be\ a\ git\ repository | not\ a\ git\ repository
    | returned\ error:\ (?:3\d\d|40[0-79]|41\d|42[0-8]|4[3-9]\d|501|505) | HTTP\ code\ 407
    | authentication\ failed | could\ not\ read\ (?:username|password) | permission\ denied | access\ denied | invalid\ credentials
    | host\ key\ verification\ failed | too\ many\ authentication\ failures
    | certificate\ (?:problem|verif|has\ expired|subject) | unable\ to\ get\ local\ issuer | no\ alternative\ certificate
    | transport\ '[^']*'\ not\ allowed | unable\ to\ find\ remote\ helper | is\ not\ a\ git\ command | protocol\ .*\ not\ supported
    | url\ (?:using\ )?bad/illegal\ format | url\ rejected | bad\ hostname | maximum\ \(\d+\)\ redirects
    | no\ space\ left\ on\ device | disk\ quota\ exceeded | read-only\ file\ system | unable\ to\ (?:create|write) | cannot\ lock\ ref
    | does\ not\ support\ shallow
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What stays as it is however often it is asked; it counts before what can pass, which git often says as well."""

_CAN_PASS: Final = re.compile(
    r"""
    could\ not\ resolve\ (?:host|proxy|hostname) | name\ resolution | name\ or\ service\ not\ known
    | failed\ to\ connect | couldn't\ connect | connection\ (?:was\ )?(?:refused|reset|timed\ out|aborted|closed|died)
    | connection\ to\ .*\ closed | closed\ by\ remote\ host | broken\ pipe | no\ route\ to\ host | network\ is\ (?:unreachable|down)
    | operation\ (?:timed\ out|too\ slow) | timed\ out | empty\ reply\ from\ server | recv\ failure | send\ failure
    | gnutls_handshake | gnutls\ recv\ error | ssl_(?:read|connect|write|error_\w+) | unexpected\ eof | ssl\ routines | tls\ connection
    | schannel | handshake | http/?2\ (?:stream|framing) | stream\ \d+\ (?:was\ )?not\ closed\ cleanly | transfer\ closed
    | returned\ error:\ (?:408|429|5\d\d) | code\ 5\d\d\ from\ proxy | proxy\ connect\ aborted
    | early\ eof | rpc\ failed | hung\ up | unexpected\ disconnect | invalid\ index-pack\ output | index-pack\ failed
    | kex_exchange_identification | internal\ server\ error | service\ unavailable | too\ many\ requests | bad\ gateway
    """,
    re.IGNORECASE | re.VERBOSE,
)


def transient(said: str) -> str | None:
    """Return the line of a failed git's words that says what can pass by itself; None when nothing in them does.

    >>> transient("fatal: unable to access 'https://host.example/a.git/': Could not resolve host: host.example")
    "fatal: unable to access 'https://host.example/a.git/': Could not resolve host: host.example"
    >>> transient("fatal: unable to access 'https://host.example/a.git/': The requested URL returned error: 403") is None
    True
    """
    if _NEVER.search(said):
        return None
    return next((line.strip() for line in said.splitlines() if _CAN_PASS.search(line)), None)


def retried(call: Callable[[], Completed], *, url: str, pause: Callable[[float], None], say: Callable[[str], None]) -> Completed:
    """Return what a call of git gives that asks an origin: its success, or a failure that no further attempt would change.

    Parameters
    ----------
    call
        Runs git and returns how it ended, well or not.
    url
        The origin's address, for people.
    pause
        Waits so many seconds.
    say
        Takes one line of talk: each failed attempt with its number and its reason.

    Raises
    ------
    HipwrightError
        ``origin-unreachable`` when the last attempt failed as well with what can pass.
    """
    for number in range(1, ATTEMPTS + 1):
        done = call()
        said = done.stderr.decode("utf-8", "replace")
        reason = None if done.returncode <= 0 else transient(said)
        if reason is None:
            return done
        if number == ATTEMPTS:
            raise unreachable(url, said, attempts=number)
        seconds = _FIRST_PAUSE * 2 ** (number - 1) * (1 + _JITTER * random.random())  # noqa: S311 - no secret hangs on it
        say(f"attempt {number} of {ATTEMPTS} to reach {redact(url)} failed, next in {seconds:.1f} s: {reason}")
        pause(seconds)
    message = "there is always a last attempt"
    raise AssertionError(message)


def unreachable(url: str, said: str, *, attempts: int = 1) -> HipwrightError:
    """Return the error for an origin that cannot be read, with the last of what git said."""
    message = f"{redact(url)} cannot be read" + (f": {attempts} attempts failed" if attempts > 1 else "")
    hint = "check the address, the network and your access to it"
    return HipwrightError("origin-unreachable", message, hint=hint, excerpt=said.strip()[-2000:] or None)
