"""Rule ``needed-libraries``: every library that a binary of Linux needs is found where the wheel is installed.

A binary loads in the build's environment by paths that nobody else has. What counts here is what the loader does in a clean process: it
looks along the binary's own run path, and takes a library that was loaded before under the same name.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import (
    base_name,
    binaries_of,
    installed_name,
    is_preloaded,
    libraries_outside,
    matches,
    places_of,
    probe_binaries,
    run_path_of,
)
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.platform_tag import GRANTED

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    elves = {name: each.elf for name, each in binaries_of(subject).items() if each.elf is not None and each.elf.is_dynamic}
    demands = subject.demands
    allowed = demands.check.system_libraries if demands is not None else ()
    preloads = demands.preloads if demands is not None else ()
    outside = libraries_outside(subject)
    inside = _folders(subject, {library for elf in elves.values() for library in elf.needed})
    places = {library: frozenset(folders) for library, folders in inside.items()}
    missing: dict[str, list[str]] = {}
    astray: list[tuple[str, str]] = []
    for member, elf in elves.items():
        reached = {place for _, place in places_of(member, run_path_of(elf)) if place is not None}
        for library in elf.needed:
            elsewhere = library in GRANTED or library in (outside or ()) or matches(library, allowed)
            if elsewhere or not reached.isdisjoint(places.get(library, ())):
                continue
            if library not in inside:
                missing.setdefault(library, []).append(member)
            elif not is_preloaded(library, preloads):
                astray.append((member, library))
    for library, members in missing.items():
        yield _missing(library, members, known=outside is not None)
    needers: dict[str, set[str]] = {}
    for member, elf in elves.items() if astray else ():
        for library in elf.needed:
            needers.setdefault(library, set()).add(member)
    for member, library in astray:
        both = needers.get(base_name(installed_name(member)), set()) & needers[library]
        yield _astray(member, library, inside[library], min(both, default=None))


def _folders(subject: Subject, names: set[str]) -> dict[str, list[str]]:
    """Return the folders of ``site-packages`` that have members of these names, by name."""
    found: dict[str, list[str]] = {}
    for member in subject.wheel.members:
        if (name := base_name(member.name)) in names:
            found.setdefault(name, []).append(posixpath.dirname(installed_name(member.name)))
    return found


def _missing(library: str, members: list[str], *, known: bool) -> Problem:
    others = f" (and {len(members) - 1} more need it)" if len(members) > 1 else ""
    if known:
        message = f"it needs {library}, which neither the wheel nor a package that it requires has{others}"
        hint = f"ship it, require the package that has it, or name it in [check] system-libraries: {library}"
        return Problem(message=message, member=members[0], hint=hint)
    message = f"it needs {library}, which the wheel has not; what the required packages bring is not known{others}"
    return Problem(message=message, member=members[0], severity="warning")


def _astray(member: str, library: str, folders: list[str], first: str | None) -> Problem:
    """Say that a library is in the wheel and not on the way; it is loaded all the same where who loads the binary loaded it before."""
    message = f"it needs {library}, which is in {folders[0] or 'the root'} of the wheel, where its run path does not lead"
    if first is not None:
        message += f"; it loads only after {first}, which needs it too"
    hint = "give the binary a run path that begins with $ORIGIN and leads there"
    return Problem(message=message, member=member, hint=hint, severity="warning" if first is not None else None)


RULE: Final = Rule(
    name="needed-libraries",
    summary="Every library that a Linux binary needs is where its run path leads, in a required package, or on every system.",
    judge=_judge,
    probe=probe_binaries,
    why="The import works on the machine that built the wheel, where a variable such as LD_LIBRARY_PATH leads to the library, and fails "
    "with 'cannot open shared object file' everywhere else.",
    mend="Ship the library, require the package that has it, or mend the binary's run path. A library that every target system has may be "
    "named in system-libraries of the project's [check].",
    keys=('system-libraries = ["libnuma.so.1"]  # what every machine has that the wheel is for, beyond what PEP 600 names',),
)
