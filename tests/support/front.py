"""A front before an S3 server, as a CDN is one: an address that ends in ``/`` is its ``index.html``."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["front"]

_PASSED_ON = ("Content-Type", "ETag", "Cache-Control", "Content-Range", "Accept-Ranges")


@contextlib.contextmanager
def front(endpoint: str, *, seen: list[str] | None = None) -> Iterator[str]:
    """Serve what anybody may read at an S3 endpoint for the time of the block, and give the front's URL; ``seen`` takes the paths."""
    server_host = urlsplit(endpoint).netloc

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if seen is not None:
                seen.append(self.path)
            path = f"{self.path}index.html" if self.path.endswith("/") else self.path
            connection = http.client.HTTPConnection(server_host, timeout=30)
            try:
                connection.request(
                    self.command, path, headers={"Range": self.headers["Range"]} if "Range" in self.headers else {}
                )
                answer = connection.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name in _PASSED_ON:
                    if (value := answer.headers[name]) is not None:
                        self.send_header(name, value)
                self.send_header("Content-Length", answer.headers["Content-Length"] or str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            finally:
                connection.close()

        def log_message(self, *_arguments: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
