"""``verify`` by the address of an index: a bucket, a flat page, a server that leads elsewhere, pages too large; how pages are served; and damaged papers."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import threading
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.index.layout import JSON_TYPE
from build_tools.pipeline.keep_index import rollback
from build_tools.pipeline.verify_index import verify
from build_tools.publish.papers import PaperFile, Papers, bind_papers
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.check import JudgedWheel
from build_tools.stores.local import FolderStore
from tests.support.publishing import write_wheel
from tests.support.serving import serving
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

PREFIX = "channels/rehearsal"
PAPER = "lock.json"


def papers(offers: Sequence[Offer]) -> Papers:
    wheels = [JudgedWheel(filename=offer.filename, sha256=offer.sha256) for offer in offers]
    return bind_papers(wheels, [PaperFile(name=PAPER, kind="lock", data=b'{"projects": {}, "schema": 1}\n')])


def fill(store: Store, folder: Path, prefix: str = PREFIX) -> None:
    wheels = [write_wheel(folder / "built", "demo", "1.0+rocm7.1"), write_wheel(folder / "built", "other", "2.0")]
    publish_wheels(wheels, store=store, prefix=prefix, replace=False, say=lambda _line: None, papers=papers)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    fill(FolderStore(tmp_path / "store"), tmp_path)
    return tmp_path / "store" / PREFIX


def report_of(folder: Path, address: str, *, broken: bool = False, **machine: Any) -> dict[str, Any]:  # noqa: ANN401 - options of any kind
    environment = machine.pop("machine", None)
    place = workplace(folder, words=(address,), **machine)
    if environment is not None:
        place = dataclasses.replace(place, machine={**place.machine, **environment})
    with contextlib.ExitStack() as stack:
        caught = stack.enter_context(pytest.raises(HipwrightError)) if broken else None
        document: Any = verify(place)
    if caught is not None:
        assert caught.value.code.name == "index-findings"
        document = caught.value.document
    (found,) = document["indexes"]
    assert isinstance(found, dict)
    return found


def rules(report: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in report["findings"]}


def _set_of(index: Path) -> Path:
    (folder,) = (index / "provenance").iterdir()
    return folder


@pytest.mark.parametrize("name", [PAPER, "set.json"])
@pytest.mark.parametrize("data", [None, b"{}"])
def test_damaged_papers_are_found(tmp_path: Path, index: Path, name: str, data: bytes | None) -> None:
    assert report_of(tmp_path, str(index))["findings"] == ()
    path = _set_of(index) / name
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    found = report_of(tmp_path, str(index), broken=True)
    assert rules(found) == {"provenance"}
    said = "is not there" if data is None else "has other bytes"
    assert all(said in finding["message"] for finding in found["findings"])


def test_papers_that_are_of_other_wheels_are_found(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    other = [JudgedWheel(filename="other-1.0-py3-none-any.whl", sha256=digest.of_bytes(b"other"))]
    wheel = write_wheel(tmp_path / "built", "demo", "1.0")
    publish_wheels(
        [wheel],
        store=FolderStore(tmp_path / "store"),
        prefix=PREFIX,
        replace=False,
        say=lambda _line: None,
        papers=lambda _offers: bind_papers(other, [PaperFile(name=PAPER, kind="lock", data=b"{}\n")]),
    )
    found = report_of(tmp_path, str(tmp_path / "store" / PREFIX), broken=True)
    assert rules(found) == {"provenance"}
    assert "not bound to demo-1.0" in found["findings"][0]["message"]


@pytest.mark.parametrize("way", ["http", "file", "path"])
def test_a_flat_page_of_others_is_looked_at_with_every_file(tmp_path: Path, index: Path, way: str) -> None:
    (index / "snapshot.json").unlink()
    with serving(index) as url:
        page = index / "index.html"
        address = {"http": f"{url}index.html", "file": page.as_uri(), "path": str(page.relative_to(tmp_path))}[way]
        found = report_of(tmp_path, address)
        assert (found["files"], found["projects"], found["findings"]) == (2, 0, ())
        next((index / "dist").glob("other-*.whl")).write_bytes(b"x")
        assert rules(report_of(tmp_path, address, broken=True)) == {"file"}


@pytest.fixture
def leading(index: Path) -> Iterator[tuple[str, str]]:
    """Give the address of a server that leads to another one for everything, and that one's."""
    with serving(index) as there:

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(302)
                self.send_header("Location", f"{there.rstrip('/')}{self.path}")
                self.end_headers()

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *_arguments: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            yield f"http://127.0.0.1:{server.server_port}/", there
            server.shutdown()
            thread.join()


def test_a_server_that_leads_to_another_is_followed_and_that_is_told(
    tmp_path: Path, index: Path, leading: tuple[str, str]
) -> None:
    (index / "snapshot.json").unlink()
    found = report_of(tmp_path, f"{leading[0]}simple/")
    assert (found["files"], found["findings"]) == (2, ())
    assert any(leading[1] in line for line in found["unjudged"])


@pytest.mark.parametrize("way", ["http", "file"])
def test_a_page_that_has_no_end_is_not_read_into_memory(
    tmp_path: Path, index: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (index / "snapshot.json").unlink()
    monkeypatch.setattr("build_tools.environments.network._MOST_BYTES", 1 << 20)
    page = index / "simple/demo/index.html"
    page.write_bytes(page.read_bytes() + b" " * (1 << 20))
    with serving(index) as url:
        found = report_of(tmp_path, f"{url}simple/" if way == "http" else f"{(index / 'simple').as_uri()}/", broken=True)
    assert rules(found) == {"page"}
    assert "larger than 1 MiB" in found["findings"][0]["message"]


def test_a_bucket_is_named_by_its_address(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    fill(s3_server.store(bucket), tmp_path)
    options: dict[str, Any] = {"machine": s3_server.machine, "endpoint_url": s3_server.endpoint}
    for address in (f"s3://{bucket}/{PREFIX}", f"s3://{bucket}/{PREFIX}/", f"s3://{bucket}/{PREFIX}/simple/"):
        found = report_of(tmp_path, address, **options)
        assert (found["files"], found["history"], found["findings"]) == (2, 1, ())
    s3_server.store(bucket).delete(f"{PREFIX}/dist/other-2.0-py3-none-any.whl")
    assert rules(report_of(tmp_path, f"s3://{bucket}/{PREFIX}", broken=True, **options)) == {"file"}
    assert rules(report_of(tmp_path, f"s3://{bucket}/channels", broken=True, **options)) == {"empty"}


def served_as(server: S3Server, bucket: str, key: str, **served: str) -> None:
    """Put an object there again with all that was noted of it, served in another way."""
    there = server.client().get_object(Bucket=bucket, Key=key)
    server.client().put_object(Bucket=bucket, Key=key, Body=there["Body"].read(), Metadata=there["Metadata"], **served)


def test_a_page_that_installers_would_not_take_or_keep_too_long_is_found_and_put_right(
    tmp_path: Path, s3_server: S3Server
) -> None:
    bucket = s3_server.bucket(public=True)
    fill(s3_server.store(bucket), tmp_path)
    options: dict[str, Any] = {"machine": s3_server.machine, "endpoint_url": s3_server.endpoint}
    address = f"s3://{bucket}/{PREFIX}"
    right = {"simple/demo/index.html": "text/html", "simple-json/demo/index.json": JSON_TYPE, "simple/index.html": "text/html"}
    for key, kept in zip(right, ("no-cache", "no-cache", "max-age=86400"), strict=True):
        wrong = right[key] if "max" in kept else "binary/octet-stream"
        served_as(s3_server, bucket, f"{PREFIX}/{key}", ContentType=wrong, CacheControl=kept)
    found = report_of(tmp_path, address, broken=True, **options)["findings"]
    assert [one["where"].removeprefix(f"{address}/") for one in found if one["rule"] == "page"] == [
        "simple/index.html",
        "simple/demo/index.html",
        "simple-json/demo/index.json",
    ]
    assert "kept unasked for 86400 seconds" in found[0]["message"]
    assert "binary/octet-stream" in found[1]["message"]
    assert JSON_TYPE in found[2]["message"]
    # Their bytes are right, so nothing but how they are served says that these pages are to be written.
    place = workplace(
        tmp_path, store=f"s3://{bucket}", channel="rehearsal", to="current", apply=True, endpoint_url=s3_server.endpoint
    )
    rollback(dataclasses.replace(place, machine={**place.machine, **s3_server.machine}))
    assert report_of(tmp_path, address, **options)["findings"] == ()
    assert served_right(s3_server, bucket, "simple/index.html") == ("text/html; charset=utf-8", "no-cache")
    assert served_right(s3_server, bucket, "simple-json/demo/index.json") == (JSON_TYPE, "no-cache")


def served_right(server: S3Server, bucket: str, key: str) -> tuple[str, str]:
    head = server.client().head_object(Bucket=bucket, Key=f"{PREFIX}/{key}")
    return head["ContentType"], head["CacheControl"]


def test_pages_are_looked_at_where_installers_ask_for_them(tmp_path: Path, s3_twin: S3Server) -> None:
    bucket = s3_twin.bucket()
    fill(s3_twin.store(bucket), tmp_path)
    options: dict[str, Any] = {"machine": s3_twin.machine, "endpoint_url": s3_twin.endpoint}
    assert report_of(tmp_path, f"s3://{bucket}/{PREFIX}", **options)["findings"] == ()
    s3_twin.client().delete_object(Bucket=bucket, Key=f"{PREFIX}/simple/demo/")
    served_as(s3_twin, bucket, f"{PREFIX}/simple-json/", ContentType="text/html", CacheControl="no-cache")
    found = report_of(tmp_path, f"s3://{bucket}/{PREFIX}", broken=True, **options)["findings"]
    assert {one["where"].partition(f"{PREFIX}/")[2] for one in found} == {"simple/demo/", "simple-json/"}


def test_it_is_told_what_a_web_server_does_not_give_to_installers(tmp_path: Path, index: Path, s3_server: S3Server) -> None:
    with serving(index) as url:
        found = report_of(tmp_path, url)
        assert found["findings"] == ()
        assert [line.partition(":")[0] for line in found["unjudged"]] == ["how simple-json/ is served"]
        # What installers ask for is looked at too, not only the file that lies there.
        page = index / "simple/demo/index.html"
        page.write_bytes(page.read_bytes().replace(b"%2B", b"+"))
        where = {one["where"].removeprefix(url) for one in report_of(tmp_path, url, broken=True)["findings"]}
        assert where == {"simple/demo/index.html", "simple/demo/"}
    bucket = s3_server.bucket(public=True)
    fill(s3_server.store(bucket), tmp_path)
    # This one drops the bytes of keys that end in a slash, and there is no server before it that knows folders.
    found = report_of(tmp_path, f"{s3_server.endpoint}/{bucket}/{PREFIX}/")
    assert found["findings"] == ()
    assert any(line.startswith("simple/: ") and "--find-links alone" in line for line in found["unjudged"])
    served_as(s3_server, bucket, f"{PREFIX}/index.html", ContentType="text/plain", CacheControl="no-cache")
    found = report_of(tmp_path, f"{s3_server.endpoint}/{bucket}/{PREFIX}/", broken=True)
    assert [one["message"] for one in found["findings"]] == ["it is served as text/plain, and installers take text/html"]
