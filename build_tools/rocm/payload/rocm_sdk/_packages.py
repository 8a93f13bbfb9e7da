"""The installed packages of the set: where their files are, whether they are of one build, and what to type when one is missing."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ._dist_info import description, description_digest
from ._errors import MissingPackageError, MixedPackagesError, SdkError
from ._gpus import detect_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._dist_info import Package

__all__ = [
    "FAMILY_VARIABLE",
    "chosen_package",
    "detected",
    "extra_for",
    "find_module",
    "folder_of",
    "install_line",
    "installed_extras",
    "module_beside",
    "note",
    "prove_set",
    "reinstall_line",
    "requirement",
    "seen",
    "set_id",
    "without",
]

FAMILY_VARIABLE = "ROCM_SDK_TARGET_FAMILY"
_VERBOSE_VARIABLE = "ROCM_SDK_VERBOSE"

_proven: dict[str, Path] = {}


def note(sentence: str) -> None:
    """Say what is being done, on stderr, when ``ROCM_SDK_VERBOSE=1`` is set."""
    if os.environ.get(_VERBOSE_VARIABLE) == "1":
        print(f"rocm_sdk: {sentence}", file=sys.stderr)


def requirement(extras: Iterable[str]) -> str:
    """Return the requirement that brings extras of this very version."""
    listed = ",".join(extras)
    return f"rocm[{listed}]=={description().version}" if listed else f"rocm=={description().version}"


def install_line(extras: Iterable[str]) -> str:
    """Return the command that installs what is missing."""
    return f'pip install "{requirement(extras)}" (with the --index-url or --find-links that rocm came from)'


def reinstall_line() -> str:
    """Return the command that makes all installed packages one build again.

    The cache is left out: it may hold a wheel of another build of the same version.
    """
    line = f'pip install --force-reinstall --no-cache-dir "{requirement(installed_extras())}"'
    return f"{line} (with the --index-url or --find-links that rocm came from)"


def installed_extras() -> tuple[str, ...]:
    """Return the extras whose packages are installed."""
    extras = [
        extra_for(key, package)
        for key, packages in description().packages.items()
        if key != "core"
        for package in packages
        if find_module(module_beside(package)) is not None
    ]
    for package in description().packages.get("libraries", ()):
        folder = find_module(package.module)
        extras += sorted(f"device-{path.stem}" for path in (folder / ".devel_links").glob("*.json")) if folder is not None else []
    return tuple(dict.fromkeys(extras))


def extra_for(key: str, package: Package) -> str:
    """Return the extra of ``rocm`` that brings a package."""
    return key if package.family is None else f"{key}-{re.sub(r'[-_.]+', '-', package.family).lower()}"


def module_beside(package: Package) -> str:
    """Return the module of ours that a package has beside the folder of its files."""
    return package.module.removeprefix("_")


def find_module(module: str) -> Path | None:
    """Return the folder of an installed module; None when there is none, or only what an uninstalled one left behind."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def folder_of(key: str, package: Package) -> Path:
    """Return the folder of a package's files, proven to be of the same build as ``rocm``.

    Raises
    ------
    MissingPackageError
        When it is not installed; names what to type.
    MixedPackagesError
        When it is of another build.
    """
    known = _proven.get(package.module)
    if known is not None:
        return known
    folder = find_module(package.module)
    if folder is None:
        # It may have been installed while this process ran.
        importlib.invalidate_caches()
        folder = find_module(package.module)
    if folder is None:
        extras = () if key == "core" else (extra_for(key, package),)
        message = f"the package {package.distribution} is not installed here; to install it: {install_line(extras)}"
        raise MissingPackageError(message, name=package.module)
    prove_set(folder / "_set.json", package.distribution)
    _proven[package.module] = folder
    return folder


def prove_set(path: Path, distribution: str) -> None:
    """Prove that a file that bears a set id bears this set's.

    Raises
    ------
    MissingPackageError
        When the core package is not installed, which says what this set is.
    MixedPackagesError
        When it does not, or when ``rocm`` itself is of another set than the core package.
    """
    wanted = set_id()
    stated = _stated(path)
    if stated.get("set_id") == wanted:
        return
    version, other = stated.get("version", ""), stated.get("set_id", "")
    ours = description().version
    if version and version != ours:
        what = f"is of version {version}, and rocm is of {ours}"
    elif other:
        what = f"is of another build of {version} than {_core().distribution}: {other[:12]}, not {wanted[:12]}"
    else:
        what = f"does not say which build it is of ({path.name} cannot be read), and rocm is of {ours}"
    message = f"the package {distribution} in {path.parent} {what}; to make them one: {reinstall_line()}"
    raise MixedPackagesError(message)


@functools.lru_cache(maxsize=1)
def set_id() -> str:
    """Return the id of this set, as the core package states it, which all others require.

    Raises
    ------
    MissingPackageError
        When that is not installed.
    MixedPackagesError
        When ``rocm`` is not the one that was made with it: an installer may have kept one of another build of the same version.
    """
    core = _core()
    folder = find_module(core.module)
    if folder is None:
        message = f"the package {core.distribution} is not installed here; to install it: {install_line(())}"
        raise MissingPackageError(message, name=core.module)
    stated = _stated(folder / "_set.json")
    if stated.get("rocm") == description_digest():
        return stated.get("set_id", "")
    version = stated.get("version", "")
    if version and version != description().version:
        what = f"is of version {version}, and rocm is of {description().version}"
    elif stated:
        what = f"is of another build of {version} than rocm, which an installer may have kept from an earlier time"
    else:
        what = f"does not say which build it is of (_set.json cannot be read), and rocm is of {description().version}"
    message = f"the package {core.distribution} in {folder} {what}; to make them one: {reinstall_line()}"
    raise MixedPackagesError(message)


def without(folder: Path) -> frozenset[str]:
    """Return the libraries that a package was made without, by the folder of its files."""
    try:
        return frozenset(map(str, json.loads((folder / "_set.json").read_bytes()).get("without", ())))
    except (OSError, ValueError, AttributeError):
        return frozenset()


def _core() -> Package:
    (core,) = description().packages["core"]
    return core


def _stated(path: Path) -> dict[str, str]:
    """Return what a file that bears a set id says, as far as that is texts; nothing when it cannot be read."""
    try:
        return {str(key): value for key, value in json.loads(path.read_bytes()).items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError):
        return {}


def seen() -> tuple[str, ...]:
    """Return the targets of the GPUs that programs see here."""
    return detect_targets(find_module(_core().module))


def detected() -> tuple[str, ...]:
    """Return the GPU targets to choose packages by: of what programs see, or where every GPU is hidden from them, of all that are here."""
    return seen() or detect_targets(find_module(_core().module), settings={})


def chosen_package(key: str) -> Package:
    """Return the package of a key that this process uses: the only one, or the one of the GPU family at hand.

    The family is the one that ``ROCM_SDK_TARGET_FAMILY`` names, else the only one that is installed, else the one that holds the GPUs
    of this machine.

    Raises
    ------
    MissingPackageError
        When the set has none, or none is installed and it cannot be told which is wanted.
    SdkError
        When the named family is not in the set, or several are installed and it cannot be told which is wanted.
    """
    packages = description().packages.get(key, ())
    if not packages:
        message = f"ROCm {description().version} was made without a package {key}"
        raise MissingPackageError(message)
    if len(packages) == 1:
        return packages[0]
    families = {package.family: package for package in packages if package.family is not None}
    return families[_family(key, families)]


def _family(key: str, families: dict[str, Package]) -> str:
    named = os.environ.get(FAMILY_VARIABLE)
    if named:
        for family in families:
            if family.lower() == named.lower():
                return family
        message = f"{FAMILY_VARIABLE} is {named}, and ROCm {description().version} has {', '.join(sorted(families))}"
        raise SdkError(message)
    installed = [family for family, package in families.items() if find_module(module_beside(package)) is not None]
    if len(installed) == 1:
        return installed[0]
    gpus = set(detected())
    fitting = [family for family in installed or families if gpus & set(description().families.get(family, ()))]
    if len(fitting) == 1:
        return fitting[0]
    at_hand = f"the GPUs here are {', '.join(sorted(gpus))}" if gpus else "no GPU is found here"
    if installed:
        listed = ", ".join(sorted(installed))
        message = f"{key} is installed for {listed}, and {at_hand}; name one of these families in {FAMILY_VARIABLE}"
        raise SdkError(message)
    lines = "; ".join(install_line((extra_for(key, package),)) for package in families.values())
    message = f"no package {key} is installed, and {at_hand}; to install the one for your GPU, one of: {lines}"
    raise MissingPackageError(message)
