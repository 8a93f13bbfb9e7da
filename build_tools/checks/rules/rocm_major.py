"""Rule ``rocm-major``: the binaries are for the ROCm that the wheel states: the HIP runtime's major version is ROCm's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import base_name, binaries_of, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

_RUNTIME: Final = re.compile(
    r"libamdhip64\.so\.(?P<linux>[0-9]{1,4})(?:\.[0-9]+)*|amdhip64_(?P<windows>[0-9]{1,4})\.dll", re.IGNORECASE
)
_LOCAL: Final = re.compile(r"(?:^|\.)(?:dev)?rocm\.?(?P<major>\d+)")
_PACKAGES: Final = ("rocm", "rocm-sdk-core", "rocm-sdk-libraries")


def _judge(subject: Subject) -> Iterator[Problem]:
    found: dict[int, str] = {}
    for member, library in _runtimes(subject):
        if (match := _RUNTIME.fullmatch(library)) is not None:
            found.setdefault(int(match["linux"] or match["windows"]), f"{member}: {library}")
    stated = dict(_stated(subject))
    for major, where in sorted(found.items()):
        member, _, library = where.rpartition(": ")
        wrong = [f"{what} is of ROCm {other}" for what, other in stated.items() if other != major]
        if wrong:
            yield Problem(message=f"{library} is of ROCm {major}, and {' and '.join(wrong)}", member=member)
    if len(found) > 1:
        yield Problem(message=f"its binaries are for several ROCm: {'; '.join(found[major] for major in sorted(found))}")


def _runtimes(subject: Subject) -> Iterator[tuple[str, str]]:
    for member in subject.wheel.members:
        if "amdhip64" in member.name:
            yield member.name, base_name(member.name)
    for name, binary in binaries_of(subject).items():
        for library in (*(binary.elf.needed if binary.elf else ()), *(binary.pe.imports if binary.pe else ())):
            yield name, library


def _stated(subject: Subject) -> Iterator[tuple[str, int]]:
    """Give the major versions of ROCm that the wheel's version, its pins and the packages beside it state."""
    if subject.metadata is not None:
        local = subject.metadata.version.local
        if local is not None and (match := _LOCAL.search(local)) is not None:
            yield f"the version {subject.metadata.version}", int(match["major"])
        for requirement in subject.metadata.requires_dist:
            pins = [spec.version for spec in requirement.specifier if spec.operator == "=="]
            if requirement.name in _PACKAGES and pins and pins[0].split(".")[0].isdigit():
                yield f"the requirement {requirement}", int(pins[0].split(".")[0])
    packages = subject.demands.packages if subject.demands is not None else None
    for name in _PACKAGES:
        major = (packages or {}).get(name, "").split(".")[0]
        if major.isdigit():
            yield f"the package {name} beside it", int(major)


RULE: Final = Rule(
    name="rocm-major",
    summary="The HIP runtime that is inside, or that binaries need, is of the ROCm that the version and the requirements state.",
    judge=_judge,
    probe=probe_binaries,
    why="A wheel that is offered for one ROCm and brings or needs the runtime of another fails to load, or loads two runtimes at once.",
    mend="Build against the SDK of the stated version; look for another ROCm on the machine that was taken instead.",
)
