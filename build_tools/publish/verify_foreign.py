"""Look at an index that others made, which has no snapshot of ours: its pages by the specifications, and every byte that they link to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.index.layout import metadata_key
from build_tools.index.strict import read_flat_page, read_html_project, read_html_root
from build_tools.receipts.index_report import IndexFinding, IndexReport
from build_tools.threads import Threads, go_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.environments.network import Network, Response
    from build_tools.index.strict import SeenFile
    from build_tools.publish.transfer import Progress

__all__ = ["verify_foreign"]

_HTML: Final = "text/html"
_PIECE: Final = 1 << 20
_MOST_BYTES: Final = 32 << 30
"""No package is larger: a server that sends more sends without an end."""

_UNJUDGED: Final = (
    "snapshot and history: there is no snapshot.json that says what the index should hold",
    "JSON pages: only HTML is asked for",
    "provenance and verdicts: nothing binds papers to the files",
)


def verify_foreign(url: str, *, network: Network, jobs: int, progress: Progress) -> IndexReport:
    """Return what of an index at an address breaks a rule: a list of projects, or one flat page of links.

    Parameters
    ----------
    url
        The ``http``, ``https`` or ``file`` address of ``simple/``, or of a page for ``--find-links``.
    network
        How addresses are read.
    jobs
        How many files are read at once.
    progress
        Takes how many files were read.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when no page is there, ``source-unreachable`` when the first one cannot be read.
    """
    root = network.read(url, accept=_HTML)
    if root is None:
        refusal = network.refusal(url)
        if refusal is not None:
            raise refusal
        raise HipwrightError("nothing-published", f"there is no index at {url}", hint="name the address that ends in simple/")
    look = _Look(network=network)
    listed = read_html_root(root.body, url=root.url)
    findings: list[IndexFinding] = []
    files: list[SeenFile] = []
    unjudged = list(_UNJUDGED)
    if root.url.rstrip("/") != url.rstrip("/") and urlsplit(root.url).netloc != urlsplit(url).netloc:
        unjudged.append(f"{url} leads to another server, {root.url}: that one was looked at")
    if _is_flat(list(listed.projects.values())):
        page = read_flat_page(root.body, url=root.url)
        findings += [IndexFinding(rule="page", where=root.url, message=fault) for fault in page.faults]
        files, projects = list(page.files), 0
    else:
        projects = len(listed.projects)
        findings += [IndexFinding(rule="page", where=root.url, message=fault) for fault in listed.faults]
        for address in listed.projects.values():
            shown, faults = look.project(address)
            files += shown
            findings += faults
    if not files:
        findings.append(IndexFinding(rule="empty", where=root.url, message="the index names no file"))
    size = 0
    with Threads(max(1, jobs)) as pool:
        for number, (read, faults) in enumerate(pool.map(look.file, files), start=1):
            size += read
            findings += faults
            progress("verifying", number, len(files), "files")
    return IndexReport(
        address=url,
        projects=projects,
        files=len(files),
        size=size,
        history=None,
        unjudged=tuple(unjudged),
        findings=tuple(findings),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    """One look at an index of others."""

    network: Network

    def project(self, address: str) -> tuple[list[SeenFile], list[IndexFinding]]:
        try:
            response = self.network.read(address, accept=_HTML)
        except HipwrightError as error:
            return [], [IndexFinding(rule="page", where=address, message=error.message)]
        if response is None:
            return [], [IndexFinding(rule="page", where=address, message="it is not there")]
        page = read_html_project(response.body, url=response.url)
        faults = [IndexFinding(rule="page", where=address, message=fault) for fault in page.faults]
        if not page.files:
            faults.append(IndexFinding(rule="page", where=address, message="it names no file, and uv stops at such a page"))
        return list(page.files), faults

    def file(self, file: SeenFile) -> tuple[int, list[IndexFinding]]:
        """Read a file whole, and its side file."""
        hashed, size = hashlib.sha256(), 0
        try:
            with self.network.stream(file.url) as stream:
                while piece := stream.read(_PIECE):
                    go_on()
                    hashed.update(piece)
                    size += len(piece)
                    if size > _MOST_BYTES:
                        message = f"the server sends more than {_MOST_BYTES} bytes, and no package is so large"
                        return size, [IndexFinding(rule="file", where=file.url, message=message)]
        except (HipwrightError, OSError) as error:
            return size, [IndexFinding(rule="file", where=file.url, message=getattr(error, "message", str(error)))]
        return size, list(self._faults(file, hashed.hexdigest()))

    def _faults(self, file: SeenFile, sha256: str) -> Iterator[IndexFinding]:
        if file.sha256 is None:
            yield IndexFinding(
                rule="file", where=file.url, message="its page gives no sha256, so nobody can tell that the bytes are right"
            )
        elif sha256 != file.sha256:
            yield IndexFinding(
                rule="file", where=file.url, message=f"it has other bytes than its page says: {sha256}, not {file.sha256}"
            )
        if file.metadata_sha256 is None:
            return
        address = metadata_key(file.url)
        side: Response | None = None
        try:
            side = self.network.read(address)
        except HipwrightError as error:
            yield IndexFinding(rule="side-file", where=address, message=error.message)
            return
        if side is None:
            yield IndexFinding(rule="side-file", where=address, message="it is not there")
        elif digest.of_bytes(side.body) != file.metadata_sha256:
            yield IndexFinding(rule="side-file", where=address, message="it has other bytes than its page says")


def _is_flat(addresses: list[str]) -> bool:
    return bool(addresses) and all(urlsplit(address).path.endswith((".whl", ".tar.gz", ".zip")) for address in addresses)
