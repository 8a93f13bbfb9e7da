"""Rule ``device-code``: the GPU targets that are really inside are those that were asked for, library by library."""

from __future__ import annotations

import collections
import posixpath
import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import base_name, binaries_of, matches, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.config.targets import offers, parse_target

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from build_tools.wheels.fatbin import Bundle

__all__ = ["RULE"]

_IN_NAME: Final = re.compile(
    r"(?<![0-9a-zA-Z])(?P<target>gfx[0-9a-f]{3,5})(?![0-9a-zA-Z])(?P<features>(?:[-_:](?:xnack|sramecc)[+-])*)"
)
_DATA: Final = re.compile(r"\.(?:dat|co|hsaco|kpack|kdb|db|db\.txt|fdb\.txt|ktn\.model|tn\.model|HIP\.fdb\.txt)$")
_ANY: Final = "amdgcnspirv"


def _judge(subject: Subject) -> Iterator[Problem]:
    demands = subject.demands
    if demands is None:
        return
    wanted, patterns = demands.targets, demands.check.device_code
    binaries = binaries_of(subject)
    for pattern in patterns:
        if not any(matches(member.name, [pattern]) for member in subject.wheel.members):
            yield Problem(message=f"the wheel has no {pattern}, which should have code for GPUs", member=pattern)
    for member, binary in binaries.items():
        if binary.code is not None:
            continue  # a code object by itself is one of its folder's
        inside = binary.targets
        if inside:
            yield from _library(member, inside, wanted)
            yield from _bundles(member, binary.bundles, [target for target in wanted if offers(target, inside)])
        elif matches(member, patterns):
            yield Problem(
                message="it should have code for GPUs, and has none",
                member=member,
                hint="see whether the build found the SDK and was told to build for GPUs: it often decides by the machine it runs on",
            )
        elif binary.bundles:
            yield Problem(message="it has a section for GPU code, and no code in it", member=member, severity="warning")
    yield from _folders(subject, wanted)


def _library(member: str, inside: Collection[str], wanted: Sequence[str]) -> Iterator[Problem]:
    if not wanted:
        return
    lacking = [target for target in wanted if not offers(target, inside)]
    if lacking and _ANY not in inside:
        message = f"it has no code for {', '.join(lacking)}; it has code for {', '.join(sorted(inside))}"
        yield Problem(message=message, member=member)
    extra = sorted(_beyond(inside, wanted))
    generic = [target for target in extra if parse_target(target) is None]
    others = [target for target in extra if target not in generic]
    if others:
        yield Problem(message=f"it has code for {', '.join(others)}, which nobody asked for", member=member)
    if generic:
        yield Problem(message=f"it has code for {', '.join(generic)} too", member=member, severity="note")


def _bundles(member: str, bundles: Sequence[Bundle], wanted: Iterable[str]) -> Iterator[Problem]:
    """Tell of targets that some parts of a library have no code for: a kernel that was not compiled for all."""
    filled = [bundle for bundle in bundles if bundle.targets]
    for target in wanted:
        without = sum(1 for bundle in filled if not offers(target, bundle.targets) and _ANY not in bundle.targets)
        if without:
            message = f"{without} of its {len(filled)} parts with GPU code have none for {target}"
            yield Problem(message=message, member=member, severity="warning")


def _folders(subject: Subject, wanted: Sequence[str]) -> Iterator[Problem]:
    """Judge code objects and data bases, one file for each target, by the targets that their folder has."""
    folders: dict[str, set[str]] = collections.defaultdict(set)
    binaries = binaries_of(subject)
    for member in subject.wheel.members:
        binary = binaries.get(member.name)
        code = binary.code if binary is not None else None
        named = _named(member.name) if code is not None or _DATA.search(member.name) else None
        if code == "?":
            yield Problem(message="it is code for a GPU that is not known here", member=member.name, severity="warning")
        elif code is not None and named is not None and code.split(":")[0] != named.split(":")[0]:
            yield Problem(message=f"its name says {named}, and its code is for {code}", member=member.name)
        target = code if code not in {None, "?"} else named
        if target is not None:
            folders[posixpath.dirname(member.name)].add(target)
    for folder, inside in sorted(folders.items()) if wanted else ():
        lacking = [target for target in wanted if not offers(target, inside)]
        extra = sorted(_beyond(inside, wanted))
        if lacking:
            yield Problem(
                message=f"the folder has code or data for {', '.join(sorted(inside))}, and none for {', '.join(lacking)}",
                member=folder,
            )
        if extra:
            yield Problem(message=f"the folder has code or data for {', '.join(extra)}, which nobody asked for", member=folder)


def _named(member: str) -> str | None:
    """Return the target that a file's name tells, features as compilers write them.

    >>> _named("library/Kernels.so-000-gfx90a-xnack+.hsaco"), _named("library/TensileLibrary_gfx9420.dat")
    ('gfx90a:xnack+', None)
    """
    found = [match for match in _IN_NAME.finditer(base_name(member)) if parse_target(match["target"]) is not None]
    if not found:
        return None
    features = sorted(filter(None, re.split(r"[-_:](?=xnack|sramecc)", found[-1]["features"])))
    return ":".join((found[-1]["target"], *features))


def _beyond(inside: Collection[str], wanted: Sequence[str]) -> set[str]:
    return set(inside) - {name for target in wanted for name in offers(target, inside)}


def _unable(subject: Subject) -> str | None:
    if subject.demands is None:
        return "the wheel is of no project that is known here"
    if not subject.demands.targets and not subject.demands.check.device_code:
        return "no GPU targets are named"
    return None


RULE: Final = Rule(
    name="device-code",
    summary="Each library with GPU code has it for exactly the targets that were asked for, and the project's own have some.",
    judge=_judge,
    unable=_unable,
    probe=probe_binaries,
    why="A library without code for a GPU fails when its first kernel starts, long after the import; one that was built on a machine "
    "without GPUs may have none at all, and nobody notices before. Code that nobody asked for makes the wheel larger.",
    mend="Name the targets with --gfx or --gpu-family, and see which of the build's variables passes them on. Members that have to have code "
    "are named in device-code of the project's [check].",
    keys=('device-code = ["demo/lib/libkernels.so"]  # members that must have code for every target',),
)
