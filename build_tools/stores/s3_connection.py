"""A bucket's server as a store asks it: with this machine's credentials, without them where that is enough, and our errors for its own."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final, TypeVar

from build_tools.errors import HipwrightError
from build_tools.stores.s3_access import Client, client_for, code_behind, code_of, status_of, translated, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.exceptions import ClientError
    from mypy_boto3_s3.client import S3Client

    from build_tools.stores.s3_access import Access

__all__ = ["GONE", "BehindEndError", "Connection"]

R = TypeVar("R")

GONE: Final = frozenset({"NoSuchKey", "404", "NotFound"})
"""What a server calls an object that it has not."""


class BehindEndError(Exception):
    """What is asked for lies behind the end of the object."""


class Connection:
    """What a store asks its server through; safe to use from several threads.

    Parameters
    ----------
    access
        How the server is reached.
    address
        The store as a person names it, for messages.
    writing
        Whether it will be written: then nothing is asked for without credentials.
    """

    def __init__(self, access: Access, address: str, *, writing: bool) -> None:
        self.access: Final = access
        self.writing: Final = writing
        self._address: Final = address
        self._lock: Final = threading.Lock()
        self._made: Client | None = None

    def ask(self, what: str, ask: Callable[[S3Client], R], *, writing: bool = False) -> R:
        """Return the server's answer.

        What is only read is asked for without credentials when these are refused: old ones must not hide what is open to everybody.

        Parameters
        ----------
        what
            What is tried, as in "cannot ``list``".
        ask
            Asks a client of Amazon's library.
        writing
            Whether that writes.

        Raises
        ------
        HipwrightError
            What :func:`build_tools.stores.s3_access.translated` makes of the answer; ``no-credentials``.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only those pay for it who ask a bucket

        client = self._client(writing=writing)
        try:
            return ask(client.s3)
        except ClientError as error:
            if client.signed and not (writing or self.writing) and _is_refusal(error):
                with contextlib.suppress(ClientError, BotoCoreError):
                    return self._without_signing(ask)
            raise translated(error, what, self._address) from error
        except BotoCoreError as error:
            raise translated(error, what, self._address) from error

    def ask_for(self, what: str, ask: Callable[[S3Client], R], *, empty: tuple[str, ...] = ()) -> R | None:
        """Return the server's answer about an object, None when there is none.

        Raises
        ------
        BehindEndError
            The server's answer is one of ``empty``.
        HipwrightError
            As :meth:`ask` does.
        """
        try:
            return self.ask(what, ask)
        except HipwrightError as error:
            code = code_behind(error)
            if code in empty:
                raise BehindEndError from error
            if code in GONE:
                return None
            raise

    def is_open(self, ask: Callable[[S3Client], object]) -> bool:
        """Return whether the server answers somebody without credentials."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        try:
            client = self._made or client_for(self.access, anonymous=True)
            with unsigned():
                ask(client.s3)
        except (BotoCoreError, ClientError):
            return False
        return True

    def _client(self, *, writing: bool) -> Client:
        with self._lock:
            if self._made is None:
                self._made = client_for(self.access)
            if (writing or self.writing) and not self._made.signed:
                message = f"to write to {self._address} needs credentials, and this machine has none for it"
                hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; or name a folder with --store"
                raise HipwrightError("no-credentials", message, hint=hint)
            return self._made

    def _without_signing(self, ask: Callable[[S3Client], R]) -> R:
        open_client = client_for(self.access, anonymous=True)
        answer = ask(open_client.s3)
        with self._lock:
            self._made = open_client
        return answer


def _is_refusal(error: ClientError) -> bool:
    # Answers without a body, and to old tokens, have the status 400.
    return status_of(error) in {400, 401, 403} and code_of(error) not in {"InvalidRange", "InvalidArgument"}
