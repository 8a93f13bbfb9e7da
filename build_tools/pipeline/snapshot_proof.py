"""What the pages of an index say of files, held to what its snapshot says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.environments.network import canonical_url
from build_tools.errors import HipwrightError, Where
from build_tools.index.layout import SNAPSHOT
from build_tools.pipeline.verdict_keeping import index_root
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.urls import is_url, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.environments.listing import PackageSource
    from build_tools.receipts.lock import LockedFile
    from build_tools.workplace import Workplace

__all__ = ["prove_by_snapshots"]


def prove_by_snapshots(files: Sequence[LockedFile], sources: Iterable[PackageSource | None], workplace: Workplace) -> None:
    """Prove that files that come from an index of ours have the bytes that its snapshot says, before any of them is installed.

    An index that somebody else made has no snapshot; its files are proved by the hashes that its pages state.

    Parameters
    ----------
    files
        The files as they were chosen from pages.
    sources
        The places that were named.
    workplace
        Reads addresses, and tells what was proved.

    Raises
    ------
    HipwrightError
        ``hash-mismatch`` when a snapshot has other bytes under a file's name, or no such file; ``bad-index``; ``source-unreachable``.
    """
    roots = dict.fromkeys(_address(index_root(place)) for source in sources if source is not None for place in source.places)
    for root in roots:
        here = [file for file in files if canonical_url(file.url).startswith(f"{canonical_url(root)}/")]
        response = workplace.base.network().read(f"{root}/{SNAPSHOT}") if here else None
        if response is None:
            continue
        snapshot = from_json(response.body, Snapshot, name=f"{root}/{SNAPSHOT}", code="bad-index")
        known = {file.filename: file.sha256 for file in snapshot.files}
        for file in here:
            _prove(file, known.get(file.filename), root)
        name = digest.short(digest.of_bytes(response.body))
        workplace.console.say(f"{len(here)} of {len(files)} files are as the snapshot {name} of {root} has them")


def _address(root: str) -> str:
    return redact(root) if is_url(root) else Path(root).as_uri()


def _prove(file: LockedFile, known: str | None, root: str) -> None:
    if file.sha256 == known:
        return
    has = "has no such file" if known is None else f"has {known[:12]}"
    message = f"a page of {root} offers {file.filename} with the sha256 {file.sha256[:12]}, and the snapshot of that index {has}"
    hint = "the index may be in change: try again; nox -s verify tells what is wrong with one that is not"
    raise HipwrightError("hash-mismatch", message, where=Where(file=f"{root}/{SNAPSHOT}"), hint=hint)
