"""The table of promises: what each channel says that it has, for whom, and how old the newest of it may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools.config.channels import PlainName, load_channels
from build_tools.config.fields import PlatformName, Table
from build_tools.config.load import load_toml
from build_tools.config.targets import known_targets
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FRESHNESS_FILE", "ChannelPromises", "FreshnessTable", "Promise", "load_freshness"]

FRESHNESS_FILE: Final = Path(__file__).parent / "data" / "freshness.toml"

_Project = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
_Python = Annotated[str, msgspec.Meta(pattern=r"^3\.[0-9]{1,2}t?$")]
_Hours = Annotated[int, msgspec.Meta(ge=1, le=24 * 366)]


class Promise(Table, frozen=True, kw_only=True):
    """Files that a channel promises: of each project for each platform, Python and family.

    ``projects`` are normalised names; with ``families`` they are what stands before ``-gfx…``. ``late_after_hours`` is how old the newest
    file may be; None where any age will do.
    """

    projects: Annotated[tuple[_Project, ...], msgspec.Meta(min_length=1)]
    platforms: Annotated[tuple[PlatformName, ...], msgspec.Meta(min_length=1)]
    pythons: tuple[_Python, ...] = ()
    families: tuple[str, ...] = ()
    late_after_hours: _Hours | None = None

    def cells(self) -> Iterator[tuple[str, str | None, str, str | None]]:
        """Yield what is promised, one by one: project as it is named in an index, family, platform, Python."""
        for project in self.projects:
            for family in self.families or (None,):
                name = project if family is None else f"{project}-{family.lower()}"
                for platform in self.platforms:
                    for python in self.pythons or (None,):
                        yield (name, family, platform, python)


class ChannelPromises(Table, frozen=True, kw_only=True):
    """What a channel promises; nothing but that it holds a file when there is no promise."""

    name: PlainName
    promise: tuple[Promise, ...] = ()


class FreshnessTable(Table, frozen=True, kw_only=True):
    """All channels' promises."""

    schema: Literal[1]
    channel: tuple[ChannelPromises, ...]

    def of_channel(self, name: str) -> ChannelPromises:
        """Return the promises of a channel that the channel table has."""
        return next(one for one in self.channel if one.name == name)


def load_freshness(path: Path = FRESHNESS_FILE) -> FreshnessTable:
    """Read the table of promises.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it does not fit the model, lacks a channel, names one twice or one that there is not, names a GPU family
        that nobody knows, or promises the same twice.
    """
    table = load_toml(path, FreshnessTable)
    known = [channel.name for channel in load_channels().channel]
    named = [one.name for one in table.channel]
    families = {*known_targets().families, *known_targets().targets}
    problems = [f"the channel {name} has no entry" for name in known if name not in named]
    problems += [f"the channel {name} is there twice" for name in dict.fromkeys(named) if named.count(name) > 1]
    problems += [f"there is no channel {name}" for name in dict.fromkeys(named) if name not in known]
    for channel in table.channel:
        wanted = dict.fromkeys(family for promise in channel.promise for family in promise.families)
        problems += [f"there is no GPU family {family}" for family in wanted if family not in families]
        cells = [cell for promise in channel.promise for cell in promise.cells()]
        twice = dict.fromkeys(cell[0] for cell in cells if cells.count(cell) > 1)
        problems += [f"the channel {channel.name} promises the same of {project} twice" for project in twice]
    if problems:
        raise HipwrightError("bad-data-file", "; ".join(problems), where=Where(file=path))
    return table
