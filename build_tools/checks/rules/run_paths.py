"""Rule ``run-paths``: Linux binaries look for libraries beside themselves, inside of ``site-packages``, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import binaries_of, is_vendor, places_of, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.types import Severity
    from build_tools.wheels.elf import Elf

__all__ = ["RULE"]

_HINT: Final = "only entries that begin with $ORIGIN mean the same on every machine"


def _judge(subject: Subject) -> Iterator[Problem]:
    policy = subject.demands.check.run_path if subject.demands is not None else "either"
    for member, binary in binaries_of(subject).items():
        if binary.elf is None:
            continue
        severity: Severity | None = "warning" if is_vendor(subject, member) else None
        for message, hint in _faults(member, binary.elf, policy):
            yield Problem(message=message, member=member, hint=hint, severity=severity)


def _faults(member: str, elf: Elf, policy: str) -> Iterator[tuple[str, str | None]]:
    entries = [(kind, entry) for kind, texts in (("RPATH", elf.run_path), ("RUNPATH", elf.runpath)) for entry in texts]
    strange = [(kind, entry) for kind, text in entries for entry, place in places_of(member, [text]) if place is None]
    for kind in dict.fromkeys(kind for kind, _ in strange):
        texts = [entry for which, entry in strange if which == kind]
        yield f"its {kind} has {', '.join(texts)}", _HINT
    for kind, text in entries:
        for entry, place in places_of(member, [text]):
            if place is not None and (place == ".." or place.startswith("../")):
                yield f"its {kind} has {entry}, which leads out of site-packages", _HINT
    if elf.looks_here:
        yield "its run path has an empty entry, which stands for the folder that a process happens to be in", _HINT
    if policy == "rpath" and elf.runpath:
        yield (
            "it has a RUNPATH, and the project wants RPATH, which LD_LIBRARY_PATH does not override",
            "link with --disable-new-dtags",
        )
    if policy == "runpath" and elf.run_path:
        yield "it has an RPATH, and the project wants RUNPATH, which LD_LIBRARY_PATH overrides", "link with --enable-new-dtags"


RULE: Final = Rule(
    name="run-paths",
    summary="Run paths begin with $ORIGIN, stay inside of site-packages, and are of the kind that the project wants.",
    judge=_judge,
    probe=probe_binaries,
    why="An absolute entry names a folder of the machine that built the wheel: elsewhere it is missing, or it holds something else, which "
    "is then loaded. A RUNPATH gives way to LD_LIBRARY_PATH, so another ROCm of the machine can take the place of the wheel's; an RPATH "
    "does not.",
    mend="Set the run path when linking, or with patchelf: $ORIGIN, $ORIGIN/lib and the like. Binaries that others compiled are named in "
    "vendor of the project's [check]; theirs are warnings.",
    keys=(
        'run-path = "rpath"  # or "runpath"; "either" when it is not said',
        'vendor = ["demo/lib/libother.so*"]  # members that others compiled: their faults are warnings',
    ),
)
