"""ELF files: what a loader asks of one, read in one pass over its headers.

Only binaries of the machine are told, programs and shared libraries; object files, static libraries and code for GPUs, which is ELF too,
are data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DAMAGE", "ELF_MAGIC", "Elf", "read_elf"]

ELF_MAGIC: Final = b"\x7fELF"
DAMAGE: Final = (
    *(ELFError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError),
    *(OverflowError, MemoryError, OSError, UnicodeDecodeError, RecursionError),
)
"""What pyelftools lets through of its parsers and of its reading at damaged places."""

_MACHINES: Final = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
_PIE: Final = 0x0800_0000
_VERSION: Final = re.compile(r"(?P<of>[A-Za-z_]+)_(?P<number>\d+(?:\.\d+)*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Elf:
    """A program or a shared library of the machine.

    ``run_path`` is what DT_RPATH says and ``runpath`` what DT_RUNPATH says, split at colons; ``symbol_versions`` are the versions that
    it demands of other libraries: the highest of each kind, such as ``GLIBC`` to ``(2, 34)``. ``versions_known`` is off where it demands
    some and its section headers, which tell them, are gone.
    """

    machine: str
    is_program: bool
    is_dynamic: bool
    soname: str | None = None
    needed: tuple[str, ...] = ()
    run_path: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    symbol_versions: tuple[tuple[str, tuple[int, ...]], ...] = ()
    versions_known: bool = True


def read_elf(stream: IO[bytes], *, name: Path | str) -> Elf | None:
    """Read a file's ELF headers; None for what is no program or shared library of the machine.

    Parameters
    ----------
    stream
        The file, open for reading and seekable.
    name
        What it is called in errors.

    Raises
    ------
    HipwrightError
        ``bad-binary`` when it begins as an ELF file and its headers cannot be read.
    """
    stream.seek(0)
    if stream.read(len(ELF_MAGIC)) != ELF_MAGIC:
        return None
    stream.seek(0)
    try:
        return _read(ELFFile(stream))
    except DAMAGE as error:
        message = f"{name} begins as an ELF file, and its headers cannot be read: {error}"
        raise HipwrightError("bad-binary", message, where=Where(file=name)) from None


def _read(elf: Any) -> Elf | None:  # noqa: ANN401 - pyelftools is untyped
    kind = elf.header["e_type"]
    machine = _MACHINES.get(elf.header["e_machine"])
    if machine is None or kind not in {"ET_DYN", "ET_EXEC"}:
        return None
    segments = list(elf.iter_segments())
    interpreted = any(segment.header["p_type"] == "PT_INTERP" for segment in segments)
    dynamic = next((segment for segment in segments if isinstance(segment, DynamicSegment)), None)
    if dynamic is None:
        return Elf(machine=machine, is_program=kind == "ET_EXEC", is_dynamic=False)
    soname: str | None = None
    needed: list[str] = []
    run_path: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    flags = 0
    versioned = False
    tag: Any
    for tag in dynamic.iter_tags():
        match tag.entry.d_tag:
            case "DT_SONAME":
                soname = tag.soname
            case "DT_NEEDED":
                needed.append(tag.needed)
            case "DT_RPATH":
                run_path = tuple(filter(None, tag.rpath.split(":")))
            case "DT_RUNPATH":
                runpath = tuple(filter(None, tag.runpath.split(":")))
            case "DT_FLAGS_1":
                flags = tag.entry.d_val
            case "DT_VERNEED":
                versioned = True
            case _:
                pass
    demands = tuple(sorted(_demands(elf)))
    return Elf(
        machine=machine,
        # A library may have an interpreter too, so that it says its version when it is run; a program has no SONAME.
        is_program=kind == "ET_EXEC" or bool(flags & _PIE) or (interpreted and soname is None),
        is_dynamic=True,
        soname=soname,
        needed=tuple(needed),
        run_path=run_path,
        runpath=runpath,
        symbol_versions=demands,
        versions_known=bool(demands) or not versioned,
    )


def _demands(elf: Any) -> Iterator[tuple[str, tuple[int, ...]]]:  # noqa: ANN401 - pyelftools is untyped
    section = elf.get_section_by_name(".gnu.version_r")
    if section is None:
        return
    highest: dict[str, tuple[int, ...]] = {}
    for _, versions in section.iter_versions():
        for version in versions:
            found = _VERSION.fullmatch(version.name)
            if found:
                number = tuple(map(int, found["number"].split(".")))
                highest[found["of"]] = max(highest.get(found["of"], ()), number)
    yield from highest.items()
