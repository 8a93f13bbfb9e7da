"""Where the parts of an index lie, relative to it.

Files and pages have folders of their own, so that a plain bucket or folder serves HTML under ``simple/`` and JSON under
``simple-json/`` with no rule on a server. Installers ask for ``simple/<project>/``: a server that knows folders answers with the
``index.html`` in it, and where an object may have a key that ends in ``/``, the page is that object too.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from build_tools.types import ObjectKey, Sha256

__all__ = [
    "DIST",
    "FLAT_PAGE",
    "HISTORY",
    "HTML_TYPE",
    "JSON_TYPE",
    "PAGES",
    "PEOPLE_PAGE",
    "PROMOTIONS",
    "PROVENANCE",
    "SET_PAPER",
    "SIMPLE",
    "SIMPLE_JSON",
    "SNAPSHOT",
    "VERDICTS",
    "file_key",
    "history_key",
    "html_keys",
    "is_plain",
    "json_keys",
    "metadata_key",
    "paper_key",
    "project_of",
    "promotion_key",
    "quoted",
    "superseding_key",
    "verdict_key",
]

DIST: Final = "dist"
SIMPLE: Final = "simple"
SIMPLE_JSON: Final = "simple-json"
FLAT_PAGE: Final = "index.html"
PEOPLE_PAGE: Final = "packages.html"
PAGES: Final = "pages.json"
SNAPSHOT: Final = "snapshot.json"
HISTORY: Final = "snapshots"
PROVENANCE: Final = "provenance"
SET_PAPER: Final = "set.json"
VERDICTS: Final = "verdicts"
PROMOTIONS: Final = "promotions"

HTML_TYPE: Final = "text/html; charset=utf-8"
JSON_TYPE: Final = "application/vnd.pypi.simple.v1+json"

_HTML_NAME: Final = "index.html"
_JSON_NAME: Final = "index.json"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~/+-]*")


def html_keys(project: str = "", *, slash_keys: bool) -> tuple[ObjectKey, ...]:
    """Return where the HTML page of a project lies, or without one the root; ``slash_keys`` tells whether the store keeps keys that end in ``/``."""
    return _page_keys(SIMPLE, project, _HTML_NAME, slash_keys=slash_keys)


def json_keys(project: str = "", *, slash_keys: bool) -> tuple[ObjectKey, ...]:
    """Return where the JSON page of a project lies, or without one the root; see :func:`html_keys`."""
    return _page_keys(SIMPLE_JSON, project, _JSON_NAME, slash_keys=slash_keys)


def project_of(key: str) -> str | None:
    """Return the project whose page lies under a key that is relative to the index, None when it is no project's page."""
    folder, _, rest = key.partition("/")
    project, _, name = rest.partition("/")
    known = {SIMPLE: _HTML_NAME, SIMPLE_JSON: _JSON_NAME}.get(folder)
    return project if known is not None and project and name in {known, ""} and rest != known else None


def _page_keys(folder: str, project: str, name: str, *, slash_keys: bool) -> tuple[ObjectKey, ...]:
    within = f"{folder}/{project}/" if project else f"{folder}/"
    beside = ObjectKey(f"{within}{name}")
    return (beside, ObjectKey(within)) if slash_keys else (beside,)


def file_key(filename: str) -> ObjectKey:
    """Return where a file lies."""
    return ObjectKey(f"{DIST}/{filename}")


def superseding_key(filename: str, sha256: Sha256) -> ObjectKey:
    """Return where a file lies whose name is taken by other bytes: beside them, never over them.

    A page or a snapshot that names the older bytes stays true, so an installer that read it a moment ago does not fail.
    """
    return ObjectKey(f"{DIST}/{sha256[:16]}/{filename}")


def metadata_key(key: str) -> ObjectKey:
    """Return where the metadata side file of a file lies (PEP 658: the file's own URL with ``.metadata``)."""
    return ObjectKey(f"{key}.metadata")


def history_key(sha256: Sha256) -> ObjectKey:
    """Return where a snapshot lies in the history."""
    return ObjectKey(f"{HISTORY}/{sha256}.json")


def paper_key(provenance: Sha256, name: str = SET_PAPER) -> ObjectKey:
    """Return where a paper of a published set lies, without a name the list of its papers; the set is named by that list's digest."""
    return ObjectKey(f"{PROVENANCE}/{provenance}/{name}")


def verdict_key(sha256: Sha256) -> ObjectKey:
    """Return where a verdict lies, by the digest of its own bytes."""
    return ObjectKey(f"{VERDICTS}/{sha256}.json")


def promotion_key(sha256: Sha256) -> ObjectKey:
    """Return where the record of a promotion lies, by the digest of its own bytes."""
    return ObjectKey(f"{PROMOTIONS}/{sha256}.json")


def quoted(key: str) -> str:
    """Return a key as it stands in a link: all but unreserved characters percent-encoded, ``+`` too.

    Object stores and some web servers read a bare ``+`` as a space.
    """
    # Nearly every key, and :func:`urllib.parse.quote` looks at each letter of it.
    return key.replace("+", "%2B") if is_plain(key) else quote(key, safe="/")


def is_plain(text: str) -> bool:
    """Return whether a text has letters and marks alone that mean nothing in HTML, and in an address only ``+`` does."""
    return _PLAIN.fullmatch(text) is not None
