"""The deps index as data: what it holds, and for which interpreters and platforms, in ``data/deps_index.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from packaging.requirements import InvalidRequirement, Requirement

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.config.owned import is_owned
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

__all__ = ["DEPS_INDEX_FILE", "DepsIndex", "DepsPlatform", "deps_index"]

DEPS_INDEX_FILE: Final = Path(__file__).with_name("data") / "deps_index.toml"

_Python = Annotated[str, msgspec.Meta(pattern=r"^3\.[0-9]+t?$")]
_Glibc = Annotated[str, msgspec.Meta(pattern=r"^2\.[0-9]+$")]


class DepsPlatform(Table, frozen=True, kw_only=True):
    """A platform that is served: ``machine`` as markers see it, ``glibc`` the oldest C library on Linux."""

    name: Platform
    machine: Literal["x86_64", "AMD64"]
    glibc: _Glibc | None = None


class DepsIndex(Table, frozen=True, kw_only=True):
    """All of it: requirements as PEP 508 has them, and the Pythons and platforms that each is followed for."""

    schema: Literal[1]
    requirements: tuple[NonEmpty, ...]
    pythons: tuple[_Python, ...]
    platform: tuple[DepsPlatform, ...]


@functools.cache
def deps_index(path: Path = DEPS_INDEX_FILE) -> DepsIndex:
    """Read it.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when it lists nothing, a requirement cannot be read, names an owned package or a place, or a platform is
        there twice or lacks its C library.
    """
    table = load_toml(path, DepsIndex)
    platforms = [platform.name for platform in table.platform]
    problems = [
        *(f"there are no {what}" for what in ("requirements", "pythons", "platform") if not getattr(table, what)),
        *(problem for text in table.requirements if (problem := _problem(text))),
        *(f"the platform {name} is there twice" for name in sorted({name for name in platforms if platforms.count(name) > 1})),
        *(
            f"the platform {platform.name} {'lacks its' if platform.glibc is None else 'has a'} glibc"
            for platform in table.platform
            if (platform.glibc is None) == (platform.name is Platform.LINUX)
        ),
    ]
    if problems:
        raise HipwrightError("bad-data-file", "; ".join(problems), where=Where(file=path))
    return table


def _problem(text: str) -> str | None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        return f"{text!r} is no requirement: {str(error).splitlines()[0]}"
    if requirement.url is not None:
        return f"{text!r} names a place"
    return f"{requirement.name} is an owned name, which this index never holds" if is_owned(requirement.name) else None
