"""Look at the pages of an index of ours from outside: what they say, where installers ask for them, and how they are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.index import html
from build_tools.index.compare import index_differences, is_json_page, keys_of_index, serving_fault
from build_tools.index.layout import JSON_TYPE, SIMPLE, SIMPLE_JSON
from build_tools.publish.seen import Seen
from build_tools.publish.shown import read_shown
from build_tools.threads import Threads

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.stores.base import Content, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey

__all__ = ["look_at_pages"]


def look_at_pages(store: Store, place: IndexFolder, snapshot: Snapshot, *, url: str, jobs: int) -> Seen:
    """Compare all pages of an index with its snapshot: HTML, JSON, the flat page, and the one for people.

    Parameters
    ----------
    store
        Where the index is.
    place
        Where in it.
    snapshot
        What the index says of itself.
    url
        The address of the index, with a final ``/``.
    jobs
        How many pages are read at once.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` and what else keeps the store from being read.
    """
    slashed, unjudged = _slashed(store, place)
    keys = keys_of_index(snapshot, slashed=slashed)
    with Threads(jobs) as pool:
        contents = dict(zip(keys, pool.map(lambda key: store.get(place.page_key(key)), keys), strict=True))
    found: dict[ObjectKey, Content] = {key: content for key, content in contents.items() if content is not None}
    faults = [*index_differences(snapshot, {key: content.data for key, content in found.items()}, url=url, slashed=slashed)]
    for key, content in found.items():
        # A folder serves nothing itself, and of a web server's JSON is judged what it gives to installers.
        if url.startswith("file:") or (store.serves_folders and is_json_page(key) and SIMPLE_JSON not in slashed):
            continue
        info = content.info
        if fault := serving_fault(key, content_type=info.content_type, cache_seconds=info.cache_seconds):
            faults.append((key, fault))
    return Seen(faults=tuple(faults), unjudged=unjudged)


def _slashed(store: Store, place: IndexFolder) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the folders whose pages are to be at addresses that end in ``/``, and what is to be known of those that are not.

    A bucket has there what was put there. A web server gives there what it likes: what it gives at the root says whether it knows folders.
    """
    noted = store.abilities.slash_keys or read_shown(store, place, slash_keys=None).pages.slash_keys
    if not store.serves_folders:
        return frozenset({SIMPLE, SIMPLE_JSON} if noted else ()), ()
    if store.url().startswith("file:"):
        # Installers look into folders for the page themselves.
        return frozenset(), ()
    slashed, unjudged = set[str](), []
    root, as_json = (store.get(place.page_key(f"{folder}/")) for folder in (SIMPLE, SIMPLE_JSON))
    if noted or (root is not None and html.is_page(root.data)):
        slashed.add(SIMPLE)
    else:
        unjudged.append(f"{SIMPLE}/: this server has no page there, so it serves --find-links alone")
    if as_json is not None and as_json.info.content_type == JSON_TYPE:
        slashed.add(SIMPLE_JSON)
    else:
        unjudged.append(f"how {SIMPLE_JSON}/ is served: this server has no JSON there that installers would take")
    return frozenset(slashed), tuple(unjudged)
