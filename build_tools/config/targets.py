"""GPU targets and families, read from ``data/targets.toml``."""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError
from build_tools.types import GfxTarget

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Target",
    "Targets",
    "expand_family",
    "family_name",
    "family_names",
    "family_of_group",
    "known_targets",
    "offers",
    "parse_target",
    "parse_targets",
    "target_of",
]

_FEATURE: Final = re.compile(r"[a-z][a-z0-9]*[+-]")


class Targets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table: all targets, families by name, and short names of families."""

    targets: tuple[str, ...]
    aliases: dict[str, str]
    families: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A GPU target by its parts: ``gfx942:xnack+`` is the base ``gfx942`` with ``xnack+``; features stand in the order of their names."""

    base: str
    features: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ":".join((self.base, *self.features))


@functools.cache
def known_targets() -> Targets:
    """Return the table of targets and families."""
    return load_toml(Path(__file__).parent / "data" / "targets.toml", Targets)


def family_name(name: str) -> str:
    """Return the full name of a family, which may be named by a short one; a target is a family of its own.

    >>> family_name("gfx94x"), family_name("gfx942")
    ('gfx94X-dcgpu', 'gfx942')

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when there is no such family.
    """
    table = known_targets()
    if name in table.targets or name in table.families:
        return name
    if name in table.aliases:
        return table.aliases[name]
    names = [*table.families, *table.aliases, *table.targets]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"families: {', '.join(table.families)}"
    raise HipwrightError("bad-option-value", f"there is no GPU family {name!r}", hint=hint)


def family_names(text: str | None) -> tuple[str, ...]:
    """Return the full names of the families that a text names, each once; they are parted by commas, semicolons or blanks.

    >>> family_names("gfx94x, gfx120X-all"), family_names(None)
    (('gfx94X-dcgpu', 'gfx120X-all'), ())

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when there is no such family.
    """
    return tuple(dict.fromkeys(family_name(name) for name in re.split(r"[;,\s]+", text or "") if name))


def family_of_group(group: str) -> tuple[str, str] | None:
    """Return the family that an artifact group names, and the build variant behind it; None when it names none.

    >>> family_of_group("gfx94X-dcgpu-asan"), family_of_group("gfx942"), family_of_group("multi-arch-release")
    (('gfx94X-dcgpu', 'asan'), ('gfx942', ''), None)
    """
    table = known_targets()
    for name in sorted((*table.families, *table.aliases, *table.targets), key=len, reverse=True):
        if group == name or group.startswith(f"{name}-"):
            return family_name(name), group[len(name) + 1 :]
    return None


def expand_family(name: str) -> tuple[GfxTarget, ...]:
    """Return the targets of a family; a target is a family of its own.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when there is no such family.
    """
    full = family_name(name)
    return tuple(GfxTarget(target) for target in known_targets().families.get(full, (full,)))


def parse_target(text: str) -> Target | None:
    """Return a target that is written as compilers write it; None when the text is none, or names a feature twice.

    >>> parse_target("gfx942:xnack+:sramecc-"), parse_target("gfx9420")
    (Target(base='gfx942', features=('sramecc-', 'xnack+')), None)
    """
    base, *features = text.split(":")
    names = {feature[:-1] for feature in features}
    if base not in known_targets().targets or len(names) < len(features) or not all(map(_FEATURE.fullmatch, features)):
        return None
    return Target(base, tuple(sorted(features)))


def target_of(text: str) -> Target:
    """Return a target, as :func:`parse_target` does.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the text is none.
    """
    target = parse_target(text)
    if target is None:
        known = known_targets().targets
        parts = [part for part in re.split(r"[;\s]+", text) if part]
        near = difflib.get_close_matches(text.split(":", maxsplit=1)[0], known, n=3, cutoff=0.5)
        if len(parts) > 1 and all(map(parse_target, parts)):
            hint = f"part them by commas: {','.join(parts)}"
        else:
            hint = f"did you mean {' or '.join(near)}?" if near else f"targets: {', '.join(known)}"
        raise HipwrightError("bad-option-value", f"there is no GPU target {text!r}", hint=hint)
    return target


def parse_targets(names: tuple[str, ...]) -> tuple[GfxTarget, ...]:
    """Return target names as targets, in order, each once; features such as ``:xnack+`` are kept.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when a name is no target.
    """
    for name in names:
        target_of(name)
    return tuple(dict.fromkeys(map(GfxTarget, names)))


def offers(wanted: str, offered: Iterable[str]) -> tuple[str, ...]:
    """Return which of the names on offer are of a target or family, in their order.

    A target takes itself with any features that it does not contradict: ``gfx942`` takes ``gfx942:xnack+``, and ``gfx942:xnack+`` takes
    ``gfx942``, which runs in either mode, and never ``gfx942:xnack-``. A family takes its own name and what its targets take. Names are
    compared by their parts: ``gfx942`` never takes ``gfx9420``.

    Parameters
    ----------
    wanted
        A target, a family, or a family's short name.
    offered
        Targets and families; what is neither is of nobody.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when ``wanted`` is neither.
    """
    single = parse_target(wanted)
    if single is not None:
        return tuple(name for name in offered if _takes(single, parse_target(name)))
    family = family_name(wanted)
    members = [Target(target) for target in expand_family(family)]
    return tuple(name for name in offered if name == family or any(_takes(member, parse_target(name)) for member in members))


def _takes(wanted: Target, offered: Target | None) -> bool:
    if offered is None or offered.base != wanted.base:
        return False
    states = {feature[:-1]: feature[-1] for feature in offered.features}
    return all(states.get(feature[:-1], feature[-1]) == feature[-1] for feature in wanted.features)
