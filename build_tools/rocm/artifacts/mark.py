"""What stands in a folder of fetched artifacts beside them: what each was made of and held then, and what the folder is for.

The mark of an artifact lists its files with their sizes, so that one from which a file was lost is not taken for whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from build_tools.config.targets import known_targets
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import Record, read_record
from build_tools.types import GfxTarget, Sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FETCHED_FOR", "MARK", "Changes", "FetchedFor", "Mark", "changes", "read_fetched_for"]

MARK: Final = ".fetched.json"
"""The mark of an artifact, in its folder."""
FETCHED_FOR: Final = ".fetched-for.json"
"""The file beside the artifacts that says which of a run's they are."""

_CACHE: Final = "__pycache__"


class Mark(Record, frozen=True, kw_only=True):
    """What a finished artifact was made of.

    ``held`` has the size of each of its files, and what each link says, by path; for an archive that stays packed ``mtime_ns`` is the time
    of its file, which tells a changed one.
    """

    schema: Literal[1] = 1
    archive: str
    size: int
    sha256: Sha256
    etag: str | None
    proved: Literal["sha256", "size"]
    held: dict[str, int | str] = {}  # noqa: RUF012 - msgspec copies an empty default for each value
    mtime_ns: int = 0


class FetchedFor(Record, frozen=True, kw_only=True):
    """What a folder of artifacts was asked for: the group, and the GPU targets; no targets stand for all that the run has.

    ``to_come`` are the folders of artifacts that were meant too, and had not come when this was written.
    """

    schema: Literal[1] = 1
    group: str | None = None
    targets: tuple[GfxTarget, ...] = ()
    to_come: tuple[str, ...] = ()

    def and_for(self, other: FetchedFor) -> FetchedFor:
        """Return what a folder is for that was asked for one thing and then for another."""
        both = {*self.targets, *other.targets} if self.targets and other.targets else set()
        group = self.group if self.group == other.group else None
        return FetchedFor(group=group, targets=tuple(GfxTarget(name) for name in known_targets().targets if name in both))


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """How a folder differs from its mark: paths that are gone, that are another thing or size, and that were put there."""

    gone: tuple[str, ...]
    other: tuple[str, ...]
    more: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """A few words on each."""
        found = [(path, "is gone") for path in self.gone]
        found += [(path, "was changed") for path in self.other]
        found += [(path, "was put there") for path in self.more]
        return tuple(f"{path} {what}" for path, what in sorted(found))

    def and_touched(self, folder: Path, held: Mapping[str, int | str]) -> Changes:
        """Return these changes and the files that were written to since the mark was, for whoever would throw them away."""
        last = (folder / MARK).stat().st_mtime_ns
        left = held.keys() - {*self.gone, *self.other}
        touched = (path for path in left if isinstance(held[path], int) and (folder / path).stat().st_mtime_ns > last)
        return Changes(gone=self.gone, other=tuple(sorted({*self.other, *touched})), more=self.more)


def read_fetched_for(folder: Path) -> FetchedFor | None:
    """Return what a folder of artifacts was asked for; None when nothing says so.

    Raises
    ------
    HipwrightError
        ``bad-receipt`` when what should say so cannot be read.
    """
    path = folder / FETCHED_FOR
    return read_record(path, FetchedFor) if path.exists() else None


def changes(folder: Path, held: Mapping[str, int | str]) -> Changes:
    """Return how a folder differs from what its mark says it held; what Python leaves behind where it runs a script does not count."""
    found = dict(_held(folder, ""))
    return Changes(
        gone=tuple(sorted(held.keys() - found.keys())),
        other=tuple(sorted(path for path in held.keys() & found.keys() if held[path] != found[path])),
        more=tuple(sorted(found.keys() - held.keys() - {MARK})),
    )


def _held(folder: Path, above: str) -> Iterator[tuple[str, int | str]]:
    try:
        entries = list(os.scandir(folder / above))
    except OSError as error:
        raise HipwrightError(
            "bad-artifact", f"cannot read {folder / above}: {error.strerror}", where=Where(file=folder)
        ) from None
    for entry in entries:
        path = f"{above}{entry.name}"
        if entry.is_symlink():
            yield path, str(Path(entry.path).readlink()).replace(os.sep, "/")
        elif entry.is_dir(follow_symlinks=False):
            if entry.name != _CACHE:
                yield from _held(folder, f"{path}/")
        else:
            yield path, entry.stat(follow_symlinks=False).st_size
