"""A patch series: ``series.toml`` and the patch files that it names, in order.

A file's place says what it is for: ``<module>/base/NNNN-name.patch`` changes what hipify will read, ``<module>/hipified/NNNN-name.patch``
changes its result. ``<module>`` is the submodule's path, and ``root`` for the root of the tree.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools import digest
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.lock import LockedPatches
from build_tools.sources.modules import ROOT

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.sources.phases import Phase
    from build_tools.types import Platform, Sha256

__all__ = ["NAME", "Patch", "PatchEntry", "Series", "SeriesFile", "find_line", "load_series", "lock_patches"]

NAME: Final = "series.toml"
"""The file that gives a series its order and each patch its reason."""

ROOT_FOLDER: Final = "root"
"""The folder of the root's patches."""

_PARTS: Final = 3
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class PatchEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One ``[[patch]]``: the file, why it exists, where it stands upstream, who cares for it, where it applies, since when, until when."""

    file: NonEmpty
    why: NonEmpty
    upstream: NonEmpty
    owner: NonEmpty
    platforms: Annotated[tuple[Literal["linux", "windows"], ...], msgspec.Meta(min_length=1)] = ("linux", "windows")
    added: dt.date
    drop_when: str | None = None


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


def find_line(project: Project, ref: str, *, folder: Path) -> tuple[str | None, str]:
    """Return the patch line of a ref, None for a declared state of no patches, and the reason.

    A rule that names the ref exactly counts before patterns; of patterns, the first that matches.

    Parameters
    ----------
    project
        The project with its rules.
    ref
        The ref as the lock has it.
    folder
        The project's folder, for the hint.

    Raises
    ------
    HipwrightError
        ``no-line`` when no rule matches.
    """
    exact = [rule for rule in project.lines if rule.ref == ref]
    matching = [rule for rule in project.lines if fnmatch.fnmatchcase(ref, rule.ref)]
    for rule in exact + matching:
        what = f"{ref} is named by the rule" if rule.ref == ref else f"{ref} matches the rule"
        why = f": {rule.why}" if rule.why else ""
        where = f"patches/{rule.line}" if rule.line is not None else "no patches"
        return rule.line, f"{what} {rule.ref!r}, {where}{why}"
    rules = ", ".join(f"{rule.ref!r} → {rule.line or 'no patches'}" for rule in project.lines) or "none"
    held = ", ".join(sorted(path.parent.name for path in folder.glob(f"patches/*/{NAME}"))) or "none"
    message = f"no rule of {project.name} gives a patch line for {ref!r}; its rules: {rules}; lines on disk: {held}"
    hint = f'add to project.toml: [[lines]] ref = "{ref}" and line = "<one of the lines>", or why = "<why it needs no patches>"'
    raise HipwrightError("no-line", message, where=Where(file=folder / "project.toml", key="lines"), hint=hint)


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
        format, or is on disk and not named; ``bad-data-file`` when ``series.toml`` does not fit its model.
    """
    if line is None:
        return Series(line=None, patches=(), digest=digest.of_value([]))
    place = folder / "patches" / line
    path = place / NAME
    if not path.is_file():
        message = f"the patch line {line!r} has no {NAME}"
        raise HipwrightError(
            "bad-series", message, where=Where(file=path), hint="make that file, or change the rule in project.toml"
        )
    patches = tuple(_read(place, path, entry) for entry in load_toml(path, SeriesFile).patch)
    named = [patch.name for patch in patches]
    for name in named:
        if named.count(name) > 1:
            raise _bad(path, f"{name} is named {named.count(name)} times", name)
    stray = sorted(found.relative_to(place).as_posix() for found in place.rglob("*.patch"))
    for name in stray:
        if name not in named:
            message = f"{place / name} is on disk, and {NAME} does not name it"
            raise HipwrightError("bad-series", message, where=Where(file=path), hint="add it to the series, or remove it")
    rows = [[msgspec.to_builtins(patch.entry), digest.of_bytes(patch.data)] for patch in patches]
    return Series(line=line, patches=patches, digest=digest.of_value(rows))


def lock_patches(project: Project, ref: str, *, folder: Path) -> LockedPatches:
    """Return the patch line of a ref with the digest of its series, as the lock keeps it.

    Raises
    ------
    HipwrightError
        As :func:`find_line` and :func:`load_series`.
    """
    line, reason = find_line(project, ref, folder=folder)
    return LockedPatches(line=line, reason=reason, digest=load_series(folder, line).digest)


def _read(place: Path, series: Path, entry: PatchEntry) -> Patch:
    parts = PurePosixPath(entry.file).parts
    phase: Phase | None = None
    if len(parts) >= _PARTS:
        phase = "base" if parts[-2] == "base" else "hipified" if parts[-2] == "hipified" else None
    if phase is None or ".." in parts or PurePosixPath(entry.file).is_absolute() or not entry.file.endswith(".patch"):
        raise _bad(series, f"{entry.file} is no <module>/base/<name>.patch and no <module>/hipified/<name>.patch", entry.file)
    file = place / entry.file
    try:
        data = file.read_bytes()
    except OSError:
        raise _bad(series, f"{entry.file} is named here and cannot be read", entry.file) from None
    first = data.split(b"\n", 1)[0]
    if not first.startswith(b"From "):
        raise _bad(file, f"{entry.file} is not in the mail format: its first line does not begin with 'From '", None, line=1)
    if first.endswith(b"\r"):
        hint = "git converted it on checkout: *.patch needs -text in .gitattributes"
        raise HipwrightError("bad-series", f"{entry.file} has CR LF line ends", where=Where(file=file, line=1), hint=hint)
    if not data.endswith(b"\n"):
        raise _bad(file, f"{entry.file} does not end with a newline", None, line=data.count(b"\n") + 1)
    module = "/".join(parts[:-2])
    return Patch(entry=entry, module=ROOT if module == ROOT_FOLDER else module, phase=phase, file=file, data=data)


def _bad(file: Path, message: str, name: str | None, *, line: int | None = None) -> HipwrightError:
    if name is not None:
        texts = file.read_text(encoding="utf-8").splitlines()
        numbers = [number for number, text in enumerate(texts, start=1) if name in text]
        line = numbers[-1] if numbers else None
    return HipwrightError("bad-series", message, where=Where(file=file, line=line))
