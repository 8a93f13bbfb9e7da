"""What packages are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.rocm.packages.select import Form
    from build_tools.types import GfxTarget

__all__ = ["PackageRequest"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRequest:
    """A set of ROCm packages to be made.

    Parameters
    ----------
    artifacts
        A folder of unpacked artifacts; nothing is written there.
    target
        The folder that gets ``dist`` with the packages, and the receipt ``packages.json``.
    version
        The exact version.
    platform
        The operating system that the artifacts were built for.
    form
        ``device`` or ``family``; as the artifacts' own manifest says when not given.
    targets
        The GPU targets that have to come out, in the form ``device``; all that the artifacts say they have when not given.
    families
        The GPU families that have to come out, in the form ``family``; all that are there when not given.
    elsewhere
        The targets, or families, that packages of the same version for other platforms have, where they are known. The package ``rocm``
        is then the same for all of them, and requirements of what only one platform has bear a marker.
    compress
        Whether what is in packages is compressed.
    jobs
        How much is done at once.
    clean
        Whether packages that are there under the same names, and those of an earlier set, are replaced.
    """

    artifacts: Path
    target: Path
    version: str
    platform: Platform = Platform.LINUX
    form: Form | None = None
    targets: tuple[GfxTarget, ...] = ()
    families: tuple[str, ...] = ()
    elsewhere: Mapping[Platform, tuple[str, ...]] = field(default_factory=dict)
    compress: bool = True
    jobs: int = 1
    clean: bool = False
