"""The retention table: how long each channel keeps files and hidden ones wait before they are deleted, how long outputs of runs stay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from build_tools.config.channels import PlainName, ReleaseTypeName, load_channels
from build_tools.config.fields import Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where

__all__ = ["RETENTION_FILE", "ChannelRetention", "RetentionTable", "RunRetention", "load_retention"]

RETENTION_FILE: Final = Path(__file__).parent / "data" / "retention.toml"

_Days = Annotated[int, msgspec.Meta(ge=1, le=36500)]


class ChannelRetention(Table, frozen=True, kw_only=True):
    """How long a channel keeps a file, in days since its upload; for ever when ``keep_days`` is None."""

    name: PlainName
    keep_days: _Days | None = None


class RunRetention(Table, frozen=True, kw_only=True):
    """How long the outputs of runs of a release type stay, in days since anything was put there; for ever when ``keep_days`` is None."""

    release_type: ReleaseTypeName
    keep_days: _Days | None = None


class RetentionTable(Table, frozen=True, kw_only=True):
    """The retention of all channels, and of runs of all release types.

    ``grace_days`` is how long a file that was taken out of an index lies there before it may be deleted. What the channels in
    ``keep_bytes_of`` hold is kept everywhere.
    """

    schema: Literal[1]
    grace_days: _Days
    keep_bytes_of: tuple[PlainName, ...]
    channel: tuple[ChannelRetention, ...]
    run: tuple[RunRetention, ...]

    def of_channel(self, name: str) -> ChannelRetention:
        """Return the retention of a channel that the channel table has."""
        return next(one for one in self.channel if one.name == name)

    def of_runs(self, release_type: str) -> RunRetention:
        """Return the retention of runs of a release type that the channel table has."""
        return next(one for one in self.run if one.release_type == release_type)


def load_retention(path: Path = RETENTION_FILE) -> RetentionTable:
    """Read the retention table.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it does not fit the model, lacks a channel or a release type, or names one twice or one that there is not.
    """
    table = load_toml(path, RetentionTable)
    known = [channel.name for channel in load_channels().channel]
    named = [one.name for one in table.channel]
    types = [one.release_type for one in table.run]
    problems = [f"the channel {name} has no entry" for name in known if name not in named]
    problems += [f"the channel {name} is there twice" for name in dict.fromkeys(named) if named.count(name) > 1]
    problems += [f"there is no channel {name}" for name in dict.fromkeys((*named, *table.keep_bytes_of)) if name not in known]
    problems += [f"the release type {one.name} has no entry" for one in load_channels().release_type if one.name not in types]
    problems += [f"the release type {name} is there twice" for name in dict.fromkeys(types) if types.count(name) > 1]
    if problems:
        raise HipwrightError("bad-data-file", "; ".join(problems), where=Where(file=path))
    return table
