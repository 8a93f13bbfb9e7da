"""File names that are spelled in two ways and mean the same: `Demo_Kit-1.0` and `demo_kit-1.0` are one release to every installer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.publish.offer import Offer
    from build_tools.receipts.snapshot import Snapshot

__all__ = ["refuse_respelled"]


def refuse_respelled(offers: Sequence[Offer], snapshot: Snapshot) -> None:
    """Refuse a wheel whose name stands for the same release, build and tags as another one's: which of them is installed, nobody knows.

    Parameters
    ----------
    offers
        The files that go into an index.
    snapshot
        What the index holds.

    Raises
    ------
    HipwrightError
        ``name-taken`` when the index has one in another spelling, ``several-wheels`` when two of the files are one.
    """
    releases = {(offer.project, offer.version) for offer in offers}
    spelled = {
        _meaning(file.project, file.version, file.filename): file.filename
        for file in snapshot.files
        if (file.project, file.version) in releases
    }
    new: dict[tuple[object, ...], str] = {}
    for offer in offers:
        meaning = _meaning(offer.project, offer.version, offer.filename)
        if (there := spelled.get(meaning, offer.filename)) != offer.filename:
            message = f"{offer.filename} is what the index has as {there}, spelled otherwise"
            raise HipwrightError("name-taken", message, hint="leave it out, or build it with another version or build number")
        if (other := new.setdefault(meaning, offer.filename)) != offer.filename:
            message = f"{other} and {offer.filename} are one name in two spellings"
            raise HipwrightError("several-wheels", message, hint="name one of them")


def _meaning(project: str, version: str, filename: str) -> tuple[object, ...]:
    """Return what a file name stands for; of a source distribution there is one for each version."""
    if not filename.endswith(".whl"):
        return project, version
    name = parse_wheel_name(filename)
    return project, version, name.build, name.tags
