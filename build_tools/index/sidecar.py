"""Metadata side files (PEP 658): the wheel's own ``METADATA``, byte for byte, and what pages take from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from build_tools.errors import HipwrightError, Where
from build_tools.wheels.contents import read_dist_info
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SideFile", "read_side_file"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SideFile:
    """What an index says of a wheel beyond its bytes: ``project`` is normalised, ``metadata`` are the side file's bytes."""

    project: str
    version: str
    requires_python: str | None
    metadata: bytes


def read_side_file(wheel: Path) -> SideFile:
    """Read what an index needs from a wheel.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` when it is no wheel, or its name and its metadata disagree.
    """
    name = parse_wheel_name(wheel.name)
    data = read_dist_info(wheel, "METADATA")
    metadata = parse_metadata(data)
    if (metadata.project, metadata.version) != (name.project, Version(name.version)):
        message = f"{wheel.name} holds the metadata of {metadata.project} {metadata.version}"
        raise HipwrightError("bad-wheel", message, where=Where(file=wheel, member="METADATA"))
    return SideFile(project=name.project, version=str(metadata.version), requires_python=metadata.requires_python, metadata=data)
