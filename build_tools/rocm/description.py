"""What a set of ROCm Python packages is made of: written into the package ``rocm`` by the packager, read there by ``rocm_sdk``."""

from __future__ import annotations

from typing import Final, Literal

from build_tools.receipts.record import Record
from build_tools.types import GfxTarget, Platform

__all__ = ["DESCRIPTION", "DescribedLibrary", "DescribedPackage", "SdkDescription"]

DESCRIPTION: Final = "rocm_sdk/dist_info.json"
"""Where it lies in the package ``rocm``."""


class DescribedPackage(Record, frozen=True, kw_only=True):
    """A package of the set.

    ``module`` is the folder with its files, ``family`` the GPU family of a package that is made for one. ``platforms`` are those that have
    it, where not all that the set is described for do.
    """

    distribution: str
    module: str
    family: str | None = None
    platforms: tuple[Platform, ...] = ()


class DescribedLibrary(Record, frozen=True, kw_only=True):
    """A library by its short name: the key of its package, and where it is in there, as a pattern for each platform that has it."""

    package: str
    patterns: dict[Platform, str]
    optional: bool = False


class SdkDescription(Record, frozen=True, kw_only=True):
    """The set.

    Nothing in it depends on the platform whose build writes it, so that all platforms that it is described for share one ``rocm``. What
    tells builds of one version apart is in the packages of each platform: their set id, and in the core package the digest of this.
    ``targets`` are the GPU targets that have device code, by platform; ``families`` the groups of them. ``packages`` has the keys ``core``,
    ``libraries`` (several in the form ``family``), ``profiler`` and ``devel``, where they are made.
    """

    schema: Literal[1] = 1
    version: str
    form: Literal["device", "family"]
    targets: dict[Platform, tuple[GfxTarget, ...]]
    families: dict[str, tuple[GfxTarget, ...]]
    packages: dict[str, tuple[DescribedPackage, ...]]
    libraries: dict[str, DescribedLibrary]
