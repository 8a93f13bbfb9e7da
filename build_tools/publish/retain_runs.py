"""Retention of runs: which outputs are old enough to go, and how they go.

A run is judged by its own record, by the newest time that its record or its indexes tell, and by what refers to it; one that cannot be
judged stays. It goes as a whole: pages first, so that nobody is sent to what is gone, then files, and what judges it last, so that a
deletion that died is taken up again by the next.
"""

from __future__ import annotations

import datetime as dt
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST, FLAT_PAGE, HISTORY, PEOPLE_PAGE, SIMPLE, SIMPLE_JSON, SNAPSHOT
from build_tools.publish.current import Current, is_still, read_current
from build_tools.publish.history import walk_history
from build_tools.publish.transfer import all_of
from build_tools.receipts.record import from_json
from build_tools.receipts.run import RunRecord
from build_tools.stores.run_outputs import IndexFolder, RunOutputs, run_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from build_tools.config.retention import RetentionTable
    from build_tools.publish.run_references import RunReferences
    from build_tools.publish.transfer import Progress
    from build_tools.stores.base import Listed, Store
    from build_tools.types import ObjectKey, Sha256

__all__ = ["FoundRun", "JudgedRun", "delete_run", "find_runs", "judge_run"]

_FIRST: Final = (FLAT_PAGE, PEOPLE_PAGE, f"{SIMPLE}/", f"{SIMPLE_JSON}/")


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRun:
    """A run whose outputs are in a store, and every object of them."""

    run: RunOutputs
    objects: tuple[Listed, ...]

    @property
    def size(self) -> int:
        """How many bytes its objects have."""
        return sum(one.size for one in self.objects)

    @property
    def places(self) -> tuple[IndexFolder, ...]:
        """Its indexes."""
        found = (one.key.removesuffix(f"/{SNAPSHOT}") for one in self.objects if one.key.endswith(f"/{SNAPSHOT}"))
        return tuple(IndexFolder(prefix) for prefix in found)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedRun:
    """A run, and whether it goes and why, or why not; ``stood`` is where its indexes stood when it was judged.

    ``release_type`` and ``newest`` (UTC, ISO 8601) are None where they are not known. ``is_unclear`` tells that it could not be judged.
    """

    found: FoundRun
    goes: bool
    why: str
    release_type: str | None = None
    newest: str | None = None
    is_unclear: bool = False
    stood: tuple[tuple[IndexFolder, Current], ...] = ()


def find_runs(store: Store, *, within: RunOutputs | None = None, outside: Iterable[str] = ()) -> tuple[FoundRun, ...]:
    """Find the runs whose outputs are in a store.

    Parameters
    ----------
    store
        The store.
    within
        The one run that is meant; None for all.
    outside
        Folders, without a final ``/``, that hold none: those of the channels.
    """
    if within is not None:
        objects = tuple(store.list(within.prefix))
        return (FoundRun(run=within, objects=objects),) if objects else ()
    passed = tuple(f"{folder}/" for folder in outside)
    runs: dict[RunOutputs, list[Listed]] = {}
    for one in store.list():
        run = None if one.key.startswith(passed) else run_of(one.key)
        if run is not None:
            runs.setdefault(run, []).append(one)
    return tuple(FoundRun(run=run, objects=tuple(objects)) for run, objects in runs.items())


def judge_run(found: FoundRun, *, store: Store, table: RetentionTable, references: RunReferences, now: str) -> JudgedRun:
    """Say whether the outputs of a run go.

    Parameters
    ----------
    found
        The run.
    store
        Where it is.
    table
        How long runs stay.
    references
        What is referred to.
    now
        The time, UTC in ISO 8601.

    Raises
    ------
    HipwrightError
        ``store-unusable``.
    """
    try:
        record = _record(found, store)
        stood, files, times = _indexes(found, store)
    except HipwrightError as error:
        if error.code.name != "bad-index":
            raise
        return JudgedRun(found=found, goes=False, why=error.message, is_unclear=True)
    release_type = record.release_type
    known = [time for time in (record.since, *times) if time is not None]
    parsed = [_time(time) for time in known]
    newest = max(known, key=lambda time: _time(time) or _NEVER, default=None)
    judged = functools.partial(JudgedRun, found=found, release_type=release_type, newest=newest, stood=stood)
    if release_type is None:
        return judged(goes=False, why="nobody said of what release type it is", is_unclear=True)
    if not parsed or None in parsed:
        return judged(goes=False, why="nothing that can be read says how old it is", is_unclear=True)
    keep_days = table.of_runs(release_type).keep_days
    if keep_days is None:
        return judged(goes=False, why=f"runs of the release type {release_type} stay for ever")
    days = (dt.datetime.fromisoformat(now) - max(time for time in parsed if time is not None)).total_seconds() / 86400
    if days < keep_days:
        return judged(goes=False, why=f"{max(days, 0):.0f} days old, and {keep_days} days stay")
    why = references.why(found.run, store.url(found.run.prefix), files)
    return judged(goes=why is None, why=why or f"{days:.0f} days old, and {keep_days} days stay")


def delete_run(judged: JudgedRun, *, store: Store, progress: Progress) -> bool:
    """Delete the outputs of a run that goes, and return whether they went: one that was written to since it was judged stays.

    Raises
    ------
    HipwrightError
        ``store-unusable``.
    """
    found = judged.found
    there = {one.key for one in found.objects}
    if {one.key for one in store.list(found.run.prefix)} != there or not all(
        is_still(store, place, current) for place, current in judged.stood
    ):
        return False
    done = 0
    for keys in _in_order(found):
        all_of([functools.partial(store.delete, key) for key in keys])
        done += len(keys)
        progress(f"deleting {found.run.prefix}", done, len(there), "objects")
    return True


def _record(found: FoundRun, store: Store) -> RunRecord:
    content = store.get(found.run.record)
    if content is None:
        raise HipwrightError("bad-index", "it has no run.json, which says what kind of run it is")
    record = from_json(content.data, RunRecord, name=f"{store.address}/{found.run.record}", code="bad-index")
    if (record.run_id, record.platform) != (found.run.run_id, found.run.platform.value):
        raise HipwrightError("bad-index", f"its run.json is of the run {record.run_id} for {record.platform}")
    return record


def _indexes(found: FoundRun, store: Store) -> tuple[tuple[tuple[IndexFolder, Current], ...], frozenset[Sha256], tuple[str, ...]]:
    """Return where the indexes of a run stand, every file that their histories name, and every time that they tell."""
    stood = tuple((place, read_current(store, place)) for place in found.places)
    files: set[Sha256] = set()
    times: set[str] = set()
    for place, current in stood:
        for past in walk_history(store, place, current):
            files |= {file.sha256 for file in past.snapshot.files}
            times |= {file.uploaded for file in past.snapshot.files}
            times |= {past.snapshot.change.time} if past.snapshot.change is not None else set()
    named = tuple(f"{place.dist_prefix}/" for place, _ in stood)
    lost = next((one.key for one in found.objects if f"/{DIST}/" in one.key and not one.key.startswith(named)), None)
    if lost is not None:
        raise HipwrightError("bad-index", f"{lost} lies in it, and no index names it")
    return stood, frozenset(files), tuple(sorted(times))


def _in_order(found: FoundRun) -> Iterator[Sequence[ObjectKey]]:
    """Yield the keys of a run in the order in which they go."""
    ranks: list[list[ObjectKey]] = [[] for _ in range(5)]
    prefixes = [place.prefix for place in found.places]
    for one in found.objects:
        within = next((one.key[len(prefix) + 1 :] for prefix in prefixes if one.key.startswith(f"{prefix}/")), "")
        if one.key == found.run.record:
            rank = 4
        elif within.startswith(f"{HISTORY}/"):
            rank = 3
        elif within == SNAPSHOT:
            rank = 2
        else:
            rank = 0 if within.startswith(_FIRST) else 1
        ranks[rank].append(one.key)
    return (keys for keys in ranks if keys)


_NEVER: Final = dt.datetime.min.replace(tzinfo=dt.UTC)


def _time(text: str) -> dt.datetime | None:
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
