"""What is in a wheel: one pass over its bytes, each read, inflated and hashed once."""

from __future__ import annotations

import collections
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

import msgspec

from build_tools.digest import of_file
from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.value import Value
from build_tools.wheels.archive import Directory, Fault, Member, find_framed, read_directory, read_member
from build_tools.wheels.record import STRONG_HASHES, encode_hash, parse_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from build_tools.types import Sha256
    from build_tools.wheels.probe import Probe

__all__ = ["WheelContents", "read_contents", "read_dist_info", "read_outline"]

_KEPT: Final = {
    "METADATA": 8 << 20,
    "WHEEL": 1 << 20,
    "RECORD": 64 << 20,
    "entry_points.txt": 4 << 20,
    "top_level.txt": 4 << 20,
}
"""The metadata files that are read whole, each with the bytes that it may have: far above what any needs, far below what hurts."""

_USUAL: Final = "sha256"

_TEXT_LIMIT: Final = 8 << 20
_MOST_THREADS: Final = 4


_OF_MEMBER: Final = 10_000
"""What a member counts beyond its bytes: with many small ones most of the work is in their number."""

_LONG: Final = 4 << 20
"""Bytes from which on parts of a member count, too."""


_WORTH: Final = 200 << 20
"""From so much on reading takes so long that it is told how far it is."""


def _nobody(_per_cent: int) -> None:
    return


@dataclass(kw_only=True, slots=True)
class _Meter:
    """Counts what is read, and tells of each further per cent; what two threads count at once may be missing until the end."""

    total: int
    progress: Callable[[int], object]
    done: int = 0
    told: int = 0

    def add(self, count: int) -> None:
        """Count something that was read."""
        self.done += count
        if self.done * 100 >= (self.told + 1) * self.total:
            self.told = min(self.done * 100 // self.total, 100)
            self.progress(self.told)


def _weight(member: Member) -> int:
    return member.size + _OF_MEMBER


class WheelContents(Value, frozen=True, kw_only=True):
    """Everything that the checks ask about a wheel's bytes.

    ``hashes`` holds, for each member in the order of ``members``, its hash as ``RECORD`` spells one (``sha256=…``), by the algorithm
    that ``RECORD`` names for it; it is empty for a member with a fault, and for one that was not inflated. ``dist_info`` lists the ``.dist-info`` folders at the top;
    ``texts`` are the metadata files of the one that is there, by name, and empty when there is not exactly one. ``asked`` are the
    contents of other members that were asked for, those that there are. ``seen`` is what probes found, by probe and member. ``faults``
    says what is wrong with the archive.
    """

    path: Path
    sha256: Sha256
    size: int
    members: tuple[Member, ...]
    hashes: tuple[str, ...]
    dist_info: tuple[str, ...]
    texts: Mapping[str, bytes]
    faults: tuple[Fault, ...]
    asked: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    seen: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)

    @property
    def filename(self) -> str:
        """The wheel's file name."""
        return self.path.name


def read_contents(
    path: Path,
    *,
    jobs: int = 1,
    ask: Collection[str] = (),
    probes: Sequence[Probe] = (),
    progress: Callable[[int], object] = _nobody,
) -> WheelContents:
    """Read a wheel once, from its first byte to its last.

    A file that is no archive at all is a fault too, with no members: the checks must speak of it, not fall over it.

    Parameters
    ----------
    path
        The wheel.
    jobs
        How many threads may inflate and hash; one member is always one thread's, and more than four are not started: the many small
        members keep the interpreter's lock busy.
    ask
        Members whose content is wanted, each read as far as a metadata file would be.
    probes
        Who looks at the contents while they are read.
    progress
        Told of each further per cent of a large wheel that is read, from several threads.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file.
    """
    if not path.is_file():
        raise HipwrightError("no-wheel", f"there is no wheel {path}", where=Where(file=path))
    try:
        directory = read_directory(path)
    except HipwrightError as error:
        directory = Directory(members=(), faults=(Fault(message=error.message),))
    dist_info = _dist_info_folders(directory.members)
    texts, large = _texts(path, directory.members, dist_info)
    algorithms = _algorithms(texts.get("RECORD"))
    work = collections.deque(
        # The longest first, or one thread is left with it at the end; the others as they lie in the file.
        sorted(enumerate(directory.members), key=lambda item: (-(item[1].packed >> 23), item[1].offset))
    )
    hashes = [""] * len(directory.members)
    faults: dict[int, tuple[str, ...]] = {}
    seen: dict[str, dict[str, object]] = {probe.name: {} for probe in probes}
    weight = sum(map(_weight, directory.members))
    meter = _Meter(total=weight, progress=progress if weight >= _WORTH else _nobody)

    def read_some() -> None:
        with path.open("rb") as stream:
            while True:
                try:
                    index, member = work.popleft()
                except IndexError:
                    return
                algorithm = algorithms.get(member.name, _USUAL)
                digest = hashlib.new(algorithm)
                found = _watched(stream, member, digest.update, probes, seen, meter=meter)
                meter.add(_OF_MEMBER)
                if found:
                    faults[index] = found
                    continue
                hashes[index] = f"{algorithm}={encode_hash(digest.digest())}"

    try:
        if jobs <= 1:
            read_some()
            sha256 = of_file(path)
        else:
            sha256 = _in_threads(read_some, jobs=min(jobs, _MOST_THREADS), path=path, stop=work.clear)
    except OSError as error:
        raise HipwrightError("bad-wheel", f"cannot read {path}: {error.strerror}", where=Where(file=path)) from error
    member_faults = (
        Fault(message=message, member=directory.members[index].name) for index in sorted(faults) for message in faults[index]
    )
    return WheelContents(
        path=path,
        sha256=sha256,
        size=path.stat().st_size,
        members=directory.members,
        hashes=tuple(hashes),
        dist_info=dist_info,
        texts=texts,
        faults=(*directory.faults, *large, *member_faults),
        seen=seen,
        # Of two members with one name the last counts, as for the metadata.
        asked={
            member.name: _read(path, member)[0]
            for member in directory.members
            if member.name in ask and member.size <= _TEXT_LIMIT
        },
    )


def read_outline(path: Path, *, sha256: Sha256, most: int | None) -> WheelContents:
    """Read what a wheel's archive says of itself, and the contents alone of what is small; of a large one this takes no time.

    Parameters
    ----------
    path
        The wheel.
    sha256
        The digest of its bytes, which is known.
    most
        Bytes that all members have together, unpacked, of a wheel that is inflated and hashed whole; of a larger one only the metadata
        files are, and of the other members the frame is judged. None for whole however large it is.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` when it is no archive, or cannot be read.
    """
    if not path.is_file():
        raise HipwrightError("no-wheel", f"there is no wheel {path}", where=Where(file=path))
    directory = read_directory(path)
    members = directory.members
    dist_info = _dist_info_folders(members)
    texts, large = _texts(path, members, dist_info)
    algorithms = _algorithms(texts.get("RECORD"))
    kept = {f"{folder}/{name}" for folder in dist_info for name in texts}
    whole = most is None or sum(member.size for member in members) <= most
    hashes: list[str] = []
    faults: list[Fault] = []
    with path.open("rb") as stream:
        for member in members:
            algorithm = algorithms.get(member.name, _USUAL)
            digest = hashlib.new(algorithm)
            inflated = whole or member.name in kept
            found = read_member(stream, member, digest.update) if inflated else find_framed(stream, member)[1]
            faults += (Fault(message=message, member=member.name) for message in found)
            hashes.append("" if found or not inflated else f"{algorithm}={encode_hash(digest.digest())}")
    return WheelContents(
        path=path,
        sha256=sha256,
        size=path.stat().st_size,
        members=members,
        hashes=tuple(hashes),
        dist_info=dist_info,
        texts=texts,
        faults=(*directory.faults, *large, *faults),
    )


def read_dist_info(path: Path, name: str) -> bytes:
    """Return one file of a wheel's ``.dist-info`` folder, such as ``METADATA``, without reading the rest of the wheel.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` when it is no archive, has no or several ``.dist-info`` folders, lacks
        the file, or the file is damaged.
    """
    if not path.is_file():
        raise HipwrightError("no-wheel", f"there is no wheel {path}", where=Where(file=path))
    members = read_directory(path).members
    folders = _dist_info_folders(members)
    if len(folders) != 1:
        message = f"{path.name} has {len(folders)} .dist-info folders, and one is right"
        raise HipwrightError("bad-wheel", message, where=Where(file=path))
    wanted = f"{folders[0]}/{name}"
    found = [member for member in members if member.name == wanted]
    if len(found) != 1:
        message = f"{path.name} has {len(found)} members {shown(wanted)}, and one is right"
        raise HipwrightError("bad-wheel", message, where=Where(file=path, member=shown(wanted)))
    if (fault := _too_large(name, found[0])) is not None:
        raise HipwrightError("bad-wheel", f"{path.name}: {shown(wanted)}: {fault}", where=Where(file=path, member=shown(wanted)))
    data, faults = _read(path, found[0])
    if faults:
        message = f"{path.name} holds a {name} that cannot be read: {faults[0]}"
        raise HipwrightError("bad-wheel", message, where=Where(file=path, member=shown(wanted)))
    return data


def _watched(
    stream: IO[bytes],
    member: Member,
    sink: Callable[[bytes], object],
    probes: Sequence[Probe],
    seen: dict[str, dict[str, object]],
    *,
    meter: _Meter,
) -> tuple[str, ...]:
    """Read a member into a sink and before the probes that look at it; file what they found, and return what is wrong with it."""
    watchers = [(probe.name, watcher) for probe in probes if (watcher := probe.begin(member)) is not None]
    sinks = [sink, *(watcher.feed for _name, watcher in watchers)]
    if member.size >= _LONG:
        sinks.append(lambda piece: meter.add(len(piece)))
    faults = read_member(stream, member, _to_all(sinks))
    if member.size < _LONG:
        meter.add(member.size)
    for name, watcher in watchers:
        if (told := watcher.end()) is not None:
            seen[name][member.name] = told
    return faults


def _to_all(sinks: Sequence[Callable[[bytes], object]]) -> Callable[[bytes], object]:
    if len(sinks) == 1:
        return sinks[0]

    def to_each(piece: bytes) -> None:
        for sink in sinks:
            sink(piece)

    return to_each


def _in_threads(read_some: Callable[[], None], *, jobs: int, path: Path, stop: Callable[[], None]) -> Sha256:
    with ThreadPoolExecutor(jobs + 1) as threads:
        try:
            readers = [threads.submit(read_some) for _ in range(jobs)]
            whole = threads.submit(of_file, path)
            for reader in readers:
                reader.result()
            return whole.result()
        except BaseException:
            # After an interrupt each thread ends with the member that it is at.
            stop()
            raise


def _dist_info_folders(members: tuple[Member, ...]) -> tuple[str, ...]:
    tops = {member.name.partition("/")[0] for member in members if "/" in member.name}
    return tuple(sorted(top for top in tops if top.endswith(".dist-info")))


def _texts(path: Path, members: tuple[Member, ...], dist_info: tuple[str, ...]) -> tuple[dict[str, bytes], tuple[Fault, ...]]:
    if len(dist_info) != 1:
        return {}, ()
    wanted = {f"{dist_info[0]}/{name}": name for name in _KEPT}
    # Of two members with one name the last counts, as for zipfile and so for pip; that there are two is said elsewhere.
    kept = [(wanted[member.name], member) for member in members if member.name in wanted]
    large = {member.name: fault for name, member in kept if (fault := _too_large(name, member)) is not None}
    texts = {name: _read(path, member)[0] for name, member in kept if member.name not in large}
    return texts, tuple(Fault(message=fault, member=name) for name, fault in large.items())


def _too_large(name: str, member: Member) -> str | None:
    limit = _KEPT.get(name, _TEXT_LIMIT)
    return f"it has {member.size} bytes; more than {limit} are not read" if member.size > limit else None


def _read(path: Path, member: Member) -> tuple[bytes, tuple[str, ...]]:
    data = bytearray()
    with path.open("rb") as stream:
        faults = read_member(stream, member, data.extend)
    return bytes(data), faults


def _algorithms(record: bytes | None) -> dict[str, str]:
    """Return by which algorithm each member is to be hashed, where ``RECORD`` wants another than SHA-256."""
    others = [name for name in STRONG_HASHES if name != _USUAL]
    if record is None or not any(f"{name}=".encode() in record for name in others):
        return {}
    try:
        rows = parse_record(record)
    except HipwrightError:
        return {}
    return {row.path: row.algorithm for row in rows if row.algorithm in others}
