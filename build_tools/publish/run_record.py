"""The record that a run has in its outputs: the first upload writes what kind of run it is, and every later one is held to it.

Whether a later attempt may put other bytes under a name depends on the release type, so it must not depend on who says which today.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.publish.current import ASK_EVERY_TIME, PUBLISH_AGAIN
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.run import RunRecord
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import RunOutputs

__all__ = ["JudgedRun", "judge_run", "settle_run"]

_TYPE: Final = "application/json"
_TRIES: Final = 20


class JudgedRun(Value, frozen=True, kw_only=True):
    """What kind of run a run is; ``written`` tells whether that is what is written down, ``etag`` is of what was there, None for nothing."""

    record: RunRecord
    written: bool
    etag: str | None


def judge_run(
    store: Store, run: RunOutputs, *, release_type: str | None, repository: str | None, clock: Callable[[], str] = files.utc_now
) -> JudgedRun:
    """Say what kind of run a run is, by what is written down and what an upload says; nothing is written.

    Raises
    ------
    HipwrightError
        ``run-contradicted``, ``bad-index``; see :func:`settle_run`.
    """
    content = store.get(run.record)
    if content is None:
        record = RunRecord(
            run_id=run.run_id,
            platform=run.platform.value,
            release_type=release_type,
            repository=repository,
            since=clock(),
        )
        return JudgedRun(record=record, written=False, etag=None)
    place = f"{store.address}/{run.record}"
    there = from_json(content.data, RunRecord, name=place, code="bad-index")
    record = _held_to(there, release_type, place)
    return JudgedRun(record=record, written=record == there, etag=content.info.etag)


def settle_run(
    store: Store,
    run: RunOutputs,
    *,
    release_type: str | None,
    repository: str | None,
    dry: bool = False,
    judged: JudgedRun | None = None,
    clock: Callable[[], str] = files.utc_now,
) -> RunRecord:
    """Return what kind of run a run is, and write it down when nobody did; a run of which nobody said it takes what is said first.

    Parameters
    ----------
    store
        The store of the run's outputs.
    run
        Where in it.
    release_type
        What this upload says the run is; None when it says nothing, and goes by what is written down.
    repository
        Whose run it is, as ``OWNER/NAME``, where that is known.
    dry
        Whether nothing is written.
    judged
        What was found before; what somebody else wrote meanwhile is looked at.
    clock
        Tells the time, UTC in ISO 8601.

    Raises
    ------
    HipwrightError
        ``run-contradicted`` when another release type is written down, ``bad-index`` when what is there is no such record,
        ``store-unusable``.
    """
    key = run.record
    for _ in range(_TRIES):
        found = judged or judge_run(store, run, release_type=release_type, repository=repository, clock=clock)
        if dry or found.written or _wrote(store, key, found.record, etag=found.etag):
            return found.record
        judged = None
    raise HipwrightError(
        "write-conflict",
        f"{key} in {store.address} did not stand still for {_TRIES} tries",
        hint=PUBLISH_AGAIN,
    )


def _held_to(there: RunRecord, release_type: str | None, place: str) -> RunRecord:
    if release_type is None or there.release_type == release_type:
        return there
    if there.release_type is None:
        return msgspec.structs.replace(there, release_type=release_type)
    message = f"the run {there.run_id} is one of the release type {there.release_type}, and this upload says {release_type}"
    hint = f"say --release-type {there.release_type} or none, or publish as another run with --run-id"
    raise HipwrightError("run-contradicted", message, where=Where(file=place), hint=hint)


def _wrote(store: Store, key: str, record: RunRecord, *, etag: str | None) -> bool:
    try:
        store.put(
            key,
            to_json(record),
            content_type=_TYPE,
            cache_seconds=ASK_EVERY_TIME,
            if_absent=etag is None,
            if_match=etag,
        )
    except HipwrightError as error:
        if error.code.name != "write-conflict":
            raise
        return False
    return True
