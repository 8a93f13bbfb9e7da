"""ROCm packages that a project brings as sources of an artifact tree: compiled and packaged on this machine, into a package source."""

from __future__ import annotations

import functools
import os
import platform as machine
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import build_tools
from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import finished_folder, hold, temporary_folder
from build_tools.rocm.artifact_sources import compile_artifacts, find_c_compiler, load_artifact_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile
    from build_tools.types import Platform

__all__ = ["is_at_hand", "pack_embedded", "require_same"]

_NAME_LENGTH: Final = 16
_IGNORED: Final = "__pycache__"
_PACKAGES: Final = "dist"
_MAKERS: Final = ("config/data/rocm_packages.toml", "rocm", "wheels")
"""What of hipwright decides what packages look like."""


def pack_embedded(
    folder: Path, *, cache: Path, runner: Runner, platform: Platform, say: Callable[[str], None] = lambda _line: None
) -> Path:
    """Return a folder of packages made of the sources of an artifact tree; the same sources give the same folder.

    They are made once for a cache: with another compiler they would have other bytes, and locked ones would not be found again.

    Parameters
    ----------
    folder
        The sources; :mod:`build_tools.rocm.artifact_sources` says what is in there.
    cache
        hipwright's cache folder.
    runner
        Starts the machine's C compiler.
    platform
        The operating system of this machine.
    say
        Told when packages are made, and when another run's making is waited for.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the folder holds no such sources, or what is neither file nor folder; ``no-compiler``; what compiling
        and packaging raise.
    """
    wanted = load_artifact_sources(folder)
    for path in sorted(folder.rglob("*")):
        kind = path.lstat().st_mode
        # A clone on Windows has no links either: those of libraries and programs are data.
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            message = f"{path} cannot be a source of packages: it is neither file nor folder"
            raise HipwrightError("bad-data-file", message, where=Where(file=path), hint="take it out of the folder")
    target = _target(folder, cache, platform)
    if target.is_dir():
        return target / _PACKAGES
    with hold(target.with_name(f"{target.name}.lock"), purpose=f"packing {folder.name}", wait=True, on_wait=say):
        if not target.is_dir():
            say(f"compiling and packaging ROCm {wanted.version} of {folder.parent.name}")
            with finished_folder(target) as partial:
                _make(folder, partial, runner=runner, platform=platform)
    return target / _PACKAGES


def _make(folder: Path, target: Path, *, runner: Runner, platform: Platform) -> None:
    # Most runs make nothing, and what reads and writes binaries and archives takes a while to load.
    from build_tools.rocm.packages.build import build_packages  # noqa: PLC0415
    from build_tools.rocm.packages.request import PackageRequest  # noqa: PLC0415

    with temporary_folder(target.parent, f"{target.name}.artifacts") as artifacts:
        wanted = compile_artifacts(folder, artifacts, runner=runner, platform=platform)
        request = PackageRequest(artifacts=artifacts, target=target, version=wanted.version, platform=platform, compress=False)
        build_packages(request, runner=runner)


def is_at_hand(folder: Path, *, cache: Path, runner: Runner, platform: Platform) -> bool:
    """Say whether :func:`pack_embedded` has packages to give: made earlier, or there is a compiler to make them with."""
    return find_c_compiler(runner, platform) is not None or _target(folder, cache, platform).is_dir()


def require_same(packed: Path, files: Sequence[LockedFile], *, project: str) -> None:
    """Refuse locked packages that are made otherwise here: by another compiler, of other sources, or by another hipwright.

    Raises
    ------
    HipwrightError
        ``lock-conflict``.
    """
    other = [
        file.filename
        for file in files
        if not (packed / file.filename).is_file() or digest.of_file(packed / file.filename) != file.sha256
    ]
    if other:
        why = "by another compiler, of other sources, or by another hipwright"
        message = f"here {', '.join(other)} of {project} are made otherwise than locked: {why}"
        raise HipwrightError("lock-conflict", message, hint=f"lock them anew: nox -s lock -- --projects {project} --relock")


def _target(folder: Path, cache: Path, platform: Platform) -> Path:
    return cache / "embedded-packages" / _digest(folder, platform)[:_NAME_LENGTH]


def _digest(folder: Path, platform: Platform) -> str:
    """Return the digest of what decides what the packages are: sources, which are executable, the system, hipwright itself."""
    files = [path for path in folder.rglob("*") if _IGNORED not in path.parts and path.is_file()]
    executable = sorted(path.relative_to(folder).as_posix() for path in files if _is_executable(path))
    return digest.of_value([digest.of_folder(folder, files), executable, platform.value, machine.machine(), _makers()])


@functools.cache
def _makers() -> str:
    """Return the digest of hipwright's own files that decide what the packages are."""
    root = Path(build_tools.__file__).parent
    return digest.of_folder(root, _files_of(root / name for name in _MAKERS))


def _files_of(places: Iterable[Path]) -> list[Path]:
    found = [path for place in places for path in (place.rglob("*") if place.is_dir() else [place])]
    return [path for path in found if _IGNORED not in path.parts and path.is_file()]


def _is_executable(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))
