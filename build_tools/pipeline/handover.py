"""Receipts made elsewhere: read them with what they refer to, bring their files into the work dir, and prove the bytes."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import finished_folder, hold, write_bytes
from build_tools.pipeline.engine import RECEIPT, Done, input_digest, stage_folder, verify_outputs
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.stage import OutputFile, PublishResult, StageReceipt
from build_tools.types import Stage
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["Received", "receive"]

_Key: TypeAlias = tuple[str, Stage, str | None]
Received: TypeAlias = dict[_Key, Done]
"""Finished stages that were handed over, by project, stage and interpreter tag."""

_PIECE: Final = 2**20
_STAY: Final = frozenset({Stage.CHECKOUT, Stage.BASE_PATCHES, Stage.HIPIFY, Stage.HIPIFIED_PATCHES, Stage.PROVISION})
"""Stages whose result is a tree or an environment of one machine: their receipts are read, but stand for nothing elsewhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    receipt: StageReceipt
    place: str


def receive(places: tuple[str, ...], workplace: Workplace, *, projects: Collection[str] = ()) -> Received:
    """Return the finished stages that receipts stand for.

    Parameters
    ----------
    places
        Files or URLs of receipts, or folders laid out like a work dir; the receipts that they name as their input are read as well,
        where they can be.
    workplace
        Whose work dir the outputs go to; a dry run proves them and brings nothing.
    projects
        The projects whose receipts are taken from a folder.

    Raises
    ------
    HipwrightError
        ``bad-receipt`` when a named place holds none, two differ about one stage, or it is of a stage that does not travel;
        ``output-changed`` when an output is absent or has other bytes, unless it is a wheel that was published;
        ``source-unreachable``.
    """
    reader = _Reader(workplace=workplace)
    found = _named(_each(places, projects), reader)
    _follow(found, reader)
    published = _published(found.values())
    return {
        key: _bring(read, workplace, reader, elsewhere=published)
        for key, read in found.items()
        if read.receipt.stage not in _STAY
    }


def _each(places: tuple[str, ...], projects: Collection[str]) -> tuple[str, ...]:
    """Return places with those of the receipts in a folder for the folder itself."""
    found: list[str] = []
    for place in places:
        folder = Path(_local(place))
        if _is_http(place) or not folder.is_dir():
            found.append(place)
            continue
        travelling = {stage.value for stage in Stage if stage not in _STAY}
        inside = [
            path
            for path in sorted(folder.glob(f"*/*/*/{RECEIPT}"))
            if path.parts[-4] in travelling and path.parts[-3] in projects
        ]
        if not inside:
            message = f"there is no receipt of {' or '.join(projects) or 'any project'} in {folder}"
            hint = "name the folder that holds build/PROJECT/DIGEST/receipt.json and the like, as a work dir does"
            raise HipwrightError("bad-receipt", message, where=Where(file=folder), hint=hint)
        found += map(str, inside)
    return tuple(found)


def _published(found: Iterable[_Read]) -> frozenset[str]:
    """Return the digests of the wheels that were published, which nobody needs the built files of."""
    results = [read.receipt.result for read in found]
    return frozenset(file.sha256 for result in results if isinstance(result, PublishResult) for file in result.value.files)


def _named(places: tuple[str, ...], reader: _Reader) -> dict[_Key, _Read]:
    """Read the receipts that were handed over."""
    found: dict[_Key, _Read] = {}
    for place in places:
        data = reader.read(place)
        if data is None:
            hint = "name the receipt.json that a stage has written, by its file or address"
            raise HipwrightError(
                "bad-receipt", f"there is no receipt at {redact(place)}", where=Where(file=redact(place)), hint=hint
            )
        receipt = _parse(data, place)
        if receipt.stage in _STAY:
            message = (
                f"a receipt of the {receipt.stage} stage does not travel: its result is a folder of the machine that made it"
            )
            hint = "hand the receipt of the lock stage over instead"
            raise HipwrightError("bad-receipt", message, where=Where(file=redact(place)), hint=hint)
        other = found.setdefault(_key(receipt), _Read(receipt=receipt, place=place))
        if other.receipt.digest != receipt.digest:
            message = (
                f"{redact(other.place)} and {redact(place)} are two different receipts of {receipt.stage} of {receipt.project}"
            )
            raise HipwrightError("bad-receipt", message, hint="hand one of them over")
    return found


def _follow(found: dict[_Key, _Read], reader: _Reader) -> None:
    """Add the receipts that receipts name as their input, where they can be read and are still the same."""
    waiting = list(found.values())
    while waiting:
        read = waiting.pop()
        for upstream in read.receipt.upstream:
            place = _beside(read.place, upstream.receipt)
            data = reader.read(place)
            if data is None:
                continue
            earlier = _parse(data, place)
            if earlier.digest != upstream.digest or earlier.stage != upstream.stage:
                continue
            if _key(earlier) not in found:
                found[_key(earlier)] = _Read(receipt=earlier, place=place)
                waiting.append(found[_key(earlier)])


def _key(receipt: StageReceipt) -> _Key:
    return receipt.project, receipt.stage, receipt.python


def _parse(data: bytes, place: str) -> StageReceipt:
    receipt = from_json(data, StageReceipt, name=place)
    if input_digest(receipt.stage, receipt.project, receipt.parts) != receipt.digest:
        raise HipwrightError("bad-receipt", f"{place} has a digest that is not that of its parts", where=Where(file=place))
    for output in receipt.outputs:
        if output.path.startswith("/") or "\\" in output.path or ".." in output.path.split("/") or ":" in output.path:
            raise HipwrightError(
                "bad-receipt", f"{place} names an output outside its folder: {output.path}", where=Where(file=place)
            )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", receipt.project):
        raise HipwrightError("bad-receipt", f"{place} has no good project name: {receipt.project!r}", where=Where(file=place))
    return receipt


def _bring(read: _Read, workplace: Workplace, reader: _Reader, *, elsewhere: frozenset[str]) -> Done:
    """Copy a receipt and its outputs into the work dir, unless they lie there already; prove the bytes in any case.

    An output that is not there and lies ``elsewhere``, as published, is left where it is.
    """
    receipt, why = read.receipt, f"from {redact(read.place)}"
    folder = stage_folder(workplace.work_dir, receipt.stage, receipt.project, receipt.digest)
    if not _is_http(read.place) and Path(_local(read.place)).resolve() == (folder / RECEIPT).resolve():
        verify_outputs(receipt, folder)
        return Done(receipt=receipt, path=folder / RECEIPT, state="received", why=why, seconds=0.0)
    outputs_there = [
        output for output in receipt.outputs if output.sha256 not in elsewhere or reader.has(_beside(read.place, output.path))
    ]
    if workplace.settings.dry_run:
        for output in outputs_there:
            reader.save(_beside(read.place, output.path), None, output.sha256)
        return Done(receipt=receipt, path=folder / RECEIPT, state="received", why=why, seconds=0.0)
    guard = workplace.lock_file(f"{receipt.stage}-{receipt.project}-{digest.short(receipt.digest, 16)}")
    with (
        hold(
            guard,
            purpose=f"{receipt.stage} of {receipt.project}",
            wait=workplace.settings.wait,
            on_wait=workplace.console.say,
        ),
        finished_folder(folder) as partial,
    ):
        outputs = []
        for output in outputs_there:
            target = partial / output.path
            reader.save(_beside(read.place, output.path), target, output.sha256)
            stat = target.stat()
            outputs.append(OutputFile(path=output.path, sha256=output.sha256, size=stat.st_size, mtime_ns=stat.st_mtime_ns))
        here = msgspec.structs.replace(receipt, outputs=tuple(outputs))
        write_bytes(partial / RECEIPT, to_json(here))
    return Done(receipt=here, path=folder / RECEIPT, state="received", why=why, seconds=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Reads files and addresses; what an address needs (certificates, proxies) is as the machine's package settings have it."""

    workplace: Workplace

    def read(self, place: str) -> bytes | None:
        """Return a receipt's bytes, None when there is nothing."""
        if _is_http(place):
            answer = self.workplace.base.network().read(place)
            return None if answer is None else answer.body
        try:
            return Path(_local(place)).read_bytes()
        except OSError:
            return None

    def has(self, place: str) -> bool:
        """Return whether there is a file at a place."""
        with self._open(place) as stream:
            return stream is not None

    def save(self, place: str, target: Path | None, sha256: Sha256) -> None:
        """Copy an output to a file (None: nowhere), and prove its bytes.

        Raises
        ------
        HipwrightError
            ``output-changed`` when it is absent or has other bytes.
        """
        seen = hashlib.sha256()
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(self._open(place))
            sink = None
            if target is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                sink = stack.enter_context(target.open("wb"))
            while stream is not None and (piece := stream.read(_PIECE)):
                seen.update(piece)
                if sink is not None:
                    sink.write(piece)
        if stream is None or seen.hexdigest() != sha256:
            what = "is not there" if stream is None else "has other bytes than its receipt says"
            raise HipwrightError("output-changed", f"{redact(place)} {what}", where=Where(file=redact(place)))

    @contextlib.contextmanager
    def _open(self, place: str) -> Iterator[IO[bytes] | None]:
        if _is_http(place):
            with self.workplace.base.network().stream(place) as stream:
                yield stream
            return
        path = Path(_local(place))
        if not path.is_file():
            yield None
            return
        with path.open("rb") as file:
            yield file


def _is_http(place: str) -> bool:
    return place.lower().startswith(("http://", "https://"))


def _local(place: str) -> str:
    """Return the path that a place on this machine is."""
    if place.lower().startswith("file://"):
        return urllib.request.url2pathname(urllib.parse.urlsplit(place).path)
    return place


def _beside(place: str, relative: str) -> str:
    """Return the place of a file that is named relative to another place's folder."""
    if _is_http(place):
        return urllib.parse.urljoin(place, urllib.parse.quote(relative))
    return str(Path(posixpath.normpath(Path(_local(place)).parent.as_posix() + "/" + relative)))
