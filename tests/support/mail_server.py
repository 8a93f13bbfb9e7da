"""A mail server on loopback that keeps what it is sent (SMTP, RFC 5321, as far as one client needs it)."""

from __future__ import annotations

import contextlib
import email
import email.policy
import socketserver
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

__all__ = ["mail_server"]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode().strip():
            verb = line.partition(" ")[0].upper()
            if verb == "DATA":
                self._say("354 go on")
                body = b""
                while not body.endswith(b"\r\n.\r\n"):
                    body += self.rfile.readline()
                message = email.message_from_bytes(body[:-3], policy=email.policy.default)
                self.server.mails.append(message)  # type: ignore[attr-defined]
            self._say("221 bye" if verb == "QUIT" else "250 fine")
            if verb == "QUIT":
                break

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextlib.contextmanager
def mail_server() -> Iterator[tuple[int, list[EmailMessage]]]:
    """Run it for the time of the block; give its port, and the list that mails are put into."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
        mails: list[EmailMessage] = []
        server.mails = mails  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1], mails
        finally:
            server.shutdown()
            thread.join()
