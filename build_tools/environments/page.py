"""Pages that list package files: PEP 503 HTML, PEP 691 JSON, and the flat pages that ``--find-links`` takes, all in one form.

Side-file hashes are read as PEP 658 and PEP 714 have them, yanks as PEP 592.
"""

from __future__ import annotations

import html.parser
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from build_tools.environments.network import Response, canonical_url
from build_tools.errors import HipwrightError
from build_tools.urls import redact, without_query

__all__ = ["ACCEPT", "Link", "Page", "is_package_file", "read_hrefs", "read_page"]

ACCEPT: Final = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
"""What an index is asked for: JSON before HTML."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_WEB: Final = frozenset({"http", "https"})
_ENDINGS: Final = (".whl", ".tar.gz", ".zip")


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One file that a page lists.

    ``url`` is absolute and quoted, without a fragment and without a password; ``filename`` is raw. ``metadata`` tells whether a ``.metadata`` side file is
    there, ``metadata_sha256`` its hash when the page states one. ``yanked`` is the reason, None for a file that is not yanked.
    ``uploaded`` is when it was uploaded, as the page states it (PEP 700).
    """

    filename: str
    url: str
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    metadata: bool = False
    metadata_sha256: str | None = None
    yanked: str | None = None
    uploaded: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What a page lists: package files, and names of further pages (the projects of an index's root)."""

    url: str
    files: tuple[Link, ...]
    pages: tuple[str, ...]


def is_package_file(name: str) -> bool:
    """Return whether a name is a bare file name that ends as wheels and source distributions do."""
    return name.endswith(_ENDINGS) and "/" not in name and "\\" not in name


def read_page(response: Response) -> Page:
    """Parse a page.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` when JSON was promised and is not what PEP 691 says.
    """
    if response.content_type.endswith("json"):
        return _read_json(response)
    return _read_html(response)


class _File(msgspec.Struct, kw_only=True, rename="kebab"):
    """A file in PEP 691 JSON; ``core-metadata`` is the name of PEP 714, ``dist-info-metadata`` the older one."""

    filename: str
    url: str
    hashes: dict[str, str] = {}
    size: int | None = None
    requires_python: str | None = None
    core_metadata: bool | dict[str, str] | None = None
    dist_info_metadata: bool | dict[str, str] | None = None
    yanked: bool | str = False
    upload_time: str | None = None


class _Project(msgspec.Struct, kw_only=True):
    name: str


class _Json(msgspec.Struct, kw_only=True):
    files: list[_File] = []
    projects: list[_Project] = []


def _read_json(response: Response) -> Page:
    try:
        data = msgspec.json.decode(response.body, type=_Json)
    except msgspec.DecodeError as error:
        message = f"{without_query(response.url)} says that it is an index page in JSON, and is not: {error}"
        raise HipwrightError("source-unreachable", message) from error
    return Page(
        url=response.url,
        files=tuple(
            _json_link(file, url)
            for file in data.files
            if is_package_file(file.filename) and (url := _joined(response.url, file.url)) is not None
        ),
        pages=tuple(project.name for project in data.projects),
    )


def _json_link(file: _File, url: str) -> Link:
    metadata = file.core_metadata if file.core_metadata is not None else file.dist_info_metadata
    return Link(
        filename=file.filename,
        url=_recorded(urldefrag(url).url),
        sha256=_sha256(file.hashes.get("sha256")),
        size=file.size,
        requires_python=file.requires_python,
        metadata=bool(metadata),
        metadata_sha256=_sha256(metadata.get("sha256")) if isinstance(metadata, dict) else None,
        yanked=(file.yanked if isinstance(file.yanked, str) else "") if file.yanked is not False else None,
        uploaded=file.upload_time,
    )


class _Anchors(html.parser.HTMLParser):
    """Collects the anchors of a page, and its base address."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.anchors: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ``a`` with its attributes, and the first ``base``."""
        found = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in found:
            self.anchors.append(found)
        elif tag == "base" and self.base is None:
            self.base = found.get("href")


def read_hrefs(response: Response) -> tuple[str, ...]:
    """Return the absolute addresses that an HTML page links to, in its order."""
    return tuple(anchor["href"] for anchor in _anchors(response)[1])


def _anchors(response: Response) -> tuple[str, list[dict[str, str]]]:
    """Return the address that a page's links are relative to, and its anchors, with whole addresses; those without one are left out."""
    parser = _Anchors()
    parser.feed(response.body.decode("utf-8", "replace"))
    parser.close()
    base = (_joined(response.url, parser.base) if parser.base else None) or response.url
    joined = ((anchor, _joined(base, anchor["href"].strip())) for anchor in parser.anchors)
    return base, [{**anchor, "href": url} for anchor, url in joined if url is not None]


def _joined(base: str, href: str) -> str | None:
    """Return the whole address of a link; None when it is none, and when a page of the web leads into this machine's files."""
    try:
        url = urljoin(base, href)
        scheme = urlsplit(url).scheme
    except ValueError:
        return None
    return url if scheme in _WEB or urlsplit(base).scheme not in _WEB else None


def _read_html(response: Response) -> Page:
    base, anchors = _anchors(response)
    files = []
    pages = []
    for anchor in anchors:
        url, fragment = urldefrag(anchor["href"])
        filename = unquote(urlsplit(url).path).rpartition("/")[2]
        if is_package_file(filename):
            files.append(_html_link(anchor, filename=filename, url=url, fragment=fragment))
        elif not filename and url.startswith(base.rpartition("/")[0] + "/") and url != base:
            pages.append(unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2])
    return Page(url=response.url, files=tuple(files), pages=tuple(pages))


def _html_link(anchor: dict[str, str], *, filename: str, url: str, fragment: str) -> Link:
    algorithm, _, value = fragment.partition("=")
    metadata = anchor.get("data-core-metadata", anchor.get("data-dist-info-metadata"))
    metadata_algorithm, _, metadata_value = (metadata or "").partition("=")
    return Link(
        filename=filename,
        url=_recorded(url),
        sha256=_sha256(value) if algorithm == "sha256" else None,
        requires_python=anchor.get("data-requires-python") or None,
        metadata=metadata is not None and metadata != "false",
        metadata_sha256=_sha256(metadata_value) if metadata_algorithm == "sha256" else None,
        yanked=anchor.get("data-yanked"),
    )


def _recorded(url: str) -> str:
    """Return a file's address as it is recorded: quoted in one way, without a password that the page put there."""
    return canonical_url(redact(url))


def _sha256(value: str | None) -> str | None:
    return value.lower() if value and _SHA256.fullmatch(value.lower()) else None
