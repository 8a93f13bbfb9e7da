"""Commands that are interrupted while a server says nothing: they end soon, and say that they were interrupted."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.publish.upload import publish_wheels
from build_tools.stores.local import FolderStore
from tests.support.publishing import write_wheel
from tests.support.serving import answering_by

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX systems")

CLONE = Path(__file__).parents[2]
SECONDS = 8.0
"""In these a command ends that would wait for minutes: two of grace, and what nox and a machine with other work take."""


@contextlib.contextmanager
def silent(folder: Path | None, *, about: str = "/") -> Iterator[tuple[str, threading.Event]]:
    """Serve a folder and say nothing of what ``about`` is in the path of; give the address, and what tells that such was asked for."""
    asked, over = threading.Event(), threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if about not in self.path:
                super().do_GET()
                return
            asked.set()
            over.wait()
            self.close_connection = True

        do_PUT = do_POST = do_HEAD = do_GET  # noqa: N815 - the base class calls them so

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_arguments: object) -> None:
            return

    with answering_by(Handler) as url:
        try:
            yield url, asked
        finally:
            over.set()


@pytest.mark.parametrize(("whose", "number"), [("ours", signal.SIGTERM), ("another's", signal.SIGINT)])
def test_verify_of_a_server_that_says_nothing_ends_soon(tmp_path: Path, whose: str, number: signal.Signals) -> None:
    (tmp_path / "store").mkdir()
    wheels = [write_wheel(tmp_path / "built", "demo", version) for version in ("1.0", "2.0")]
    publish_wheels(wheels, store=FolderStore(tmp_path / "store"), prefix="", replace=False, say=lambda _line: None)
    if whose == "another's":
        (tmp_path / "store" / "snapshot.json").unlink()
    with silent(tmp_path / "store", about=".whl") as (url, asked):
        words = ["verify", "--", f"{url}/index.html" if whose == "another's" else url, "--json", "--jobs", "2"]
        words += ["--work-dir", str(tmp_path / "work"), "--cache-dir", str(tmp_path / "cache")]
        process = subprocess.Popen(
            [sys.executable, "-m", "nox", "-s", *words],
            cwd=CLONE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert asked.wait(60)
            began = time.monotonic()
            process.send_signal(number)
            out, talk = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait()
    assert time.monotonic() - began < SECONDS
    assert json.loads(out)["error"]["code"] == "interrupted", talk
    assert "Traceback" not in talk
    assert not list(tmp_path.glob("hipwright-*")), "a file that was half read is left"
