"""The channel table: where promotion leads and what it demands, and what each release type stands for."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.types import GfxTarget  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CHANNELS_FILE", "Channel", "ChannelTable", "ReleaseType", "ReleaseTypeName", "VersionStage", "load_channels"]

CHANNELS_FILE: Final = Path(__file__).parent / "data" / "channels.toml"

ReleaseTypeName = Literal["ci", "dev", "nightly", "prerelease", "release"]
VersionStage = Literal["dev", "a", "b", "rc"]
"""What a version says of itself: a build of one change, an alpha (a nightly), a beta, a candidate (PEP 440)."""

PlainName = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9-]*$")]


class Channel(Table, frozen=True, kw_only=True):
    """A distribution place that promotion alone fills.

    ``prefix`` is its folder in a store, without a final ``/``. ``accepts_cpu_only`` tells whether tests without a GPU are enough;
    otherwise every wheel needs a passed verdict from at least one GPU, and one for each of ``required_targets``. ``release_types`` are
    those of the runs that it takes from; any run, a person's own too, when there are none. ``refused_stages`` are the kinds of
    versions that do not enter, and ``refused_rocm_stages`` those of the ROCm that a local version names.
    """

    name: PlainName
    summary: NonEmpty
    prefix: NonEmpty
    accepts_cpu_only: bool
    required_targets: tuple[GfxTarget, ...] = ()
    release_types: tuple[ReleaseTypeName, ...] = ()
    refused_stages: tuple[VersionStage, ...] = ()
    refused_rocm_stages: tuple[VersionStage, ...] = ()


class ReleaseType(Table, frozen=True, kw_only=True):
    """What a release type stands for.

    ``rocm_index_url`` is the public index whose ROCm packages it builds against when no other source is named; without one a source
    must be named. ``supersede`` tells whether a later attempt of a run may publish other bytes under a name in the run's outputs.
    """

    name: ReleaseTypeName
    supersede: bool
    rocm_index_url: str | None = None


class ChannelTable(Table, frozen=True, kw_only=True):
    """All channels and release types.

    ``desk_release_type`` is the one whose index a person's own run builds against; ``desk_supersede`` tells whether a later attempt
    at a desk may publish other bytes under a name in its own outputs.
    """

    schema: Literal[1]
    desk_release_type: str
    desk_supersede: bool
    channel: tuple[Channel, ...]
    release_type: tuple[ReleaseType, ...]

    def find_channel(self, name: str) -> Channel:
        """Return a channel by its name.

        Raises
        ------
        HipwrightError
            ``unknown-channel`` with all names and the close ones.
        """
        for channel in self.channel:
            if channel.name == name:
                return channel
        names = [channel.name for channel in self.channel]
        raise HipwrightError("unknown-channel", f"there is no channel {name!r}", hint=_advice(name, names))

    def find_release_type(self, name: str) -> ReleaseType:
        """Return a release type by its name.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` with all names and the close ones.
        """
        for release_type in self.release_type:
            if release_type.name == name:
                return release_type
        names = [release_type.name for release_type in self.release_type]
        raise HipwrightError("bad-option-value", f"there is no release type {name!r}", hint=_advice(name, names))

    def may_supersede(self, release_type: str | None) -> bool:
        """Return whether a later attempt of a run of a release type, or at a desk, may publish other bytes in its own outputs.

        Raises
        ------
        HipwrightError
            As :meth:`find_release_type`.
        """
        return self.desk_supersede if release_type is None else self.find_release_type(release_type).supersede


def load_channels(path: Path = CHANNELS_FILE) -> ChannelTable:
    """Read the channel table.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the file does not fit the model, a name or a prefix is there twice, one prefix lies inside another, or
        the desk's release type is not in the table.
    """
    table = load_toml(path, ChannelTable)
    prefixes = [f"{channel.prefix}/" for channel in table.channel]
    problems = [
        *(f"the channel {name} is there twice" for name in _twice(channel.name for channel in table.channel)),
        *(f"the release type {name} is there twice" for name in _twice(one.name for one in table.release_type)),
        *(f"two channels have the prefix {prefix}" for prefix in _twice(prefixes)),
        *(
            f"the prefix {inner} lies inside {outer}"
            for outer in prefixes
            for inner in prefixes
            if inner != outer and inner.startswith(outer)
        ),
    ]
    if table.desk_release_type not in {one.name for one in table.release_type}:
        problems.append(f"desk-release-type names {table.desk_release_type!r}, which is not in the table")
    if problems:
        raise HipwrightError("bad-data-file", "; ".join(problems), where=Where(file=path))
    return table


T = TypeVar("T")


def _twice(values: Iterable[T]) -> list[T]:
    seen: list[T] = []
    found: list[T] = []
    for value in values:
        (found if value in seen else seen).append(value)
    return found


def _advice(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    known = f"known are {', '.join(names)}"
    return f"did you mean {close[0]}? {known}" if close else known
