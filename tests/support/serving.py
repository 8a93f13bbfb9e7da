"""A folder served over loopback HTTP, the way a plain server or an object store does."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["answering_by", "serving"]


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""


class _PlusIsSpace(_Handler):
    """As S3 does: a bare ``+`` in a path means a space."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.replace("+", "%20"))


@contextlib.contextmanager
def answering_by(handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Have a handler answer on loopback for the time of the block, each request in a thread of its own; give the address, without a final ``/``."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def serving(folder: Path, *, plus_is_space: bool = False) -> Iterator[str]:
    """Serve a folder for the time of the block, and give its URL with a final ``/``."""
    handler = functools.partial(_PlusIsSpace if plus_is_space else _Handler, directory=str(folder))
    with answering_by(handler) as url:
        yield f"{url}/"
