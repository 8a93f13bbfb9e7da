"""A patch series: ``series.toml`` and the patch files that it names, in order.

A file's place says what it is for: ``<module>/base/NNNN-name.patch`` changes what hipify will read, ``<module>/hipified/NNNN-name.patch``
changes its result. ``<module>`` is the submodule's path, and ``root`` for the root of the tree.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.version import Version

from build_tools import digest
from build_tools.config.load import line_of, load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.patches.hints import drop_line
from build_tools.patches.layout import NAME, link_in, patch_files, place_of
from build_tools.patches.lines import find_line, lines_on_disk
from build_tools.patches.sections import may_move_submodules
from build_tools.patches.write import settle_series
from build_tools.process import printable
from build_tools.receipts.ids import CommitId
from build_tools.receipts.lock import LockedPatches
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.sources.phases import Phase
    from build_tools.types import Sha256

__all__ = [
    "DIVIDES",
    "DIVIDES_HINT",
    "LINKED",
    "LINKED_HINT",
    "NAME",
    "DropWhen",
    "Patch",
    "PatchEntry",
    "Series",
    "SeriesFile",
    "load_series",
    "lock_patches",
]

DIVIDES: Final = "is for some platforms alone and may move submodules, and a lock has the submodules of all platforms"
DIVIDES_HINT: Final = "let it be for every platform, or split it: what moves submodules apart from what is for one platform"
"""What is said of a patch that :attr:`Patch.divides_submodules`."""

LINKED: Final = "lies behind a symbolic link, so it is no file of this line on every machine:"
LINKED_HINT: Final = "have the file itself there"
"""What is said of a patch behind a link."""

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class DropWhen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a patch is to go: once the sources are of a version, or hold a commit of upstream's; one of the two."""

    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9][0-9A-Za-z.+!-]*(?!\n)$")] | None = None
    commit: CommitId | None = None

    def __post_init__(self) -> None:
        """Refuse both and none."""
        if (self.version is None) == (self.commit is None):
            message = "say either version or commit"
            raise ValueError(message)
        if self.version is not None:
            # Says by itself, as a ValueError, what is no version.
            Version(self.version)


class PatchEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One ``[[patch]]``: the file, why it exists, where it stands upstream, who cares for it, where it applies, since when, until when."""

    file: NonEmpty
    why: NonEmpty
    upstream: NonEmpty
    owner: NonEmpty
    platforms: Annotated[tuple[Literal["linux", "windows"], ...], msgspec.Meta(min_length=1)] = ("linux", "windows")
    added: dt.date
    drop_when: DropWhen | None = None


class SeriesFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``series.toml``."""

    schema: Literal[1]
    patch: tuple[PatchEntry, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """One patch of a series, with its bytes; ``module`` is the module's path as source trees have it."""

    entry: PatchEntry
    module: str
    phase: Phase
    file: Path
    data: bytes

    @property
    def name(self) -> str:
        """The patch as messages name it."""
        return self.entry.file

    @property
    def divides_submodules(self) -> bool:
        """Whether the patch may give a tree other submodules on one platform than on another; one lock is for both."""
        everywhere = all(self.applies_on(platform) for platform in Platform)
        return self.phase == "base" and not everywhere and may_move_submodules(self.data)

    def applies_on(self, platform: Platform) -> bool:
        """Return whether the patch is for a platform."""
        return platform.value in self.entry.platforms


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A line's patches in order; none for a declared state of no patches. ``digest`` covers the order, the data and every byte."""

    line: str | None
    patches: tuple[Patch, ...]
    digest: Sha256

    def select(self, phase: Phase, module: str, platform: Platform) -> tuple[Patch, ...]:
        """Return the patches of one module and phase that are for a platform, in order."""
        return tuple(
            patch for patch in self.patches if (patch.phase, patch.module) == (phase, module) and patch.applies_on(platform)
        )


def load_series(folder: Path, line: str | None) -> Series:
    """Read the series of a line.

    Parameters
    ----------
    folder
        The project's folder.
    line
        The folder below ``patches``; None for a declared state of no patches.

    Raises
    ------
    HipwrightError
        ``bad-series`` when the line has no folder, a file is missing, is named twice, lies in no module and phase, is not in the mail
        format, or is on disk and not named, or a patch for some platforms alone may move submodules; ``bad-data-file`` when
        ``series.toml`` does not fit its model.
    """
    if line is None:
        return Series(line=None, patches=(), digest=digest.of_value([]))
    place = folder / "patches" / line
    settle_series(place)
    path = place / NAME
    if not path.is_file():
        held = ", ".join(lines_on_disk(folder)) or "none"
        message = f"the patch line {line!r} has no {NAME}; lines that have one: {held}"
        begin = printable(["invoke", "new-series", "--projects", folder.name, "--line", line])
        hint = f"begin it: {begin}; or change the rule in project.toml"
        raise HipwrightError("bad-series", message, where=Where(file=path), hint=hint)
    patches = tuple(_read(place, path, entry, number) for number, entry in enumerate(load_toml(path, SeriesFile).patch))
    named = [patch.name for patch in patches]
    for number, name in enumerate(named):
        if name in named[:number]:
            raise _bad(path, f"{name} is named {named.count(name)} times", number)
    for name in patch_files(place):
        if name not in named:
            message = f"{place / name} is on disk, and {NAME} does not name it"
            raise HipwrightError("bad-series", message, where=Where(file=path), hint="add it to the series, or remove it")
    rows = [[msgspec.to_builtins(patch.entry), digest.of_bytes(patch.data)] for patch in patches]
    return Series(line=line, patches=patches, digest=digest.of_value(rows))


def lock_patches(project: Project, ref: str, *, folder: Path, asked: str | None = None) -> LockedPatches:
    """Return the patch line of a ref, or the one that is asked for, with the digest of its series, as the lock keeps it.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.patches.lines.find_line` and :func:`load_series`.
    """
    line, reason = find_line(project, ref, folder=folder, asked=asked)
    return LockedPatches(line=line, reason=reason, digest=load_series(folder, line).digest)


def _read(place: Path, series: Path, entry: PatchEntry, number: int) -> Patch:
    lies = place_of(entry.file)
    if lies is None:
        raise _bad(series, f"{entry.file} is no <module>/base/<name>.patch and no <module>/hipified/<name>.patch", number)
    module, phase = lies
    file = place / entry.file
    link = link_in(place, entry.file)
    if link is not None:
        raise _bad(series, f"{entry.file} {LINKED} {link}", number, hint=LINKED_HINT)
    try:
        data = file.read_bytes()
    except OSError:
        hint = f"bring the file back; or take the entry out: {drop_line(entry.file)}"
        raise _bad(series, f"{entry.file} is named here and cannot be read", number, hint=hint) from None
    first = data.split(b"\n", 1)[0]
    if not first.startswith(b"From "):
        message = f"{entry.file} is not in the mail format: its first line does not begin with 'From '"
        raise HipwrightError("bad-series", message, where=Where(file=file, line=1))
    if first.endswith(b"\r"):
        hint = "git converted it on checkout: *.patch needs -text in .gitattributes"
        raise HipwrightError("bad-series", f"{entry.file} has CR LF line ends", where=Where(file=file, line=1), hint=hint)
    if not data.endswith(b"\n"):
        message = f"{entry.file} does not end with a newline"
        raise HipwrightError("bad-series", message, where=Where(file=file, line=data.count(b"\n") + 1))
    patch = Patch(entry=entry, module=module, phase=phase, file=file, data=data)
    if patch.divides_submodules:
        raise _bad(series, f"{entry.file} {DIVIDES}", number, hint=DIVIDES_HINT)
    return patch


def _bad(series: Path, message: str, number: int, *, hint: str | None = None) -> HipwrightError:
    """Return the error for an entry of a series, with its line."""
    line = line_of(series.read_text(encoding="utf-8"), ["patch", number, "file"])
    return HipwrightError("bad-series", message, where=Where(file=series, line=line), hint=hint)
