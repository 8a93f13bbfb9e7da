"""Fetch archives out of a store, many at once, prove each, and unpack each into a folder of its own that is there whole or not at all.

What is being fetched lies in ``.fetch`` below the output folder; so does the name of the run that the folder is for, since artifacts of
two runs make no ROCm. A folder that was finished holds a mark with the digest of its archive and a list of its files: it is not fetched
again while the store states the same and no file is gone.
"""

from __future__ import annotations

import os
import secrets
import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import humanize
from msgspec import structs

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.rocm.artifacts.mark import FETCHED_FOR, MARK, FetchedFor, Mark, read_fetched_for
from build_tools.rocm.artifacts.there import Fetched, Looking, Planned, side_file
from build_tools.rocm.artifacts.transfer import Patience, Transfer, TransferError, Ways, forget
from build_tools.rocm.artifacts.unpack import unpack_artifact
from build_tools.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from build_tools.rocm.artifacts.select import Archive
    from build_tools.stores.base import Store
    from build_tools.types import Platform

__all__ = ["AT_ONCE", "Request", "fetch_archives", "plan_archives", "sentence"]

AT_ONCE: Final = 10
"""How many streams are open at once when nobody says otherwise."""

_OWN: Final = ".fetch"
_RUN: Final = "run.json"
_OPTION: Final = "--output-dir"
_TOLD: Final = 5


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to fetch, and how.

    Parameters
    ----------
    archives
        The archives.
    store
        Where they are.
    source
        What run they are of, as a text that is the same whenever it is the same run.
    output
        The folder that gets a folder for each artifact.
    asked
        What the archives were chosen by.
    platform
        The system that they are unpacked on.
    unpack
        Whether they are unpacked; otherwise the folder gets the archives, each with the file beside it that states its SHA-256.
    at_once
        How many streams are open at once.
    jobs
        How many archives are unpacked at once.
    patience
        How much is borne of the network.
    wait
        Whether another run that fetches into the folder is waited for.
    """

    archives: Sequence[Archive]
    store: Store
    source: str
    output: Path
    platform: Platform
    asked: FetchedFor = field(default_factory=FetchedFor)
    unpack: bool = True
    at_once: int = AT_ONCE
    jobs: int = 1
    patience: Patience = field(default_factory=Patience)
    wait: bool = True


class _Run(Record, frozen=True, kw_only=True):
    """The run that a folder is for."""

    schema: Literal[1] = 1
    source: str


def fetch_archives(
    request: Request, *, say: Callable[[str], None], progress: Callable[[int, int], None] = lambda _done, _total: None
) -> tuple[Fetched, ...]:
    """Fetch archives, and return what came of each, in the order of the request.

    Parameters
    ----------
    request
        What to fetch, and how.
    say
        Told what takes time.
    progress
        Told how many are done, and of how many.

    Raises
    ------
    HipwrightError
        ``artifact-missing`` that lists all that could not be fetched, ``bad-archive`` for one that can't be unpacked; everything else is
        fetched then, and stays. ``foreign-folder`` when the folder holds another run's artifacts, or something of that name that is not
        ours; ``store-unusable``, ``no-credentials``, ``disk-space``, ``folder-not-writable``, ``locked``.
    """
    room = files.make_folder(request.output, option=_OPTION) / _OWN
    _prove_own(request)
    with files.hold(room / "lock", purpose="fetching artifacts", wait=request.wait, on_wait=say):
        _prove_own(request)
        _write(room / _RUN, to_json(_Run(source=request.source)))
        for left_over in room.glob("*.partial-*"):
            files.remove_tree(left_over)
        with (
            Threads(request.at_once) as archives,
            Threads(request.jobs) as unpacking,
            # They end first: archives wait for their parts.
            Threads(request.at_once) as parts,
        ):
            ways = Ways(store=request.store, parts=parts, gate=threading.Semaphore(request.at_once), patience=request.patience)
            work = _Work(request=request, room=room, ways=ways, looking=_looking(request, ways), unpacking=unpacking)
            try:
                planned = list(archives.map(work.looking.look, request.archives))
                say(sentence(planned, request, done="fetching"))
                for one in planned:
                    if one.lost:
                        say(f"{one.archive.name.folder} is fetched again, since files of it are gone: {_some(one.lost)}")
                _claim(request, planned)
                found, errors = _gather(work, archives, planned, progress)
                _note(request, to_come=errors)
            except BaseException:
                ways.stop.set()
                raise
    if errors:
        raise _failure(errors, request)
    return tuple(found[archive] for archive in request.archives)


def plan_archives(request: Request) -> tuple[Planned, ...]:
    """Return what :func:`fetch_archives` would do for each archive, in the order of the request; nothing is made or changed.

    Raises
    ------
    HipwrightError
        ``foreign-folder``, ``store-unusable``, ``no-credentials``, as it would.
    """
    _prove_own(request)
    with Threads(request.at_once) as pool:
        ways = Ways(store=request.store, parts=pool, gate=threading.Semaphore(request.at_once), patience=request.patience)
        return tuple(pool.map(_looking(request, ways).look, request.archives))


def sentence(planned: Sequence[Planned], request: Request, *, done: str) -> str:
    """Say how much is fetched and how much is there already; ``done`` is the word for the fetching."""
    missing = [one.archive for one in planned if one.there is None]
    there = len(planned) - len(missing)
    if not missing:
        return f"all {there} artifacts of {request.source} are in {request.output} already"
    size = humanize.naturalsize(sum(archive.size for archive in missing), binary=True)
    what = f"{len(missing)} artifact{'s'[: len(missing) != 1]}, {size}, of {request.source} into {request.output}"
    return f"{done} {what}" + (f"; {there} more {'is' if there == 1 else 'are'} there already" if there else "")


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"{', '.join(names[:_TOLD])}{more}"


def _looking(request: Request, ways: Ways) -> Looking:
    return Looking(output=request.output, room=request.output / _OWN, unpack=request.unpack, ways=ways)


def _prove_own(request: Request) -> None:
    """Prove that the folder holds no other run's artifacts, and that what we would keep there is not somebody's.

    Raises
    ------
    HipwrightError
        ``foreign-folder``, ``bad-receipt``.
    """
    room = request.output / _OWN
    path = room / _RUN
    if os.path.lexists(room) and (room.is_symlink() or not room.is_dir() or not (path.is_file() or _is_new(room))):
        message = f"{room} is there already, and hipwright did not put it there"
        hint = "move it away, or name another folder with --output-dir"
        raise HipwrightError("foreign-folder", message, where=Where(file=room), hint=hint)
    known = read_record(path, _Run).source if path.exists() else request.source
    if known != request.source:
        message = f"{request.output} holds artifacts of {known}, and these are of {request.source}: two runs make no ROCm"
        hint = "name another folder with --output-dir, or remove that one"
        raise HipwrightError("foreign-folder", message, where=Where(file=request.output), hint=hint)


def _is_new(room: Path) -> bool:
    """Return whether there is no more in a folder of ours than before it says what run it is for."""
    return all(entry.name.startswith(("lock", _RUN, f".{_RUN}")) for entry in room.iterdir())


def _claim(request: Request, planned: Sequence[Planned]) -> None:
    """Prove that the disk has room for the archives, and write down what the folder is for before anything is fetched.

    Raises
    ------
    HipwrightError
        ``bad-receipt``, ``disk-space``.
    """
    files.free_space(request.output, sum(one.archive.size - one.begun for one in planned if one.there is None), option=_OPTION)
    _note(request, to_come=[one.archive for one in planned if one.there is None])


def _note(request: Request, *, to_come: Iterable[Archive]) -> None:
    """Write down what of the run the folder is for, and what of it has not come: who builds of one that was left half-done asks.

    Raises
    ------
    HipwrightError
        ``bad-receipt``.
    """
    if not request.unpack:
        return
    before = read_fetched_for(request.output)
    asked = before.and_for(request.asked) if before else request.asked
    ours = {archive.name.folder for archive in request.archives}
    lacking = {name for name in (before.to_come if before else ()) if name not in ours}
    lacking |= {archive.name.folder for archive in to_come}
    _write(request.output / FETCHED_FOR, to_json(structs.replace(asked, to_come=tuple(sorted(lacking)))))


def _write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        files.write_bytes(path, data)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Packed:
    """An archive that is there whole and proved, and waits for being unpacked."""

    fetched: Fetched
    partial: Path
    mark: Mark


def _gather(
    work: _Work, pool: Threads, planned: Sequence[Planned], progress: Callable[[int, int], None]
) -> tuple[dict[Archive, Fetched], dict[Archive, Exception]]:
    """Return what came of each archive.

    Raises
    ------
    HipwrightError
        What no archive can be fetched for: the store, the disk.
    """
    found = {one.archive: one.there for one in planned if one.there is not None}
    errors: dict[Archive, Exception] = {}
    # The large ones first: what begins last should be short.
    missing = sorted((one.archive for one in planned if one.there is None), key=lambda archive: -archive.size)
    waiting: dict[Future[Fetched | _Packed], Archive] = {pool.submit(work.fetch, archive): archive for archive in missing}
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            archive = waiting.pop(future)
            try:
                came = future.result()
            except TransferError as error:
                errors[archive] = error
            except HipwrightError as error:
                if error.code.name not in {"bad-archive", "disk-space"}:
                    raise
                errors[archive] = error
            else:
                if isinstance(came, _Packed):
                    waiting[work.unpacking.submit(work.unpack, came)] = archive
                    continue
                found[archive] = came
            progress(len(found) + len(errors), len(planned))
    return found, errors


def _failure(errors: dict[Archive, Exception], request: Request) -> HipwrightError:
    """Return one failure for all archives that could not be had."""
    reasons = {archive.filename: str(error) for archive, error in sorted(errors.items(), key=lambda one: one[0].name)}
    bad = [error for error in errors.values() if isinstance(error, HipwrightError)]
    if len(errors) == 1 and bad:
        return bad[0]
    first, count = next(iter(reasons.items())), len(reasons)
    more = f", and {count - 1} more could not be fetched" if count > 1 else ""
    message = f"{first[0]} of {request.source} could not be fetched: {first[1]}{more}"
    excerpt = "\n".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = "the same command goes on from here; what was fetched stays"
    codes = {error.code.name for error in bad}
    code = codes.pop() if len(codes) == 1 and len(bad) == len(errors) else "artifact-missing"
    document: dict[str, object] = {"missing": [{"archive": name, "reason": reason} for name, reason in reasons.items()]}
    return HipwrightError(code, message, hint=hint, excerpt=excerpt if count > 1 else None, document=document)


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What the archives of a request share."""

    request: Request
    room: Path
    ways: Ways
    looking: Looking
    unpacking: Threads

    def fetch(self, archive: Archive) -> Fetched | _Packed:
        """Fetch an archive."""
        target, partial = self.looking.target(archive), self.room / archive.local_name
        transfer = Transfer(archive=archive, path=partial, sha256=self.looking.stated(archive), ways=self.ways)
        came = transfer.run()
        proved: Literal["sha256", "size"] = "sha256" if came.proved else "size"
        mark = Mark(archive=archive.filename, size=came.size, sha256=came.sha256, etag=came.etag, proved=proved)
        fetched = Fetched(
            archive=archive, path=target, sha256=came.sha256, state="fetched", proved=proved, resumed=transfer.resumed
        )
        if self.request.unpack:
            return _Packed(fetched=fetched, partial=partial, mark=mark)
        self._keep(partial, target, mark)
        return fetched

    def unpack(self, packed: _Packed) -> Fetched:
        """Unpack an archive into a folder that then takes the artifact's name, and forget the archive."""
        self.ways.go_on()
        target, archive = packed.fetched.path, packed.partial
        with files.temporary_folder(self.room, target.name) as scratch:
            folder = scratch / "artifact"
            folder.mkdir()
            try:
                held = unpack_artifact(archive, folder, platform=self.request.platform, on_member=self.ways.go_on)
            except HipwrightError as error:
                if error.code.name == "bad-archive":
                    forget(archive)
                raise
            (folder / MARK).write_bytes(to_json(structs.replace(packed.mark, held=held.held)))
            if target.exists():
                target.rename(scratch / "old")
            folder.rename(target)
        forget(archive)
        return packed.fetched

    def _keep(self, archive: Path, target: Path, mark: Mark) -> None:
        """Give a packed archive its name, and write the file that states its SHA-256 beside it.

        To wait for the disk with each small file would be to wait for all of the large ones.
        """
        _write_soon(side_file(target), f"{mark.sha256}  {target.name}\n".encode())
        archive.replace(target)
        forget(archive)
        _write_soon(self.looking.mark_of(target), to_json(structs.replace(mark, mtime_ns=target.stat().st_mtime_ns)))


def _write_soon(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; when it is on the disk is the system's matter."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with partial.open("xb") as file:
        file.write(data)
    partial.replace(path)
