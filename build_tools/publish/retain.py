"""Retention: which files an index offers no longer, and which of those that it offered once may be deleted.

A file is hidden first, by a snapshot without it, and deleted no sooner than a grace period later; its name stays taken for ever. The
newest file of each kind never leaves, nor does what is referred to: by another channel, by a lock, by a verdict on a file that stays, or by
what such a file requires.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from build_tools.index.families import family_of
from build_tools.index.snapshots import parsed_version
from build_tools.publish.retain_required import required_files, requires_nothing
from build_tools.receipts.snapshot import IndexedFile, RetiredFile, Snapshot
from build_tools.wheels.local_version import local_line
from build_tools.wheels.name import is_wheel_name, parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from build_tools.publish.retain_required import Requires
    from build_tools.receipts.verdict import Verdict
    from build_tools.types import Sha256

__all__ = ["Kept", "RetentionPlan", "deleted", "hidden", "kind_of", "plan_retention"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A file that is old enough to go, and why it stays."""

    file: IndexedFile
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPlan:
    """What retention does: files that leave the index, old ones that stay, and files whose bytes go."""

    hide: tuple[IndexedFile, ...]
    kept: tuple[Kept, ...]
    delete: tuple[RetiredFile, ...]


def plan_retention(
    snapshot: Snapshot,
    *,
    keep_days: int | None,
    grace_days: int,
    now: str,
    referred: Mapping[Sha256, str],
    verdicts: Iterable[Verdict] = (),
    requires: Requires = requires_nothing,
) -> RetentionPlan:
    """Say what retention does to an index.

    Parameters
    ----------
    snapshot
        Where the index stands.
    keep_days
        How long a file stays, in days since its upload; None for ever.
    grace_days
        How long the bytes of a file lie there that left the index, in days.
    now
        The time, UTC in ISO 8601. What was uploaded or hidden at no time that can be read, or in a time to come, counts as new.
    referred
        What is referred to from elsewhere: the SHA-256 of each file, and by what.
    verdicts
        The verdicts beside the index: files that were tested together with one that stays, stay.
    requires
        What each file requires: what one that stays could not be installed without stays too.
    """
    old = [file for file in snapshot.files if keep_days is not None and _days(file.uploaded, now) >= keep_days]
    newest = _newest(snapshot.files)
    known = list(verdicts)
    why = {file.filename: referred[file.sha256] for file in old if file.sha256 in referred}
    why |= {file.filename: "the newest of its kind" for file in old if file.filename in newest}
    while True:
        hide = [file for file in old if file.filename not in why]
        names = {file.filename for file in hide}
        staying = [file for file in snapshot.files if file.filename not in names]
        tested = _tested_with({file.sha256 for file in staying}, known)
        more = {file.filename: "tested with a file that stays" for file in hide if file.sha256 in tested}
        more = more or required_files(staying, hide, requires)
        if not more:
            break
        why |= more
    kept = tuple(Kept(file=file, why=why[file.filename]) for file in old if file.filename in why)
    there = {file.key for file in snapshot.files}
    delete = [
        one
        for one in snapshot.retired
        if one.by == "retain"
        and one.deleted is None
        and one.file.key not in there
        and one.file.sha256 not in referred
        and one.file.sha256 not in tested
        and _days(one.since, now) >= grace_days
    ]
    needed = required_files(staying, [one.file for one in delete], requires)
    delete = [one for one in delete if one.file.filename not in needed]
    return RetentionPlan(hide=tuple(hide), kept=kept, delete=tuple(delete))


def hidden(snapshot: Snapshot, names: Collection[str], *, time: str) -> Snapshot:
    """Return a snapshot without files, which keeps that they were there until ``time`` (UTC, ISO 8601)."""
    left = [RetiredFile(file=file, since=time, by="retain") for file in snapshot.files if file.filename in names]
    rows = {one.file.filename: one for one in (*snapshot.retired, *left)}
    files = tuple(file for file in snapshot.files if file.filename not in names)
    return Snapshot(files=files, retired=tuple(rows[name] for name in sorted(rows)))


def deleted(snapshot: Snapshot, names: Collection[str], *, time: str) -> Snapshot:
    """Return a snapshot that says of files which left it that their bytes were deleted at ``time`` (UTC, ISO 8601)."""
    retired = tuple(
        structs.replace(one, deleted=time) if one.file.filename in names and one.deleted is None else one
        for one in snapshot.retired
    )
    return Snapshot(files=snapshot.files, retired=retired)


def kind_of(file: IndexedFile) -> tuple[str, ...]:
    """Return what tells files of which the newest stays: project, line, local line, Python, platform, GPU family.

    A line is the first two numbers of the public version, and of the ROCm that a local version names.
    """
    version = parsed_version(file.version)
    line = ".".join(map(str, (*version.release, 0)[:2]))
    tags = ("sdist", "sdist", "any")
    if is_wheel_name(file.filename):
        name = parse_wheel_name(file.filename)
        tags = (name.python, name.abi, name.platform)
    return (file.project, line, local_line(version), *tags, family_of(file.project) or "")


def _newest(files: Sequence[IndexedFile]) -> frozenset[str]:
    """Return the names of the newest files of each kind: of the highest version, one that is not yanked before one that is."""
    best: dict[tuple[str, ...], IndexedFile] = {}
    for file in files:
        kind = kind_of(file)
        there = best.get(kind)
        if there is None or _rank(file) > _rank(there):
            best[kind] = file
    return frozenset(file.filename for file in best.values())


def _rank(file: IndexedFile) -> tuple[object, ...]:
    return (file.yanked is None, parsed_version(file.version), file.uploaded, file.filename)


def _tested_with(staying: Collection[Sha256], verdicts: Sequence[Verdict]) -> frozenset[Sha256]:
    """Return the files that verdicts name together with one that stays, and with those, and so on."""
    found = set(staying)
    while True:
        more = {
            wheel.sha256
            for verdict in verdicts
            if any(wheel.sha256 in found for wheel in verdict.wheels)
            for wheel in verdict.wheels
        }
        if more <= found:
            return frozenset(found)
        found |= more


def _days(since: str, now: str) -> float:
    """Return how many days lie between two times; none when either cannot be read."""
    try:
        return (dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(since)).total_seconds() / 86400
    except (ValueError, TypeError):
        return -1
