"""Small wheels to publish, stores that misbehave, and a strict reader of what was published."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
import zipfile
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import msgspec
from pypi_simple import IndexPage, ProjectPage

from build_tools import digest
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import Change, Snapshot
from build_tools.receipts.values import WheelFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from build_tools.stores.base import Abilities, Content, Listed, ObjectInfo, Store
    from build_tools.types import Sha256

__all__ = ["PUBLISHED", "Crash", "MeddledStore", "installable", "same_everywhere", "tree_of", "wheel_of", "write_wheel"]

HERE = "http://index.invalid/"

PUBLISHED = Change(action="publish", time="2026-01-02T03:04:05Z")
"""What the history keeps of a snapshot that a test puts in place."""


def write_wheel(
    folder: Path,
    name: str = "demo",
    version: str = "1.0+rocm7.1",
    *,
    text: str = "",
    headers: str = "Requires-Python: >=3.8\n",
    build: str = "",
    tag: str = "py3-none-any",
) -> tuple[Path, WheelFile]:
    """Write a pure wheel with one module that holds ``text``, and return it with its record."""
    dist_info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": f"VERSION = {version!r}\nTEXT = {text!r}\n",
        f"{dist_info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}",
        f"{dist_info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if build:
        members[f"{dist_info}/WHEEL"] += f"Build: {build.removesuffix('-')}\n"
    rows = [f"{member},{_record_hash(body)},{len(body.encode())}\n" for member, body in members.items()]
    members[f"{dist_info}/RECORD"] = "".join([*rows, f"{dist_info}/RECORD,,\n"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{build}{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, body in members.items():
            archive.writestr(zipfile.ZipInfo(member), body)
    return path, wheel_of(path)


def wheel_of(path: Path) -> WheelFile:
    """Return the record of a wheel on the disk."""
    distribution, version = path.name.split("-")[:2]
    return WheelFile(
        path=f"dist/{path.name}",
        filename=path.name,
        distribution=distribution,
        version=version,
        sha256=digest.of_file(path),
        size=path.stat().st_size,
    )


class Crash(BaseException):
    """The process dies here; nothing may handle it."""


class MeddledStore:
    """A store that calls a function before and after each write and removal, before it is asked, and before it is asked or read.

    ``writes`` are the keys that were written, ``reads`` those that were asked for or read.
    """

    def __init__(
        self,
        inner: Store,
        *,
        before: Callable[[int, str], None] = lambda _number, _key: None,
        after: Callable[[int, str], None] = lambda _number, _key: None,
        asked: Callable[[str], None] = lambda _key: None,
        reading: Callable[[int, str], None] = lambda _number, _key: None,
    ) -> None:
        self.inner = inner
        self.asked = asked
        self.reading = reading
        self.before = before
        self.after = after
        self.writes: list[str] = []
        self.reads: list[str] = []
        self._counting = threading.Lock()

    @property
    def address(self) -> str:
        return self.inner.address

    def url(self, key: str = "") -> str:
        return self.inner.url(key)

    @property
    def serves_folders(self) -> bool:
        return self.inner.serves_folders

    @property
    def abilities(self) -> Abilities:
        return self.inner.abilities

    def is_open(self, key: str) -> bool:
        return self.inner.is_open(key)

    def list(self, prefix: str = "") -> Iterator[Listed]:
        return self.inner.list(prefix)

    def head(self, key: str) -> ObjectInfo | None:
        self.asked(key)
        self._read(key)
        return self.inner.head(key)

    def get(self, key: str) -> Content | None:
        self._read(key)
        return self.inner.get(key)

    def stream(
        self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        return self.inner.stream(key, start=start, end=end, etag=etag)

    def as_file(self, key: str) -> AbstractContextManager[Path]:
        return self.inner.as_file(key)

    def put(
        self,
        key: str,
        body: bytes | Path,
        *,
        content_type: str,
        cache_seconds: int,
        sha256: Sha256 | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        with self._writing(key):
            return self.inner.put(
                key,
                body,
                content_type=content_type,
                cache_seconds=cache_seconds,
                sha256=sha256,
                if_absent=if_absent,
                if_match=if_match,
                on_bytes=on_bytes,
            )

    def copy_from(
        self,
        source: Store,
        source_key: str,
        key: str,
        *,
        sha256: Sha256,
        content_type: str,
        cache_seconds: int,
        size: int | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        with self._writing(key):
            return self.inner.copy_from(
                source,
                source_key,
                key,
                sha256=sha256,
                content_type=content_type,
                cache_seconds=cache_seconds,
                size=size,
                if_absent=if_absent,
                if_match=if_match,
                on_bytes=on_bytes,
            )

    def delete(self, key: str) -> None:
        with self._writing(key):
            self.inner.delete(key)

    def _read(self, key: str) -> None:
        with self._counting:
            number = len(self.reads)
            self.reads.append(key)
        self.reading(number, key)

    @contextlib.contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        with self._counting:
            number = len(self.writes)
            self.writes.append(key)
        self.before(number, key)
        yield
        self.after(number, key)


def installable(store: Store, prefix: str) -> dict[str, str]:
    """Follow every link of every HTML page as a strict installer would; return the files (name to sha256) that can be installed."""
    found: dict[str, str] = {}
    root = store.get(_under(prefix, "simple/index.html"))
    if root is None:
        return found
    for project in IndexPage.from_html(root.data).projects:
        page = store.get(_under(prefix, f"simple/{project}/index.html"))
        assert page is not None, f"the root names {project}, which has no page"
        found |= _follow(store, prefix, project, f"simple/{project}/index.html", page.data)
    flat = store.get(_under(prefix, "index.html"))
    assert flat is not None
    _follow(store, prefix, "", "index.html", flat.data)
    return found


def same_everywhere(store: Store, prefix: str) -> Snapshot:
    """Prove that HTML, JSON, the flat page and the stored history say what the snapshot says, and return it."""
    current = store.get(_under(prefix, "snapshot.json"))
    assert current is not None
    snapshot = from_json(current.data, Snapshot, name="snapshot.json")
    history = store.get(_under(prefix, f"snapshots/{digest.of_bytes(current.data)}.json"))
    assert history is not None
    assert history.data == current.data
    expected = {file.filename: file.sha256 for file in snapshot.files}
    assert installable(store, prefix) == expected
    listed: dict[str, str] = {}
    root = store.get(_under(prefix, "simple-json/index.json"))
    assert root is not None
    for project in IndexPage.from_json_data(msgspec.json.decode(root.data)).projects:
        page = store.get(_under(prefix, f"simple-json/{project}/index.json"))
        assert page is not None
        parsed = ProjectPage.from_json_data(msgspec.json.decode(page.data), base_url=f"{HERE}simple-json/{project}/index.json")
        for package in parsed.packages:
            assert package.digests is not None
            listed[package.filename] = package.digests["sha256"]
    assert listed == expected
    return snapshot


def tree_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _follow(store: Store, prefix: str, project: str, key: str, data: bytes) -> dict[str, str]:
    """Check that every link of a page leads to the bytes and the side file that the page promises."""
    found = {}
    for package in ProjectPage.from_html(project, data, base_url=urljoin(HERE, key)).packages:
        assert package.digests is not None
        parts = urlsplit(package.url)
        assert "+" not in parts.path, "some servers read it as a space"
        target = unquote(parts.path).lstrip("/")
        assert target.rpartition("/")[2] == package.filename
        file = store.get(_under(prefix, target))
        assert file is not None, f"{key} names {target}, which is not there"
        assert digest.of_bytes(file.data) == package.digests["sha256"], f"{key} has a wrong hash for {target}"
        found[package.filename] = package.digests["sha256"]
        if package.filename.endswith(".tar.gz"):
            assert package.metadata_digests is None, "what a source distribution requires may be decided when it is built"
            continue
        assert package.metadata_digests is not None
        side = store.get(_under(prefix, f"{target}.metadata"))
        assert side is not None, f"{key} promises a side file of {target}"
        assert digest.of_bytes(side.data) == package.metadata_digests["sha256"]
    return found


def _under(prefix: str, key: str) -> str:
    return f"{prefix}/{key}" if prefix else key


def _record_hash(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
