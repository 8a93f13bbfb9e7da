"""Whether ROCm packages are the set that their receipt says, told by what stands inside them.

A receipt is a file beside the packages, which can be written by hand or come from another folder. Each package bears the id of its set,
and ``rocm`` the description of all of them.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import zipfile
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import canonicalize_name

from build_tools.errors import HipwrightError, Where
from build_tools.rocm.description import DESCRIPTION, SdkDescription
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.rocm.packages.receipt import PackagesReceipt

__all__ = ["set_faults"]

_MARK: Final = re.compile(r"_rocm_[^/]+/_set\.json|_rocm_[^/]+/\.devel_links/[^/]+\.json|rocm_[^/]+/devel\.json")
_LIMIT: Final = 16 << 20
"""Bytes of such a file that are read at the most."""

_ROCM: Final = "rocm"
_WHEEL: Final = ".whl"
_TAGS: Final = {Platform.LINUX: re.compile(r"(many|musl)?linux_.*"), Platform.WINDOWS: re.compile(r"win_.*|win32")}


class _Mark(msgspec.Struct, kw_only=True):
    """What a package says of its set; the core package also says which description belongs to it."""

    set_id: str = ""
    version: str = ""
    distribution: str | None = None
    rocm: str | None = None


def set_faults(offers: Sequence[Offer], receipt: PackagesReceipt, folder: Path) -> tuple[str, ...]:
    """Return what of the packages is not of the set that the receipt names, a few words each.

    Parameters
    ----------
    offers
        All files of the set, one of them the wheel of ``rocm``.
    receipt
        The packager's receipt.
    folder
        Where the files are.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when a package cannot be read.
    """
    described = [_described(folder / offer.filename) for offer in offers if offer.project == _ROCM]
    wheels = [offer for offer in offers if offer.filename.endswith(_WHEEL)]
    descriptions = {data for data in described if data is not None}
    if len(descriptions) != 1 or None in described:
        return (f"the files of rocm do not hold one description of the set ({DESCRIPTION})",)
    (data,) = descriptions
    try:
        description = msgspec.json.decode(data, type=SdkDescription)
    except msgspec.MsgspecError as error:
        return (f"the description of the set in rocm cannot be read: {error}",)
    faults = [*_against(description, receipt), *_names(offers, description, receipt)]
    digest = hashlib.sha256(data).hexdigest()
    for offer in wheels:
        if offer.project != _ROCM:
            faults += _of_wheel(offer, receipt, digest, folder)
    return tuple(faults)


def _against(description: SdkDescription, receipt: PackagesReceipt) -> Iterator[str]:
    """Give in what the description within ``rocm`` and the receipt differ."""
    platform = receipt.platform
    pairs = {
        "the version": (description.version, receipt.version),
        "the form": (description.form, receipt.form),
        "the targets": (sorted(description.targets.get(platform, ())), sorted(receipt.targets)),
        "the families": (
            {name: description.families.get(name) for name in receipt.families},
            dict(receipt.families),
        ),
    }
    for what, (inside, said) in pairs.items():
        if inside != said:
            yield f"{what} of rocm: {_shown(inside)}, and not {_shown(said)}"


def _names(offers: Sequence[Offer], description: SdkDescription, receipt: PackagesReceipt) -> Iterator[str]:
    """Give the packages that are not of the set, and those of it that are not there."""
    listed = [package for packages in description.packages.values() for package in packages]
    wanted = {_ROCM} | {
        str(canonicalize_name(package.distribution))
        for package in listed
        if not package.platforms or receipt.platform in package.platforms
    }
    if description.form == "device":
        targets = description.targets.get(receipt.platform, ())
        wanted |= {str(canonicalize_name(f"rocm-sdk-device-{target}")) for target in targets}
    for offer in offers:
        if offer.project not in wanted:
            yield f"{offer.filename} is no package of the set"
        elif offer.version != receipt.version:
            yield f"{offer.filename} is not of the version {receipt.version}"
    missing = sorted(wanted - {offer.project for offer in offers})
    if missing:
        yield f"{', '.join(missing)} of the set {'are' if len(missing) > 1 else 'is'} not there"


def _of_wheel(offer: Offer, receipt: PackagesReceipt, digest: str, folder: Path) -> Iterator[str]:
    """Give what a wheel other than that of ``rocm`` says of itself and the receipt does not."""
    tag = offer.filename.removesuffix(_WHEEL).rpartition("-")[2]
    if not _TAGS[receipt.platform].fullmatch(tag):
        yield f"{offer.filename} is not for {receipt.platform}"
    data = _read(folder / offer.filename, _MARK)
    try:
        mark = _Mark() if data is None else msgspec.json.decode(data, type=_Mark)
    except msgspec.MsgspecError:
        mark = _Mark()
    if mark.set_id != receipt.set_id or mark.version != receipt.version:
        yield f"{offer.filename} is of another build" if mark.set_id else f"{offer.filename} says not which build it is of"
    elif mark.distribution is not None and canonicalize_name(mark.distribution) != offer.project:
        yield f"{offer.filename} holds the files of {mark.distribution}"
    elif mark.rocm is not None and mark.rocm != digest:
        yield f"rocm is of another build than {offer.filename}"


def _described(path: Path) -> bytes | None:
    if path.name.endswith(_WHEEL):
        return _read(path, re.compile(re.escape(DESCRIPTION)))
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if member.isfile() and member.name.partition("/")[2] == DESCRIPTION and (stream := tar.extractfile(member)):
                    return stream.read(_LIMIT)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise HipwrightError(
            "bad-wheel",
            f"{path.name} cannot be read: {error}",
            where=Where(file=path),
            hint="make the set anew: nox -s build_rocm_packages -- --artifact-dir DIR --dest-dir DIR",
        ) from error
    return None


def _read(path: Path, member: re.Pattern[str]) -> bytes | None:
    """Return the one member of a wheel that a pattern names; None when there is none, or several."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if member.fullmatch(name)]
            if len(names) != 1:
                return None
            with archive.open(names[0]) as stream:
                return stream.read(_LIMIT)
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise HipwrightError(
            "bad-wheel",
            f"{path.name} cannot be read: {error}",
            where=Where(file=path),
            hint="make the set anew: nox -s build_rocm_packages -- --artifact-dir DIR --dest-dir DIR",
        ) from error


def _shown(value: object) -> str:
    if isinstance(value, (list, dict)):
        return ", ".join(map(str, value)) or "none"
    return str(value)
