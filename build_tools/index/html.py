"""HTML pages: PEP 503 with PEP 592 (yanked), 658 and 714 (metadata side files), 629 (repository version), and one flat page.

Pages hold nothing but what the snapshot says: no time, no generator, so equal snapshots give equal bytes.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from build_tools.index.layout import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.receipts.snapshot import IndexedFile

__all__ = ["API_VERSION", "flat_page", "project_page", "root_page"]

API_VERSION: Final = "1.1"
"""The version of the repository interface that the pages state: 1.1 is PEP 700's, the newest whose fields they have."""


def root_page(projects: Iterable[str]) -> bytes:
    """Return the list of projects."""
    links = (f'    <a href="{escape(quoted(project))}/">{escape(project)}</a><br>' for project in projects)
    return _page("Simple index", links)


def project_page(project: str, files: Iterable[IndexedFile], *, to_index: str) -> bytes:
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
    return _page(f"Links for {project}", (_link(file, to_index) for file in files))


def flat_page(files: Iterable[IndexedFile]) -> bytes:
    """Return the one page for ``--find-links`` with all files; it lies in the index itself."""
    return _page("Files", (_link(file, "") for file in files))


def _link(file: IndexedFile, to_index: str) -> str:
    attributes = {"href": f"{to_index}{quoted(file.key)}#sha256={file.sha256}"}
    if file.requires_python is not None:
        attributes["data-requires-python"] = file.requires_python
    if file.metadata_sha256 is not None:
        # The first name is PEP 714's; pip before 23.2 knows the second alone.
        attributes["data-core-metadata"] = f"sha256={file.metadata_sha256}"
        attributes["data-dist-info-metadata"] = f"sha256={file.metadata_sha256}"
    if file.yanked is not None:
        attributes["data-yanked"] = file.yanked
    text = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"    <a {text}>{escape(file.filename)}</a><br>"


def _page(title: str, lines: Iterable[str]) -> bytes:
    head = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "  <head>",
        '    <meta charset="utf-8">',
        f'    <meta name="pypi:repository-version" content="{API_VERSION}">',
        f"    <title>{escape(title)}</title>",
        "  </head>",
        "  <body>",
        f"    <h1>{escape(title)}</h1>",
    )
    return "\n".join((*head, *lines, "  </body>", "</html>", "")).encode()
