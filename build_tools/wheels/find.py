"""The wheels that a person names: files, and folders that hold some."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.process import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["find_wheels"]

_LOOKED_AT: Final = 20
_FOLDERS: Final = 3


def find_wheels(paths: Sequence[Path], *, command: str = "check_wheels") -> tuple[Path, ...]:
    """Return the wheels that paths name: files as they are given, and the wheels in each folder, sorted.

    Parameters
    ----------
    paths
        Wheels, or folders that hold some.
    command
        The session that hints name.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when a path does not exist, a folder holds no wheel, or no path is given.
    """
    found: list[Path] = []
    for path in paths:
        wheels = sorted(path.glob("*.whl")) if path.is_dir() else [path]
        if not wheels:
            raise HipwrightError("no-wheel", f"{path} holds no wheel", hint=_way_in(path, command))
        if (odd := next((wheel for wheel in wheels if not wheel.is_file()), None)) is not None:
            what = f"{odd} is no file" if odd.is_symlink() or odd.exists() else f"there is no wheel {odd}"
            raise HipwrightError(
                "no-wheel", what, where=Where(file=odd), hint="name wheels, or folders that hold wheels and no others"
            )
        found += [wheel for wheel in wheels if wheel not in found]
    if not found:
        raise HipwrightError("no-wheel", "no wheel is named", hint=f"nox -s {command} -- PATH")
    return tuple(found)


def _way_in(folder: Path, command: str) -> str:
    """Return what to do where a folder itself has no wheel: those that have some are named where they lie below it."""
    below = sorted({wheel.parent for wheel in itertools.islice(folder.rglob("*.whl"), _LOOKED_AT)})
    if not below:
        return "name a wheel, or a folder that holds wheels"
    return f"only the folder itself is looked into; below it: nox -s {command} -- {printable(below[:_FOLDERS])}"
