"""A server before an S3 server that hands on what it is asked, and does to answers what networks do."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Front", "fronting"]

Fault = Literal[
    "none",
    "busy",
    "broken",
    "racing",
    "overtaken",
    "refused",
    "skewed",
    "expired",
    "token",
    "gone",
    "damaged",
    "torn",
    "lost",
    "cut",
]


_ERROR: Final = "<ErrorResponse><Error><Code>{0}</Code></Error><Code>{0}</Code></ErrorResponse>"
"""As the server of tokens says it, and as that of objects does."""

_REFUSALS: Final = {
    "busy": (503, "SlowDown"),
    "broken": (500, "InternalError"),
    "racing": (409, "ConditionalRequestConflict"),
    "overtaken": (412, "PreconditionFailed"),
    "refused": (403, "AccessDenied"),
    "skewed": (403, "RequestTimeTooSkewed"),
    "expired": (400, "ExpiredToken"),
    "token": (400, "InvalidIdentityToken"),
    "gone": (404, "NoSuchUpload"),
}


@dataclass
class Front:
    """A front that is up: its address, what it was asked, and the faults to come, by method, first come first served.

    ``none``: no fault. ``busy``, ``broken``: the server is not asked, and the answer is 503 or 500. ``racing``, ``overtaken``: nor is it, and
    another write is said to be under way, or to have been first. ``refused``, ``skewed``, ``expired``, ``token``: nor is it, and the
    credentials are said not to suffice, to come by a wrong clock, to have run out, or to be got for a token that is not taken. ``gone``: nor
    is it, and the upload in parts is said to be none any more. ``damaged``: it is asked with a byte of the body changed. ``torn``: it is not, and the connection ends in the middle of what is
    sent. ``lost``: it is asked, and the connection ends without its answer. ``cut``: the answer ends in the middle of its body.
    """

    url: str
    asked: list[str] = field(default_factory=list)
    faults: dict[str, list[Fault]] = field(default_factory=dict)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""

    def _hand_on(self) -> None:
        server = cast("_Server", self.server)
        server.front.asked.append(f"{self.command} {self.path}")
        faults = server.front.faults.get(self.command, [])
        fault = faults.pop(0) if faults else None
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length // 2 if fault == "torn" else length)
        if fault == "torn":
            self.close_connection = True
            return
        if fault == "damaged":
            body = bytes([*body[:-1], body[-1] ^ 1])
        if fault in _REFUSALS:
            status, code = _REFUSALS[fault]
            said = b"" if self.command == "HEAD" else _ERROR.format(code).encode()
            self._answer(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(said)))], said)
            return
        connection = http.client.HTTPConnection(server.behind, timeout=30)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if fault == "lost":
            self.close_connection = True
            return
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in {"connection", "transfer-encoding"}]
        self._answer(answer.status, kept, data, cut=fault == "cut")

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _hand_on  # noqa: N815 - the base class calls them so


class _Server(http.server.ThreadingHTTPServer):
    front: Front
    behind: str


@contextlib.contextmanager
def fronting(endpoint: str) -> Iterator[Front]:
    """Stand before a server for the time of the block."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.front = Front(url=f"http://127.0.0.1:{server.server_port}")
        server.behind = urlsplit(endpoint).netloc
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.front
        finally:
            server.shutdown()
            thread.join()
