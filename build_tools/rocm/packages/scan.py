"""What the files of artifacts are: each read once, for its digest and, where it is a binary of the machine, its ELF headers."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform, Sha256
from build_tools.wheels.elf import ELF_MAGIC, Elf, read_elf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from build_tools.rocm.artifacts.catalog import Item

__all__ = ["Facts", "scan"]

_CHUNK: Final = 1 << 20
_DATA_SUFFIXES: Final = (".hsaco", ".co", ".o", ".a")
"""Files that may be ELF and are never loaded by the machine's loader."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A file's digest, and what its ELF headers say when it is a program or library of the machine."""

    sha256: Sha256
    elf: Elf | None = None


def scan(
    items: Iterable[Item], *, platform: Platform, jobs: int, progress: Callable[[str, int, int], None]
) -> Mapping[Path, Facts]:
    """Read files once each, several at a time; links are passed over.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` when a file cannot be read, ``bad-binary`` when its ELF headers cannot.
    """
    files = sorted({item.source for item in items if item.link is None})
    found: dict[Path, Facts] = {}
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        try:
            for number, (path, facts) in enumerate(pool.map(lambda path: (path, _read(path, platform)), files), 1):
                found[path] = facts
                progress("reading artifacts, files", number, len(files))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _read(path: Path, platform: Platform) -> Facts:
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as stream:
            chunk = head = stream.read(_CHUNK)
            while chunk:
                digest.update(chunk)
                chunk = stream.read(_CHUNK)
            loadable = platform is Platform.LINUX and head.startswith(ELF_MAGIC) and path.suffix not in _DATA_SUFFIXES
            elf = read_elf(stream, name=path) if loadable else None
    except OSError as error:
        raise HipwrightError("bad-artifact", f"cannot read {path}: {error.strerror}", where=Where(file=path)) from None
    return Facts(sha256=Sha256(digest.hexdigest()), elf=elf)
