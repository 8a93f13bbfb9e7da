"""Whether wheels of the base index may be published in the deps index: they bring nothing that is owned, and lead nowhere else."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.owned import is_owned, owned_places
from build_tools.environments.requires import read_requires
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["prove_deps"]


def prove_deps(wheels: Sequence[Path]) -> tuple[str, ...]:
    """Refuse wheels that an installer would take something owned, or something from anywhere, from; return what a reader may wonder at.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` naming each wheel that holds files at the places of an owned package, or requires something by its address;
        ``bad-wheel`` when one cannot be read.
    """
    faults: list[str] = []
    notes: list[str] = []
    for wheel in wheels:
        requirements = read_requires(wheel).requirements
        faults += [f"{wheel.name} requires {requirement}, by its address" for requirement in requirements if requirement.url]
        owned = sorted({canonicalize_name(one.name) for one in requirements if is_owned(one.name) and one.marker is None})
        notes += [f"{wheel.name} requires {', '.join(owned)}, which comes from an index of its own"] if owned else []
        places = owned_places(_members(wheel))
        faults += [f"{wheel.name} holds files of {', '.join(places)}"] if places else []
    if faults:
        hint = "bound the requirement so that another version is taken, or take it out of the deps index"
        raise HipwrightError("owned-name-leak", "; ".join(faults), hint=hint)
    return tuple(notes)


def _members(wheel: Path) -> list[str]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise HipwrightError(
            "bad-wheel",
            f"{wheel.name} cannot be read: {error}",
            where=Where(file=wheel),
            hint="fetch it again: nox -s update_deps_index",
        ) from error
