"""Read the pages of an index as strictly as their specifications are written, from the bytes that a server gave.

Installers are lenient, so a page that pip takes may still be one that uv, a mirror or a lock file tool refuses, or one that is read
without its hashes. Here each rule that a page breaks is a sentence; what could be read is returned beside them. Nothing is fetched.

Sources of the rules: PEP 503 (pages, names, links, hashes), 592 (yanked), 629 (repository version), 658 and 714 (side files), 691 (JSON),
700 (versions, sizes, upload times).
"""

from __future__ import annotations

import collections
import re
from dataclasses import dataclass, field
from typing import Annotated, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.index.anchors import Anchor, Document, read_document
from build_tools.types import Sha256

__all__ = [
    "ReadProject",
    "ReadRoot",
    "SeenFile",
    "read_flat_page",
    "read_html_project",
    "read_html_root",
    "read_json_project",
    "read_json_root",
]

_HEX: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = re.compile(r"1\.[0-9]+")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
_SHA256: Final = "sha256="

_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
_Size = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenFile:
    """A file as a page shows it.

    ``url`` is absolute and without its fragment. ``metadata_sha256`` is of the side file, None when the page promises none. ``yanked`` is
    the reason, empty without one, None when the file is not yanked. HTML says no size and no upload time.
    """

    filename: str
    url: str
    sha256: Sha256 | None
    requires_python: str | None = None
    metadata_sha256: Sha256 | None = None
    yanked: str | None = None
    size: int | None = None
    uploaded: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadProject:
    """A page of files as it was read; ``versions`` is what JSON says, None for HTML. ``faults`` are the rules that it breaks."""

    files: tuple[SeenFile, ...] = ()
    versions: tuple[str, ...] | None = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRoot:
    """A list of projects as it was read: the address of each one's page by its name. ``faults`` are the rules that it breaks."""

    projects: dict[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def read_html_root(data: bytes, *, url: str) -> ReadRoot:
    """Read the list of projects at an address (PEP 503)."""
    document = read_document(data)
    faults = _document_faults(document)
    found: dict[str, str] = {}
    for anchor in document.anchors:
        name, address = anchor.text, urljoin(url, anchor.href or "")
        faults += [f"the link to {name} {fault}" for fault in _name_faults(name)]
        if name in found:
            faults.append(f"{name} is there twice")
        if not urlsplit(address).path.endswith(f"/{name}/"):
            faults.append(f"the link to {name} does not end in {name}/, which is where installers look: {anchor.href}")
        found[name] = address
    return ReadRoot(projects=found, faults=tuple(faults))


def read_html_project(data: bytes, *, url: str) -> ReadProject:
    """Read a project's page at an address (PEP 503)."""
    document = read_document(data)
    faults = _document_faults(document)
    files = []
    for anchor in document.anchors:
        file, wrong = _seen_in_html(anchor, url)
        files.append(file)
        faults += [f"the link to {anchor.text or anchor.href} {fault}" for fault in wrong]
    return ReadProject(files=tuple(files), faults=(*faults, *_repeated(files)))


def read_flat_page(data: bytes, *, url: str) -> ReadProject:
    """Read a page for ``--find-links`` at an address; its links are those of projects' pages."""
    return read_html_project(data, url=url)


class _Meta(msgspec.Struct):
    version: str = msgspec.field(name="api-version")


class _Name(msgspec.Struct):
    name: str


class _JsonRoot(msgspec.Struct):
    meta: _Meta
    projects: list[_Name]


class _Hashes(msgspec.Struct):
    sha256: _Digest


class _JsonFile(msgspec.Struct, rename="kebab"):
    filename: str
    url: str
    hashes: _Hashes
    size: _Size
    upload_time: str | None = None
    requires_python: str | None = None
    core_metadata: _Hashes | bool = False
    dist_info_metadata: _Hashes | bool | msgspec.UnsetType = msgspec.UNSET
    yanked: str | bool = False


class _JsonProject(msgspec.Struct):
    meta: _Meta
    name: str
    versions: list[str]
    files: list[_JsonFile]


def read_json_root(data: bytes, *, url: str) -> ReadRoot:
    """Read the list of projects as JSON at an address (PEP 691)."""
    try:
        page = msgspec.json.decode(data, type=_JsonRoot)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return ReadRoot(faults=(f"it is not a list of projects: {error}",))
    faults = _version_faults([page.meta.version])
    found: dict[str, str] = {}
    for one in page.projects:
        faults += [f"the name {one.name!r} {fault}" for fault in _name_faults(one.name)]
        if one.name in found:
            faults.append(f"{one.name} is there twice")
        found[one.name] = urljoin(url, f"{one.name}/")
    return ReadRoot(projects=found, faults=tuple(faults))


def read_json_project(data: bytes, *, project: str, url: str) -> ReadProject:
    """Read the page of a project, which is named in normal form, as JSON at an address (PEP 691, 700)."""
    try:
        page = msgspec.json.decode(data, type=_JsonProject)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return ReadProject(faults=(f"it is not a project's page: {error}",))
    faults = _version_faults([page.meta.version])
    if page.name != project:
        faults.append(f"it names the project {page.name!r}, not {project}")
    if len(set(page.versions)) != len(page.versions):
        faults.append("it has a version twice")
    faults += [
        f"its version {version!r} is none in normal form (PEP 440)" for version in page.versions if not _is_version(version)
    ]
    files = []
    for row in page.files:
        file, wrong = _seen_in_json(row, url)
        files.append(file)
        faults += [f"the row of {row.filename} {fault}" for fault in wrong]
    return ReadProject(files=tuple(files), versions=tuple(page.versions), faults=(*faults, *_repeated(files)))


def _document_faults(document: Document) -> list[str]:
    return [*document.faults, *_version_faults(document.versions)]


def _version_faults(versions: list[str] | tuple[str, ...]) -> list[str]:
    if not versions:
        return ["it states no version of the interface (PEP 629)"]
    if len(versions) > 1:
        return ["it states the version of the interface more than once"]
    return (
        []
        if _VERSION.fullmatch(versions[0])
        else [f"its version of the interface is {versions[0]!r}, which is none that is known"]
    )


def _name_faults(name: str) -> list[str]:
    return [] if name and canonicalize_name(name) == name else ["is not in normal form (PEP 503)"]


def _seen_in_html(anchor: Anchor, url: str) -> tuple[SeenFile, list[str]]:
    faults = list(anchor.faults)
    address, fragment = urldefrag(urljoin(url, anchor.href or ""))
    faults += _address_faults(anchor.href or "", address, anchor.text)
    values = anchor.attributes
    sha256 = fragment.removeprefix(_SHA256) if fragment.startswith(_SHA256) else ""
    if not _HEX.fullmatch(sha256):
        faults.append(f"has no #sha256= and 64 digits behind it, but {fragment!r}")
    core, old = values.get("data-core-metadata"), values.get("data-dist-info-metadata")
    side = core if core is not None else old
    if core is None and old is not None:
        faults.append("has data-dist-info-metadata without data-core-metadata, which is its name since PEP 714")
    if core is not None and old is not None and core != old:
        faults.append("has other digests under data-core-metadata and data-dist-info-metadata")
    metadata = side.removeprefix(_SHA256) if side is not None and side.startswith(_SHA256) else ""
    if side is not None and not _HEX.fullmatch(metadata):
        faults.append(f"promises a side file without its sha256: {side!r}")
    python = values.get("data-requires-python")
    faults += _python_faults(python)
    if "data-gpg-sig" in values:
        faults.append("speaks of a signature in data-gpg-sig, which installers no longer read")
    file = SeenFile(
        filename=anchor.text,
        url=address,
        sha256=Sha256(sha256) if _HEX.fullmatch(sha256) else None,
        requires_python=python,
        metadata_sha256=Sha256(metadata) if _HEX.fullmatch(metadata) else None,
        yanked=values.get("data-yanked"),
    )
    return file, faults


def _seen_in_json(row: _JsonFile, url: str) -> tuple[SeenFile, list[str]]:
    address = urljoin(url, row.url)
    faults = _address_faults(row.url, address, row.filename)
    if urlsplit(row.url).fragment:
        faults.append("has a fragment in its address, where JSON has the field hashes")
    if row.upload_time is not None and not _TIME.fullmatch(row.upload_time):
        faults.append(f"has the upload time {row.upload_time!r}, which is not as PEP 700 wants it")
    if not isinstance(row.dist_info_metadata, msgspec.UnsetType):
        faults.append("has dist-info-metadata, at which pip 22.3 to 23.1 fails (PEP 714)")
    if row.core_metadata is True:
        faults.append("promises a side file without its sha256")
    reason = row.yanked if isinstance(row.yanked, str) else None
    if reason is not None and not reason:
        faults.append("is yanked with an empty reason, which PEP 592 writes as true in JSON")
    faults += _python_faults(row.requires_python)
    file = SeenFile(
        filename=row.filename,
        url=address,
        sha256=Sha256(row.hashes.sha256),
        requires_python=row.requires_python,
        metadata_sha256=Sha256(row.core_metadata.sha256) if isinstance(row.core_metadata, _Hashes) else None,
        yanked="" if row.yanked is True else reason or None,
        size=row.size,
        uploaded=row.upload_time,
    )
    return file, faults


def _address_faults(written: str, address: str, filename: str) -> list[str]:
    faults = []
    path = urlsplit(address).path
    if "+" in path:
        faults.append(f"has a + in its address, which object stores read as a space: {written}")
    if not filename or unquote(path).rpartition("/")[2] != filename:
        faults.append(f"leads to a file of another name than {filename!r}: {written}")
    if re.search(r"[\x00-\x20\x7f<>\"\\^`{|}]", written):
        faults.append(f"has a character in its address that must be percent-encoded: {written!r}")
    return faults


def _python_faults(text: str | None) -> list[str]:
    if text is None:
        return []
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return [f"requires Python {text!r}, which is no specifier (PEP 440)"]
    return []


def _is_version(text: str) -> bool:
    try:
        return str(Version(text)) == text
    except InvalidVersion:
        return False


def _repeated(files: list[SeenFile]) -> list[str]:
    times = collections.Counter(file.filename for file in files)
    return [f"{name} is there {count} times" for name, count in sorted(times.items()) if count > 1]
