"""Which archives of a run are meant: by group, GPU targets and patterns, judged by their parsed names, and what of that the run lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.config.targets import expand_family, family_name, family_of_group, known_targets, offers, target_of
from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.name import ARCHIVE_SUFFIXES, SIDE_FILE_SUFFIX, ArtifactName, parse_artifact_name
from build_tools.types import GfxTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.stores.base import Listed
    from build_tools.types import ObjectKey

__all__ = ["Archive", "Choice", "Wanted", "archives_of", "choose", "meant_targets", "parse_wanted"]

_ALL_TARGETS: Final = re.compile(r"multi-arch(-.*)?")
"""The groups of runs that build for every target they can, as ROCm's CI calls them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """An artifact's archive in a store: its size in bytes, and the key of the file beside it that states its SHA-256."""

    name: ArtifactName
    key: ObjectKey
    size: int
    side_key: ObjectKey | None = None

    @property
    def filename(self) -> str:
        """The last part of its key."""
        return self.key.rpartition("/")[2]

    @property
    def local_name(self) -> str:
        """The name of a file with its bytes, one that every system can hold."""
        suffix = next(suffix for suffix in ARCHIVE_SUFFIXES if self.filename.endswith(suffix))
        return f"{self.name.folder}{suffix}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be fetched.

    Without a group and without targets that is everything. Targets may be families too; a group is a family, one with a build variant behind
    it, or one of those that hold all targets. Of the rest, only what each of ``include`` and none of ``exclude`` keeps.
    """

    group: str | None = None
    targets: tuple[str, ...] = ()
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The archives that are meant, by name, for each thing that the run lacks a few words, and the targets and families that it has."""

    archives: tuple[Archive, ...]
    missing: tuple[str, ...]
    targets: tuple[str, ...] = ()

    @property
    def lack(self) -> str:
        """What the run lacks, in words, and what it has instead."""
        told = ", ".join(self.missing)
        return f"{told}; it has artifacts for {', '.join(self.targets)}" if self.targets else told


@dataclass(frozen=True, kw_only=True, slots=True)
class _Family:
    """A family that is wanted, and the build variant of it."""

    name: str
    variant: str = ""

    @property
    def whole(self) -> str:
        return f"{self.name}-{self.variant}" if self.variant else self.name


def archives_of(listed: Iterable[Listed], prefix: str) -> tuple[Archive, ...]:
    """Return the archives that lie in a run's folder itself, sorted by name; of one artifact packed in two ways, the first way.

    Parameters
    ----------
    listed
        The objects below the folder.
    prefix
        The folder's key, without a final ``/``.
    """
    start = f"{prefix}/" if prefix else ""
    sizes = {one.key: one.size for one in listed if one.key.startswith(start) and "/" not in one.key[len(start) :]}
    sides = {key.removesuffix(SIDE_FILE_SUFFIX): key for key in sizes if key.endswith(SIDE_FILE_SUFFIX)}
    found: dict[ArtifactName, Archive] = {}
    for suffix in ARCHIVE_SUFFIXES:
        for key in sorted(sizes):
            name = parse_artifact_name(key[len(start) :]) if key.endswith(suffix) else None
            if name is not None and name not in found:
                found[name] = Archive(name=name, key=key, size=sizes[key], side_key=sides.get(key))
    return tuple(found[name] for name in sorted(found))


def parse_wanted(*, group: str | None, targets: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> Wanted:
    """Return what a person asked for.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a target, family or group that is none, or a pattern that is no regular expression.
    """
    for target in targets:
        if not _is_family(target):
            target_of(target)
    if group is not None and not targets and _ALL_TARGETS.fullmatch(group) is None and _family(group) is None:
        message = f"the artifact group {group!r} names no GPU family, so it does not say which targets are meant"
        raise HipwrightError("bad-option-value", message, hint="name them with --target gfx942,gfx1201")
    return Wanted(group=group, targets=tuple(targets), include=_patterns(include), exclude=_patterns(exclude))


def choose(found: Sequence[Archive], wanted: Wanted) -> Choice:
    """Return which of a run's archives are meant, and what is missing.

    Missing is a target or a family of which there is nothing, a pattern to include that nothing has, and everything when nothing is left.
    """
    missing: list[str] = []
    if not found:
        missing.append("all artifacts: it has none")
    chosen = {one.name for one in found}
    family = _family(wanted.group) if wanted.group is not None else None
    if wanted.targets or family is not None:
        chosen = {one.name for one in found if one.name.is_generic}
        if family is not None:
            own = _of_family(found, family, members=not wanted.targets)
            chosen |= own[0]
            missing += own[1] if not wanted.targets and found else []
        for target in wanted.targets:
            named = _Family(name=family_name(target)) if _is_family(target) else None
            more = _of_target(found, target) if named is None else _of_family(found, named, members=True)
            chosen |= more[0]
            missing += more[1] if found else []
    kept = [one for one in found if one.name in chosen]
    for pattern in wanted.include if found else ():
        if not any(pattern.search(one.filename) for one in kept):
            rest = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
            among = f" among {kept[0].filename}{rest}" if kept else ""
            missing.append(f"a match of --include {pattern.pattern}{among}")
    if wanted.include:
        kept = [one for one in kept if any(pattern.search(one.filename) for pattern in wanted.include)]
    kept = [one for one in kept if not any(pattern.search(one.filename) for pattern in wanted.exclude)]
    if not kept and not missing:
        missing.append("everything: the patterns leave nothing")
    there = dict.fromkeys(one.name.target for one in found if not one.name.is_generic)
    return Choice(archives=tuple(kept), missing=tuple(dict.fromkeys(missing)), targets=tuple(there))


def meant_targets(wanted: Wanted) -> tuple[GfxTarget, ...]:
    """Return the GPU targets that are meant, without their features, in the order of the table; none when all of a run's are.

    >>> meant_targets(Wanted(group="gfx120X-all")), meant_targets(Wanted(targets=("gfx942:xnack+",)))
    (('gfx1200', 'gfx1201'), ('gfx942',))
    """
    names: set[GfxTarget] = set()
    for target in wanted.targets:
        names |= set(expand_family(target)) if _is_family(target) else {GfxTarget(target_of(target).base)}
    family = _family(wanted.group) if wanted.group is not None and not wanted.targets else None
    if family is not None:
        names |= set(expand_family(family.name))
    return tuple(GfxTarget(name) for name in known_targets().targets if name in names)


def _of_family(found: Sequence[Archive], family: _Family, *, members: bool) -> tuple[set[ArtifactName], list[str]]:
    """Return the artifacts of a family and, with ``members``, of its targets; and those of its targets of which there is nothing."""
    names = {one.name for one in found}
    # Of a variant's run the artifacts may bear the variant, or only the run does.
    own = {name for name in names if name.target == family.whole} or {name for name in names if name.target == family.name}
    if not members:
        return own, []
    chosen = set(own)
    missing = []
    for target in expand_family(family.name):
        of_target = _taking(names, target)
        chosen |= of_target
        if not own and not of_target:
            missing.append(f"{target}, of {family.whole}" if target != family.whole else target)
    return chosen, missing


def _of_target(found: Sequence[Archive], target: str) -> tuple[set[ArtifactName], list[str]]:
    """Return the artifacts of a target; where there is none, those of the one family that the run has and that it belongs to."""
    names = {one.name for one in found}
    own = _taking(names, target)
    if own:
        return own, []
    base = GfxTarget(target_of(target).base)
    families = known_targets().families
    holding = sorted({name.target for name in names if base in families.get(name.target, ())})
    if len(holding) > 1:
        return set(), [f"{target}: several families have it, {' and '.join(holding)}; name one with --artifact-group"]
    return {name for name in names if name.target in holding}, [] if holding else [target]


def _taking(names: Iterable[ArtifactName], target: str) -> set[ArtifactName]:
    return {name for name in names if offers(target, (name.target,))}


def _family(text: str) -> _Family | None:
    """Return the family that a text names, with the build variant behind it; a target is a family of its own."""
    found = family_of_group(text)
    return _Family(name=found[0], variant=found[1]) if found else None


def _is_family(text: str) -> bool:
    return text in known_targets().families or text in known_targets().aliases


def _patterns(texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    found = []
    for text in texts:
        try:
            found.append(re.compile(text))
        except re.error as error:
            raise HipwrightError("bad-option-value", f"{text!r} is no regular expression: {error}") from None
    return tuple(found)
