"""Judge a machine by what it is for: a pure function of the demands and of what was found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from build_tools.config.fitness import Demand
    from build_tools.receipts.machine import MachineFacts

__all__ = ["Point", "PointStatus", "judge_machine", "worst_of"]

PointStatus = Literal["failed", "unknown", "unasked", "ok"]

_GB: Final = 10**9
_ORDER: Final[Sequence[PointStatus]] = ("failed", "unknown", "ok")
_ANY: Final = "any"
_EVERYTHING: Final = "root"
"""The user whom no group keeps out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One demand as a machine meets it: what was found and wanted, in words, and what mends it.

    ``unknown`` is what could not be found out, and no pass. ``unasked`` is what nobody named: labels, or hosts to reach.
    """

    what: str
    status: PointStatus
    found: str
    wanted: str
    fix: str = ""


def judge_machine(demands: Sequence[Demand], facts: MachineFacts, *, targets: Sequence[str] = ()) -> tuple[Point, ...]:
    """Return a point for each demand, in their order.

    Parameters
    ----------
    demands
        What the machine has to have.
    facts
        What it has.
    targets
        GPU targets of which it has to have one instead of those in the demands.
    """
    return tuple(_judge(one, facts, targets) for one in demands)


def worst_of(points: Sequence[Point]) -> PointStatus:
    """Return the worst status there is; ``ok`` of none."""
    found = {point.status for point in points}
    return next((status for status in _ORDER if status in found), "ok")


def _judge(one: Demand, facts: MachineFacts, targets: Sequence[str]) -> Point:
    if one.measure == "gpus":
        return _listed(one, facts.gpus, wanted=tuple(targets))
    if one.measure in _VERSIONS:
        return _version(one, _VERSIONS[one.measure](facts))
    return _OTHERS[one.measure](one, facts)


_VERSIONS: Final[Mapping[str, Callable[[MachineFacts], str | None]]] = {
    "driver": lambda facts: facts.driver,
    "rocm": lambda facts: facts.rocm,
    "python": lambda facts: facts.python,
    "visual-studio": lambda facts: facts.visual_studio,
}


def _system(one: Demand, facts: MachineFacts) -> Point:
    if facts.os_name is not None and facts.os_name != one.name:
        found = f"{facts.os_name} {facts.os_version or ''}".strip()
        return _point(one, "unknown", found, f"{one.name} {one.at_least}, which is known to do")
    return _version(one, facts.os_version)


def _tool(one: Demand, facts: MachineFacts) -> Point:
    return _version(one, None if facts.tools is None else facts.tools.get(one.name or "", ""))


def _python_venv(one: Demand, facts: MachineFacts) -> Point:
    there = facts.python_venv
    status: PointStatus = "unknown" if there is None else "ok" if there else "failed"
    return _point(one, status, {True: "there", False: "not there", None: "unknown"}[there], _ANY)


def _labels(one: Demand, facts: MachineFacts) -> Point:
    if facts.labels is None:
        return Point(what="labels", status="unasked", found="not named", wanted=", ".join(one.all_of))
    return _listed(one, facts.labels)


def _groups(one: Demand, facts: MachineFacts) -> Point:
    if facts.groups is not None and _EVERYTHING in facts.groups:
        return _point(one, "ok", _EVERYTHING, ", ".join(one.all_of))
    return _listed(one, facts.groups)


def _what(one: Demand) -> str:
    return one.name if one.measure == "tool" and one.name else {"os": "operating system"}.get(one.measure, one.measure)


def _point(one: Demand, status: PointStatus, found: str, wanted: str, missing: str = "") -> Point:
    if status == "ok":
        return Point(what=_what(one), status=status, found=found, wanted=wanted)
    fix = one.fix.format(missing=missing, wanted=one.at_least or ", ".join(one.one_of or one.all_of))
    return Point(what=_what(one), status=status, found=found, wanted=wanted, fix=fix)


def _version(one: Demand, value: str | None) -> Point:
    wanted = f"at least {one.at_least}" if one.at_least else _ANY
    if value is None:
        return _point(one, "unknown", "unknown", wanted)
    if not value:
        return _point(one, "failed", "not there", wanted)
    if one.at_least is None:
        return _point(one, "ok", value, wanted)
    try:
        enough = Version(value).release >= Version(one.at_least).release
    except InvalidVersion:
        return _point(one, "unknown", f"{value}, which is no version", wanted)
    return _point(one, "ok" if enough else "failed", value, wanted)


def _amount(one: Demand, value: int | None) -> Point:
    wanted = f"at least {one.at_least} GB"
    if value is None:
        return _point(one, "unknown", "unknown", wanted)
    enough = value >= float(one.at_least or 0) * _GB
    return _point(one, "ok" if enough else "failed", f"{value / _GB:.0f} GB", wanted)


def _network(one: Demand, facts: MachineFacts) -> Point:
    if not facts.reached:
        return Point(what="network", status="unasked", found="no host is named", wanted="the hosts that are named")
    missing = [host for host, answered in facts.reached.items() if not answered]
    found = f"no answer from {', '.join(missing)}" if missing else "all answered"
    return _point(one, "failed" if missing else "ok", found, ", ".join(facts.reached), ", ".join(missing))


def _listed(one: Demand, there: Collection[str] | None, *, wanted: tuple[str, ...] = ()) -> Point:
    """Judge a list of words, in which upper and lower case are the same: GitHub's labels are told apart so."""
    some = wanted or one.one_of
    words = " or ".join(some) if some else ", ".join(one.all_of)
    if there is None:
        return _point(one, "unknown", "unknown", words)
    found = {word.lower() for word in there}
    if some:
        fits = any(word.lower() in found for word in some)
        return _point(one, "ok" if fits else "failed", ", ".join(there) or "none", words, words)
    missing = [word for word in one.all_of if word.lower() not in found]
    present = [word for word in one.all_of if word not in missing]
    separator = " " if one.measure == "packages" else ","
    return _point(one, "failed" if missing else "ok", ", ".join(present) or "none of them", words, separator.join(missing))


_OTHERS: Final[Mapping[str, Callable[[Demand, MachineFacts], Point]]] = {
    "os": _system,
    "tool": _tool,
    "memory": lambda one, facts: _amount(one, facts.memory_bytes),
    "disk": lambda one, facts: _amount(one, facts.disk_bytes),
    "python-venv": _python_venv,
    "network": _network,
    "labels": _labels,
    "groups": _groups,
    "packages": lambda one, facts: _listed(one, facts.packages),
}
