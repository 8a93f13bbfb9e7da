"""A set of ROCm Python packages on its way into an index: whole, as its receipt says, and nothing else beside it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.markers import default_environment
from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.config.owned import is_owned
from build_tools.config.targets import family_of_group, offers, target_of
from build_tools.environments.page import is_package_file
from build_tools.environments.requires import applies, read_requires
from build_tools.errors import HipwrightError, Where
from build_tools.publish.offer import offer_file
from build_tools.publish.set_proof import set_faults
from build_tools.receipts.record import read_record
from build_tools.rocm.packages.receipt import RECEIPT_NAME, PackagesReceipt
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.environments.requires import Requires
    from build_tools.publish.offer import Offer
    from build_tools.rocm.packages.receipt import PackageFile

__all__ = ["PackageSet", "extras_to_install", "packages_receipt", "read_packages"]

_KINDS: Final = ("libraries", "devel")
"""The extras that a line which installs a set asks for, where the set has them."""

_MAKE: Final = "make the set anew: nox -s build_rocm_packages -- --artifact-dir DIR --dest-dir DIR"
_SYSTEM: Final[Mapping[Platform, Mapping[str, str]]] = {
    Platform.LINUX: {"os_name": "posix", "platform_system": "Linux", "sys_platform": "linux"},
    Platform.WINDOWS: {"os_name": "nt", "platform_system": "Windows", "sys_platform": "win32"},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageSet:
    """A set that was proved whole: its folder, its receipt, its files on their way, and the extras that ``rocm`` has."""

    folder: Path
    receipt: PackagesReceipt
    offers: tuple[Offer, ...]
    extras: frozenset[str]


def packages_receipt(folder: Path) -> tuple[Path, PackagesReceipt]:
    """Return the folder of a set's packages, and what their receipt says; of the packages themselves nothing is read.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` when there is no receipt, ``bad-receipt``.
    """
    dist, file = _places(folder)
    return dist, read_record(file, PackagesReceipt)


def read_packages(folder: Path, *, jobs: int) -> PackageSet:
    """Read a set of packages and prove it.

    Parameters
    ----------
    folder
        The folder with the receipt, whose ``dist`` has the packages; or that ``dist`` itself.
    jobs
        How many files are hashed at once.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` when there is no receipt, or the packages require some of the set that are not there;
        ``output-changed`` when a file is gone, has other bytes, or is not of the set, or says otherwise inside; ``bad-receipt``;
        ``bad-wheel``.
    """
    dist, file = _places(folder)
    receipt = read_record(file, PackagesReceipt)
    strange = sorted({one.filename for one in receipt.files if not is_package_file(one.filename)})
    if strange:
        raise HipwrightError(
            "bad-receipt", f"{file} names {', '.join(strange)}, which are no packages", where=Where(file=file), hint=_MAKE
        )
    paths = [dist / one.filename for one in receipt.files]
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        changed = [problem for problem in pool.map(_changed, paths, receipt.files) if problem]
    known = {one.filename for one in receipt.files} | {RECEIPT_NAME}
    changed += [f"{path.name} is not of the set" for path in sorted(dist.iterdir()) if path.name not in known]
    if changed or not paths:
        message = f"{dist} does not hold what {file} says: {'; '.join(changed) or 'it names no file'}"
        raise HipwrightError("output-changed", message, where=Where(file=file), hint=_MAKE)
    offers = tuple(offer_file(path, sha256=one.sha256) for path, one in zip(paths, receipt.files, strict=True))
    requires = {offer.filename: read_requires(path) for offer, path in zip(offers, paths, strict=True)}
    lacking = sorted(set(_lacking(offers, requires, platform=receipt.platform)))
    if lacking:
        raise HipwrightError("package-incomplete", f"the packages in {dist} are no whole set: {'; '.join(lacking)}", hint=_MAKE)
    faults = set_faults(offers, receipt, dist)
    if faults:
        message = f"{dist} is not the set that {file} says: {'; '.join(faults)}"
        raise HipwrightError("output-changed", message, where=Where(file=file), hint=_MAKE)
    extras = frozenset().union(*(requires[offer.filename].extras for offer in offers if offer.project == "rocm"))
    return PackageSet(folder=dist, receipt=receipt, offers=offers, extras=extras)


def extras_to_install(packages: PackageSet, group: str) -> tuple[str, ...]:
    """Return the extras of ``rocm`` that a reader of an artifact group installs: libraries, devel, and code for the group's GPUs.

    Parameters
    ----------
    packages
        The set.
    group
        The group that it is published as: a family, with a build variant or not. Of a set with code for a
        single target that is meant whatever the group is called; of one with several, none is when the group names no family.
    """
    found = family_of_group(group)
    family = found[0] if found else None
    own = f"-{canonicalize_name(family)}" if family else ""
    kinds = [f"{kind}{own}" if f"{kind}{own}" in packages.extras else kind for kind in _KINDS if kind in packages.extras]
    targets = [target for target in packages.receipt.targets if _device(target) in packages.extras]
    meant = targets if len(targets) == 1 else offers(family, targets) if family else ()
    return (*kinds, *sorted({_device(target) for target in meant}))


def _device(target: str) -> str:
    return f"device-{target_of(target).base}"


def _places(folder: Path) -> tuple[Path, Path]:
    """Return the folder of the packages and the receipt."""
    if not folder.is_dir():
        raise HipwrightError("package-incomplete", f"there is no folder {folder}", hint="name one with --packages-dir")
    inner = folder / "dist"
    dist = inner if inner.is_dir() else folder
    found = next((place for place in (dist.parent / RECEIPT_NAME, dist / RECEIPT_NAME) if place.is_file()), None)
    if found is not None:
        return dist, found
    if not any(is_package_file(path.name) for path in dist.iterdir()):
        raise HipwrightError("package-incomplete", f"there are no packages in {dist}", hint=_MAKE)
    message = f"{dist} has packages, and no {RECEIPT_NAME} beside them says that they are a whole set"
    raise HipwrightError("package-incomplete", message, hint=_MAKE)


def _changed(path: Path, file: PackageFile) -> str | None:
    """Return what is wrong with a file of the set."""
    if not path.is_file():
        return f"{path.name} is gone"
    if path.stat().st_size != file.size or digest.of_file(path) != file.sha256:
        return f"{path.name} has other bytes"
    return None


def _lacking(offers: Sequence[Offer], requires: Mapping[str, Requires], *, platform: Platform) -> Iterator[str]:
    """Give what packages of the set require of it, with any extra, and is not there."""
    there = {offer.project: offer.version for offer in offers}
    markers = {**{name: str(value) for name, value in default_environment().items()}, **_SYSTEM[platform]}
    if "rocm" not in there:
        yield "rocm is not there"
    for offer in offers:
        needs = requires[offer.filename]
        for requirement in needs.requirements:
            name = canonicalize_name(requirement.name)
            if not is_owned(name) or not applies(requirement, needs.extras, markers):
                continue
            if name not in there:
                yield f"{offer.project} requires {name}, which is not there"
            elif not requirement.specifier.contains(there[name], prereleases=True):
                yield f"{offer.project} requires {name}{requirement.specifier}, and {there[name]} is there"
