"""Freshness: what an index promises, compared with what it holds and when that came.

Only files that are offered count: a yanked one is there for those who pinned it, and no news. A time that cannot be read, or that lies in
the future, proves nothing, so a file with one is late.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from packaging.tags import compatible_tags, cpython_tags

from build_tools.index.families import family_of
from build_tools.index.snapshots import by_project
from build_tools.receipts.freshness import FreshnessRow
from build_tools.types import Platform
from build_tools.wheels.name import is_wheel_name, parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from build_tools.config.freshness import Promise
    from build_tools.receipts.freshness import FreshnessState
    from build_tools.receipts.snapshot import IndexedFile, Snapshot

__all__ = ["judge_freshness"]

_SKEW: Final = dt.timedelta(minutes=15)
"""So far may the clock of a publisher be ahead."""

_MARK: Final = "-gfx"


def judge_freshness(snapshot: Snapshot, promises: Sequence[Promise], *, now: str) -> tuple[FreshnessRow, ...]:
    """Compare what is promised with what an index holds.

    Parameters
    ----------
    snapshot
        Where the index stands.
    promises
        What is promised.
    now
        The time, UTC in ISO 8601.

    Returns
    -------
    tuple of FreshnessRow
        One for each project, family, platform and Python that is promised, and one for each package for a GPU that is there and is not.
    """
    projects = by_project(snapshot)
    rows = []
    for promise in promises:
        for project, family, platform, python in promise.cells():
            newest = _newest((file for file in projects.get(project, ()) if _is_for(file, Platform(platform), python)), now)
            rows.append(
                FreshnessRow(
                    project=project,
                    family=family,
                    platform=platform,
                    python=python,
                    state=_state(newest, promise.late_after_hours, now),
                    newest=None if newest is None else newest.filename,
                    uploaded=None if newest is None else newest.uploaded,
                    hours=None if newest is None else _hours(newest.uploaded, now),
                    late_after_hours=promise.late_after_hours,
                )
            )
    return (*rows, *_unpromised(projects, promises, now))


def _unpromised(projects: Mapping[str, Sequence[IndexedFile]], promises: Sequence[Promise], now: str) -> Iterator[FreshnessRow]:
    """Yield the packages for a GPU that no promise names; of a project whose families are promised it is a name that somebody got wrong."""
    stems = {project for promise in promises if promise.families for project in promise.projects}
    wanted = {cell[0] for promise in promises for cell in promise.cells()}
    for name, files in projects.items():
        newest = _newest(files, now)
        if _MARK in name and name not in wanted and newest is not None:
            yield FreshnessRow(
                project=name,
                family=family_of(name),
                platform=None,
                python=None,
                state="extra" if name.partition(_MARK)[0] in stems else "held",
                newest=newest.filename,
                uploaded=newest.uploaded,
                hours=_hours(newest.uploaded, now),
            )


def _newest(files: Iterable[IndexedFile], now: str) -> IndexedFile | None:
    """Return the file that came last of those that are offered; None when there is none."""
    offered = [file for file in files if file.yanked is None]
    return max(offered, key=lambda file: (_time(file.uploaded, now) or _NEVER, file.filename), default=None)


def _is_for(file: IndexedFile, platform: Platform, python: str | None) -> bool:
    """Return whether an installer for a Python on an operating system could take a file; a source distribution is for each of them."""
    if not is_wheel_name(file.filename):
        return True
    name = parse_wheel_name(file.filename)
    if name.platform != "any" and name.system is not platform:
        return False
    return python is None or any((tag.interpreter, tag.abi) in _tags_of(python) for tag in name.tags)


def _tags_of(python: str) -> frozenset[tuple[str, str]]:
    """Return the interpreter and ABI tags that a CPython takes, such as ``3.12`` or ``3.13t``."""
    major, minor = map(int, python.removesuffix("t").split("."))
    interpreter = f"cp{major}{minor}"
    own = cpython_tags((major, minor), abis=[f"{interpreter}{'t' if python.endswith('t') else ''}"], platforms=["any"])
    general = compatible_tags((major, minor), interpreter=interpreter, platforms=["any"])
    return frozenset((tag.interpreter, tag.abi) for tags in (own, general) for tag in tags)


_NEVER: Final = dt.datetime.min.replace(tzinfo=dt.UTC)


def _time(text: str, now: str) -> dt.datetime | None:
    """Return an upload time; None when it cannot be read, names no zone, or has not come yet."""
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None and time <= dt.datetime.fromisoformat(now) + _SKEW else None


def _hours(uploaded: str, now: str) -> float | None:
    time = _time(uploaded, now)
    return None if time is None else max((dt.datetime.fromisoformat(now) - time).total_seconds(), 0.0) / 3600


def _state(newest: IndexedFile | None, limit: int | None, now: str) -> FreshnessState:
    if newest is None:
        return "missing"
    hours = _hours(newest.uploaded, now)
    return "fresh" if limit is None or (hours is not None and hours <= limit) else "late"
