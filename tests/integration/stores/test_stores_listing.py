"""Stores that are read over HTTP: a bucket that lists itself, and folders with pages, of a real S3 server and of a plain one."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.listing import ListingStore
from tests.support.s3_front import fronting
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

FILES = {
    "r/a+b c.tar.zst": b"bytes",
    "r/x/y%2B.bin": b"0123456789" * 1000,
    "r/é.txt": b"",
    "r-staging/z": b"z",
}


@pytest.fixture(params=["bucket", "folder of a bucket", "pages"])
def listing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "pages":
        for key, data in FILES.items():
            (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / key).write_bytes(data)
        with serving(tmp_path) as url:
            yield ListingStore(url)
        return
    server: S3Server = request.getfixturevalue("s3_server")
    bucket = server.bucket(public=True)
    prefix = "v2/run" if request.param != "bucket" else ""
    for key, data in FILES.items():
        server.store(bucket, prefix).put(key, data, content_type="text/plain", cache_seconds=5)
    yield ListingStore(f"{server.endpoint}/{bucket}/{prefix}")


def error_of(do: Callable[[], object]) -> str:
    with pytest.raises(HipwrightError) as caught:
        do()
    return caught.value.code.name


def test_objects_are_listed_and_read(listing: Store) -> None:
    assert {one.key: one.size for one in listing.list("r")} == {
        key: len(data) for key, data in FILES.items() if key.startswith("r/")
    }
    assert [one.key for one in listing.list()] == sorted(FILES, key=str.encode)
    assert list(listing.list("absent")) == []
    for key, data in FILES.items():
        content = listing.get(key)
        assert content is not None
        assert (content.data, content.info.sha256, content.info.size) == (data, digest.of_bytes(data), len(data))
        info = listing.head(key)
        assert info is not None
        assert (info.size, info.etag) == (len(data), content.info.etag)
        with listing.as_file(key) as path:
            assert path.read_bytes() == data


def test_bytes_are_streamed_from_and_to_where_it_is_said(listing: Store) -> None:
    key = "r/x/y%2B.bin"
    data, info = FILES[key], listing.head(key)
    assert info is not None
    for start, end in ((0, None), (3, None), (3, 8), (0, 8), (3, 99999), (10000, None), (99999, None), (8, 8)):
        with listing.stream(key, start=start, end=end, etag=info.etag) as stream:
            assert stream.read() == data[start:end], (start, end)

    def read_changed() -> None:
        with listing.stream(key, etag='"another"'):
            pass

    assert error_of(read_changed) == "write-conflict"


def test_what_is_not_there_is_none(listing: Store) -> None:
    assert listing.head("r/absent") is None
    assert listing.get("r/absent") is None
    assert error_of(lambda: listing.as_file("r/absent").__enter__()) == "nothing-published"
    assert error_of(lambda: listing.stream("r/absent").__enter__()) == "nothing-published"


def test_nothing_is_written(listing: Store) -> None:
    assert error_of(lambda: listing.put("x", b"", content_type="x/y", cache_seconds=0)) == "store-unusable"
    assert error_of(lambda: listing.delete("r/é.txt")) == "store-unusable"


def test_a_page_names_only_what_is_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run" / "dist").mkdir(parents=True)
    (tmp_path / "outside.whl").write_bytes(b"no")
    (tmp_path / "run" / "dist" / "a.whl").write_bytes(b"yes")
    (tmp_path / "run" / "hidden").mkdir()
    (tmp_path / "run" / "hidden" / "b.whl").write_bytes(b"not linked")
    hrefs = [
        "/ruN/hidden/b.whl",
        "dist/a.whl#sha256=0",
        "dist/a.whl?x=1",
        "dist/gone.whl",
        "../outside.whl",
        "/outside.whl",
        "dist/%2e%2e/%2e%2e/outside.whl",
        "..%2foutside.whl",
        "http://127.0.0.1:9/x.whl",
        "//127.0.0.1:9/x.whl",
        "mailto:x",
        "http://[bad/x.whl",
        (tmp_path / "run" / "hidden" / "b.whl").as_uri(),
        "dist/",
        "",
    ]
    page = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    (tmp_path / "run" / "index.html").write_text(f"<html>{page}</html>")
    with serving(tmp_path) as url:
        store = ListingStore(f"{url}run")
        assert [(one.key, one.size) for one in store.list()] == [("dist/a.whl", 3)]


@pytest.mark.parametrize("stated", ["abc", "-1", "9" * 5000])
def test_a_size_that_is_none_is_not_believed(stated: str) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", stated)
            self.end_headers()
            self.wfile.write(b"bytes")

        def do_HEAD(self) -> None:
            self.do_GET()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            store = ListingStore(f"http://127.0.0.1:{server.server_port}")
            found = store.head("a")
            assert found is not None
            assert found.size == 0
            with contextlib.suppress(HipwrightError):
                assert store.get("a") is not None
            with store.stream("a") as stream, contextlib.suppress(OSError, http.client.HTTPException):
                assert stream.read() == b"bytes"
        finally:
            server.shutdown()
            thread.join()


def test_what_breaks_off_is_read_on(s3_server: S3Server) -> None:
    bucket = s3_server.bucket(public=True)
    data = b"0123456789" * 100_000
    s3_server.store(bucket).put("r/a", data, content_type="text/plain", cache_seconds=0)
    with fronting(s3_server.endpoint) as front:
        store = ListingStore(f"{front.url}/{bucket}")
        front.faults["GET"] = ["cut", "cut"]
        with store.as_file("r/a") as path:
            assert path.read_bytes() == data
        front.faults["GET"] = ["cut"]
        with store.stream("r/a", start=5) as stream, pytest.raises(ConnectionError, match="too early"):
            stream.read()
        front.faults["GET"] = ["cut"]
        assert error_of(lambda: store.get("r/a")) == "source-unreachable"


def test_a_server_that_does_not_answer_is_named() -> None:
    store = ListingStore("http://127.0.0.1:9/x")
    assert error_of(lambda: list(store.list())) == "source-unreachable"
