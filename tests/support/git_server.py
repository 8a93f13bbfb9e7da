"""Repositories served over loopback HTTP by git's own server program, which can be told to fail as real servers do."""

from __future__ import annotations

import base64
import contextlib
import http.server
import os
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Failure", "GitServer", "serving_git"]

Failure = int | Literal["hang up", "cut short"]


@dataclass
class GitServer:
    """What the server is to do, and what it was asked for.

    ``failures`` are used up one by one, None for an answer as it should be: a status, ``hang up`` without an answer, or ``cut short`` an answer. ``old`` takes the second
    version of the protocol away, and with it commits by their ids. ``login``, ``user:password``, is what it wants of everybody.
    """

    folder: Path
    url: str = ""
    old: bool = False
    login: str | None = None
    failures: list[Failure | None] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    told: ClassVar[GitServer]

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.answer(b"".join(self.chunks()))
        else:
            self.answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()

    def answer(self, body: bytes) -> None:
        self.told.asked.append(f"{self.command} {self.path}")
        failure = self.told.failures.pop(0) if self.told.failures else None
        if isinstance(failure, int):
            self.send_error(failure)
            return
        if failure == "hang up":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if self.told.login is not None:
            wanted = f"Basic {base64.b64encode(self.told.login.encode()).decode()}"
            if self.headers.get("Authorization") != wanted:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        head, _, content = self.run_git(body).partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status, _, words = fields.pop("Status", "200 OK").partition(" ")
        self.send_response(int(status), words)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if failure == "cut short" else content)

    def run_git(self, body: bytes) -> bytes:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.told.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        if not self.told.old:
            environment["GIT_PROTOCOL"] = self.headers.get("Git-Protocol", "")
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        return done.stdout


@contextlib.contextmanager
def serving_git(folder: Path) -> Iterator[GitServer]:
    """Serve the repositories below a folder for the time of the block; ``url`` has a final ``/``."""
    told = GitServer(folder=folder)
    handler = type("Handler", (_Handler,), {"told": told})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        told.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
