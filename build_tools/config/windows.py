"""What builds on Windows are held to, read from ``data/windows.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml

__all__ = ["PathLengths", "PromptScript", "VisualStudioTable", "WindowsTable", "windows_table"]

_FILE: Final = Path(__file__).with_name("data") / "windows.toml"


class PromptScript(Table, frozen=True, kw_only=True):
    """A batch file that sets the environment of the compilers: where it lies in an installation, and what it is given."""

    file: NonEmpty
    arguments: NonEmpty


class VisualStudioTable(Table, frozen=True, kw_only=True):
    """The tools of Visual Studio that builds need.

    ``component`` is the installer's name of the compilers, ``architecture`` what they compile for, ``least_tools`` the oldest version of
    them that will do.
    """

    component: NonEmpty
    architecture: NonEmpty
    least_tools: NonEmpty
    scripts: tuple[PromptScript, ...]
    time_limit_seconds: Annotated[int, msgspec.Meta(ge=1)]


class PathLengths(Table, frozen=True, kw_only=True):
    """Characters that a path may have: any path of a build, and that of its sources."""

    longest: Annotated[int, msgspec.Meta(ge=1)]
    longest_base: Annotated[int, msgspec.Meta(ge=1)]


class WindowsTable(Table, frozen=True, kw_only=True):
    """The table."""

    schema: Literal[1]
    visual_studio: VisualStudioTable
    paths: PathLengths


@functools.cache
def windows_table() -> WindowsTable:
    """Return the table."""
    return load_toml(_FILE, WindowsTable)
