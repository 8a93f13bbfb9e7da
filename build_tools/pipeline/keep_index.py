"""``yank`` and ``rollback``: change what an index offers, and keep in its history why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename
from build_tools.pipeline.index_place import index_place
from build_tools.publish.current import nothing_published, read_current
from build_tools.publish.history import find_past, walk_history
from build_tools.publish.moving import move_index
from build_tools.publish.rollback import require_files, rolled_back
from build_tools.publish.yank import named_files, unyanked, yanked
from build_tools.receipts.record import plain
from build_tools.receipts.snapshot import Change

if TYPE_CHECKING:
    from build_tools.pipeline.index_place import NamedIndex
    from build_tools.publish.current import Current
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.workplace import Workplace

__all__ = ["CURRENT", "rollback", "stated_reason", "yank"]

CURRENT = "current"
"""What ``--to`` says for the snapshot that the index stands at: its pages alone are put right."""


def yank(workplace: Workplace) -> dict[str, Any]:
    """Yank files of an index, or with ``--undo`` take that back.

    Returns
    -------
    dict
        Under ``yank``: each file with what it says of its yank before and after.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when no file or no reason is named, ``not-in-index``, ``nothing-published``, ``write-conflict``, and what
        :func:`build_tools.pipeline.index_place.index_place` raises.
    """
    settings = workplace.settings
    reason = stated_reason(workplace, needed=not settings.undo)
    named = index_place(workplace, writing=not settings.dry_run)
    names = settings.words

    def make(current: Current) -> Snapshot:
        return unyanked(current.snapshot, names) if settings.undo else yanked(current.snapshot, names, reason=reason or "")

    current = read_current(named.store, named.place)
    if current.etag is None:
        raise nothing_published(named.store, named.place)
    wanted = named_files(current.snapshot, names)
    after = make(current)
    if not settings.dry_run:
        change = Change(action="unyank" if settings.undo else "yank", time=files.utc_now(), reason=reason, what=tuple(names))
        after = move_index(named.store, named.place, make=make, change=change, say=workplace.console.say)
    rows = by_filename(after)
    pairs = [(file.filename, file.yanked, rows[file.filename].yanked) for file in wanted]
    shown = [{"filename": name, "before": before, "after": later} for name, before, later in pairs]
    document = {"dry_run": settings.dry_run, "index": named.place.index_url(named.store), "files": shown}
    table = [(name, _words(before), _words(later)) for name, before, later in pairs]
    words = ("Would be offered again", "Offered again") if settings.undo else ("Would be yanked", "Yanked")
    title = f"{words[0] if settings.dry_run else words[1]} in {named.store.address}/{named.place.prefix}"
    workplace.console.table(title, ("file", "before", "after"), table)
    return {"yank": document}


def rollback(workplace: Workplace) -> dict[str, Any]:
    """Go back to a snapshot of the history; list them when none is named.

    Returns
    -------
    dict
        Under ``rollback``: the history, newest first, and with ``--to`` what leaves the index and what comes back.

    Raises
    ------
    HipwrightError
        ``unknown-snapshot``, ``files-gone`` naming what is in the store no longer, ``bad-option-value`` without a reason,
        ``option-conflict`` for ``--apply`` or ``--reason`` without ``--to``, ``bad-index`` when the history is cut, ``nothing-published``, ``write-conflict``.
    """
    settings = workplace.settings
    if settings.to is None and (settings.apply or settings.reason is not None):
        message = f"{'--apply' if settings.apply else '--reason'} says to go back, and no snapshot is named"
        raise HipwrightError("option-conflict", message, hint="name one with --to; without it nox -s rollback lists them")
    named = index_place(workplace, writing=settings.apply and settings.to is not None)
    current = read_current(named.store, named.place)
    if current.etag is None:
        raise nothing_published(named.store, named.place)
    return {"rollback": _listed(named, current, workplace) if settings.to is None else _moved(named, current, workplace)}


def stated_reason(workplace: Workplace, *, needed: bool = True) -> str | None:
    """Return what ``--reason`` says, on one line.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it says nothing and is needed.
    """
    text = " ".join((workplace.settings.reason or "").split())
    if needed and not text:
        message = "no reason is given, and people who meet this want to know it"
        raise HipwrightError("bad-option-value", message, hint="say one, such as --reason 'wrong results on gfx1100'")
    return text or None


def _listed(named: NamedIndex, current: Current, workplace: Workplace) -> dict[str, Any]:
    found = list(walk_history(named.store, named.place, current))
    rows = []
    for past in found:
        change = past.snapshot.change
        said = ("", "", "") if change is None else (change.time, change.action, change.reason or ", ".join(change.what))
        rows.append((past.digest[:12], *said, str(len(past.snapshot.files))))
    title = f"History of {named.store.address}/{named.place.prefix}, newest first"
    workplace.console.table(title, ("snapshot", "time", "what", "why", "files"), rows)
    history = [
        {"snapshot": past.digest, "files": len(past.snapshot.files), "change": plain(past.snapshot.change)} for past in found
    ]
    return {"index": named.place.index_url(named.store), "history": history}


def _moved(named: NamedIndex, current: Current, workplace: Workplace) -> dict[str, Any]:
    settings, store, place = workplace.settings, named.store, named.place
    repair = settings.to == CURRENT
    name = current.digest if repair else str(settings.to)
    past = find_past(store, place, current, name)
    reason = stated_reason(workplace, needed=settings.apply and not repair)
    require_files(store, place, past.snapshot.files, name=past.digest)
    now = files.utc_now()
    before, wanted = by_filename(current.snapshot), by_filename(past.snapshot)
    moves = {
        "leave": sorted(before.keys() - wanted.keys()),
        "return": sorted(wanted.keys() - before.keys()),
        "change": sorted(name for name in before.keys() & wanted.keys() if before[name] != wanted[name]),
    }
    document = {"applied": settings.apply, "snapshot": past.digest, **moves}
    if settings.apply:
        change = Change(action="rollback", time=now, reason=reason, what=(past.digest,))

        def make(there: Current) -> Snapshot:
            return there.snapshot if repair else rolled_back(there.snapshot, past.snapshot, time=now)

        move_index(store, place, make=make, change=change, say=workplace.console.say, whole=True)
    rows = [(what, name, "") for what in ("leave", "return") for name in moves[what]]
    # A rollback may take a yank back, which nobody should overlook.
    rows += [("change", name, f"{_words(before[name].yanked)} -> {_words(wanted[name].yanked)}") for name in moves["change"]]
    done = "Rolled back to" if settings.apply else "Would roll back to"
    moved = "" if rows else "no file leaves and none comes back"
    note = "\n".join(line for line in (moved, "" if settings.apply else "nothing was changed: say --apply to do it") if line)
    workplace.console.table(f"{done} {past.digest[:12]}", ("what", "file", "how"), rows, note=note)
    return document


def _words(yanked_for: str | None) -> str:
    return "offered" if yanked_for is None else f"yanked: {yanked_for}" if yanked_for else "yanked"
