"""The earlier wheel that a wheel is compared with: which one it is, and the sizes of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.environments.candidate import version_key
from build_tools.errors import HipwrightError
from build_tools.wheels.archive import read_directory
from build_tools.wheels.limits import read_version
from build_tools.wheels.name import WheelName, parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from packaging.version import Version

__all__ = ["choose_baseline", "has_rocm_inside", "member_sizes", "project_of"]


def choose_baseline(filename: str, others: Iterable[str], *, same_line: bool) -> str | None:
    """Return the name of the wheel that one is compared with: of the same project, Python and system, the newest that is not newer.

    Parameters
    ----------
    filename
        The wheel that is judged.
    others
        File names of earlier wheels; its own among them does not count, as a wheel does not differ from itself.
    same_line
        Whether it must be of the same line, ``2.9`` for the version ``2.9.1+rocm7.10.0``. Without it a newer one counts too, where there is
        none that is older.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the name of the wheel itself cannot be read.
    """
    own = parse_wheel_name(filename)
    mine = read_version(own.version)
    known = []
    for other in others:
        if other == filename or (name := _name_of(other)) is None or not _comparable(own, name):
            continue
        version = read_version(name.version)
        older = version_key(version) <= version_key(mine)
        if has_rocm_inside(version) != has_rocm_inside(mine) or (
            same_line and (version.release[:2] != mine.release[:2] or not older)
        ):
            continue
        known.append((older, version_key(version), other))
    return max(known)[2] if known else None


def member_sizes(wheel: Path) -> Mapping[str, int]:
    """Return the sizes of a wheel's files, by name, in bytes.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when it is no archive.
    """
    return {member.name: member.size for member in read_directory(wheel).members if not member.is_folder}


def project_of(filename: str) -> str | None:
    """Return the project that a wheel's file name names, None when the name cannot be read."""
    name = _name_of(filename)
    return name.project if name is not None else None


def has_rocm_inside(version: Version) -> bool:
    """Tell by its version whether ROCm is inside of a wheel: such a one has no ROCm packages beside it."""
    return (version.local or "").partition(".")[0] == "bundled"


def _name_of(filename: str) -> WheelName | None:
    try:
        return parse_wheel_name(filename)
    except HipwrightError:
        return None


def _comparable(one: WheelName, other: WheelName) -> bool:
    def systems(name: WheelName) -> set[str]:
        parts = name.platform.split(".")
        return {"win" if part.startswith("win") else "linux" if "linux" in part else part for part in parts}

    abis = set(one.abi.split(".")) & set(other.abi.split("."))
    # The stable ABI of a later Python is the same for what is in a wheel; wheels without an ABI are told by their Pythons alone.
    same_python = "abi3" in abis or (abis and set(one.python.split(".")) & set(other.python.split(".")))
    return one.project == other.project and bool(same_python) and bool(systems(one) & systems(other))
