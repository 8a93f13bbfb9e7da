"""Which pages an index has: all of them or those of some projects, from one snapshot, in the order in which they are written.

An index answers for the projects that it holds (PEP 503). Pages of a project that left it are removed, not emptied: installers take
"there is no such page" for "not here" and look on at the next index, while an empty page says that the project is here and has no file,
and uv stops at the first index that has a project. They go after the root and the pages that named them, so that no link leads nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.index import html, json, people
from build_tools.index.layout import FLAT_PAGE, HTML_TYPE, JSON_TYPE, PEOPLE_PAGE, html_keys, json_keys
from build_tools.index.snapshots import by_project
from build_tools.types import ObjectKey
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from build_tools.receipts.snapshot import Snapshot

__all__ = ["PAGES_FORMAT", "Page", "pages", "project_pages"]

PAGES_FORMAT: Final = 1
"""The number of the pages' form: with another one, equal snapshots give other pages, so all are written again."""

_UP_TO_INDEX = "../../"


class Page(Value, frozen=True, kw_only=True):
    """One page: its bytes and what it is served as."""

    body: bytes
    content_type: str


def pages(snapshot: Snapshot, *, slash_keys: bool = False, projects: Collection[str] | None = None) -> dict[ObjectKey, Page]:
    """Return the pages of an index by their keys relative to it.

    The order is the order to write them in: a page that names projects comes after the pages of those projects, the root last.

    Parameters
    ----------
    snapshot
        What is in the index.
    slash_keys
        Whether the store keeps objects whose keys end in ``/``: each page of a folder is then there too.
    projects
        Whose pages; those of all when None. The pages that name every file or every project are always among them.
    """
    rows = by_project(snapshot)
    plan: dict[ObjectKey, Page] = {}
    for project, files in rows.items():
        if projects is not None and project not in projects:
            continue
        as_json = Page(body=json.project_page(project, files, to_index=_UP_TO_INDEX), content_type=JSON_TYPE)
        as_html = Page(body=html.project_page(project, files, to_index=_UP_TO_INDEX), content_type=HTML_TYPE)
        plan |= dict.fromkeys(json_keys(project, slash_keys=slash_keys), as_json)
        plan |= dict.fromkeys(html_keys(project, slash_keys=slash_keys), as_html)
    everything = [file for files in rows.values() for file in files]
    plan[ObjectKey(FLAT_PAGE)] = Page(body=html.flat_page(everything), content_type=HTML_TYPE)
    plan[ObjectKey(PEOPLE_PAGE)] = Page(body=people.people_page(rows), content_type=HTML_TYPE)
    plan |= dict.fromkeys(json_keys(slash_keys=slash_keys), Page(body=json.root_page(rows), content_type=JSON_TYPE))
    plan |= dict.fromkeys(html_keys(slash_keys=slash_keys), Page(body=html.root_page(rows), content_type=HTML_TYPE))
    return plan


def project_pages(projects: Iterable[str], *, slash_keys: bool) -> tuple[ObjectKey, ...]:
    """Return the keys of the pages of projects in the order in which they are removed when the projects have left the index.

    Of each project those that a listing shows go last: by them what is left of the others is found.
    """
    found: list[ObjectKey] = []
    for project in sorted(projects):
        keys = (*json_keys(project, slash_keys=slash_keys), *html_keys(project, slash_keys=slash_keys))
        found += sorted(keys, key=lambda key: not key.endswith("/"))
    return tuple(found)
