"""What of a run's archives is in a folder already, as the store states them: asked before anything is fetched, and by itself for a dry run."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import read_record
from build_tools.rocm.artifacts.mark import MARK, Changes, Mark, changes
from build_tools.rocm.artifacts.name import SIDE_FILE_SUFFIX
from build_tools.rocm.artifacts.transfer import TransferError, Ways, begun
from build_tools.types import Sha256

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.rocm.artifacts.select import Archive
    from build_tools.types import ObjectKey

__all__ = ["Fetched", "Looking", "Planned", "side_file"]

_SIDE: Final = re.compile(r"(?:\\)?([0-9a-fA-F]{64})(?:[ \t]+[*]?(\S.*?))?\s*")
_LARGEST_SIDE_FILE: Final = 64 << 10
_TOLD: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """An archive that was fetched, or was there already.

    ``proved`` says whether a stated SHA-256 or the size alone proves it; ``resumed`` are the bytes that an earlier run had fetched; ``path`` is
    the artifact's folder, or the archive where it was not unpacked.
    """

    archive: Archive
    path: Path
    sha256: Sha256
    state: Literal["fetched", "there"]
    proved: Literal["sha256", "size"]
    resumed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """What is to be done for an archive.

    ``there`` is what is there of the same bytes, None when it is to be fetched; ``begun`` are the bytes that an earlier run had fetched of
    it, and ``lost`` the files that are gone from an artifact that was there.
    """

    archive: Archive
    there: Fetched | None = None
    begun: int = 0
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Looking:
    """Looks into a folder that gets artifacts, unpacked or not; ``room`` is the folder of ours in it."""

    output: Path
    room: Path
    unpack: bool
    ways: Ways

    def look(self, archive: Archive) -> Planned:
        """Return what is to be done for an archive; it is fetched too when it can't be told whether what is there is of the same bytes.

        Raises
        ------
        HipwrightError
            ``foreign-folder`` when something is there that is not ours, or that somebody put something into that fetching it again
            would throw away; what the store says when it can't be used at all.
        """
        target = self.target(archive)
        planned = Planned(archive=archive, begun=begun(self.room / archive.local_name, archive.size))
        there = os.path.lexists(target)
        if not there and (self.unpack or not os.path.lexists(side_file(target))):
            return planned
        stated, known = None, True
        try:
            stated = self.stated(archive)
        except TransferError:
            # The fetching says so, with all else that fails.
            known = False
        if not self.unpack:
            self._prove_side_file(target, stated)
        if not there:
            return planned
        mark = self._mark(target, stated)
        found = changes(target, mark.held) if self.unpack else Changes(gone=(), other=(), more=())
        if known and not found.gone and not found.other and self._same(archive, mark, stated):
            kept = Fetched(archive=archive, path=target, sha256=mark.sha256, state="there", proved=mark.proved)
            return replace(planned, there=kept)
        if self.unpack:
            found = found.and_touched(target, mark.held)
        if found.other or found.more:
            raise _changed(target, found)
        return replace(planned, lost=found.gone)

    def target(self, archive: Archive) -> Path:
        """Return the folder of an artifact, or where its archive is kept."""
        return self.output / (archive.name.folder if self.unpack else archive.local_name)

    def mark_of(self, target: Path) -> Path:
        """Return where the mark of what is there lies."""
        return target / MARK if self.unpack else self.room / f"{target.name}.kept.json"

    def stated(self, archive: Archive) -> Sha256 | None:
        """Return the SHA-256 that the file beside an archive states; None when there is none.

        Raises
        ------
        TransferError
            When that file is gone or states none.
        """
        key = archive.side_key
        if key is None:
            return None
        found = _SIDE.fullmatch(self.ways.ask(lambda: self._beginning(key)).decode("utf-8", "replace"))
        if found is None or (found[2] is not None and found[2].rpartition("/")[2] != archive.filename):
            message = f"the file beside it, {archive.filename}{SIDE_FILE_SUFFIX}, does not state its SHA-256"
            raise TransferError(message)
        return Sha256(found[1].lower())

    def _beginning(self, key: ObjectKey) -> bytes:
        """Return as much of an object as a side file may have, and nothing of one that is gone: whatever it is, it fills no memory."""
        found = b""
        try:
            with self.ways.store.stream(key, end=_LARGEST_SIDE_FILE) as source:
                while len(found) < _LARGEST_SIDE_FILE and (piece := source.read(_LARGEST_SIDE_FILE - len(found))):
                    found += piece
        except OSError as error:
            raise HipwrightError("source-unreachable", f"{self.ways.store.address}/{key} broke off: {error}") from error
        except HipwrightError as error:
            if error.code.name != "nothing-published":
                raise
        return found

    def _prove_side_file(self, target: Path, stated: Sha256 | None) -> None:
        """Prove that a file beside an archive that is kept packed is ours to write: it states what its mark or the store does.

        Raises
        ------
        HipwrightError
            ``foreign-folder`` when it is not.
        """
        beside = side_file(target)
        if not os.path.lexists(beside):
            return
        known = {stated}
        with contextlib.suppress(HipwrightError, OSError):
            known.add(read_record(self.mark_of(target), Mark).sha256)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if not beside.is_symlink() and beside.stat().st_size <= _LARGEST_SIDE_FILE:
                found = _SIDE.fullmatch(beside.read_text("utf-8"))
                if found is not None and found[1].lower() in known:
                    return
        raise _foreign(beside, "file")

    def _mark(self, target: Path, stated: Sha256 | None) -> Mark:
        """Return the mark of what is there.

        Raises
        ------
        HipwrightError
            ``foreign-folder`` when it is not ours.
        """
        with contextlib.suppress(HipwrightError, OSError):
            mark = read_record(self.mark_of(target), Mark)
            status = target.stat()
            if self.unpack or (status.st_size, status.st_mtime_ns) == (mark.size, mark.mtime_ns):
                return mark
        if not self.unpack and stated is not None and target.is_file() and digest.of_file(target) == stated:
            # Put there by something else, and what it should be all the same.
            return Mark(archive=target.name, size=target.stat().st_size, sha256=stated, etag=None, proved="sha256")
        raise _foreign(target, "folder" if self.unpack else "file")

    def _same(self, archive: Archive, mark: Mark, stated: Sha256 | None) -> bool:
        if mark.size != archive.size:
            return False
        if stated is not None:
            return mark.sha256 == stated
        try:
            info = self.ways.ask(lambda: self.ways.store.head(archive.key))
        except TransferError:
            return False
        return info is not None and (info.sha256 == mark.sha256 if info.sha256 else info.etag == mark.etag)


def side_file(target: Path) -> Path:
    """Return where the file lies that states the SHA-256 of an archive that is kept packed."""
    return target.with_name(f"{target.name}{SIDE_FILE_SUFFIX}")


def _foreign(path: Path, what: str) -> HipwrightError:
    message = f"{path} is there already, and hipwright did not put it there"
    hint = f"move the {what} away, or name another folder with --output-dir"
    return HipwrightError("foreign-folder", message, where=Where(file=path), hint=hint)


def _changed(target: Path, found: Changes) -> HipwrightError:
    """Return the error for an artifact that has to be fetched again, and that somebody worked in."""
    sentences = found.sentences
    more = f", and {len(sentences) - _TOLD} more" if len(sentences) > _TOLD else ""
    message = f"{target} is not as it was fetched, and has to be fetched again: {', '.join(sentences[:_TOLD])}{more}"
    hint = "move the folder away to keep what was done there, or remove it"
    return HipwrightError("foreign-folder", message, where=Where(file=target), hint=hint)
