"""What a machine has to have, by what it is for, read from ``data/fitness.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal, TypeAlias

from packaging.version import InvalidVersion, Version

from build_tools.config.fields import NonEmpty, PlatformName, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where

__all__ = ["Demand", "FitnessTable", "Measure", "Role", "fitness_table"]

_FILE: Final = Path(__file__).parent / "data" / "fitness.toml"

Role: TypeAlias = Literal["build", "test", "publish"]
Measure: TypeAlias = Literal[
    "os",
    "driver",
    "rocm",
    "memory",
    "disk",
    "python",
    "python-venv",
    "visual-studio",
    "tool",
    "packages",
    "groups",
    "gpus",
    "labels",
    "network",
]

_LISTS: Final = frozenset({"packages", "groups", "gpus", "labels"})
_NAMED: Final = frozenset({"os", "tool"})


class Demand(Table, frozen=True, kw_only=True):
    """One demand: what is looked at, of which machines, what it has to be, and what mends it.

    ``at_least`` is a version, or an amount in GB. ``fix`` may have ``{missing}`` and ``{wanted}`` in it.
    """

    measure: Measure
    roles: tuple[Role, ...]
    platform: PlatformName
    name: NonEmpty | None = None
    at_least: NonEmpty | None = None
    one_of: tuple[NonEmpty, ...] = ()
    all_of: tuple[NonEmpty, ...] = ()
    fix: NonEmpty


class FitnessTable(Table, frozen=True, kw_only=True):
    """All demands."""

    schema: Literal[1]
    demand: tuple[Demand, ...]

    def demands(self, role: str, platform: str) -> tuple[Demand, ...]:
        """Return the demands on a machine for a role."""
        return tuple(one for one in self.demand if role in one.roles and one.platform == platform)


@functools.cache
def fitness_table(path: Path = _FILE) -> FitnessTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also for a demand whose keys do not fit its measure.
    """
    table = load_toml(path, FitnessTable)
    for number, one in enumerate(table.demand):
        wrong = _wrong(one)
        if wrong is not None:
            raise HipwrightError("bad-data-file", wrong, where=Where(file=path, key=f"demand.{number}"))
    return table


def _wrong(one: Demand) -> str | None:
    """Return what is wrong with a demand, None when nothing is."""
    if not one.roles:
        return f"the demand on {one.measure} is for no role"
    if (one.measure in _LISTS) is not bool(one.one_of or one.all_of):
        return f"{one.measure} {'needs' if one.measure in _LISTS else 'takes no'} one-of or all-of"
    if (one.measure in _NAMED) is not (one.name is not None):
        return f"{one.measure} {'needs' if one.measure in _NAMED else 'takes no'} name"
    try:
        one.fix.format(missing="", wanted="")
        Version(one.at_least or "0")
    except (KeyError, IndexError, ValueError, InvalidVersion) as error:
        return f"the demand on {one.measure} cannot be read: {error}"
    return None
