"""What a slow server may take."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from build_tools.environments.network import Network
from build_tools.errors import HipwrightError
from tests.support.serving import answering_by, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def stuck(*, begun: bool) -> Iterator[str]:
    """Serve pages that never end; with ``begun``, their first bytes come."""
    over = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            if begun:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"{")
                self.wfile.flush()
            over.wait()

    with answering_by(Handler) as url:
        try:
            yield f"{url}/m.json"
        finally:
            over.set()


@pytest.mark.parametrize("begun", [True, False])
def test_a_page_that_never_ends_is_given_up(*, begun: bool) -> None:
    with stuck(begun=begun) as url, pytest.raises(HipwrightError, match=r"not there in whole after 0\.1 seconds") as caught:
        Network().read(url, within=0.1)
    assert caught.value.code.name == "source-unreachable"


def test_a_limit_changes_nothing_for_those_who_keep_it(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(b"{}")
    with serving(tmp_path) as url:
        answer = Network().read(f"{url}m.json", within=60)
        assert answer is not None
        assert answer.body == b"{}"
        assert Network().read(f"{url}none.json", within=60) is None
    with pytest.raises(HipwrightError, match="Connection refused"):
        Network(retries=0).read(f"{url}m.json", within=60)


@contextmanager
def showing(shown: list[str | None], *, leads_to: str | None = None) -> Iterator[str]:
    """Serve pages that keep what they are shown; with ``leads_to`` they lead to another server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization"))
            self.send_response(200 if leads_to is None else 302)
            if leads_to is not None:
                self.send_header("Location", leads_to)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with answering_by(Handler) as url:
        yield f"{url}/"


def test_a_token_goes_to_its_own_server_only() -> None:
    first: list[str | None] = []
    second: list[str | None] = []
    with showing(second) as other, showing(first, leads_to=other) as url:
        network = Network().bearing(f"{url}api", "a-token")
        assert "a-token" not in repr(network)
        network.read(f"{url}repos")
        network.read(other)
    assert first == ["Bearer a-token"]
    assert second == [None, None]
