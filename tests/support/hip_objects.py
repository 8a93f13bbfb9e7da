"""Fat binaries for tests, written from LLVM's description of the format and not by the code under test."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

import zstandard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["bundle", "code_object", "compressed", "section"]

_ALIGNMENT: Final = 4096
_MACHINES: Final = {"gfx900": 0x2C, "gfx906": 0x2F, "gfx90a": 0x3F, "gfx942": 0x4C, "gfx1030": 0x36, "gfx1201": 0x4E}


def code_object(target: str, *, version: int = 2) -> bytes:
    """Return the header of a code object of a target, as its compiler writes it; ``version`` is the ABI version, 2 or later."""
    base, *features = target.split(":")
    flags = _MACHINES[base]
    states = {feature[:-1]: {"-": 2, "+": 3}[feature[-1]] for feature in features}
    flags |= states.get("xnack", 1) << 8 | states.get("sramecc", 1) << 10
    ident = b"\x7fELF\x02\x01\x01" + bytes([64, version]) + bytes(7)
    return ident + struct.pack("<2HI3QI6H", 3, 224, 1, 0, 64, 0, flags, 64, 56, 0, 64, 0, 0)


def bundle(targets: Sequence[str], *, code: Mapping[str, bytes] | None = None, kind: str = "hipv4") -> bytes:
    """Return a bundle with an empty entry for the host, and one for each target."""
    entries = [("host-x86_64-unknown-linux-gnu-", b"")]
    entries += [(f"{kind}-amdgcn-amd-amdhsa--{target}", (code or {}).get(target, b"\xde\xad" * 40)) for target in targets]
    size = 32 + sum(24 + len(name) for name, _ in entries)
    place = -(-size // _ALIGNMENT) * _ALIGNMENT
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    body = b""
    for name, data in entries:
        head += struct.pack("<3Q", place + len(body), len(data), len(name)) + name.encode()
        body += data
    return head.ljust(place, b"\0") + body


def compressed(data: bytes, *, version: int = 3, method: str = "zstd") -> bytes:
    """Return a bundle in its compressed form."""
    packed = zlib.compress(data) if method == "zlib" else zstandard.ZstdCompressor().compress(data)
    start = b"CCOB" + struct.pack("<2H", version, 1 if method == "zstd" else 0)
    rest = {
        1: struct.pack("<IQ", len(data), 7),
        2: struct.pack("<IIQ", 24 + len(packed), len(data), 7),
        3: struct.pack("<QQQ", 32 + len(packed), len(data), 7),
    }
    return start + rest[version] + packed


def section(*bundles: bytes) -> bytes:
    """Return bundles as a linker lays them into a section: each at a multiple of the alignment."""
    return b"".join(data.ljust(-(-len(data) // _ALIGNMENT) * _ALIGNMENT, b"\0") for data in bundles)
