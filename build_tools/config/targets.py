"""GPU targets and families, read from ``data/targets.toml``."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

import msgspec

from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError
from build_tools.types import GfxTarget

__all__ = ["Targets", "expand_family", "known_targets", "parse_targets"]


class Targets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table: all targets, and families by name."""

    targets: tuple[str, ...]
    families: dict[str, tuple[str, ...]]


@functools.cache
def known_targets() -> Targets:
    """Return the table of targets and families."""
    return load_toml(Path(__file__).parent / "data" / "targets.toml", Targets)


def expand_family(name: str) -> tuple[GfxTarget, ...]:
    """Return the targets of a family; a target is a family of its own.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when there is no such family.
    """
    table = known_targets()
    if name in table.targets:
        return (GfxTarget(name),)
    if name not in table.families:
        names = [*table.families, *table.targets]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"families: {', '.join(table.families)}"
        raise HipwrightError("bad-option-value", f"there is no GPU family {name!r}", hint=hint)
    return tuple(GfxTarget(target) for target in table.families[name])


def parse_targets(names: tuple[str, ...]) -> tuple[GfxTarget, ...]:
    """Return target names as targets, in order, each once; features such as ``:xnack+`` are kept.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when a name is no target.
    """
    table = known_targets()
    chosen: dict[GfxTarget, None] = {}
    for name in names:
        base = name.split(":")[0]
        if base not in table.targets:
            near = difflib.get_close_matches(base, table.targets, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"targets: {', '.join(table.targets)}"
            raise HipwrightError("bad-option-value", f"there is no GPU target {name!r}", hint=hint)
        chosen[GfxTarget(name)] = None
    return tuple(chosen)
