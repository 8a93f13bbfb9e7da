"""What an index shows to those outside, compared with its snapshot: HTML, JSON, the flat page and the one for people have to say the same.

Pure functions over what was fetched: nothing is asked of a server here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from build_tools.index.anchors import read_document
from build_tools.index.layout import FLAT_PAGE, JSON_TYPE, PEOPLE_PAGE, SIMPLE, SIMPLE_JSON, html_keys, json_keys, quoted
from build_tools.index.snapshots import by_project, versions_of
from build_tools.index.strict import (
    ReadProject,
    ReadRoot,
    SeenFile,
    read_flat_page,
    read_html_project,
    read_html_root,
    read_json_project,
    read_json_root,
)
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from build_tools.receipts.snapshot import IndexedFile, Snapshot

__all__ = ["expected_files", "file_differences", "index_differences", "is_json_page", "keys_of_index", "serving_fault"]

_SAID: Final = {
    "url": "the address",
    "sha256": "the sha256",
    "requires_python": "the required Python",
    "metadata_sha256": "the sha256 of the side file",
    "yanked": "the yank",
    "size": "the size",
    "uploaded": "the upload time",
}
_JSON_ALONE: Final = ("size", "uploaded")
_HTML: Final = "text/html"
_MISSING: Final = "it is not there"

_LONGEST_KEPT: Final = 600
"""Seconds that servers before a store may let a page be kept; the store's own pages are asked for each time."""


def is_json_page(key: str) -> bool:
    """Return whether the page under a key, relative to the index, is JSON."""
    return key.startswith(f"{SIMPLE_JSON}/")


def keys_of_index(snapshot: Snapshot, *, slashed: Collection[str] = ()) -> tuple[ObjectKey, ...]:
    """Return the keys, relative to the index, of all pages that :func:`index_differences` asks for; the root first, as installers read."""
    found = [key for project in ("", *by_project(snapshot)) for key in _page_keys(project, slashed)]
    return (*found, ObjectKey(FLAT_PAGE), ObjectKey(PEOPLE_PAGE))


def index_differences(
    snapshot: Snapshot, fetched: Mapping[str, bytes], *, url: str, slashed: Collection[str] = ()
) -> tuple[tuple[ObjectKey, str], ...]:
    """Return everything in which the pages of an index break a rule, or say other than its snapshot: the page's key, and in what.

    Parameters
    ----------
    snapshot
        What the index says of itself (``snapshot.json``).
    fetched
        The bytes of the pages by their keys relative to the index; one that is not among them is missed.
    url
        The index's address, with a final ``/``.
    slashed
        The folders, of ``simple`` and ``simple-json``, whose pages are asked for at the addresses that end in ``/`` too, which are those
        that installers ask.
    """
    return tuple(_differences(snapshot, fetched, url=url, slashed=slashed))


def serving_fault(key: str, *, content_type: str, cache_seconds: int) -> str | None:
    """Return what is wrong with how a page is served; None when installers take it, and no old one for long.

    Parameters
    ----------
    key
        The page's key, relative to the index.
    content_type
        What it is served as; installers skip a page of another type than they know.
    cache_seconds
        How long clients may keep it unasked, in seconds.
    """
    wanted = JSON_TYPE if is_json_page(key) else _HTML
    if content_type.partition(";")[0].strip().lower() != wanted:
        return f"it is served as {content_type}, and installers take {wanted}"
    if cache_seconds > _LONGEST_KEPT:
        return f"it may be kept unasked for {cache_seconds} seconds, and who does so does not see what was published since"
    return None


def expected_files(files: Iterable[IndexedFile], *, url: str) -> tuple[SeenFile, ...]:
    """Return the files of a snapshot as pages at an index's address have to show them."""
    return tuple(
        SeenFile(
            filename=file.filename,
            url=urljoin(url, quoted(file.key)),
            sha256=file.sha256,
            requires_python=file.requires_python,
            metadata_sha256=file.metadata_sha256,
            yanked=file.yanked,
            size=file.size,
            uploaded=file.uploaded,
        )
        for file in files
    )


def file_differences(expected: Sequence[SeenFile], seen: Sequence[SeenFile], *, in_json: bool) -> Iterator[str]:
    """Yield in what the files that a page shows differ from those that are expected; HTML says neither size nor upload time."""
    wanted = {file.filename: file for file in expected}
    found = {file.filename: file for file in seen}
    yield from (f"lacks {name}" for name in wanted if name not in found)
    yield from (f"names {name}, which is not in the index" for name in found if name not in wanted)
    for name in wanted.keys() & found.keys():
        for field, words in _SAID.items():
            if field in _JSON_ALONE and not in_json:
                continue
            there, right = getattr(found[name], field), getattr(wanted[name], field)
            if there != right:
                yield f"says that {words} of {name} is {there!r}, and it is {right!r}"


def _page_keys(project: str, slashed: Collection[str]) -> tuple[ObjectKey, ...]:
    return (*html_keys(project, slash_keys=SIMPLE in slashed), *json_keys(project, slash_keys=SIMPLE_JSON in slashed))


def _differences(
    snapshot: Snapshot, fetched: Mapping[str, bytes], *, url: str, slashed: Collection[str]
) -> Iterator[tuple[ObjectKey, str]]:
    rows = by_project(snapshot)
    for key in _page_keys("", slashed):
        data = fetched.get(key)
        if data is None:
            yield key, _MISSING
            continue
        read = read_json_root if is_json_page(key) else read_html_root
        yield from ((key, fault) for fault in _root_differences(rows, read(data, url=urljoin(url, key))))
    flat, people = ObjectKey(FLAT_PAGE), ObjectKey(PEOPLE_PAGE)
    asked = [(key, project, files) for project, files in rows.items() for key in _page_keys(project, slashed)]
    for key, project, files in (*asked, (flat, "", snapshot.files)):
        yield from ((key, fault) for fault in _project_differences(project, files, key, fetched.get(key), url=url))
    yield from ((people, fault) for fault in _people_differences(rows, fetched.get(people), url=url))


def _people_differences(rows: Mapping[str, Sequence[IndexedFile]], data: bytes | None, *, url: str) -> Iterator[str]:
    """Yield what is wrong with the page for people: it leads to what is in the index alone, and to a file of each project at least."""
    if data is None:
        yield _MISSING
        return
    document = read_document(data)
    yield from document.faults
    files = {urljoin(url, quoted(file.key)): project for project, found in rows.items() for file in found}
    pages = {urljoin(url, quoted(key)) for key in (f"{SIMPLE}/", f"{SIMPLE_JSON}/", FLAT_PAGE)}
    pages |= {urljoin(url, quoted(key)) for project in rows for key in html_keys(project, slash_keys=False)}
    shown = set()
    for anchor in document.anchors:
        yield from (f"its link to {anchor.text} {fault}" for fault in anchor.faults)
        address = urljoin(url, anchor.href or "")
        if address in files:
            shown.add(files[address])
        elif address not in pages:
            yield f"it leads to {anchor.href}, which is not in the index"
    yield from (f"it shows no file of the project {project}" for project in rows if project not in shown)


def _root_differences(rows: Mapping[str, Sequence[IndexedFile]], read: ReadRoot) -> Iterator[str]:
    yield from read.faults
    yield from (f"it lacks the project {project}" for project in rows if project not in read.projects)
    yield from (f"it names the project {project}, which is not in the index" for project in read.projects if project not in rows)


def _project_differences(project: str, files: Sequence[IndexedFile], key: str, data: bytes | None, *, url: str) -> Iterator[str]:
    if data is None:
        yield _MISSING
        return
    address = urljoin(url, key)
    in_json = is_json_page(key)
    read: ReadProject
    if not project:
        read = read_flat_page(data, url=address)
    elif in_json:
        read = read_json_project(data, project=project, url=address)
    else:
        read = read_html_project(data, url=address)
    yield from read.faults
    yield from (f"it {fault}" for fault in file_differences(expected_files(files, url=url), read.files, in_json=in_json))
    if read.versions is not None and set(read.versions) != set(versions_of(files)):
        yield f"it names the versions {', '.join(read.versions)}, and there are {', '.join(versions_of(files))}"
