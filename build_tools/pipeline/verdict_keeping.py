"""Verdicts of tests on their way beside the index that the tested packages came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from build_tools.environments.network import canonical_url, path_of
from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST, FLAT_PAGE, SIMPLE, SIMPLE_JSON
from build_tools.publish.current import read_current
from build_tools.publish.verdicts import put_verdict
from build_tools.stores.local import folder_store_of
from build_tools.stores.run_outputs import IndexFolder
from build_tools.urls import is_url, redact

if TYPE_CHECKING:
    from build_tools.environments.listing import PackageSource
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.verdict import Verdict
    from build_tools.workplace import Workplace

__all__ = ["index_root", "keep_beside_source", "keep_in_run", "keep_verdict"]

_PARTS: Final = frozenset({DIST, FLAT_PAGE, SIMPLE, SIMPLE_JSON})


_FROM_RECEIPT: Final = "hand the receipt of this test over with --from-receipt"


def keep_verdict(verdict: Verdict, index: PublishedIndex, workplace: Workplace, *, hint: str = _FROM_RECEIPT) -> bool:
    """Put a verdict beside the index of the wheels that it speaks of, and return whether that could be done.

    A machine that only tests may have no rights there: that is told, with ``hint``, how promotion comes by it all the same.
    """
    try:
        store = workplace.open_store(writing=True, address=index.store)
        put_verdict(store, IndexFolder(index.prefix), verdict)
    except HipwrightError as error:
        told = f"the verdict could not be put beside {index.find_links_url} ({error.message})"
        workplace.console.warn(f"{told}; promotion needs it: {hint}")
        return False
    return True


def keep_in_run(verdict: Verdict, run_id: str, workplace: Workplace) -> bool:
    """Put a verdict on a run's ROCm packages beside their index, and return whether that could be done.

    A machine that only tests may have no rights there: the verdict then lies in the work dir alone, and that is told.
    """
    try:
        place = workplace.outputs(run_id, writing=True)
        put_verdict(place.store, place.run.python(workplace.settings.artifact_group), verdict)
    except HipwrightError as error:
        workplace.console.warn(f"the verdict could not be put beside the packages of the run {run_id} ({error.message})")
        return False
    return True


def keep_beside_source(verdict: Verdict, source: PackageSource, workplace: Workplace) -> tuple[str, ...]:
    """Put a verdict beside each index of a source that has the bytes it speaks of, and return the folders of these indexes.

    An index of ours is known by its snapshot, in a folder that is a store, or in the store that the options name. Of other places
    nothing is known that could take a verdict; where one could not be written, that is told.
    """
    kept = []
    for place in source.places:
        try:
            found = _index_at(index_root(place), workplace)
            if found is None:
                continue
            address, folder = found
            store = workplace.open_store(writing=False, address=address)
            offered = {file.sha256 for file in read_current(store, folder).snapshot.files}
            if offered.isdisjoint(wheel.sha256 for wheel in verdict.wheels):
                continue
            put_verdict(workplace.open_store(writing=True, address=address), folder, verdict)
        except HipwrightError as error:
            workplace.console.warn(f"the verdict could not be put beside {redact(place)} ({error.message})")
        else:
            kept.append(store.url(folder.prefix))
    return tuple(kept)


def index_root(place: str) -> str:
    """Return the folder of the index that a page, or the files, of it lie in: of ``…/simple/`` and of ``…/index.html`` it is ``…``.

    >>> index_root("https://example.com/17-linux/python/index.html"), index_root("/store/rocm/dist/"), index_root("/store/rocm")
    ('https://example.com/17-linux/python', '/store/rocm', '/store/rocm')
    """
    whole = place.rstrip("/")
    folder, _, last = whole.rpartition("/")
    return folder if last in _PARTS else whole


def _index_at(root: str, workplace: Workplace) -> tuple[str, IndexFolder] | None:
    """Return the store that an index lies in, and where in it; None where that is no store that could be written."""
    path = path_of(root) if is_url(root) else Path(root)
    if path is not None:
        store = folder_store_of(path)
        return None if store is None else (str(store), IndexFolder(path.relative_to(store).as_posix().removeprefix(".")))
    settings = workplace.settings
    if settings.store is None and settings.bucket is None:
        return None
    address = workplace.store_address
    top = canonical_url(workplace.open_store(writing=False, address=address).url()).rstrip("/")
    below = canonical_url(root)
    if below != top and not below.startswith(f"{top}/"):
        return None
    return address, IndexFolder(unquote(below.removeprefix(top).strip("/")))
