"""Looking at a whole series without the sources: ``series.toml`` and the files beside it, each patch, and what only shows side by side.

:func:`build_tools.patches.series.load_series` refuses a series at the first thing that is wrong. Here all of it is told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from build_tools.config.load import line_of, load_toml
from build_tools.errors import HipwrightError
from build_tools.patches.findings import PatchFinding, finding
from build_tools.patches.layout import NAME, link_in, patch_files, place_of
from build_tools.patches.lint import lint_patch
from build_tools.patches.mail import parse_mail
from build_tools.patches.series import DIVIDES, DIVIDES_HINT, LINKED, LINKED_HINT, Patch, SeriesFile
from build_tools.patches.write import settle_series
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from build_tools.patches.series import PatchEntry

__all__ = ["lint_series"]

_NUMBER: Final = re.compile(r"\d+")


def lint_series(place: Path) -> list[PatchFinding]:
    """Return what is wrong with the series in a line's folder; files are named as from that folder.

    Parameters
    ----------
    place
        The folder with ``series.toml``.
    """
    settle_series(place)
    path = place / NAME
    try:
        entries = load_toml(path, SeriesFile).patch
    except HipwrightError as error:
        line = error.where.line if error.where else None
        return [finding("series-file", error.message, file=NAME, line=line, hint=error.hint)]
    listed = _Listed(place=place, text=path.read_text(encoding="utf-8"), entries=entries)
    patches, found = listed.read()
    for patch in patches:
        found += lint_patch(patch)
    return [*found, *listed.compare(patches), *_unnamed(place, {entry.file for entry in entries})]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    """What a series lists."""

    place: Path
    text: str
    entries: tuple[PatchEntry, ...]

    def read(self) -> tuple[list[Patch], list[PatchFinding]]:
        """Return the patches that can be read, and what is wrong with the others; a file that is named twice counts once."""
        patches: dict[str, Patch] = {}
        found = []
        for number, entry in enumerate(self.entries):
            lies = place_of(entry.file)
            if entry.file in patches:
                found.append(self._at(number, "same-file", f"{entry.file} is named before"))
            elif lies is None:
                message = f"{entry.file} is no <module>/base/<name>.patch and no <module>/hipified/<name>.patch"
                found.append(self._at(number, "bad-place", message))
            elif (link := link_in(self.place, entry.file)) is not None:
                found.append(self._at(number, "bad-place", f"{entry.file} {LINKED} {link}", hint=LINKED_HINT))
            else:
                file = self.place / entry.file
                try:
                    data = file.read_bytes()
                except OSError as error:
                    found.append(self._at(number, "missing-file", f"{entry.file} cannot be read: {error.strerror}"))
                else:
                    module, phase = lies
                    patches[entry.file] = Patch(entry=entry, module=module, phase=phase, file=file, data=data)
        return list(patches.values()), found

    def compare(self, patches: list[Patch]) -> Iterator[PatchFinding]:
        """Yield what is wrong with patches beside each other."""
        for patch in patches:
            if patch.divides_submodules:
                yield self._of(patch, "one-lock", f"{patch.name} {DIVIDES}", hint=DIVIDES_HINT)
        subjects = {patch.name: parse_mail(patch.data).subject for patch in patches}
        for patch, other in _alike(patches, lambda patch: patch.name.casefold()):
            message = f"{patch.name} and {other.name} are one file where capital and small letters are the same"
            yield self._of(patch, "same-letters", message, hint="rename one of them, here and on disk")
        for patch, other in _alike(patches, _numbered):
            message = f"{patch.name} has the number of {PurePosixPath(other.name).name}"
            yield self._of(patch, "same-number", message, hint="rename one of them, here and on disk; the order is the series'")
        for patch, other in _alike(
            patches, lambda patch: (patch.module, patch.phase, subjects[patch.name]) if subjects[patch.name] else None
        ):
            message = f"{patch.name} has the subject of {PurePosixPath(other.name).name}: {shown(subjects[patch.name])}"
            yield self._of(patch, "same-subject", message, hint="say in the subjects what sets them apart")

    def _of(self, patch: Patch, rule: str, message: str, *, hint: str | None = None) -> PatchFinding:
        number = next(number for number, entry in enumerate(self.entries) if entry is patch.entry)
        return self._at(number, rule, message, hint=hint)

    def _at(self, number: int, rule: str, message: str, *, hint: str | None = None) -> PatchFinding:
        line = line_of(self.text, ["patch", number, "file"])
        return finding(rule, message, file=NAME, line=line, hint=hint)


def _numbered(patch: Patch) -> Hashable:
    path = PurePosixPath(patch.name)
    number = _NUMBER.match(path.name)
    return None if number is None else (path.parent, int(number[0]))


def _alike(patches: list[Patch], key: Callable[[Patch], Hashable]) -> Iterator[tuple[Patch, Patch]]:
    """Yield the patches whose key, if they have one, is that of an earlier one, each with the first of those."""
    groups: dict[Hashable, list[Patch]] = defaultdict(list)
    for patch in patches:
        value = key(patch)
        if value is not None:
            groups[value].append(patch)
    for first, *others in groups.values():
        for other in others:
            yield other, first


def _unnamed(place: Path, named: set[str]) -> Iterator[PatchFinding]:
    for name in patch_files(place):
        if name not in named:
            hint = f"add it to {NAME}, or remove it"
            yield finding("unnamed-file", f"{shown(name)} is on disk, and {NAME} does not name it", file=shown(name), hint=hint)
