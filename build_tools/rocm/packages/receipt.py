"""The receipt of a set of ROCm packages: what was made, with digests, and by which tools. It lies beside the folder of the packages."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from build_tools.receipts.record import Record
from build_tools.types import GfxTarget, Platform, Sha256

__all__ = ["RECEIPT_NAME", "PackageFile", "PackagesReceipt"]

RECEIPT_NAME: Final = "packages.json"


class PackageFile(Record, frozen=True, kw_only=True):
    """A package: its file, size in bytes, and how many files its own list names; 0 for a source distribution."""

    filename: str
    distribution: str
    sha256: Sha256
    size: int
    files: int


class PackagesReceipt(Record, frozen=True, kw_only=True):
    """The set; ``notes`` are sentences about what a reader may wonder at."""

    MADE_BY: ClassVar[str | None] = "nox -s build_rocm_packages"

    schema: Literal[1] = 1
    version: str
    set_id: Sha256
    form: Literal["device", "family"]
    platform: Platform
    compressed: bool
    targets: tuple[GfxTarget, ...]
    families: dict[str, tuple[GfxTarget, ...]]
    files: tuple[PackageFile, ...]
    tools: dict[str, str]
    notes: tuple[str, ...] = ()
