"""Rule ``pe-imports``: every library that a binary of Windows imports is in the wheel, in a required package, or part of Windows.

Windows has no run paths: a library is found beside the one that imports it, or because the package loaded it before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import base_name, binaries_of, is_preloaded, libraries_outside, matches, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.config.system_libraries import system_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

_PYTHON: Final = re.compile(r"python3(?:\d+t?)?\.dll")


def _judge(subject: Subject) -> Iterator[Problem]:
    files = {member: binary.pe for member, binary in binaries_of(subject).items() if binary.pe is not None}
    if not files:
        return
    table = system_libraries()
    inside = {base_name(member.name).lower() for member in subject.wheel.members}
    known = libraries_outside(subject)
    outside = {library.lower() for library in known or ()}
    demands = subject.demands
    allowed = [name.lower() for name in demands.check.system_libraries] if demands is not None else []
    preloads = demands.preloads if demands is not None else ()
    missing: dict[tuple[str, bool], list[str]] = {}
    unloaded: dict[str, list[str]] = {}
    for member, pe in files.items():
        imports = [(name, False) for name in pe.imports] + [(name, True) for name in pe.delay_imports]
        for name, late in imports:
            library = name.lower()
            if (
                library in inside
                or _PYTHON.fullmatch(library)
                or matches(library, (*table.windows, *table.windows_python, *allowed))
            ):
                continue
            if library not in outside:
                missing.setdefault((name, late), []).append(member)
            elif preloads and not is_preloaded(library, preloads):
                unloaded.setdefault(name, []).append(member)
    redistributable = table.windows_redistributable
    for (name, late), members in missing.items():
        yield _missing(name, members, late=late, known=known is not None, may_be=matches(name.lower(), redistributable))
    for name, members in unloaded.items():
        message = f"it imports {name}, which a required package has and the project does not load before{_more(members)}"
        hint = "name it in wheel.windows-preloads, unless one that is loaded there loads it"
        yield Problem(message=message, member=members[0], hint=hint, severity="warning")


def _missing(name: str, members: list[str], *, late: bool, known: bool, may_be: bool) -> Problem:
    verb = "imports" if not late else "imports, when it first calls it,"
    if may_be:
        message = f"it {verb} {name}, which only Microsoft's redistributable package brings{_more(members)}"
        hint = "ship it, or allow it in [check] system-libraries where users are told to install that package"
        return Problem(message=message, member=members[0], hint=hint, severity="warning")
    if not known:
        message = f"it {verb} {name}, which the wheel has not; what the required packages bring is not known{_more(members)}"
        return Problem(message=message, member=members[0], severity="warning")
    message = (
        f"it {verb} {name}, which is neither in the wheel, nor in a package that it requires, nor part of Windows{_more(members)}"
    )
    hint = "ship it, or require and load the package that has it"
    return Problem(message=message, member=members[0], hint=hint, severity="warning" if late else None)


def _more(members: list[str]) -> str:
    return f" (and {len(members) - 1} more import it)" if len(members) > 1 else ""


RULE: Final = Rule(
    name="pe-imports",
    summary="Every library that a Windows binary imports is in the wheel, in a required package, or part of Windows.",
    judge=_judge,
    probe=probe_binaries,
    why="The import fails with 'DLL load failed', which names the module and not the library that is missing; on the machine that built the "
    "wheel, Visual Studio brought it.",
    mend="Ship the library, or require the package that has it and name it in windows-preloads of the project's [wheel].",
    keys=('system-libraries = ["vcomp140.dll"]  # what every machine has that the wheel is for, beyond Windows itself',),
)
