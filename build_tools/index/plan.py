"""Which pages an index has: all of them, from one snapshot, in the order in which they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.index import html, json
from build_tools.index.layout import FLAT_PAGE, HTML_TYPE, JSON_TYPE, SIMPLE, SIMPLE_JSON
from build_tools.index.snapshots import by_project
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import Snapshot

__all__ = ["Page", "pages"]

_UP_TO_INDEX = "../../"


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page: its bytes and what it is served as."""

    body: bytes
    content_type: str


def pages(snapshot: Snapshot) -> dict[ObjectKey, Page]:
    """Return every page of an index by its key relative to the index.

    The order is the order to write them in: a page that names projects comes after the pages of those projects, the root last.
    """
    projects = by_project(snapshot)
    plan: dict[ObjectKey, Page] = {}
    for project, files in projects.items():
        as_json = json.project_page(project, files, to_index=_UP_TO_INDEX)
        plan[ObjectKey(f"{SIMPLE_JSON}/{project}/index.json")] = Page(body=as_json, content_type=JSON_TYPE)
        as_html = html.project_page(project, files, to_index=_UP_TO_INDEX)
        plan[ObjectKey(f"{SIMPLE}/{project}/index.html")] = Page(body=as_html, content_type=HTML_TYPE)
    everything = [file for files in projects.values() for file in files]
    plan[ObjectKey(FLAT_PAGE)] = Page(body=html.flat_page(everything), content_type=HTML_TYPE)
    plan[ObjectKey(f"{SIMPLE_JSON}/index.json")] = Page(body=json.root_page(projects), content_type=JSON_TYPE)
    plan[ObjectKey(f"{SIMPLE}/index.html")] = Page(body=html.root_page(projects), content_type=HTML_TYPE)
    return plan
