"""HTML pages: PEP 503 with PEP 592 (yanked), 658 and 714 (metadata side files), 629 (repository version), and one flat page.

Pages hold nothing but what the snapshot says: no time, no generator, so equal snapshots give equal bytes.

Left out on purpose: ``data-gpg-sig`` (PEP 503), as there are no such signatures, and without it clients ask for none; PEP 708's
``pypi:tracks``, which would let installers mix our files with those of the same name elsewhere; PEP 740's ``data-provenance``, which is
for attestations of a signing identity that we have not; PEP 792's ``pypi:project-status``, as every project here is active, which is what
no status means.
"""

from __future__ import annotations

import functools
from html import escape
from typing import TYPE_CHECKING, Final

from build_tools.index.layout import is_plain, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.receipts.snapshot import IndexedFile

__all__ = ["API_VERSION", "flat_page", "is_page", "project_page", "root_page"]

API_VERSION: Final = "1.1"
"""The version of the repository interface that the pages state: 1.1 is PEP 700's, the newest whose fields they have.

1.2 to 1.4 add optional things alone (PEP 708, 740, 792), none of which is here."""

_HEAD: Final = (
    '<!DOCTYPE html>\n<html lang="en">\n  <head>\n    <meta charset="utf-8">\n    <meta name="pypi:repository-version" content="'
)


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
    # A quoted key has no character that HTML knows.
    words = [f'    <a href="{to_index}{quoted(file.key)}#sha256={_hex(file.sha256)}"']
    if file.requires_python is not None:
        words.append(f'data-requires-python="{_escaped(file.requires_python)}"')
    if file.metadata_sha256 is not None:
        # Under PEP 714's name alone. PEP 658's is the only one that pip 22.3 to 23.1 knows, and those refuse a wheel that has it when
        # its metadata spells the name in another way than the requirement does; without it they read the wheel itself.
        words.append(f'data-core-metadata="sha256={_hex(file.metadata_sha256)}"')
    if file.yanked is not None:
        # PEP 592: an attribute without a value says the same as an empty one, which not every parser tells from none.
        words.append(f'data-yanked="{escape(file.yanked)}"')
    # Names of files have nothing to escape but in a snapshot that somebody made by hand.
    name = file.filename if is_plain(file.filename) else escape(file.filename)
    return f"{' '.join(words)}>{name}</a><br>"


@functools.lru_cache
def _escaped(text: str) -> str:
    """Return a text escaped; very many files require the same few Pythons."""
    return escape(text)


def _hex(text: str) -> str:
    # Twice in each of very many links, and nothing to escape but in a snapshot that somebody made by hand.
    return text if text.isalnum() else escape(text)


def is_page(data: bytes) -> bool:
    """Return whether a page is one that is made here, in whatever version of hipwright."""
    return data.startswith(_HEAD.encode())


def _page(title: str, lines: Iterable[str]) -> bytes:
    head = (
        f'{_HEAD}{API_VERSION}">',
        f"    <title>{escape(title)}</title>",
        "  </head>",
        "  <body>",
        f"    <h1>{escape(title)}</h1>",
    )
    return "\n".join((*head, *lines, "  </body>", "</html>", "")).encode()
