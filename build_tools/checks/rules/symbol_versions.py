"""Rule ``symbol-versions``: Linux binaries need no newer system than the platform tag, or the project, promises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import base_name, binaries_of, is_vendor, libraries_outside, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.platform_tag import glibc_of, linux_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.types import Severity
    from build_tools.wheels.elf import Elf

__all__ = ["RULE"]

_TAG: Final = re.compile(r"manylinux_2_(?P<glibc>\d+)_\w+|(?P<old>manylinux(?:1|2010|2014))_\w+")
_OLD: Final = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}
_RUNTIMES: Final = {"GLIBCXX": "libstdc++.so.6", "CXXABI": "libstdc++.so.6", "GCC": "libgcc_s.so.1"}
"""The libraries that have the versions of a kind: where the wheel brings its own, the system's do not count."""


def _judge(subject: Subject) -> Iterator[Problem]:
    elves = {member: binary.elf for member, binary in binaries_of(subject).items() if binary.elf is not None}
    if not elves:
        return
    shipped = {base_name(member.name) for member in subject.wheel.members}
    for promise, ceiling in _ceilings(subject):
        for member, elf in elves.items():
            severity: Severity | None = "warning" if is_vendor(subject, member) else None
            for text, needed in _too_new(elf, ceiling, shipped):
                since = f"glibc 2.{needed}" if needed is not None else "no known system"
                message = f"it needs {text}, which systems have from {since} on; {promise}"
                if needed is None:
                    message = f"it needs {text}, which no known system has; {promise}"
                yield Problem(
                    message=message, member=member, severity=severity, hint="build on the oldest system that is promised"
                )
    for member, elf in elves.items():
        if not elf.versions_known:
            yield Problem(message="it does not tell which versions of libraries it needs", member=member, severity="warning")
    yield from _achieved(subject, elves, shipped)


def _ceilings(subject: Subject) -> Iterator[tuple[str, int]]:
    """Give each promise of how old a system may be: in words, and as the second number of its glibc."""
    if subject.demands is not None and (stated := subject.demands.check.glibc) is not None:
        yield f"the project promises glibc {stated}", int(stated.split(".")[1])
    tags = subject.name.platform.split(".") if subject.name is not None else []
    found = [(tag, int(match["glibc"] or _OLD[match["old"]])) for tag in tags if (match := _TAG.fullmatch(tag)) is not None]
    if found:
        tag, oldest = min(found, key=lambda pair: pair[1])
        yield f"the tag is {tag}", oldest


def _too_new(elf: Elf, ceiling: int, shipped: set[str]) -> Iterator[tuple[str, int | None]]:
    for kind, version in elf.symbol_versions:
        if _RUNTIMES.get(kind) in shipped:
            continue
        needed = glibc_of(kind, version)
        if needed is None or (needed > ceiling and (kind == "GLIBC" or needed > _oldest(kind))):
            yield f"{kind}_{'.'.join(map(str, version))}", needed


def _oldest(kind: str) -> int:
    """Return the oldest glibc that the table knows for a kind: below it nothing is told apart."""
    return 0 if kind == "GLIBC" else glibc_of(kind, (0,)) or 0


def _achieved(subject: Subject, elves: dict[str, Elf], shipped: set[str]) -> Iterator[Problem]:
    outside = libraries_outside(subject) or frozenset()
    machine = next(iter(elves.values())).machine

    def tag(members: list[str]) -> str:
        found = linux_tag(
            [(member, elves[member]) for member in members],
            machine=machine,
            has=lambda library: library in shipped or library in outside,
        )
        return f"{found.tag} ({found.reason})" if found.reason else found.tag

    ours = [member for member in elves if not is_vendor(subject, member)]
    text = f"its binaries are for {tag(list(elves))}"
    if ours and len(ours) < len(elves):
        text = f"our binaries are for {tag(ours)}, those that others compiled for {tag([each for each in elves if each not in ours])}"
    yield Problem(message=text, severity="note")


RULE: Final = Rule(
    name="symbol-versions",
    summary="Linux binaries need no newer versions of the system's libraries than the platform tag and the project promise.",
    judge=_judge,
    probe=probe_binaries,
    why="An installer takes the wheel by its tag on a system that is too old for it, and the import fails with 'version `GLIBC_2.34' not "
    "found'.",
    mend="Build on the oldest system that is promised, or promise less: a later tag. A library that others compiled is named in vendor of the "
    "project's [check]; what is found of it is a warning.",
    keys=(
        'glibc = "2.28"  # the newest glibc whose symbols may be needed',
        'vendor = ["demo/lib/libother.so*"]  # members that others compiled: their faults are warnings',
    ),
)
