"""JSON pages: PEP 691 with the fields of PEP 700 (versions, size, upload time), 592, 658 and 714."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from build_tools.index.html import API_VERSION
from build_tools.index.layout import DIST, quoted
from build_tools.index.snapshots import versions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.receipts.snapshot import IndexedFile

__all__ = ["is_page", "project_page", "root_page"]

_KEYS = frozenset({"meta", "name", "versions", "files"})
_OURS = f"../../{DIST}/"


def root_page(projects: Iterable[str]) -> bytes:
    """Return the list of projects."""
    return _page({"projects": [{"name": project} for project in projects]})


def project_page(project: str, files: Sequence[IndexedFile], *, to_index: str) -> bytes:
    """Return the page of one project.

    Parameters
    ----------
    project
        The normalised name.
    files
        The project's files, in the order of the page.
    to_index
        The relative link from the page's folder to the index, with a final ``/``.
    """
    return _page({"name": project, "versions": versions_of(files), "files": [_row(file, to_index) for file in files]})


def is_page(data: bytes) -> bool:
    """Return whether a project's page is one that is made here, in whatever version of hipwright."""
    try:
        page = msgspec.json.decode(data, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return False
    files = page.get("files")
    if page.keys() != _KEYS or not isinstance(files, list):
        return False
    return all(isinstance(row, dict) and str(row.get("url", "")).startswith(_OURS) for row in files)


def _row(file: IndexedFile, to_index: str) -> dict[str, object]:
    row: dict[str, object] = {
        "filename": file.filename,
        "url": f"{to_index}{quoted(file.key)}",
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "upload-time": file.uploaded,
    }
    if file.requires_python is not None:
        row["requires-python"] = file.requires_python
    if file.metadata_sha256 is not None:
        # Not under PEP 691's own name for it as well: pip 22.3 to 23.1 ends with a traceback at that (PEP 714).
        row["core-metadata"] = {"sha256": file.metadata_sha256}
    if file.yanked is not None:
        # PEP 592 allows no reason; JSON tells an empty one from none.
        row["yanked"] = file.yanked or True
    return row


def _page(content: dict[str, object]) -> bytes:
    whole = {"meta": {"api-version": API_VERSION}, **content}
    return msgspec.json.format(msgspec.json.encode(whole, order="sorted"), indent=1) + b"\n"
