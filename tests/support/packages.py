"""Small packages, and places that offer them: folders, flat pages, indexes, and a web server on the loopback address."""

from __future__ import annotations

import base64
import contextlib
import html
import http.server
import io
import tarfile
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.wheels.pack import pack_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


def make_wheel(
    target: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    extras: Mapping[str, Sequence[str]] | None = None,
    files: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
    mark: str = "",
) -> Path:
    """Pack a wheel with one module, whose ``MARK`` tells it from others of its name and version."""
    module = canonicalize_name(name).replace("-", "_")
    unpacked = target / f".unpacked-{module}-{version}-{digest.short(digest.of_value([mark, tag]))}"
    info = unpacked / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.3", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    for extra, needs in (extras or {}).items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need} ; extra == "{extra}"' for need in needs)]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n")
    (unpacked / f"{module}.py").write_text(f"MARK = {mark!r}\n")
    for path, text in (files or {}).items():
        (unpacked / path).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / path).write_text(text)
    return pack_wheel(unpacked, target=target)


def make_sdist(target: Path, name: str, version: str, *, files: Mapping[str, str], requires: Sequence[str] = ()) -> Path:
    """Write a source distribution."""
    target.mkdir(parents=True, exist_ok=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    stem = f"{name.replace('-', '_')}-{version}"
    path = target / f"{stem}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for member, text in {"PKG-INFO": "\n".join(lines) + "\n", **files}.items():
            entry = tarfile.TarInfo(f"{stem}/{member}")
            data = text.encode()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def flat_page(folder: Path, files: Sequence[Path], *, hashes: bool = True) -> Path:
    """Write ``index.html`` in ``folder`` with a link to each file, ``+`` encoded."""
    rows = []
    for path in files:
        fragment = f"#sha256={digest.of_file(path)}" if hashes else ""
        relative = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_uri()
        link = quote(relative) if path.is_relative_to(folder) else relative
        rows.append(f'<a href="{html.escape(link)}{fragment}">{html.escape(path.name)}</a><br>')
    page = folder / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("<!DOCTYPE html><html><body>\n" + "\n".join(rows) + "\n</body></html>\n")
    return page


def make_index(root: Path, files: Sequence[Path], *, hashes: bool = True) -> Path:
    """Write an index (PEP 503) whose project folders hold copies of the files; return its root."""
    projects: dict[str, list[Path]] = {}
    for path in files:
        name = canonicalize_name(path.name.split("-")[0])
        copy = root / name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        projects.setdefault(name, []).append(copy)
    for project, copies in projects.items():
        flat_page(root / project, copies, hashes=hashes)
    root.mkdir(parents=True, exist_ok=True)
    rows = "\n".join(f'<a href="{name}/">{name}</a><br>' for name in sorted(projects))
    (root / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{rows}\n</body></html>\n")
    return root


@dataclass
class Server:
    """A folder served on the loopback address.

    ``seen`` are the request targets as sent; ``answers`` replace the file at a path: status, media type, body.
    ``password`` is what basic authentication must say, when set; ``told`` is what the requests said of it, decoded.
    ``moved`` are paths that answer with a redirect to another address.
    """

    url: str
    seen: list[str] = field(default_factory=list)
    answers: dict[str, list[tuple[int, str, bytes]]] = field(default_factory=dict)
    password: str | None = None
    told: list[str | None] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def serve(folder: Path, *, heads: bool = False) -> Iterator[Server]:
    """Serve a folder; a folder's address answers with its ``index.html``; with ``heads``, requests of the method ``HEAD`` too."""
    state = Server(url="")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.seen.append(self.path)
            path = unquote(urlsplit(self.path).path)
            header = self.headers.get("Authorization")
            state.told.append(None if header is None else base64.b64decode(header.removeprefix("Basic ")).decode())
            if state.password is not None and state.told[-1] != state.password:
                self._answer(401, "text/plain", b"no")
                return
            if path in state.moved:
                self.send_response(302)
                self.send_header("Location", state.moved[path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if state.answers.get(path):
                queue = state.answers[path]
                self._answer(*(queue.pop(0) if len(queue) > 1 else queue[0]))
                return
            # As S3 does: a raw + in a path is a space.
            file = folder / unquote(urlsplit(self.path).path.replace("+", " ")).lstrip("/")
            if file.is_dir():
                file /= "index.html"
            if not file.is_file():
                self._answer(404, "text/plain", b"not here")
                return
            kind = {".html": "text/html", ".json": "application/vnd.pypi.simple.v1+json"}.get(
                file.suffix, "application/octet-stream"
            )
            self._answer(200, kind, file.read_bytes())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        def log_message(self, *_arguments: object) -> None:
            return

    handler = type("Handler", (Handler,), {"do_HEAD": Handler.do_GET} if heads else {})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
