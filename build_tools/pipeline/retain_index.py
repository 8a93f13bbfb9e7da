"""``retain``: take what a channel keeps no longer out of its index, and delete what left it long enough ago."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import humanize

from build_tools import files
from build_tools.config.channels import load_channels
from build_tools.config.retention import load_retention
from build_tools.errors import HipwrightError
from build_tools.index.layout import metadata_key
from build_tools.index.snapshots import by_filename
from build_tools.pipeline.index_place import index_place
from build_tools.pipeline.retain_runs import is_of_runs, retain_runs
from build_tools.publish.closure import requirements_of
from build_tools.publish.current import read_current, read_snapshot
from build_tools.publish.holdings import AT_ONCE
from build_tools.publish.moving import move_index
from build_tools.publish.offer import offer_indexed
from build_tools.publish.pages import publish_pages
from build_tools.publish.retain import Kept, RetentionPlan, deleted, hidden, plan_retention
from build_tools.publish.verdicts import read_verdicts
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record
from build_tools.receipts.snapshot import Change
from build_tools.stores.run_outputs import IndexFolder
from build_tools.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packaging.requirements import Requirement

    from build_tools.pipeline.index_place import NamedIndex
    from build_tools.publish.current import Current
    from build_tools.receipts.snapshot import IndexedFile, Snapshot
    from build_tools.receipts.verdict import Verdict
    from build_tools.types import ObjectKey, Sha256
    from build_tools.workplace import Workplace

__all__ = ["retain"]


def retain(workplace: Workplace) -> dict[str, Any]:
    """Plan what leaves a channel and what is deleted, and with ``--apply`` do it: hide first, delete what was hidden long enough ago.

    With ``--run-id`` or ``--all-runs`` it is about the outputs of runs: see :func:`build_tools.pipeline.retain_runs.retain_runs`.

    Returns
    -------
    dict
        Under ``retain``: what is hidden, what is deleted, and what stays although it is old, with the reason.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the policy is broken, ``bad-index`` when a verdict cannot be read, ``nothing-published``,
        ``write-conflict``, and what :func:`build_tools.pipeline.index_place.index_place` raises.
    """
    if is_of_runs(workplace):
        return retain_runs(workplace)
    settings = workplace.settings
    table = load_retention()
    named = index_place(workplace, writing=settings.apply)
    if named.channel is None:
        raise HipwrightError("bad-option-value", "no channel is named", hint="name one with --channel")
    now = files.utc_now()
    snapshot = read_snapshot(named.store, named.place)
    known = {file.sha256 for file in snapshot.files} | {one.file.sha256 for one in snapshot.retired}
    planner = _Planner(
        named=named,
        keep_days=table.of_channel(named.channel).keep_days,
        grace_days=table.grace_days,
        now=now,
        referred=_referred(named, table.keep_bytes_of, workplace),
        verdicts=read_verdicts(named.store, named.place, known),
    )
    plan = planner.plan(snapshot)
    if settings.apply:
        plan = _carry_out(plan, planner, workplace)
    return {"retain": _tell(plan, named, workplace)}


def _referred(named: NamedIndex, channels: Iterable[str], workplace: Workplace) -> dict[Sha256, str]:
    """Return what other channels of this store hold, and what a lock names that the options name."""
    found: dict[Sha256, str] = {}
    for name in channels:
        if name != named.channel:
            place = IndexFolder(load_channels().find_channel(name).prefix)
            found |= {file.sha256: f"in the channel {name}" for file in read_current(named.store, place).snapshot.files}
    if workplace.settings.lock is not None:
        lock = read_record(workplace.settings.lock, Lock)
        locked = [file.sha256 for entry in lock.projects.values() for file in entry.packages]
        found |= dict.fromkeys(locked, f"named by {workplace.settings.lock}")
    return found


@dataclass(kw_only=True, slots=True)
class _Planner:
    """Plans the retention of a channel for any snapshot of it: others may change it until the plan is carried out.

    What files require is read from their side files, of all at once when it is asked first, and ``known`` by their bytes from then on.
    """

    named: NamedIndex
    keep_days: int | None
    grace_days: int
    now: str
    referred: Mapping[Sha256, str]
    verdicts: Sequence[Verdict]
    known: dict[Sha256, tuple[Requirement, ...]] = field(default_factory=dict)

    def plan(self, snapshot: Snapshot) -> RetentionPlan:
        def requires(file: IndexedFile) -> tuple[Requirement, ...]:
            if file.sha256 not in self.known:
                self._read([one for one in snapshot.files if one.sha256 not in self.known])
            return self.known[file.sha256]

        return plan_retention(
            snapshot,
            keep_days=self.keep_days,
            grace_days=self.grace_days,
            now=self.now,
            referred=self.referred,
            verdicts=self.verdicts,
            requires=requires,
        )

    def _read(self, rows: Sequence[IndexedFile]) -> None:
        def read(row: IndexedFile) -> tuple[Requirement, ...]:
            return tuple(requirements_of(offer_indexed(row, store=self.named.store, place=self.named.place)))

        with Threads(AT_ONCE) as pool:
            self.known |= dict(zip((row.sha256 for row in rows), pool.map(read, rows), strict=True))


def _carry_out(plan: RetentionPlan, planner: _Planner, workplace: Workplace) -> RetentionPlan:
    """Hide, then write down what is deleted, then delete it; one that dies between is done again by the next.

    Of what was planned only that is done which would be planned for the index as it stands when it moves; that is returned.
    """
    named, now = planner.named, planner.now
    store, place, say = named.store, named.place, workplace.console.say
    reason = workplace.settings.reason
    names = {file.filename for file in plan.hide}

    def hiding(there: Current) -> Snapshot:
        return hidden(there.snapshot, names & {file.filename for file in planner.plan(there.snapshot).hide}, time=now)

    def deleting(there: Current) -> Snapshot:
        return deleted(there.snapshot, wanted & {one.file.filename for one in planner.plan(there.snapshot).delete}, time=now)

    # Of one that died after its snapshot the pages still show what it hid: installers have had no grace period yet.
    late: list[ObjectKey] = []
    publish_pages(store, place, say=say, untouched=True, wrote=late.append, clock=lambda: now)
    if plan.hide:
        change = Change(action="retain", time=now, reason=reason, what=tuple(sorted({file.project for file in plan.hide})))
        move_index(store, place, make=hiding, change=change, say=say)
    there = read_current(store, place).snapshot
    lying = {one.key for one in store.list(place.dist_prefix)}
    wanted = set() if late else {one.file.filename for one in plan.delete}
    if late and plan.delete:
        say("pages showed until now what was hidden before: nothing is deleted this time")
    if wanted:
        change = Change(action="retain", time=now, reason=reason, what=tuple(sorted(wanted)))
        there = move_index(store, place, make=deleting, change=change, say=say)
    # One that came back meanwhile is retired no longer; one that was written down and whose deletion died is taken up again.
    standing = {file.key for file in there.files}
    gone = [one.file for one in there.retired if one.by == "retain" and one.deleted is not None and one.file.key not in standing]
    gone = [file for file in gone if {place.key(file.key), metadata_key(place.key(file.key))} & lying]
    for number, file in enumerate(gone, start=1):
        workplace.console.progress("deleting", number, len(gone), "files")
        store.delete(metadata_key(place.key(file.key)))
        store.delete(place.key(file.key))
    hidden_now = [one for one in plan.hide if one.filename not in by_filename(there)]
    written_down = {one.file.key for one in there.retired if one.deleted is not None}
    spared = [Kept(file=one, why="the index changed meanwhile") for one in plan.hide if one not in hidden_now]
    return RetentionPlan(
        hide=tuple(hidden_now),
        kept=(*plan.kept, *spared),
        delete=tuple(one for one in plan.delete if one.file.key in written_down),
    )


def _tell(plan: RetentionPlan, named: NamedIndex, workplace: Workplace) -> dict[str, Any]:
    apply = workplace.settings.apply
    rows = [
        ("hide" if not apply else "hidden", file.filename, f"uploaded {file.uploaded}", _size(file.size)) for file in plan.hide
    ]
    rows += [
        ("delete" if not apply else "deleted", one.file.filename, f"hidden {one.since}", _size(one.file.size))
        for one in plan.delete
    ]
    rows += [("stays", one.file.filename, one.why, _size(one.file.size)) for one in plan.kept]
    note = "no file is old enough to leave"
    if rows:
        note = "" if apply else "nothing was changed: say --apply to do it"
    workplace.console.table(f"Retention of the channel {named.channel}", ("what", "file", "why", "size"), rows, note=note)
    return {
        "applied": apply,
        "channel": named.channel,
        "hide": [file.filename for file in plan.hide],
        "delete": [one.file.filename for one in plan.delete],
        "stays": [{"filename": one.file.filename, "why": one.why} for one in plan.kept],
    }


def _size(size: int) -> str:
    return humanize.naturalsize(size, binary=True)
