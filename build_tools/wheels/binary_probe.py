"""What the binaries of a wheel are, gathered while the wheel is read: no member is unpacked a second time.

A binary's tables may lie anywhere in it, so its bytes are kept until its end: small ones in memory, larger ones in a file without a name.
Everything else is let go after its first piece.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.wheels.code_object import HEADER_SIZE, target_of_code
from build_tools.wheels.elf import ELF_MAGIC, read_elf
from build_tools.wheels.fatbin import BUNDLE_MAGICS, Bundle, read_bundles
from build_tools.wheels.pe import PE_MAGIC, read_pe

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.wheels.archive import Member
    from build_tools.wheels.elf import Elf
    from build_tools.wheels.pe import Pe

__all__ = ["BINARIES", "Binary", "BinaryProbe"]

BINARIES: Final = "binaries"
"""What the findings are filed under."""

_IN_MEMORY: Final = 32 << 20
_NAME: Final = re.compile(r"\.(?:so(?:\.\d+)*|pyd|dll|exe)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Binary:
    """One member that is a binary: a library or program of Linux or Windows, or code for GPUs by itself.

    ``bundles`` are the fat binaries inside, ``code`` the target of a code object; ``fault`` says what of it cannot be read.
    """

    elf: Elf | None = None
    pe: Pe | None = None
    bundles: tuple[Bundle, ...] = ()
    code: str | None = None
    fault: str | None = None

    @property
    def targets(self) -> frozenset[str]:
        """The GPU targets that it has code for, by name."""
        inside = {target for bundle in self.bundles for target in bundle.targets}
        return frozenset(inside if self.code is None else {*inside, self.code})


class BinaryProbe:
    """Looks at every member whose first bytes are those of a binary, and at those that are named like one.

    Parameters
    ----------
    scratch
        Where large ones are kept while they are read; the system's folder for temporary files unless it is named.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self.name: str = BINARIES
        self._scratch: Final = scratch

    def begin(self, member: Member) -> _Watcher | None:
        """Return who looks at a member."""
        return None if member.is_folder else _Watcher(member, self._scratch)


class _Watcher:
    def __init__(self, member: Member, scratch: Path | None) -> None:
        self._member = member
        self._scratch = scratch
        self._kept: list[bytes] | None = None
        self._size = 0
        self._file: IO[bytes] | None = None
        self._head = b""
        self._decided = False

    def feed(self, piece: bytes) -> None:
        if self._kept is not None:
            self._keep(self._kept, piece)
        elif not self._decided:
            self._head += piece
            if len(self._head) >= HEADER_SIZE or len(self._head) >= self._member.size:
                self._decide()

    def end(self) -> Binary | None:
        if not self._decided:
            self._decide()
        if self._kept is None:
            return _none(self._member)
        with self._file or io.BytesIO(b"".join(self._kept)) as stream:
            return _read(stream, self._member)

    def _decide(self) -> None:
        self._decided = True
        if self._head.startswith((ELF_MAGIC, PE_MAGIC, *BUNDLE_MAGICS)):
            self._kept = []
            self._keep(self._kept, self._head)
        self._head = b""

    def _keep(self, kept: list[bytes], piece: bytes) -> None:
        """Keep a piece as it is: in memory nothing is copied until the end, and what is large goes into a file piece by piece."""
        kept.append(piece)
        self._size += len(piece)
        if self._size > _IN_MEMORY:
            if self._file is None:
                self._file = self._opened()
            self._flush(self._file, kept)

    def _opened(self) -> IO[bytes]:
        try:
            return tempfile.TemporaryFile(dir=self._scratch)
        except OSError as error:
            raise self._unkept(error) from None

    def _flush(self, file: IO[bytes], kept: list[bytes]) -> None:
        try:
            file.writelines(kept)
            kept.clear()
        except OSError as error:
            with contextlib.suppress(OSError):
                file.close()
            raise self._unkept(error) from None

    def _unkept(self, error: OSError) -> HipwrightError:
        place = self._scratch or tempfile.gettempdir()
        message = f"cannot keep {shown(self._member.name)} of {self._member.size} bytes while it is read: {error.strerror}"
        hint = "free some space there, or let TMPDIR name another folder"
        return HipwrightError("disk-space", message, where=Where(file=place), hint=hint)


def _read(stream: IO[bytes], member: Member) -> Binary | None:
    """Tell what a file is, by its bytes."""
    stream.seek(0)
    head = stream.read(HEADER_SIZE)
    if (code := target_of_code(head)) is not None:
        return Binary(code=code)
    if head.startswith(BUNDLE_MAGICS):
        bundles, fault = read_bundles(stream, 0, member.size)
        return Binary(bundles=bundles, fault=fault)
    try:
        elf = read_elf(stream, name="it")
        pe = read_pe(stream, name="it") if elf is None else None
    except HipwrightError as error:
        return Binary(fault=error.message)
    if elf is None and pe is None:
        # Object files and binaries of other processors are ELF too, and data.
        return None if head.startswith(ELF_MAGIC) else _none(member)
    section = elf.device_code if elf is not None else pe.device_code if pe is not None else None
    bundles, fault = read_bundles(stream, *section) if section is not None else ((), None)
    return Binary(elf=elf, pe=pe, bundles=bundles, fault=fault)


def _none(member: Member) -> Binary | None:
    return Binary(fault="it is named like a binary, and is none") if _NAME.search(member.name) else None
