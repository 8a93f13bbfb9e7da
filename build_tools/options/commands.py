"""The commands: which options each takes. Sessions and tasks, the reference page and the tests read this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from build_tools.options.model import OPTIONS, Option
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "PROJECT_COMMANDS", "Command"]

_COMMON: Final = ("work-dir", "cache-dir", "json", "traceback", "wait")
_SOURCES: Final = (
    "ref",
    "origin",
    "dir",
    "submodule-url",
    "lock",
    "manifest",
    "pins",
    "relock",
    "release-type",
    "depth",
    "partial",
)
_ROCM: Final = ("python", "rocm-find-links", "rocm-index-url", "rocm-version", "find-links", "index-url")
_RUN: Final = ("from-receipt", "dry-run", "explain", "force", "verify", "hipify", "discard-local")
_BUILD: Final = ("gpu-family", "gfx", "artifact-group", "jobs")
_PUBLISH: Final = ("store", "run-id")
_ALL: Final = (*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_PUBLISH, "channel", *_COMMON)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command: the front that runs it, what it does, the names of the options it takes, and the stage it ends after.

    ``paths`` says what its plain arguments are, files and folders, when it takes any.
    """

    name: str
    front: Literal["nox", "invoke"]
    summary: str
    option_names: tuple[str, ...]
    until: Stage | None = None
    paths: str | None = None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options it takes, in the order of the model."""
        return tuple(option for name, option in OPTIONS.items() if name in self.option_names)


def _by_name(*commands: Command) -> Mapping[str, Command]:
    return {command.name: command for command in commands}


COMMANDS: Final[Mapping[str, Command]] = _by_name(
    Command(
        name="pipeline",
        front="nox",
        summary="Run the whole chain, for the bundled sample by default.",
        option_names=("projects", "from", "until", *_ALL),
        until=Stage.PROMOTE,
    ),
    Command(
        name="lock",
        front="nox",
        summary="Resolve refs, pins and ROCm files into the work dir's lock.",
        option_names=("projects", *_SOURCES, "manifest-out", "diff", *_ROCM, "dry-run", "explain", *_COMMON),
        until=Stage.LOCK,
    ),
    Command(
        name="promote",
        front="nox",
        summary="Move tested wheels into a channel.",
        option_names=("projects", "from", *_ALL),
        until=Stage.PROMOTE,
    ),
    Command(
        name="check_wheels",
        front="nox",
        summary="Judge any wheels: files, or folders that hold some.",
        option_names=("jobs", "json", "traceback"),
        paths="wheels, or folders that hold some",
    ),
    Command(
        name="inputs",
        front="nox",
        summary="Fetch the real inputs of the tests into the cache.",
        option_names=("tier", "cache-dir", "json", "traceback"),
    ),
    Command(
        name="show-config",
        front="invoke",
        summary="Show every option's value and where it came from.",
        option_names=tuple(name for name in OPTIONS if name not in {"from", "until", "tier", "diff", "manifest-out"}),
    ),
    Command(
        name="show-hipify",
        front="invoke",
        summary="Compare what hipify did between two locks: files added, changed, gone.",
        option_names=("projects", *_COMMON),
        paths="locks, the earlier one first; the work dir's own is the later one when only one is named",
    ),
)
"""Commands that exist once."""

PROJECT_COMMANDS: Final[Mapping[str, Command]] = _by_name(
    Command(
        name="checkout",
        front="nox",
        summary="Check {project} out: sources, base patches, hipify, hipified patches.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, "until", *_COMMON),
        until=Stage.HIPIFIED_PATCHES,
    ),
    Command(
        name="build",
        front="nox",
        summary="Build {project} wheels, with all that comes before.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, "from", *_COMMON),
        until=Stage.BUILD,
    ),
    Command(
        name="check",
        front="nox",
        summary="Judge the {project} wheels that were built.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, "from", *_COMMON),
        until=Stage.CHECK,
    ),
    Command(
        name="upload",
        front="nox",
        summary="Publish the {project} wheels into the run's outputs.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_PUBLISH, "from", *_COMMON),
        until=Stage.PUBLISH,
    ),
    Command(
        name="test",
        front="nox",
        summary="Install {project} from where it was published, and run its smoke tests.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_PUBLISH, "from", *_COMMON),
        until=Stage.TEST,
    ),
)
"""Commands that every project has, as sessions ``<name>_<project>``."""
