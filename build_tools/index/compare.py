"""What an index shows to those outside, compared with its snapshot: HTML, JSON and the flat page have to say the same.

Pure functions over what was fetched: nothing is asked of a server here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from build_tools.index.layout import FLAT_PAGE, html_keys, json_keys, quoted
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from build_tools.receipts.snapshot import IndexedFile, Snapshot

__all__ = ["expected_files", "file_differences", "index_differences", "keys_of_index"]

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


def keys_of_index(snapshot: Snapshot, *, slash_keys: bool) -> tuple[ObjectKey, ...]:
    """Return the keys, relative to the index, of all pages that :func:`index_differences` asks for; the root first, as installers read."""
    projects = ("", *by_project(snapshot))
    found = [
        key
        for project in projects
        for key in (*html_keys(project, slash_keys=slash_keys), *json_keys(project, slash_keys=slash_keys))
    ]
    return (*found, ObjectKey(FLAT_PAGE))


def index_differences(snapshot: Snapshot, fetched: Mapping[str, bytes], *, url: str, slash_keys: bool = False) -> tuple[str, ...]:
    """Return everything in which the pages of an index break a rule, or say other than its snapshot.

    Parameters
    ----------
    snapshot
        What the index says of itself (``snapshot.json``).
    fetched
        The bytes of the pages by their keys relative to the index; one that is not among them is missed.
    url
        The index's address, with a final ``/``.
    slash_keys
        Whether pages lie under keys that end in ``/`` too; each page of a folder is then asked for twice.
    """
    return tuple(_differences(snapshot, fetched, url=url, slash_keys=slash_keys))


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


def _differences(snapshot: Snapshot, fetched: Mapping[str, bytes], *, url: str, slash_keys: bool) -> Iterator[str]:
    rows = by_project(snapshot)
    for key in (*html_keys(slash_keys=slash_keys), *json_keys(slash_keys=slash_keys)):
        data = fetched.get(key)
        if data is None:
            yield f"{key}: it is not there"
            continue
        read = read_html_root if key in html_keys(slash_keys=slash_keys) else read_json_root
        yield from (f"{key}: {fault}" for fault in _root_differences(rows, read(data, url=urljoin(url, key))))
    for project, files in rows.items():
        for key in (*html_keys(project, slash_keys=slash_keys), *json_keys(project, slash_keys=slash_keys)):
            yield from (f"{key}: {fault}" for fault in _project_differences(project, files, key, fetched.get(key), url=url))
    yield from (
        f"{FLAT_PAGE}: {fault}" for fault in _project_differences("", snapshot.files, FLAT_PAGE, fetched.get(FLAT_PAGE), url=url)
    )


def _root_differences(rows: Mapping[str, Sequence[IndexedFile]], read: ReadRoot) -> Iterator[str]:
    yield from read.faults
    yield from (f"it lacks the project {project}" for project in rows if project not in read.projects)
    yield from (f"it names the project {project}, which is not in the index" for project in read.projects if project not in rows)


def _project_differences(project: str, files: Sequence[IndexedFile], key: str, data: bytes | None, *, url: str) -> Iterator[str]:
    if data is None:
        yield "it is not there"
        return
    address = urljoin(url, key)
    in_json = bool(project) and not key.startswith("simple/")
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
