"""The package ``rocm``: the selector of a set of ROCm packages, as a wheel and as a source distribution that builds the same wheel.

Which packages are installed is chosen by extras and environment markers alone. Nothing is asked of the machine that installs, so lock
files, hash checking and caches work, and a machine without a GPU gets what was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools.files import write_bytes
from build_tools.receipts.record import to_json
from build_tools.rocm.description import DESCRIPTION
from build_tools.rocm.packages.payload import payload_files, source_files
from build_tools.rocm.payload.sdist import rocm_backend
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from build_tools.rocm.description import DescribedPackage, SdkDescription

__all__ = ["build_meta", "extras_of", "meta_files"]

_MARKERS: Final = {Platform.LINUX: 'sys_platform == "linux"', Platform.WINDOWS: 'sys_platform == "win32"'}
_SUMMARY: Final = "ROCm for Python environments: finds, loads and tests the packages of one ROCm version"


def build_meta(description: SdkDescription, target: Path) -> tuple[Path, Path]:
    """Write the wheel and the source distribution of ``rocm`` into a folder, and return their paths.

    The same description gives the same bytes, on every machine. The files are there whole or not at all.

    Parameters
    ----------
    description
        The set that the package selects from; it goes into the package as ``rocm_sdk/dist_info.json``.
    target
        The folder; made when missing.
    """
    files = meta_files(description)
    paths = []
    for name, data in (rocm_backend.wheel_file(files), rocm_backend.sdist_file(files)):
        paths.append(target / name)
        write_bytes(paths[-1], data, mode=0o644)
    wheel, sdist = paths
    return wheel, sdist


def meta_files(description: SdkDescription) -> Mapping[str, bytes]:
    """Return the source tree of ``rocm``: paths with their bytes."""
    return {
        **payload_files("rocm"),
        **source_files(),
        DESCRIPTION: to_json(description),
        "PKG-INFO": _metadata(description),
    }


def extras_of(description: SdkDescription) -> Mapping[str, tuple[str, ...]]:
    """Return the extras of ``rocm`` with what each requires, every requirement at the set's exact version.

    An extra has the key of its packages; where these are made for a GPU family each, ``<key>-<family>`` is the one of a family. The
    device packages have ``device-<target>`` each, and ``device`` and ``device-all`` for all that this platform has. What only one of
    several platforms has bears the marker ``sys_platform``.
    """
    extras: dict[str, tuple[str, ...]] = {}
    for key, packages in description.packages.items():
        if key != "core":
            extras |= _package_extras(description, key, packages)
    if description.form == "device":
        devices = {
            f"device-{canonicalize_name(target)}": _requirement(
                f"rocm-sdk-device-{canonicalize_name(target)}", description, platforms
            )
            for target, platforms in _targets(description).items()
        }
        extras |= {name: (requirement,) for name, requirement in devices.items()}
        extras |= dict.fromkeys(("device", "device-all"), tuple(devices.values())) if devices else {}
    return dict(sorted(extras.items()))


def _package_extras(
    description: SdkDescription, key: str, packages: Iterable[DescribedPackage]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    requirements = {
        package: _requirement(package.distribution, description, set(package.platforms or Platform)) for package in packages
    }
    yield key, tuple(requirements.values())
    shared = tuple(requirement for package, requirement in requirements.items() if package.family is None)
    for package, requirement in requirements.items():
        if package.family is not None:
            yield f"{key}-{canonicalize_name(package.family)}", (*shared, requirement)


def _targets(description: SdkDescription) -> dict[str, set[Platform]]:
    """Return each target with the platforms that have device code for it, in the order of their names."""
    names = sorted({target for targets in description.targets.values() for target in targets})
    return {name: {platform for platform, targets in description.targets.items() if name in targets} for name in names}


def _requirement(distribution: str, description: SdkDescription, platforms: set[Platform]) -> str:
    """Return a requirement, with a marker when only one of the platforms that the set is described for has it."""
    text = f"{distribution}=={Version(description.version)}"
    having = platforms & set(description.targets)
    return f"{text}; {_MARKERS[next(iter(having))]}" if len(having) == 1 and len(description.targets) > 1 else text


def _metadata(description: SdkDescription) -> bytes:
    (core,) = description.packages["core"]
    lines = [
        "Metadata-Version: 2.2",
        "Name: rocm",
        f"Version: {Version(description.version)}",
        f"Summary: {_SUMMARY}",
        "Requires-Python: >=3.10",
        f"Requires-Dist: {core.distribution}=={Version(description.version)}",
    ]
    for extra, requirements in extras_of(description).items():
        lines.append(f"Provides-Extra: {extra}")
        for requirement in requirements:
            name, _, marker = requirement.partition("; ")
            lines.append(f'Requires-Dist: {name}; {f"{marker} and " if marker else ""}extra == "{extra}"')
    return ("\n".join(lines) + "\n").encode()
