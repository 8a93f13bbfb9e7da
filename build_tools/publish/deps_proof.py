"""Whether wheels of the base index may be published in the deps index: they bring nothing that is owned, and lead nowhere else."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.owned import is_owned, owned_places
from build_tools.environments.requires import read_requires
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

__all__ = ["prove_deps"]


def prove_deps(wheels: Sequence[Path], *, chosen: Collection[str]) -> tuple[str, ...]:
    """Refuse wheels that an installer would take something owned, or something from anywhere, from; return what a reader may wonder at.

    Parameters
    ----------
    wheels
        The wheels that are added.
    chosen
        The normalised names of all that was chosen: what a wheel requires in any case was followed, unless the metadata that the base index
        gave for it left that out.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` naming each wheel that holds files at the places of an owned package, or requires something by its address; ``hash-mismatch`` when one requires what its page did not say;
        ``bad-wheel`` when one cannot be read.
    """
    faults: list[str] = []
    notes: list[str] = []
    unsaid: list[str] = []
    for wheel in wheels:
        requirements = read_requires(wheel).requirements
        always = {canonicalize_name(one.name) for one in requirements if one.marker is None and not one.url}
        left = sorted(name for name in always - set(chosen) if not is_owned(name))
        unsaid += [f"{wheel.name} requires {', '.join(left)}"] if left else []
        faults += [f"{wheel.name} requires {requirement}, by its address" for requirement in requirements if requirement.url]
        owned = sorted({canonicalize_name(one.name) for one in requirements if is_owned(one.name) and one.marker is None})
        notes += [f"{wheel.name} requires {', '.join(owned)}, which comes from an index of its own"] if owned else []
        places = owned_places(_members(wheel))
        faults += [f"{wheel.name} holds files of {', '.join(places)}"] if places else []
    if faults:
        hint = "bound the requirement so that another version is taken, or take it out of the deps index"
        raise HipwrightError("owned-name-leak", "; ".join(faults), hint=hint)
    if unsaid:
        message = f"the base index gives other metadata than its wheels hold: {'; '.join(unsaid)}, and it does not say so"
        raise HipwrightError("hash-mismatch", message, hint="name another base index, or ask who keeps this one")
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
