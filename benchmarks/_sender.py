"""Uploads files into a store as commands do it, in a process of its own that loads nothing but what that needs.

Usage: ``python -m benchmarks._sender STORE SERVER LIST``; LIST is a JSON file with the SHA-256 of each file.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import sys
from pathlib import Path
from typing import Final

from build_tools.stores.open import open_store
from build_tools.types import Sha256

_AT_ONCE: Final = 8
_INDEX: Final = "snapshot.json"


def send(address: str, endpoint: str, index: Path) -> None:
    """Upload what is not there by the store's own index and listing, and then write the index."""
    known = {Path(name): Sha256(sha256) for name, sha256 in json.loads(index.read_bytes()).items()}
    store = open_store(address, base=Path.cwd(), endpoint_url=endpoint, machine=os.environ)
    indexed = store.get(_INDEX)
    published = json.loads(indexed.data) if indexed else {}
    there: dict[str, int] = {row.key: row.size for row in store.list()}
    missing = [
        path
        for path, sha256 in known.items()
        if published.get(path.name) != sha256 or there.get(path.name) != path.stat().st_size
    ]

    def put(path: Path) -> None:
        store.put(path.name, path, content_type="application/zip", cache_seconds=1 << 20, sha256=known[path], if_absent=True)

    # The largest first, so that none is left to be sent alone.
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(put, sorted(missing, key=lambda path: -path.stat().st_size)))
    if missing:
        data = json.dumps({path.name: sha256 for path, sha256 in known.items()}).encode()
        store.put(_INDEX, data, content_type="application/json", cache_seconds=0)


if __name__ == "__main__":
    send(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
