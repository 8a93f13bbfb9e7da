"""The platform tag of a wheel with binaries: the oldest Linux that it runs on (PEP 600), told from what its binaries demand.

A wheel is for ``manylinux_2_N`` when its binaries need no newer glibc than 2.N, and otherwise only libraries that come with them or that
PEP 600 takes for granted. The tables are those of ``auditwheel``: the libraries of its policies, and the first policy that has each
version of the compiler's libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from build_tools.wheels.elf import Elf

__all__ = ["GRANTED", "LinuxTag", "glibc_of", "linux_tag"]

GRANTED: Final = frozenset(
    {
        *("libc.so.6", "libm.so.6", "libmvec.so.1", "libanl.so.1", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"),
        *("libnsl.so.1", "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1", "libz.so.1", "libexpat.so.1"),
        *("libX11.so.6", "libXext.so.6", "libXrender.so.1", "libICE.so.6", "libSM.so.6", "libGL.so.1"),
        *("libgobject-2.0.so.0", "libgthread-2.0.so.0", "libglib-2.0.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"),
    }
)
"""The libraries that PEP 600 takes for granted."""

_OLDEST: Final = 17
"""glibc 2.17, of 2012: no Python that we support runs on an older one."""

_SINCE: Final = {
    "GLIBCXX": (
        *(((3, 4, 19), 17), ((3, 4, 22), 24), ((3, 4, 24), 27), ((3, 4, 28), 31), ((3, 4, 29), 34)),
        *(((3, 4, 30), 35), ((3, 4, 33), 39)),
    ),
    "CXXABI": (*(((1, 3, 7), 17), ((1, 3, 10), 24), ((1, 3, 11), 27), ((1, 3, 12), 31), ((1, 3, 13), 34), ((1, 3, 15), 39)),),
    "GCC": (((4, 8, 0), 17), ((7, 0, 0), 27), ((12, 0, 0), 35), ((14, 0, 0), 39)),
}
"""For each kind of symbol version: up to which one each glibc's distributions have it, by the glibc's second number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LinuxTag:
    """A platform tag, and why it is not one of ``manylinux`` where it is not."""

    tag: str
    reason: str = ""


def linux_tag(binaries: Iterable[tuple[str, Elf]], *, machine: str, has: Callable[[str], bool]) -> LinuxTag:
    """Return the platform tag for a wheel with these binaries.

    Parameters
    ----------
    binaries
        Each binary with the name that a reason calls it by.
    machine
        The processor, as tags spell it, for a wheel without binaries and for the tag: ``x86_64``.
    has
        Tells whether a library is among those that are installed with the wheel.
    """
    newest = _OLDEST
    for name, elf in binaries:
        if elf.machine != machine:
            return LinuxTag(tag=f"linux_{machine}", reason=f"{name} is for {elf.machine}")
        foreign = [library for library in elf.needed if library not in GRANTED and not has(library)]
        if foreign:
            return LinuxTag(tag=f"linux_{machine}", reason=f"{name} needs {', '.join(foreign)}, which the packages do not have")
        if not elf.versions_known:
            return LinuxTag(tag=f"linux_{machine}", reason=f"{name} does not tell which versions of libraries it needs")
        for kind, version in elf.symbol_versions:
            since = glibc_of(kind, version)
            if since is None:
                text = ".".join(map(str, version))
                return LinuxTag(tag=f"linux_{machine}", reason=f"{name} needs {kind}_{text}, which no manylinux tag stands for")
            newest = max(newest, since)
    return LinuxTag(tag=f"manylinux_2_{newest}_{machine}")


def glibc_of(kind: str, version: tuple[int, ...]) -> int | None:
    """Return the second number of the first glibc whose distributions have a symbol version; None when none is known to.

    Parameters
    ----------
    kind, version
        What stands before and behind the underscore of ``GLIBCXX_3.4.29``.
    """
    if kind == "GLIBC":
        return version[1] if version[:1] == (2,) and len(version) > 1 else None
    if kind not in _SINCE:
        return _OLDEST  # of a library that comes with the wheel, or one whose versions no policy bounds
    return next((glibc for highest, glibc in _SINCE[kind] if version <= highest), None)
