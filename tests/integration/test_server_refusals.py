"""Servers that refuse, ask to log in, or break: commands that read an index over HTTP say that, and not that nothing is there."""

from __future__ import annotations

import contextlib
import http.server
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.environments.network import Network
from build_tools.errors import HipwrightError
from build_tools.pipeline.freshness import freshness
from build_tools.pipeline.verify_index import verify
from build_tools.publish import verify_foreign
from tests.support.serving import answering_by
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from build_tools.workplace import Workplace

    Call = tuple[Callable[[Workplace], Any], Callable[[Path, str], Workplace]]

LOGIN = b"<!DOCTYPE html><html><title>Log in</title><body><form action='/login'></form></body></html>"


@contextlib.contextmanager
def answering(how: str) -> Iterator[str]:
    """Answer everything in one way: with a status, with a page for logging in, or by leading to that; give the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if how.isdecimal():
                self.send_response(int(how))
                body = b""
            elif how == "endless":
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(b"<!DOCTYPE html><html><body><a href='a-1.0-py3-none-any.whl'>a-1.0-py3-none-any.whl</a>")
                    while self.path.endswith(".whl"):
                        self.wfile.write(bytes(1 << 16))
                return
            elif how == "led" and not self.path.startswith("/login"):
                self.send_response(302)
                self.send_header("Location", "/login")
                body = b""
            else:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                body = LOGIN
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the base class calls them so

        def log_message(self, *_arguments: object) -> None:
            return

    with answering_by(Handler) as url:
        yield url


def by_address(folder: Path, url: str) -> Workplace:
    return workplace(folder, words=(url,))


def of_others(folder: Path, url: str) -> Workplace:
    return workplace(folder, words=(f"{url}/simple/",))


def by_channel(folder: Path, url: str) -> Workplace:
    return workplace(folder, store=url, channel="rehearsal")


CALLS: list[Call] = [
    (verify, by_address),
    (verify, of_others),
    (verify, by_channel),
    (freshness, by_channel),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda one: " ".join(part.__name__ for part in one))
@pytest.mark.parametrize(
    ("how", "said", "hinted"),
    [
        ("403", "the server answers 403 Forbidden", "ask who owns the server"),
        ("401", "the server answers 401 Unauthorized", "https://USER:PASSWORD@HOST/"),
        ("login", "gives a web page in its place", "log in"),
        ("led", "gives a web page in its place, from", "log in"),
    ],
)
def test_a_server_that_lets_nobody_in_is_told_as_one(tmp_path: Path, call: Call, how: str, said: str, hinted: str) -> None:
    command, named = call
    with answering(how) as url, pytest.raises(HipwrightError) as caught:
        command(named(tmp_path, url))
    assert caught.value.code.name == "source-unreachable"
    assert said in caught.value.message
    assert hinted in (caught.value.hint or "")


@pytest.mark.parametrize("named", [by_address, of_others])
def test_a_server_that_has_nothing_is_not_taken_for_one_that_refuses(
    tmp_path: Path, named: Callable[[Path, str], Workplace]
) -> None:
    with answering("404") as url, pytest.raises(HipwrightError) as caught:
        verify(named(tmp_path, url))
    assert caught.value.code.name == "nothing-published"


def test_a_file_without_an_end_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_foreign, "_MOST_BYTES", 1 << 20)
    with answering("endless") as url:
        report = verify_foreign.verify_foreign(f"{url}/", network=Network(), jobs=1, progress=lambda *_told: None)
    assert any("no package is so large" in finding.message for finding in report.findings)
