"""Artifacts of a run as a person fetches them: killed in between, again, from another run, and by a branch."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import threading
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.artifacts import BASE, plain_archive, publish_run
from tests.support.commands import until
from tests.support.github_api import GitHubDouble, github_api, run_row
from tests.support.serving import answering_by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.commands import Desk

pytestmark = pytest.mark.end_to_end

_PART: Final = 32 << 20
_LARGE: Final = "blas_lib_gfx942.tar.zst"


@contextlib.contextmanager
def slow_server(root: Path, go: threading.Event, asked: list[tuple[str, int]]) -> Iterator[str]:
    """Serve a folder with ranges; what lies behind the first part of a file comes when ``go`` says so."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(root))  # type: ignore[arg-type]

        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if found is None:
                super().do_GET()
                return
            data = (root / self.path.lstrip("/")).read_bytes()
            start, end = int(found[1]), min(int(found[2] or len(data)), len(data) - 1)
            asked.append((self.path.rpartition("/")[2], start))
            if start >= _PART:
                go.wait(60)
            with contextlib.suppress(ConnectionError):
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
                self.send_header("Content-Length", str(end + 1 - start))
                self.end_headers()
                self.wfile.write(data[start : end + 1])

    with answering_by(Handler) as url:
        try:
            yield url
        finally:
            go.set()


def test_a_killed_fetch_goes_on_where_it_was(desk: Desk, tmp_path: Path) -> None:
    desk = desk.with_work("killed-fetch")
    content = os.urandom(2 * _PART + 77)
    folder = publish_run(tmp_path / "store" / "7-linux", {_LARGE: plain_archive({"lib/blas.so": content})})
    rows = "".join(f'<a href="{path.name}">{path.name}</a>' for path in folder.iterdir())
    (folder / "index.html").write_text(f"<html><body>{rows}</body></html>")
    out = tmp_path / "out"
    go = threading.Event()
    asked: list[tuple[str, int]] = []
    with slow_server(tmp_path / "store", go, asked) as url:
        words = ("--store", url, "--run-id", "7", "--target", "gfx942", "--output-dir", out, "--platform", "linux")
        with desk.started("fetch_artifacts", *words) as started:
            until((out / ".fetch" / f"{_LARGE}.json").exists, "the first part")
            started.kill_group()
        assert {path.name for path in out.iterdir()} == {".fetch", ".fetched-for.json"}
        assert json.loads((out / ".fetched-for.json").read_text())["to_come"] == ["blas_lib_gfx942"]
        asked.clear()
        go.set()
        document = desk.nox("fetch_artifacts", *words, "--json").well().document
    (row,) = document["artifacts"]
    assert row["resumed"] >= _PART
    assert json.loads((out / ".fetched-for.json").read_text())["to_come"] == []
    assert (_LARGE, 0) not in asked
    assert (out / "blas_lib_gfx942" / BASE / "lib/blas.so").read_bytes() == content


def test_by_branch_and_what_is_refused(desk: Desk, tmp_path: Path) -> None:
    commit = "a" * 40
    store, out = tmp_path / "store", tmp_path / "out"
    for run in (5, 6):
        publish_run(store / f"{run}-linux", {"blas_lib_gfx942.tar.xz": plain_archive({"a": b"%d" % run}, ".tar.xz")})
    double = GitHubDouble(branches={"main": [commit]}, runs={"multi_arch_ci.yml": [run_row(6, commit), run_row(5, commit)]})
    words = ("--store", store, "--output-dir", out, "--platform", "linux", "--json")
    with github_api(double) as github:
        desk = desk.with_work("by-branch", GITHUB_API_URL=github.url)
        document = desk.nox("fetch_artifacts", *words, "--for-branch", "main", "--gfx", "gfx942").well().document
        assert (document["status"], document["results"][0]["run_id"]) == ("found", "6")
        assert (out / "blas_lib_gfx942" / BASE / "a").read_bytes() == b"6"
        error = desk.nox("fetch_artifacts", *words, "--run-id", "5").failed("foreign-folder")
        assert "two runs make no ROCm" in error["message"]
        ran = desk.nox("fetch_artifacts", *words, "--for-commit", commit, "--gfx", "gfx1201")
        ran.failed("run-not-found")
        assert ran.document["status"] == "not-found"
    desk.nox("fetch_artifacts", *words, "--run-id", "5", "--for-branch", "main").failed("option-conflict")
