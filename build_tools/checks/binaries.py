"""What the rules about binaries ask of a wheel: its binaries by member, where each will lie, and where it looks for libraries."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from typing import TYPE_CHECKING, Final

from build_tools.config.rocm_packages import package_table
from build_tools.wheels.binary_probe import BINARIES, Binary, BinaryProbe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from build_tools.checks.demands import Demands
    from build_tools.checks.rule import Subject
    from build_tools.wheels.elf import Elf

__all__ = [
    "base_name",
    "binaries_of",
    "installed_name",
    "is_preloaded",
    "is_vendor",
    "libraries_outside",
    "matches",
    "places_of",
    "probe_binaries",
    "run_path_of",
]

_DATA: Final = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")
_ORIGIN: Final = re.compile(r"\$(?:ORIGIN|\{ORIGIN\})(?P<rest>/.*)?")


def probe_binaries(_filename: str, _demands: Demands | None) -> BinaryProbe:
    """Return what looks at a wheel's binaries; the rules about them share it."""
    return BinaryProbe()


def binaries_of(subject: Subject) -> dict[str, Binary]:
    """Return a wheel's binaries by member, in the order of names; none where nobody looked."""
    seen = subject.wheel.seen.get(BINARIES, {})
    # Threads find them in any order; the names' order is always the same.
    return {member: found for member in sorted(seen) if isinstance(found := seen[member], Binary)}


def installed_name(member: str) -> str:
    """Return where a member lies in ``site-packages``.

    >>> installed_name("demo-1.0.data/platlib/demo/lib.so"), installed_name("demo/lib.so")
    ('demo/lib.so', 'demo/lib.so')
    """
    return _DATA.sub("", member, count=1) if _DATA.match(member) else member


def base_name(member: str) -> str:
    """Return a member's last name."""
    return member.rpartition("/")[2]


def run_path_of(elf: Elf) -> tuple[str, ...]:
    """Return the entries of the run path that counts: DT_RPATH is not looked at where there is a DT_RUNPATH."""
    return elf.runpath or elf.run_path


def places_of(member: str, entries: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Give each entry of a run path with the folder of ``site-packages`` that it names.

    The folder is None where the entry is not beside the binary itself; it begins with ``..`` where it leads out of ``site-packages``.
    """
    folder = posixpath.dirname(installed_name(member))
    for entry in entries:
        found = _ORIGIN.fullmatch(entry)
        yield entry, None if found is None else posixpath.normpath(posixpath.join(folder, (found["rest"] or "").strip("/")))


def is_preloaded(library: str, preloads: Iterable[str]) -> bool:
    """Tell whether a library is among those that a package loads by itself: by its own name, or by the short one that ROCm's table has.

    >>> is_preloaded("libamdhip64.so.7", ["amdhip64"]), is_preloaded("hiprtc0714.dll", ["amdhip64", "hiprtc"])
    (True, True)
    """
    named = {name.lower() for name in preloads}
    patterns = [pattern for row in package_table().library if row.name.lower() in named for pattern in (row.linux, row.windows)]
    wanted = {base_name(pattern).lower() for pattern in patterns if pattern is not None}
    return matches(library.lower(), named | wanted)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a name is one of these, or matches one that is a shell pattern; case counts."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_vendor(subject: Subject, member: str) -> bool:
    """Tell whether others compiled a member."""
    return subject.demands is not None and matches(member, subject.demands.check.vendor)


def libraries_outside(subject: Subject) -> frozenset[str] | None:
    """Return the names of libraries that required packages bring; none where nothing is required, None where nobody knows."""
    demands: Demands | None = subject.demands
    if demands is not None and demands.libraries is not None:
        return demands.libraries
    return frozenset() if subject.metadata is not None and not subject.metadata.requires_dist else None
