"""Code objects: ELF files for AMD's GPUs, and the target that the flags of their header state.

The numbers are those of LLVM's "User Guide for AMDGPU Backend": machines, and how features are stated since code object version 3.
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["HEADER_SIZE", "target_of_code"]

HEADER_SIZE: Final = 64

_MAGIC: Final = b"\x7fELF\x02\x01"
_AMDGPU: Final = 224
_HSA: Final = 64
"""The operating system ABI of HSA."""

_V3: Final = 1
"""The ABI version of code object version 3; later ones state features in two bits each."""

_MACHINES: Final = {
    0x20: "gfx600",
    0x21: "gfx601",
    0x22: "gfx700",
    0x23: "gfx701",
    0x24: "gfx702",
    0x25: "gfx703",
    0x26: "gfx704",
    0x28: "gfx801",
    0x29: "gfx802",
    0x2A: "gfx803",
    0x2B: "gfx810",
    0x2C: "gfx900",
    0x2D: "gfx902",
    0x2E: "gfx904",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x31: "gfx909",
    0x32: "gfx90c",
    0x33: "gfx1010",
    0x34: "gfx1011",
    0x35: "gfx1012",
    0x36: "gfx1030",
    0x37: "gfx1031",
    0x38: "gfx1032",
    0x39: "gfx1033",
    0x3A: "gfx602",
    0x3B: "gfx705",
    0x3C: "gfx805",
    0x3D: "gfx1035",
    0x3E: "gfx1034",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x41: "gfx1100",
    0x42: "gfx1013",
    0x43: "gfx1150",
    0x44: "gfx1103",
    0x45: "gfx1036",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x51: "gfx9-generic",
    0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic",
    0x54: "gfx11-generic",
    0x55: "gfx1152",
    0x58: "gfx1153",
    0x59: "gfx12-generic",
    0x5A: "gfx1251",
    0x5F: "gfx9-4-generic",
}
_STATES: Final = {1: "", 2: "-", 3: "+"}
"""What two bits say of a feature: any, off, on; 0 where the target has no such feature."""


def target_of_code(header: bytes) -> str | None:
    """Return the target of a code object by its first bytes; None for what is none, ``?`` for one of a machine that nobody knows.

    >>> target_of_code(b"MZ")
    """
    if len(header) < HEADER_SIZE or not header.startswith(_MAGIC) or struct.unpack_from("<H", header, 18) != (_AMDGPU,):
        return None
    (flags,) = struct.unpack_from("<I", header, 48)
    base = _MACHINES.get(flags & 0xFF)
    if base is None:
        return "?"
    if header[7] != _HSA or not header[8]:
        return base
    if header[8] == _V3:
        # One bit for each: what is off and what the target has not is the same.
        features = [name for name, bit in (("sramecc+", 0x200), ("xnack+", 0x100)) if flags & bit]
    else:
        states = (("sramecc", flags >> 10 & 3), ("xnack", flags >> 8 & 3))
        features = [f"{name}{_STATES[state]}" for name, state in states if _STATES.get(state)]
    return ":".join((base, *features))
