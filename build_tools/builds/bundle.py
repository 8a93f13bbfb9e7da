"""Make a wheel that has ROCm inside: the one that was built, and what it needs of ROCm's own wheels, copied as it lies in them.

On Linux the folders of ROCm's packages stay side by side below the wheel's package, so that their binaries find each other by the run
paths that they have; the wheel's own binaries get run paths to them, which count before anything that a machine has. On Windows all of it
is one tree, whose folder of libraries is searched, and the libraries are loaded by their paths.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.builds.bundle_loader import LOADER, loader_code, with_loader
from build_tools.builds.bundle_parts import find_parts, rocm_files
from build_tools.builds.version import bundled_version
from build_tools.config.bundle import bundle_table
from build_tools.config.owned import is_rocm
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, temporary_folder
from build_tools.receipts.values import WheelFile
from build_tools.types import Platform
from build_tools.wheels.elf import read_elf
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.opened import member_bytes, open_wheel
from build_tools.wheels.rewrite import rewrite_wheel
from build_tools.wheels.run_path import find_patchelf
from build_tools.wheels.run_path_in_place import set_run_path_in_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.builds.bundle_parts import Part, Parts
    from build_tools.process import Runner
    from build_tools.receipts.values import BuiltWheels
    from build_tools.wheels.elf import Elf
    from build_tools.wheels.opened import PackedWheel
    from build_tools.wheels.write import WheelEntry

__all__ = ["Rocm", "bundle_wheel", "bundle_wheels"]

_NOTE: Final = "bundle.json"
_MIB: Final = 1 << 20
_SPARE: Final = 64 << 20
"""Free bytes beyond what is expected to be written."""

_SHOWN: Final = 12
_HINT: Final = "lock ROCm's packages for the targets: name --gfx or --gpu-family with --bundle-rocm, and --relock"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rocm:
    """The ROCm that goes into a wheel: its version, its own wheels, and the GPU family that is meant where they are for several."""

    version: str
    wheels: Sequence[Path]
    family: str | None = None


def bundle_wheel(
    wheel: Path,
    target: Path,
    *,
    rocm: Rocm,
    preloads: Sequence[str],
    targets: Sequence[str],
    platform: Platform,
    runner: Runner,
    package: str | None = None,
    jobs: int = 1,
    say: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Write a wheel that has what it needs of ROCm into the folder ``target``, and return its path; the given one stays.

    Parameters
    ----------
    wheel
        The wheel that was built against ROCm's packages.
    target
        The folder that the new one goes to.
    rocm
        What it is to have.
    preloads
        The libraries of ROCm that the package loads by itself, by their short names, in order.
    targets
        The GPU targets that it is for.
    platform
        The system that it is for.
    runner
        Starts the program that sets run paths.
    package
        The folder of the package that gets ROCm, where it is not the one with the wheel's loading code, or the only one.
    jobs
        How many threads compress.
    say
        Told what the wheel will hold and weigh before it is written.

    Raises
    ------
    HipwrightError
        ``bundle-incomplete`` naming everything that is missing; ``disk-space``; ``bad-wheel``, ``bad-binary``; ``missing-tool``
        without ``patchelf``.
    """
    old = open_wheel(wheel)
    files = rocm_files([open_wheel(path) for path in rocm.wheels], targets=targets, family=rocm.family, platform=platform)
    free_space(target, sum(old.packed(member).size for member in old.entries) + _SPARE)
    with temporary_folder(target, f".{wheel.name}") as scratch:
        parts = find_parts(old, files, preloads=preloads, targets=targets, scratch=scratch, say=say)
        home = _home(old, parts, package)
        places, clashes = _places(parts, home, platform)
        _refuse(old, parts, [*parts.missing, *clashes])
        _announce(old, parts, rocm.version, target=target, say=say)
        members: dict[str, bytes | Path | WheelEntry | None] = {
            place: replace(part.wheel.entries[part.member], name=place) for place, part in places.items()
        }
        where = {(part.folder, part.place): place for place, part in places.items()}
        if platform is Platform.LINUX:
            members |= _with_run_paths(old, parts, where, scratch=scratch, runner=runner)
        members |= _loading_code(old, parts, where, home=home, version=rocm.version, platform=platform)
        members[f"{home}/{bundle_table().folder}/{_NOTE}"] = _note(places, rocm, targets)
        dropped = [name for name in _requirements(old) if is_rocm(name)]
        return rewrite_wheel(
            old,
            target,
            version=bundled_version(old.name.version, rocm.version),
            requires=dict.fromkeys(dropped),
            members=members,
            jobs=jobs,
        )


def bundle_wheels(
    built: BuiltWheels,
    folder: Path,
    *,
    rocm: Rocm,
    preloads: Sequence[str],
    platform: Platform,
    runner: Runner,
    package: str | None = None,
    jobs: int = 1,
    say: Callable[[str], None] = lambda _line: None,
) -> BuiltWheels:
    """Put ROCm into the wheels of a build, which lie below ``folder``, and return what the build has made then.

    The wheels without ROCm go away; a requirement on ROCm's packages is none of its pins any more. See :func:`bundle_wheel`.
    """
    made = []
    for thin in built.wheels:
        path = folder / thin.path
        fat = bundle_wheel(
            path,
            path.parent,
            rocm=rocm,
            preloads=preloads,
            targets=built.targets,
            platform=platform,
            runner=runner,
            package=package,
            jobs=jobs,
            say=say,
        )
        if fat != path:
            path.unlink()
        made.append(
            WheelFile(
                path=f"{posixpath.dirname(thin.path)}/{fat.name}",
                filename=fat.name,
                distribution=thin.distribution,
                version=fat.name.split("-")[1],
                sha256=digest.of_file(fat),
                size=fat.stat().st_size,
            )
        )
    return msgspec.structs.replace(
        built,
        version=bundled_version(built.version, rocm.version),
        wheels=tuple(made),
        pins=tuple(pin for pin in built.pins if not is_rocm(Requirement(pin).name)),
        bundled=rocm.version,
    )


def _home(wheel: PackedWheel, parts: Parts, package: str | None) -> str:
    """Return the folder of the package that ROCm goes into.

    It is the one that loads ROCm by itself, else the one that was named, else the only one, or the only one with binaries that need ROCm.
    """
    loading = [member.partition("/")[0] for member in wheel.entries if member.endswith(f"/{LOADER}") and member.count("/") == 1]
    packages = {
        member.partition("/")[0] for member in wheel.entries if member.endswith("/__init__.py") and member.count("/") == 1
    }
    needing = packages & {member.partition("/")[0] for member in parts.needs}
    named = [package.partition(".")[0]] if package is not None and package.partition(".")[0] in packages else []
    for found in (loading, named, sorted(packages), sorted(needing)):
        if len(found) == 1:
            return found[0]
    among = f"it has {', '.join(sorted(packages))}" if packages else "it has none"
    message = f"{wheel.path.name}: it cannot be told which package ROCm goes into; {among}"
    raise HipwrightError(
        "bundle-incomplete", message, where=Where(file=wheel.path), hint="name it: wheel.import-name in project.toml"
    )


def _places(parts: Parts, home: str, platform: Platform) -> tuple[dict[str, Part], list[str]]:
    """Return where in the wheel each file of ROCm goes, and what would be one file of two."""
    places: dict[str, Part] = {}
    clashes = []
    for part in parts.files.values():
        below = part.place if platform is Platform.WINDOWS else f"{part.folder}/{part.place}"
        place = f"{home}/{bundle_table().folder}/{below}"
        other = places.setdefault(place, part)
        if other.wheel.packed(other.member).hash_value != part.wheel.packed(part.member).hash_value:
            clashes.append(f"{part.place} is another file in {part.wheel.path.name} than in {other.wheel.path.name}")
    return places, clashes


def _refuse(wheel: PackedWheel, parts: Parts, missing: Sequence[str]) -> None:
    where = Where(file=wheel.path)
    if missing:
        more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        message = f"{wheel.path.name} cannot have ROCm inside: {'; '.join(missing[:_SHOWN])}{more}"
        raise HipwrightError("bundle-incomplete", message, where=where, hint=_HINT, document={"missing": list(missing)})
    if not parts.files:
        message = f"{wheel.path.name} needs nothing of ROCm, or ROCm's packages have nothing that it needs"
        raise HipwrightError("bundle-incomplete", message, where=where, hint="build it without --bundle-rocm")


def _announce(wheel: PackedWheel, parts: Parts, version: str, *, target: Path, say: Callable[[str], None]) -> None:
    """Tell what will be written, and prove that there is room for it."""
    packed = sum(part.wheel.packed(part.member).packed for part in parts.files.values())
    whole = packed + sum(wheel.packed(member).packed for member in wheel.entries)
    changed = sum(wheel.packed(member).size for member in parts.needs)
    say(
        f"putting ROCm {version} into {wheel.name.distribution}: {len(parts.files)} files with {packed / _MIB:.1f} MiB; "
        f"the wheel will have about {whole / _MIB:.1f} MiB"
    )
    free_space(target, whole + 3 * changed + _SPARE)


def _with_run_paths(
    wheel: PackedWheel, parts: Parts, where: Mapping[tuple[str, str], str], *, scratch: Path, runner: Runner
) -> Iterator[tuple[str, WheelEntry]]:
    """Give the wheel's binaries that need ROCm, with run paths to it that come first; those that have them stay as they are."""
    for member, needed in sorted(parts.needs.items()):
        folder = posixpath.dirname(_installed(member)) or "."
        ours = [f"$ORIGIN/{posixpath.relpath(posixpath.dirname(where[part.folder, part.place]), folder)}" for part in needed]
        path = parts.unpacked[member]
        before = _read(path, member)
        # An absolute one is a folder of the machine that built it, where another ROCm may be.
        kept = [entry for entry in (*before.run_path, *before.runpath) if entry.startswith("$ORIGIN")]
        wanted = tuple(dict.fromkeys([*ours, *kept]))
        if before.run_path == wanted and not before.runpath:
            path.unlink()
            continue
        if not set_run_path_in_place(path, wanted):
            changed = path.with_suffix(".changed")
            find_patchelf(runner, cwd=scratch).set_run_path(path, changed, wanted, runner=runner)
            changed.replace(path)
        elif (after := _read(path, member)).run_path != wanted or after.runpath or after.needed != before.needed:
            message = f"{wheel.path.name}: {member} has other run paths than were set"
            raise HipwrightError("bad-binary", message, where=Where(file=wheel.path, member=member))
        yield member, replace(wheel.entries[member], content=path, size=path.stat().st_size)


def _read(path: Path, member: str) -> Elf:
    with path.open("rb") as stream:
        elf = read_elf(stream, name=member)
    if elf is None:
        raise HipwrightError("bad-binary", f"{member} is no binary of this machine", where=Where(member=member))
    return elf


def _installed(member: str) -> str:
    """Return where a file is installed, relative to the packages: some lie in a ``.data`` folder until then."""
    top, _, rest = member.partition("/")
    return rest.partition("/")[2] if top.endswith(".data") and rest.startswith(("platlib/", "purelib/")) else member


def _loading_code(
    wheel: PackedWheel, parts: Parts, where: Mapping[tuple[str, str], str], *, home: str, version: str, platform: Platform
) -> dict[str, bytes]:
    """Return the module that loads ROCm, and the package's own code where that has to call it."""
    root = f"{home}/{bundle_table().folder}/"
    searched = dict.fromkeys(
        posixpath.dirname(place.removeprefix(root)) for place in where.values() if place.lower().endswith(".dll")
    )
    code = loader_code(
        version=version,
        folder=bundle_table().folder,
        libraries=[where[part.folder, part.place].removeprefix(root) for part in parts.preloads],
        searched=tuple(searched) if platform is Platform.WINDOWS else (),
    )
    member, own = f"{home}/{LOADER}", f"{home}/__init__.py"
    if member in wheel.entries:
        return {member: code}
    if platform is Platform.LINUX and not parts.preloads:
        return {}  # its binaries find ROCm by their run paths
    return {member: code, own: with_loader(member_bytes(wheel, own), member=own)}


def _note(places: Mapping[str, Part], rocm: Rocm, targets: Sequence[str]) -> bytes:
    """Return what tells people and programs which ROCm it is, and which of its packages were taken from."""
    packages = sorted({part.wheel.path.name for part in places.values()})
    document = {"schema": 1, "rocm": rocm.version, "targets": sorted(targets), "packages": packages, "files": len(places)}
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def _requirements(wheel: PackedWheel) -> list[str]:
    return sorted({canonicalize_name(each.name) for each in parse_metadata(wheel.metadata).requires_dist})
