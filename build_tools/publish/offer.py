"""A file on its way into an index: what the index will say of it, and where its bytes are."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

from build_tools import digest
from build_tools.checks.sound import read_sound
from build_tools.errors import HipwrightError
from build_tools.index.layout import metadata_key
from build_tools.index.sidecar import read_sdist, read_side_file
from build_tools.receipts.snapshot import IndexedFile
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey, Sha256

__all__ = ["Judged", "Offer", "offer_file", "offer_indexed", "offer_wheel"]

Judged = Literal["before", "outline", "whole"]
"""How a wheel is judged; see :func:`offer_file`."""


class Offer(Value, frozen=True, kw_only=True):
    """A file that is to be published.

    ``metadata`` are the side file's bytes, None when the file has none. ``opened`` gives the file on this disk for the time of a
    block, so that a file of another store is fetched only when it must be copied. ``provenance`` names papers that lie in the place
    where it goes before its index names it.
    """

    project: str
    filename: str
    version: str
    sha256: Sha256
    size: int
    requires_python: str | None
    metadata: bytes | None
    opened: Callable[[], AbstractContextManager[Path]]
    provenance: Sha256 | None = None

    def indexed(self, key: ObjectKey, *, uploaded: str) -> IndexedFile:
        """Return the row of the index for this file under a key, uploaded at a time (UTC, ISO 8601)."""
        return IndexedFile(
            project=self.project,
            filename=self.filename,
            key=key,
            version=self.version,
            sha256=self.sha256,
            size=self.size,
            uploaded=uploaded,
            metadata_sha256=None if self.metadata is None else digest.of_bytes(self.metadata),
            requires_python=self.requires_python,
            provenance=self.provenance,
        )


def offer_wheel(path: Path, wheel: WheelFile) -> Offer:
    """Return the offer of a wheel on this disk; its bytes are compared with the record when they are copied.

    Raises
    ------
    HipwrightError
        ``output-changed`` when the file is gone or has another name or size than the record says, ``bad-wheel``.
    """
    if path.name != wheel.filename:
        raise HipwrightError("output-changed", f"{path} is not the recorded wheel {wheel.filename}", hint="build it again")
    if not path.is_file():
        raise HipwrightError("output-changed", f"the wheel {path} is gone", hint="build it again")
    if path.stat().st_size != wheel.size:
        message = f"{path} has {path.stat().st_size} bytes, and {wheel.size} are recorded"
        raise HipwrightError("output-changed", message, hint="build it again")
    return offer_file(path, sha256=wheel.sha256)


def offer_file(path: Path, *, sha256: Sha256, judged: Judged = "outline") -> Offer:
    """Return the offer of a wheel or a source distribution on this disk; its bytes are compared with the digest when they are copied.

    A source distribution has no side file: what it requires may be decided when it is built.

    Parameters
    ----------
    path
        The file.
    sha256
        The digest of its bytes.
    judged
        How a wheel is judged, which nobody may get from an index when it is not sound: ``before``, so not again; by its ``outline`` and,
        where it is small, its contents; or by all contents, ``whole``.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file, ``bad-wheel``.
    """
    if not path.name.endswith(".whl"):
        side = read_sdist(path)
    elif judged == "before":
        side = read_side_file(path)
    else:
        side = read_side_file(path, read_sound(path, sha256=sha256, whole=judged == "whole").texts.get("METADATA"))
    return Offer(
        project=side.project,
        filename=path.name,
        version=side.version,
        sha256=sha256,
        size=path.stat().st_size,
        requires_python=side.requires_python,
        metadata=side.metadata,
        opened=lambda: contextlib.nullcontext(path),
    )


def offer_indexed(file: IndexedFile, *, store: Store, place: IndexFolder) -> Offer:
    """Return the offer of a file that another index holds.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when its side file is gone, ``output-changed`` when that has other bytes than the index says.
    """
    key = place.key(file.key)
    metadata = None
    if file.metadata_sha256 is not None:
        content = store.get(metadata_key(key))
        if content is None:
            raise HipwrightError(
                "nothing-published",
                f"the side file {metadata_key(key)} is gone from {store.address}",
                hint="publish it again, or see what else is damaged with `nox -s verify`",
            )
        metadata = content.data
        if digest.of_bytes(metadata) != file.metadata_sha256:
            message = f"the side file {metadata_key(key)} in {store.address} has other bytes than its index says"
            raise HipwrightError(
                "output-changed", message, hint="publish it again, or see what else is damaged with `nox -s verify`"
            )
    return Offer(
        project=file.project,
        filename=file.filename,
        version=file.version,
        sha256=file.sha256,
        size=file.size,
        requires_python=file.requires_python,
        metadata=metadata,
        opened=lambda: store.as_file(key),
        provenance=file.provenance,
    )
