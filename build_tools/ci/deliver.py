"""Hand a message to people, by apprise: one library for Slack, e-mail and the rest. Loaded only where somebody is to be told."""

from __future__ import annotations

import contextlib
import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from build_tools.ci.messages import Message

__all__ = ["Receiver", "deliver", "receivers", "refuse_unusable"]

_HINT = "apprise's pages say how an address is written: slack://…, mailtos://…, json://…; several are parted by blanks"


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """Somebody who is told: which of the addresses it is, from 1, its scheme, the address, which is secret, and whether it is one.

    A scheme is one that apprise knows, or words: what stands in its place may be part of a secret.
    """

    number: int
    scheme: str
    address: str
    usable: bool

    def __str__(self) -> str:
        return f"address {self.number} ({self.scheme})"


def receivers(text: str) -> tuple[Receiver, ...]:
    """Return who is told by addresses as apprise takes them, parted by blanks."""
    with _quiet():
        import apprise  # noqa: PLC0415 - it loads everything that it can reach, and few commands tell anybody

        schemas: Iterable[str] = apprise.NotificationManager().schemas()  # type: ignore[no-untyped-call] # apprise types none of it
        known = {*schemas, "http", "https"}
        return tuple(
            Receiver(
                number=number,
                scheme=_scheme(word, known),
                address=word,
                usable=apprise.Apprise.instantiate(word) is not None,
            )
            for number, word in enumerate(text.split(), 1)
        )


def _scheme(word: str, known: Container[str]) -> str:
    scheme, divider, _rest = word.partition("://")
    if not divider:
        return "no scheme"
    return scheme if scheme.lower() in known else "unknown scheme"


def refuse_unusable(told: Iterable[Receiver]) -> None:
    """Refuse addresses that apprise does not take, without showing them.

    Raises
    ------
    HipwrightError
        ``bad-option-value``.
    """
    wrong = [str(one) for one in told if not one.usable]
    if wrong:
        message = f"{', '.join(wrong)} of --notify-urls is none that messages can be sent to"
        raise HipwrightError("bad-option-value", message, hint=_HINT)


def deliver(message: Message, told: Sequence[Receiver]) -> None:
    """Send a message to everybody whose address is one; who cannot be reached keeps nobody else from it.

    Raises
    ------
    HipwrightError
        ``not-told`` with who was not, and what apprise said of it.
    """
    usable, missed = [one for one in told if one.usable], []
    with _quiet() as said:
        import apprise  # noqa: PLC0415 - as above

        kind = apprise.NotifyType.FAILURE if message.kind == "failure" else apprise.NotifyType.SUCCESS
        for one in usable:
            asset = apprise.AppriseAsset(app_id="hipwright", async_mode=False, secure_logging=True)
            sender = apprise.Apprise(asset=asset)
            sender.add(one.address)
            if not sender.notify(body=message.body, title=message.title, notify_type=kind):
                missed.append(str(one))
    if missed:
        text = f"{len(missed)} of {len(usable)} were not told: {', '.join(missed)}"
        hint = "see whether the address is still right, and whether its server can be reached"
        raise HipwrightError("not-told", text, hint=hint, excerpt="\n".join(dict.fromkeys(said)) or None)


class _Memory(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def _quiet() -> Iterator[list[str]]:
    """Keep what apprise logs for the time of the block, and away from everybody: it names addresses."""
    log = logging.getLogger("apprise")
    memory, passed_on = _Memory(), log.propagate
    log.addHandler(memory)
    log.propagate = False
    try:
        with warnings.catch_warnings():
            # Of what it loads, some is about to leave Python.
            warnings.simplefilter("ignore", DeprecationWarning)
            yield memory.lines
    finally:
        log.removeHandler(memory)
        log.propagate = passed_on
