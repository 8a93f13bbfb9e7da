"""What the tree of development files is to be made of, where it may lie, and whether the one that is there is that.

This is asked at each start of a compiler, so little is read and little is imported.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ._devices import installed_devices, list_name
from ._dist_info import description
from ._errors import BadArchiveError, MissingPackageError
from ._packages import chosen_package, extra_for, find_module, folder_of, install_line, module_beside, prove_set, set_id
from ._paths import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._devices import Device
    from ._dist_info import Package

__all__ = [
    "FILES",
    "LOCK",
    "MARK",
    "PENDING",
    "SIZES",
    "Part",
    "Place",
    "Plan",
    "faults_of",
    "files_of",
    "install_again",
    "is_current",
    "make_plan",
    "place_in_cache",
    "place_in_site",
    "read_mark",
]

MARK = f"{RESERVED}json"
FILES = f"{RESERVED}files"
SIZES = f"{RESERVED}sizes"
PENDING = f"{RESERVED}pending"
"""Links to files that only device packages bring, with where each leads; one is there as long as that file is."""
LOCK = ".lock"


class Part(NamedTuple):
    """An installed package of development files: its archive, as its ``devel.json`` describes it."""

    package: Package
    folder: Path
    archive: Path
    sha256: str
    size: int


class Plan(NamedTuple):
    """What the tree is to be made of; ``siblings`` are the folders of files that it shares, by the names that its links use."""

    parts: tuple[Part, ...]
    siblings: Mapping[str, Path]
    devices: Mapping[str, Device]

    @property
    def name(self) -> str:
        """The tree's name."""
        return self.parts[-1].package.module

    @property
    def made_of(self) -> dict[str, object]:
        """What the mark of a tree says that is made of this, but for device packages: those of one build hold the same files."""
        return {"schema": 1, "set_id": set_id(), "archives": [part.sha256 for part in self.parts]}


class Place(NamedTuple):
    """Where a tree lies: ``site`` is the folder of installed packages, or None for one in the user's cache."""

    tree: Path
    lock: Path
    site: Path | None

    @property
    def base(self) -> Path:
        """The folder that the tree lies in."""
        return self.tree.parent


def make_plan() -> Plan:
    """Find what is installed.

    Raises
    ------
    MissingPackageError
        When the development files are not installed; names what to type.
    MixedPackagesError
        When packages are of different builds.
    BadArchiveError
        When a package does not say what it holds.
    SdkError
        When it cannot be told which GPU family is meant.
    """
    parts = tuple(_parts())
    siblings = {}
    for key in ("core", "libraries", "profiler"):
        for package in description().packages.get(key, ()):
            installed = find_module(package.module) is not None
            siblings[package.module] = folder_of(key, package) if installed else parts[-1].folder.with_name(package.module)
    libraries = [siblings[package.module] for package in description().packages.get("libraries", ())]
    return Plan(parts, siblings, installed_devices(libraries))


def place_in_site(plan: Plan) -> Place | None:
    """Return the place beside the packages; None where they are not all in one folder."""
    part = plan.parts[-1]
    site = part.folder.parent
    if any(folder.parent != site for folder in plan.siblings.values()):
        return None
    return Place(site / plan.name, part.folder / LOCK, site)


def place_in_cache(plan: Plan) -> Place | None:
    """Return the place in the user's cache, named by the packages' folders and what is in them; None for a user without a home."""
    import hashlib  # noqa: PLC0415 - slow to import, and asked for where packages cannot be written

    try:
        home = _cache_home()
    except RuntimeError:
        return None
    told = [plan.made_of, sorted((name, str(folder)) for name, folder in plan.siblings.items())]
    key = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
    base = home / "rocm-sdk" / key
    return Place(base / plan.name, base / LOCK, None)


def is_current(place: Place, plan: Plan) -> bool:
    """Return whether the tree there is what the plan says, going by its mark."""
    if read_mark(place.tree) != {**plan.made_of, "devices": sorted(plan.devices)}:
        return False
    # Reinstalling a device package removes what was here for it, this list too.
    return all((place.tree / list_name(target)).is_file() for target in plan.devices)


def read_mark(tree: Path) -> dict[str, object]:
    """Return what the mark of a tree says; nothing for what is no whole tree."""
    try:
        mark = json.loads((tree / MARK).read_bytes())
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def files_of(tree: Path) -> list[str]:
    """Return the paths that an expanded tree holds; none when that is not known."""
    try:
        return (tree / FILES).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def faults_of(tree: Path) -> list[str]:
    """Return what is wrong with the files of an expanded tree: gone, or of another size than they had; the list itself may be gone."""
    files = files_of(tree)
    try:
        sizes = dict(json.loads((tree / SIZES).read_bytes()))
    except (OSError, ValueError, TypeError):
        sizes = {}
    if not files or not sizes:
        return ["the list of its files is gone"]
    faults = []
    for path in files:
        try:
            status = (tree / path).lstat()
        except OSError:
            faults.append(f"{path} is gone")
            continue
        if path in sizes and not (stat.S_ISREG(status.st_mode) and status.st_size == sizes[path]):
            faults.append(f"{path} is not as it was expanded")
    return faults


def install_again(package: Package) -> str:
    """Return the sentence that says how to get a package's archive back."""
    version = description().version
    return f'to install it again: pip install --force-reinstall --no-deps --no-cache-dir "{package.distribution}=={version}"'


def _parts() -> Iterator[Part]:
    """Give the installed packages of development files: the one for all GPU families, then the one of the family at hand."""
    packages = description().packages.get("devel", ())
    shared = [package for package in packages if package.family is None]
    own = [chosen_package("devel")] if len(packages) > len(shared) else []
    wanted = list(dict.fromkeys([*shared, *own]))
    missing = [package for package in wanted if find_module(module_beside(package)) is None]
    if missing or not wanted:
        extras = [extra_for("devel", package) for package in missing] or ["devel"]
        names = ", ".join(package.distribution for package in missing) or "a package of development files"
        message = f"{names} is not installed here; to install it: {install_line(extras)}"
        raise MissingPackageError(message)
    for package in wanted:
        folder = find_module(module_beside(package))
        if folder is not None:
            yield _part(package, folder)


def _part(package: Package, folder: Path) -> Part:
    prove_set(folder / "devel.json", package.distribution)
    fields = json.loads((folder / "devel.json").read_bytes())
    try:
        return Part(package, folder, folder / Path(fields["archive"]).name, str(fields["sha256"]), int(fields["bytes"]))
    except (KeyError, TypeError, ValueError):
        message = f"{folder / 'devel.json'} does not describe an archive; {install_again(package)}"
        raise BadArchiveError(message) from None


def _cache_home(platform: str = sys.platform) -> Path:
    if platform == "win32":
        named = os.environ.get("LOCALAPPDATA")
        return Path(named) if named else Path.home() / "AppData" / "Local"
    named = os.environ.get("XDG_CACHE_HOME")
    # The specification: a relative path is to be ignored.
    return Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache"
