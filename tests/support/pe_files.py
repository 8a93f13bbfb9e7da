"""PE files for tests: small ones written from Microsoft's description of the format, and real ones by a cross linker."""

from __future__ import annotations

import shutil
import struct
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["link_library", "pe_bytes"]

_ADDRESS: Final = 0x1000
_PREFIX: Final = "x86_64-w64-mingw32-"


def pe_bytes(
    imports: Sequence[str] = (), *, delayed: Sequence[str] = (), machine: int = 0x8664, code: bytes | None = None
) -> bytes:
    """Return a library of Windows that imports others, with a section of GPU code if there is any."""
    tables, names = bytearray(), bytearray()
    names_at = 20 * (len(imports) + 1) + 32 * (len(delayed) + 1)

    def name(text: str) -> int:
        place = _ADDRESS + names_at + len(names)
        names.extend(text.encode() + b"\0")
        return place

    for library in imports:
        tables += struct.pack("<5I", 1, 0, 0, name(library), 1)
    tables += bytes(20)
    for library in delayed:
        tables += struct.pack("<8I", 1, name(library), 0, 0, 0, 0, 0, 0)
    tables += bytes(32)
    content = bytes(tables + names)
    sections = [(b".rdata", _ADDRESS, content)]
    if code is not None:
        sections.append((b".hip_fat", 0x10_0000, code))
    directories = [(0, 0)] * 16
    if imports:
        directories[1] = (_ADDRESS, 20 * (len(imports) + 1))
    if delayed:
        directories[13] = (_ADDRESS + 20 * (len(imports) + 1), 32 * (len(delayed) + 1))
    optional = struct.pack("<H22xQ", 0x20B, 0x1_8000_0000).ljust(108, b"\0") + struct.pack("<I", 16)
    optional += b"".join(struct.pack("<2I", *each) for each in directories)
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    head += struct.pack("<2H3I2H", machine, len(sections), 0, 0, 0, len(optional), 0x2022) + optional
    body, place = b"", 0x400
    for label, address, data in sections:
        head += struct.pack("<8s6I2HI", label, len(data), address, len(data), place + len(body), 0, 0, 0, 0, 0x4000_0040)
        body += data
    return head.ljust(place, b"\0") + body


def link_library(folder: Path, name: str, imports: Mapping[str, Sequence[str]]) -> bytes:
    """Link a library of Windows that calls functions of others, by library, with the assembler and linker of mingw-w64."""
    if shutil.which(f"{_PREFIX}ld") is None:
        pytest.skip("there is no linker for Windows: apt-get install binutils-mingw-w64-x86-64")
    folder.mkdir(parents=True, exist_ok=True)
    lines, libraries = [".text", ".globl start", "start:"], []
    for library, functions in imports.items():
        definition = folder / f"{library}.def"
        definition.write_text(f"LIBRARY {library}\nEXPORTS\n" + "".join(f"{function}\n" for function in functions))
        made = folder / f"{library}.a"
        _run(folder, "dlltool", "-d", str(definition), "--output-lib", str(made))
        libraries.append(str(made))
        lines += [f"call {function}" for function in functions]
    lines.append("ret")
    (folder / f"{name}.s").write_text("\n".join(lines) + "\n")
    _run(folder, "as", "-o", f"{name}.o", f"{name}.s")
    _run(folder, "ld", "-shared", "-e", "start", "-o", name, f"{name}.o", *libraries)
    return (folder / name).read_bytes()


def _run(folder: Path, tool: str, *words: str) -> None:
    subprocess.run([f"{_PREFIX}{tool}", *words], cwd=folder, check=True)
