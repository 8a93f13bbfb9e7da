"""What of ROCm a wheel needs, found in ROCm's own wheels: libraries by name and what these need in turn, and the files that they read."""

from __future__ import annotations

import collections
import fnmatch
import posixpath
import re
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final

from build_tools.config.bundle import bundle_table
from build_tools.config.rocm_packages import package_table
from build_tools.config.targets import known_targets, target_of
from build_tools.rocm.packages.layout import matches
from build_tools.types import Platform
from build_tools.wheels.elf import read_elf
from build_tools.wheels.opened import copy_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.config.rocm_packages import Library
    from build_tools.wheels.opened import PackedWheel

__all__ = ["Part", "Parts", "RocmFiles", "binary_needs", "find_parts", "rocm_files"]

_CORE: Final = "_rocm_sdk_core"
_LIBRARIES: Final = "_rocm_sdk_libraries"
_DEVICE: Final = "rocm_sdk_device_"
_KPACK: Final = ".kpack"
_TARGET: Final = re.compile(r"gfx[0-9]+[0-9a-z]*")
_BINARY: Final = {
    Platform.LINUX: re.compile(r"\.so(\.[0-9]+)*$"),
    Platform.WINDOWS: re.compile(r"\.(dll|pyd)$", re.IGNORECASE),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A file of ROCm: the wheel that has it, its name there, the folder of its package, and its place below that."""

    wheel: PackedWheel
    member: str
    folder: str
    place: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RocmFiles:
    """All files of the ROCm wheels that may be taken, by package folder and place, and libraries by their file name.

    ``devices`` are the targets whose device packages are there.
    """

    parts: tuple[Part, ...]
    by_name: Mapping[str, tuple[Part, ...]]
    devices: frozenset[str]
    platform: Platform

    def named(self, name: str) -> Part | None:
        """Return the library with a file name; the core package's before others', the one in the shortest folder first."""
        return next(iter(self.by_name.get(_key(name, self.platform), ())), None)

    def of(self, library: Library) -> Part | None:
        """Return the library that the table knows by a short name; of several the one with the shortest file name."""
        pattern = library.linux if self.platform is Platform.LINUX else library.windows
        if pattern is None:
            return None
        folder = _CORE if library.package == "core" else _LIBRARIES
        found = [part for part in self.parts if part.folder.startswith(folder) and matches(part.place, pattern)]
        return min(found, key=lambda part: (len(part.place), part.place), default=None)


@dataclass(kw_only=True, slots=True)
class Parts:
    """What a wheel needs of ROCm.

    ``files`` are in the order found. ``preloads`` are the libraries that its loading code opens, in order. ``needs`` has for each binary
    of the wheel that needs ROCm the libraries that it needs itself, and ``unpacked`` where it lies in the
    scratch folder. ``missing`` are sentences, one for each thing that is not there.
    """

    files: dict[tuple[str, str], Part] = field(default_factory=dict)
    preloads: list[Part] = field(default_factory=list)
    needs: dict[str, list[Part]] = field(default_factory=dict)
    unpacked: dict[str, Path] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def rocm_files(wheels: Iterable[PackedWheel], *, targets: Sequence[str], family: str | None, platform: Platform) -> RocmFiles:
    """Return what may be taken of ROCm's wheels: of device packages those of the targets, of several families' libraries the one's.

    Parameters
    ----------
    wheels
        ROCm's wheels; those that hold nothing for run time add nothing.
    targets
        The GPU targets that the wheel is for.
    family
        The GPU family that is meant, as environment names spell it, where packages are made for several.
    platform
        The system.
    """
    bases = {target_of(target).base for target in targets}
    devices = set()
    parts = []
    for wheel in wheels:
        if wheel.name.distribution.startswith(_DEVICE):
            target = wheel.name.distribution.removeprefix(_DEVICE)
            if target not in bases:
                continue
            devices.add(target)
        for member in wheel.entries:
            folder, _, place = member.partition("/")
            if folder in {_CORE, _LIBRARIES} or (folder.startswith(_LIBRARIES) and _of_family(folder, family)):
                parts.append(Part(wheel=wheel, member=member, folder=folder, place=place))
    by_name: dict[str, list[Part]] = collections.defaultdict(list)
    for part in sorted(parts, key=lambda part: (part.folder != _CORE, part.place.count("/"), part.place)):
        if _BINARY[platform].search(part.place):
            by_name[_key(posixpath.basename(part.place), platform)].append(part)
    return RocmFiles(
        parts=tuple(parts),
        by_name={name: tuple(same) for name, same in by_name.items()},
        devices=frozenset(devices),
        platform=platform,
    )


def find_parts(
    wheel: PackedWheel,
    rocm: RocmFiles,
    *,
    preloads: Sequence[str],
    targets: Sequence[str],
    scratch: Path,
    say: Callable[[str], None] = lambda _line: None,
) -> Parts:
    """Find what a wheel needs of ROCm.

    Parameters
    ----------
    wheel
        The wheel.
    rocm
        What there is.
    preloads
        The libraries that it loads by itself, by their short names.
    targets
        The GPU targets that it is for.
    scratch
        A folder for binaries while they are read.
    say
        Told what is looked at when that takes long.
    """
    found = Parts()
    search = _Search(rocm=rocm, targets=frozenset(target_of(target).base for target in targets), scratch=scratch, found=found)
    own = {_key(posixpath.basename(member), rocm.platform) for member in wheel.entries}
    for number, member in enumerate(sorted(wheel.entries)):
        if not _BINARY[rocm.platform].search(member):
            continue
        path = scratch / f"{number}.binary"
        with path.open("x+b") as stream:
            copy_member(wheel, member, stream)
            needed = _needs(stream, f"{wheel.path.name}: {member}", rocm.platform)
        direct = [part for name in needed if (part := search.need(name, who=member, own=own)) is not None]
        if direct:
            found.needs[member], found.unpacked[member] = direct, path
        else:
            path.unlink()
    for name in preloads:
        library = next((one for one in package_table().library if one.name == name), None)
        part = search.load(library, who=f"the preload {name}") if library is not None else None
        if library is None:
            found.missing.append(f"the preload {name} is no library that ROCm's packages are known to have")
        if part is not None and part not in found.preloads:
            found.preloads.append(part)
    count = len(found.files)
    say(f"looking for what {count} {'library of ROCm needs' if count == 1 else 'libraries of ROCm need'}")
    search.follow(own)
    search.need_devices()
    if found.files:
        search.take(bundle_table().always)
    return found


def binary_needs(wheel: PackedWheel, member: str, *, platform: Platform, scratch: Path) -> tuple[str, ...]:
    """Return the libraries that a member of a wheel needs by name; none where it is no binary of the machine.

    Raises
    ------
    HipwrightError
        ``bad-wheel``, ``bad-binary`` when it is damaged.
    """
    with tempfile.TemporaryFile(dir=scratch) as stream:
        copy_member(wheel, member, stream)
        return _needs(stream, f"{wheel.path.name}: {member}", platform)


def _needs(stream: IO[bytes], name: str, platform: Platform) -> tuple[str, ...]:
    if platform is Platform.WINDOWS:
        from build_tools.wheels.pe import read_pe  # noqa: PLC0415 - only wheels for Windows need it

        pe = read_pe(stream, name=name)
        return () if pe is None else (*pe.imports, *pe.delay_imports)
    elf = read_elf(stream, name=name)
    return () if elf is None else elf.needed


@dataclass(kw_only=True, slots=True)
class _Search:
    """The search: what was found, and what of it was not looked into yet."""

    rocm: RocmFiles
    targets: frozenset[str]
    scratch: Path
    found: Parts
    waiting: collections.deque[Part] = field(default_factory=collections.deque)

    def need(self, name: str, *, who: str, own: set[str]) -> Part | None:
        """Take the library that something needs by its file name; None where it is not ROCm's."""
        if _key(name, self.rocm.platform) in own:
            return None
        part = self.rocm.named(name)
        if part is None:
            known = _library_named(name, self.rocm.platform)
            if known is not None or name.startswith("librocm_sysdeps_"):
                self.found.missing.append(f"{who} needs {name}, which the ROCm packages do not have")
            return None
        self._add(part)
        return part

    def load(self, library: Library, *, who: str) -> Part | None:
        """Take the library that something opens; None where this platform or this ROCm does without it."""
        part = self.rocm.of(library)
        if part is not None:
            self._add(part)
        elif not library.optional and (library.linux if self.rocm.platform is Platform.LINUX else library.windows):
            self.found.missing.append(f"{who} is not in the ROCm packages")
        return part

    def take(self, patterns: Iterable[str]) -> None:
        """Take files by their places, but those of other targets, and those that no wheel needs."""
        for part in self.rocm.parts:
            if any(matches(part.place, pattern) for pattern in patterns) and self._wanted(part.place):
                self._add(part)

    def follow(self, own: set[str]) -> None:
        """Take what goes with what was taken, and what that needs, until nothing is left."""
        libraries = package_table().library
        while self.waiting:
            part = self.waiting.popleft()
            if not _BINARY[self.rocm.platform].search(part.place):
                continue
            for name in binary_needs(part.wheel, part.member, platform=self.rocm.platform, scratch=self.scratch):
                self.need(name, who=part.place, own=own)
            known = _library_named(posixpath.basename(part.place), self.rocm.platform)
            if known is None:
                continue
            self.take([f"{_KPACK}/*{known.artifact}_*"])
            beside = bundle_table().of(known.name)
            if beside is not None:
                for name in beside.loads:
                    library = next(one for one in libraries if one.name == name)
                    self.load(library, who=f"{name}, which {known.name} opens,")
                self.take(beside.files(self.rocm.platform))

    def need_devices(self) -> None:
        """Note the targets without a device package, where libraries were taken that have their code there; those of families have it."""
        split = any(part.folder == _LIBRARIES for part in self.found.files.values())
        lacking = sorted(self.targets - self.rocm.devices) if split else []
        self.found.missing.extend(f"there is no device package of {target} (rocm-sdk-device-{target})" for target in lacking)

    def _wanted(self, place: str) -> bool:
        if any(matches(place, pattern) for pattern in bundle_table().leave_out):
            return False
        named = set(_targets_in(posixpath.basename(place)))
        return not named or not self.targets or bool(named & self.targets)

    def _add(self, part: Part) -> None:
        key = (part.folder, part.place)
        if key not in self.found.files:
            self.found.files[key] = part
            self.waiting.append(part)


def _key(name: str, platform: Platform) -> str:
    return name.casefold() if platform is Platform.WINDOWS else name


def _of_family(folder: str, family: str | None) -> bool:
    return family is None or folder.removeprefix(f"{_LIBRARIES}_").replace("_", "-") == family.lower().replace("_", "-")


def _library_named(name: str, platform: Platform) -> Library | None:
    """Return the library of the table that a file name is of."""
    for library in package_table().library:
        pattern = library.linux if platform is Platform.LINUX else library.windows
        if pattern is not None and fnmatch.fnmatchcase(_key(name, platform), _key(posixpath.basename(pattern), platform)):
            return library
    return None


def _targets_in(name: str) -> Iterator[str]:
    """Give the GPU targets that a file's name has in it; the number of compute units may stand right behind one (``gfx90a68``)."""
    known = sorted(known_targets().targets, key=len, reverse=True)
    for token in _TARGET.findall(name):
        target = next((one for one in known if token.startswith(one)), None)
        if target is not None:
            yield target
