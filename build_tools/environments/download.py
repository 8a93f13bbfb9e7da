"""Fetch package files, each proved by its SHA-256; what came over a network is kept in the cache under that hash."""

from __future__ import annotations

import functools
import hashlib
import secrets
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.environments.base_listing import BaseListing, base_listing
from build_tools.environments.network import Network, path_of
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.lock import LockedFile
from build_tools.threads import Threads, go_on
from build_tools.types import Sha256
from build_tools.urls import without_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.environments.candidate import Candidate
    from build_tools.environments.page import Link
    from build_tools.environments.settings import BaseIndex

__all__ = ["download", "download_all", "fetch_link", "fetch_sdist"]

_CHUNK: Final = 1 << 20

_LOST: Final = (
    "see whether the page that lists it is up to date and still leads there, then start this again: what was fetched is kept"
)
_AT_ONCE: Final = 4


def _silent(_line: str) -> None:
    return


def _digest_of(path: Path) -> Sha256:
    """Return the SHA-256 of a file on this disk, read once as long as it stays as it is: packages weigh gigabytes."""
    state = path.stat()
    return _read_once(path, state.st_size, state.st_mtime_ns, state.st_ino)


@functools.lru_cache(maxsize=4096)
def _read_once(path: Path, _size: int, _mtime_ns: int, _inode: int) -> Sha256:
    return digest.of_file(path)


def download(file: LockedFile, *, cache: Path, network: Network, say: Callable[[str], None] = _silent) -> Path:
    """Return a path that holds exactly a locked file's bytes: the file itself when it is on this disk, else a copy in the cache.

    Parameters
    ----------
    file
        What is wanted.
    cache
        hipwright's cache folder.
    network
        How addresses are read.
    say
        Told when something is fetched over a network.

    Raises
    ------
    HipwrightError
        ``hash-mismatch`` naming both hashes; ``source-unreachable``.
    """
    local = path_of(file.url)
    if local is not None:
        if not local.is_file():
            message = f"{file.filename} was locked from {local}, and is not there any more"
            raise HipwrightError(
                "source-unreachable", message, where=Where(file=local), hint="say --relock to lock what is there now"
            )
        _prove(file.filename, without_query(file.url), found=_digest_of(local), wanted=file.sha256)
        return local
    kept = _kept(cache, file.sha256, file.filename)
    if kept.is_file():
        if digest.of_file(kept) == file.sha256:
            return kept
        kept.unlink()
    say(f"fetching {file.filename}")
    return _fetch(file.url, file.filename, cache=cache, network=network, wanted=file.sha256)


def download_all(
    files: Sequence[LockedFile], *, cache: Path, network: Network, say: Callable[[str], None] = _silent
) -> tuple[Path, ...]:
    """Fetch several files, some at once; see :func:`download`."""
    if not files:
        return ()
    with Threads(min(_AT_ONCE, len(files))) as pool:
        return tuple(pool.map(lambda file: download(file, cache=cache, network=network, say=say), files))


def fetch_link(link: Link, *, cache: Path, network: Network) -> tuple[Path, Sha256]:
    """Return a path that holds a listed file's bytes, and their SHA-256, which the page may not have stated.

    Raises
    ------
    HipwrightError
        ``hash-mismatch`` when the page states another hash; ``source-unreachable``.
    """
    local = path_of(link.url)
    if local is not None:
        found = _digest_of(local)
        if link.sha256 is not None:
            _prove(link.filename, without_query(link.url), found=found, wanted=link.sha256)
        return local, found
    if link.sha256 is not None:
        kept = _kept(cache, link.sha256, link.filename)
        if kept.is_file() and digest.of_file(kept) == link.sha256:
            return kept, Sha256(link.sha256)
    path = _fetch(link.url, link.filename, cache=cache, network=network, wanted=link.sha256)
    return path, Sha256(path.parent.name)


def fetch_sdist(name: str, version: str, sha256: str, *, base: BaseIndex, cache: Path) -> Path:
    """Fetch a source distribution from the base index's pages and ``find-links``, as a file; nothing of it is run.

    Parameters
    ----------
    name, version
        The distribution.
    sha256
        What its bytes must be.
    base
        The base index.
    cache
        hipwright's cache folder.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` when no place has it; ``hash-mismatch`` when all that have it have other bytes;
        ``source-unreachable``; ``bad-version``.
    """
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{name} is wanted in the version {version!r}, which PEP 440 cannot read") from None
    listing = base_listing(base)
    for kept in sorted((cache / "files" / sha256).glob("*")):
        if digest.of_file(kept) == sha256:
            return kept
    found = [candidate for candidate in _base_files(listing, name) if candidate.kind == "sdist" and candidate.version == wanted]
    # A place that states the right hash comes first, then those that state none.
    for candidate in sorted(found, key=lambda one: (one.link.sha256 != sha256, one.link.sha256 is not None)):
        link = candidate.link
        if link.sha256 not in {None, sha256}:
            continue
        file = LockedFile(
            distribution=canonicalize_name(name),
            version=version,
            filename=link.filename,
            url=link.url,
            sha256=Sha256(sha256),
        )
        return download(file, cache=cache, network=listing.network)
    places = " and ".join(without_query(place) for place in listing.source.find_links) or "no place"
    if found:
        stated = ", ".join(sorted({str(candidate.link.sha256) for candidate in found}))
        message = f"{name} {version} should have the sha256 {sha256}, and {places} offers it with {stated}"
        raise HipwrightError("hash-mismatch", message)
    message = f"the source distribution of {name} {version} is not at the base index: {places}"
    raise HipwrightError("requirement-missing", message, hint="say `invoke show-config` to see where the base index is set")


def _base_files(base: BaseListing, name: str) -> list[Candidate]:
    """Return what every place of the base index offers; a place that is no help is passed by when another one is."""
    found: list[Candidate] = []
    failures: list[HipwrightError] = []
    for place in base.places:
        try:
            found += place.files(name)
        except HipwrightError as error:
            failures.append(error)
    if not found and failures:
        raise failures[0]
    return found


def _kept(cache: Path, sha256: str, filename: str) -> Path:
    return cache / "files" / sha256 / filename


def _fetch(url: str, filename: str, *, cache: Path, network: Network, wanted: str | None) -> Path:
    """Stream an address into the cache under the hash that its bytes have; a half-fetched file never has its name."""
    folder = cache / "files"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".partial-{secrets.token_hex(8)}"
    try:
        found = _stream(url, partial, network)
        if wanted is not None:
            _prove(filename, without_query(url), found=found, wanted=wanted)
        kept = _kept(cache, found, filename)
        kept.parent.mkdir(exist_ok=True)
        partial.replace(kept)
    except HipwrightError as error:
        if error.hint is not None:
            raise
        raise HipwrightError(error.code.name, error.message, where=error.where, hint=_LOST) from error
    finally:
        partial.unlink(missing_ok=True)
    return kept


def _stream(url: str, partial: Path, network: Network) -> str:
    """Write what an address holds into a file and return its SHA-256."""
    hasher = hashlib.sha256()
    with network.stream(url) as stream, partial.open("xb") as sink:
        while chunk := stream.read(_CHUNK):
            go_on()
            hasher.update(chunk)
            sink.write(chunk)
        if getattr(stream, "length", None):
            raise HipwrightError("source-unreachable", f"the connection ended before {without_query(url)} was read whole")
    return hasher.hexdigest()


def _prove(filename: str, place: str, *, found: str, wanted: str) -> None:
    if found != wanted:
        message = f"{filename} should have the sha256 {wanted}, and what {place} holds has {found}"
        raise HipwrightError("hash-mismatch", message, hint="find out who changed it; say --relock only if the change is right")
