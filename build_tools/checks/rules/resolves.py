"""Rule ``resolves``: the set can be installed from what is published together, and from what lies beside it.

A wheel that pins a version of its companion which nobody built fails at the users' ``pip install``, days after the build.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.checks.rule import Problem, SetRule, Subject
from build_tools.config.owned import is_owned

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from packaging.markers import Marker
    from packaging.requirements import Requirement

    from build_tools.checks.demands import Unmet
    from build_tools.checks.expectation import Expectation

__all__ = ["RULE"]

_CPYTHON: Final = re.compile(r"cp3(?P<minor>\d+)t?")
_MINORS: Final = (10, 11, 12, 13, 14)
"""The Pythons that a wheel for any is judged for."""

_QUOTED: Final = re.compile(r"""["']([^"']*)["']""")
_TOLD: Final = 6

_MACHINES: Final = ("x86_64", "aarch64", "amd64", "arm64")


def _judge(subjects: Sequence[Subject], _plan: Mapping[str, Expectation] | None) -> Iterator[tuple[str, Problem]]:
    for subject in subjects:
        if subject.metadata is None or subject.name is None:
            continue  # the rules `metadata` and `file-name` say so
        member = f"{subject.wheel.dist_info[0]}/METADATA"
        told = False
        for requirement in subject.metadata.requires_dist:
            needed = _needed(subject, requirement)
            fault = _fault(subject, requirement, subjects) if needed is not None else None
            if fault is not None:
                told = True
                yield (
                    subject.wheel.filename,
                    Problem(message=f"{requirement} {fault}", member=member, severity=None if needed else "warning"),
                )

        # What is wrong inside of the set is in the way of every install; what an installer says of that is the same once more.
        for unmet in _unmet(subject) if not told else ():
            yield subject.wheel.filename, Problem(message=unmet.text, member=member, severity=None if unmet.always else "warning")


def _unmet(subject: Subject) -> tuple[Unmet, ...]:
    return (subject.demands.unmet or ()) if subject.demands is not None else ()


def _unable(subject: Subject, subjects: Sequence[Subject]) -> str | None:
    """Name the requirements that nobody can judge, as neither the set nor a known place has them."""
    demands = subject.demands
    if subject.metadata is None or subject.name is None or (demands is not None and demands.unmet is not None):
        return None
    packages = demands.packages if demands is not None else None
    there = {other.name.project for other in subjects if other.name is not None}
    unknown = [
        name
        for requirement in subject.metadata.requires_dist
        if (name := canonicalize_name(requirement.name)) not in there
        and (packages is None or (name not in packages and not is_owned(name)))
        and _needed(subject, requirement)
    ]
    if not unknown:
        return None
    reason = (
        "--find-links and --index-url of check_wheels name some" if demands is None or not demands.unasked else demands.unasked
    )
    return f"nobody knows a place with {_some(sorted(set(unknown)))}; {reason}"


def _needed(subject: Subject, requirement: Requirement) -> bool | None:
    """Return whether a requirement counts for every install (True), with an extra alone (False), or never where the wheel fits (None)."""
    if requirement.marker is None:
        return True
    machines = _environments(subject)
    if any(requirement.marker.evaluate({**machine, "extra": ""}) for machine in machines):
        return True
    extras = _told_apart(requirement.marker, subject.metadata.extras if subject.metadata is not None else ())
    return False if any(requirement.marker.evaluate({**machine, "extra": e}) for machine in machines for e in extras) else None


def _told_apart(marker: Marker, extras: Sequence[str]) -> list[str]:
    """Return the extras that a marker can tell from each other: those that it names, and one of the others, which are all alike to it."""
    named = {canonicalize_name(text) for text in _QUOTED.findall(str(marker))}
    others = (extra for extra in extras if canonicalize_name(extra) not in named)
    return [*(extra for extra in extras if canonicalize_name(extra) in named), *itertools.islice(others, 1)]


def _environments(subject: Subject) -> list[dict[str, str]]:
    """Return what markers ask of the machines that a wheel can be installed on (PEP 508)."""
    assert subject.name is not None  # noqa: S101 - the caller looked
    found = [_CPYTHON.fullmatch(tag) for tag in subject.name.python.split(".")]
    minors = sorted({int(match["minor"]) for match in found if match is not None}) or list(_MINORS)
    platforms = subject.name.platform.split(".")
    systems = []
    if any("linux" in each or each == "any" for each in platforms):
        systems.append(("linux", "Linux", "posix"))
    if any(each.startswith("win") or each == "any" for each in platforms):
        systems.append(("win32", "Windows", "nt"))
    if subject.demands is not None and len(systems) > 1:
        systems = [system for system in systems if system[1].lower() == subject.demands.platform.value]
    machine = next((name for name in _MACHINES if any(each.endswith(name) for each in platforms)), "x86_64")
    return [
        {
            "python_version": f"3.{minor}",
            "python_full_version": f"3.{minor}.0",
            "implementation_name": "cpython",
            "implementation_version": f"3.{minor}.0",
            "platform_python_implementation": "CPython",
            "platform_machine": machine.upper() if system == "win32" else machine,
            "platform_release": "",
            "platform_version": "",
            "sys_platform": system,
            "platform_system": words,
            "os_name": kind,
        }
        for minor in minors
        for system, words, kind in systems
    ]


def _fault(subject: Subject, requirement: Requirement, subjects: Sequence[Subject]) -> str | None:
    """Return what is wrong with a requirement, None when it is met or nobody can say."""
    name = canonicalize_name(requirement.name)
    beside = [other for other in subjects if other.name is not None and other.name.project == name]
    demands = subject.demands
    if beside:
        fitting = [other for other in beside if _together(subject, other)]
        if not fitting:
            return "is met by no wheel of the set for this Python and system"
        versions = [other.name.version for other in fitting if other.name is not None]
        if not _met(requirement, versions):
            return f"is not met: the set has {' and '.join(sorted(set(versions)))}"
        return _extras_fault(requirement, fitting)
    packages = demands.packages if demands is not None else None
    if packages is not None and name in packages:
        return None if _met(requirement, [packages[name]]) else f"is not met: beside the set is {packages[name]}"
    if packages is not None and is_owned(name):
        return "is met by no wheel of the set, and by no package that is known to be beside it"
    return None


def _together(one: Subject, other: Subject) -> bool:
    """Return whether some machine takes both wheels, by the names' tags."""
    if one.name is None or other.name is None:
        return False

    def fits(first: str, second: str, free: tuple[str, ...]) -> bool:
        ours, theirs = set(first.split(".")), set(second.split("."))
        return bool(ours & theirs) or any(each.startswith(free) for each in ours | theirs)

    systems = [
        {"win" if each.startswith("win") else "linux" if "linux" in each else each for each in n.split(".")}
        for n in (one.name.platform, other.name.platform)
    ]
    same_system = bool(systems[0] & systems[1]) or "any" in systems[0] | systems[1]
    return (
        fits(one.name.python, other.name.python, ("py3", "py2.py3"))
        and fits(one.name.abi, other.name.abi, ("none", "abi3"))
        and same_system
    )


def _met(requirement: Requirement, versions: Collection[str]) -> bool:
    return any(requirement.specifier.contains(version, prereleases=True) for version in versions)


def _extras_fault(requirement: Requirement, beside: Sequence[Subject]) -> str | None:
    offered = {canonicalize_name(extra) for other in beside if other.metadata is not None for extra in other.metadata.extras}
    lacking = sorted(extra for extra in requirement.extras if canonicalize_name(extra) not in offered)
    return f"asks for the extra {', '.join(lacking)}, which the wheel of the set has not" if lacking else None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"{', '.join(names[:_TOLD])}{more}"


RULE: Final = SetRule(
    name="resolves",
    summary="Every requirement is met by the wheels of the set, by the packages known to be beside them, or by the places that others come from.",
    why="A pin on a version that was never built, or on an extra that is not there, shows first when users install: nothing resolves, or "
    "an older release is taken without a word.",
    mend="Build the companion first and pin what came out. `check_wheels` is told the places of the other packages with `--find-links` or "
    "`--index-url`; the check of a build asks the base index of the machine.",
    judge=_judge,
    unable=_unable,
)
