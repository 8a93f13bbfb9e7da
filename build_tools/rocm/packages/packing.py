"""Write the wheels of a set: each member straight from where it lies, binaries changed on the way."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.files import temporary_folder
from build_tools.rocm.packages.devel import Archive, DevelTree
from build_tools.rocm.packages.launcher import launcher_for
from build_tools.rocm.packages.metadata import devel_record, device_links, info_files, scripts_file, scripts_of, set_file
from build_tools.rocm.packages.payload import entry_points, payload_files
from build_tools.wheels.name import escaped_name
from build_tools.wheels.write import WheelEntry, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.process import Runner
    from build_tools.rocm.packages.layout import Laid, Placed
    from build_tools.rocm.packages.plan import Plan, Tagged
    from build_tools.types import Platform, Sha256
    from build_tools.wheels.run_path import PatchElf

__all__ = ["ARCHIVE", "Packer"]

_LARGE: Final = 256 << 20
"""From this size on, in bytes, packing takes long enough to be told while it goes on, and a file much memory."""

ARCHIVE: Final = "_devel.tar"
"""The archive in a devel package; it is not compressed on its own, since the wheel is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Packer:
    """Writes wheels of one set into a folder; ``folder`` is also where temporary files lie."""

    plan: Plan
    set_id: Sha256
    platform: Platform
    folder: Path
    launcher: bytes | None
    patchelf: PatchElf | None
    runner: Runner
    compress: bool
    jobs: int

    def pack(self, wheel: Tagged, *, progress: Callable[[str, int, int], None]) -> Path:
        """Write a wheel and return its path.

        Raises
        ------
        HipwrightError
            ``bad-binary`` when a run path cannot be set, ``output-changed`` when an artifact changed meanwhile.
        """
        path = self.folder / wheel.filename
        name = wheel.portion.distribution
        is_large = sum(placed.item.size for placed in wheel.content.files.values()) > _LARGE
        with temporary_folder(self.folder, "binaries") as place:
            changed = self._changed(wheel, place)
            write_wheel(
                self._entries(wheel, changed),
                dist_info=f"{escaped_name(name)}-{self.plan.version}.dist-info",
                wheel=path,
                compress=self.compress,
                jobs=self.jobs,
                progress=lambda done, total: progress(f"packing {name}, files", done, total) if is_large else None,
            )
        return path

    def _changed(self, wheel: Tagged, place: Path) -> dict[str, Path]:
        """Write the binaries whose run path is set, several at a time, and return them by path."""
        todo = [placed for placed in wheel.content.files.values() if placed.run_path is not None]
        if not todo or self.patchelf is None:
            return {}
        patchelf = self.patchelf

        def change(number: int, placed: Placed) -> tuple[str, Path]:
            target = place / f"{number}"
            patchelf.set_run_path(placed.item.source, target, placed.run_path or (), runner=self.runner)
            return placed.path, target

        # patchelf holds a file in memory: large ones go one by one.
        large = [placed.item.size > _LARGE for placed in todo]
        numbered = list(enumerate(todo))
        changed = dict(change(number, placed) for number, placed in numbered if large[number])
        with ThreadPoolExecutor(max(self.jobs, 1)) as pool:
            try:
                return changed | dict(pool.map(lambda each: change(*each), [each for each in numbered if not large[each[0]]]))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _entries(self, wheel: Tagged, changed: Mapping[str, Path]) -> Iterator[WheelEntry]:
        portion, version = wheel.portion, self.plan.version
        info = info_files(portion, version=version, requires=wheel.requires, platform_tag=wheel.platform_tag)
        content = wheel.content
        if isinstance(content, DevelTree):
            yield from self._devel_entries(content, changed)
        else:
            yield from self._file_entries(content, changed)
            info |= self._scripts(wheel)
        small = self._own(wheel) | info
        yield from (WheelEntry(name=name, content=data) for name, data in small.items())

    def _own(self, wheel: Tagged) -> dict[str, bytes]:
        """Return our own files of a package."""
        portion, version = wheel.portion, self.plan.version
        key = portion.key
        if key == "device":
            links = device_links(portion, wheel.content.files, version=version, set_id=self.set_id)
            return {f"{portion.module}/.devel_links/{portion.target}.json": links}
        if key == "devel":
            return dict(payload_files("devel", module=f"_{portion.module}", distribution=portion.distribution))
        files = payload_files(key, module=portion.module, distribution=portion.distribution)
        without = self.plan.without.get(portion.distribution, ())
        mark = set_file(portion, version=version, set_id=self.set_id, rocm=self.plan.rocm, without=without)
        return {**files, f"{portion.module}/_set.json": mark}

    def _scripts(self, wheel: Tagged) -> dict[str, bytes]:
        """Return the table of a package's console scripts, and their entry points."""
        portion = wheel.portion
        key = portion.key
        if key not in ("core", "profiler"):
            return {}
        scripts = scripts_of(self.plan.table, wheel.content.files, platform=self.platform)
        info = f"{escaped_name(portion.distribution)}-{self.plan.version}.dist-info"
        table = {f"{portion.module.removeprefix('_')}/scripts.json": scripts_file(scripts)}
        return table | ({f"{info}/entry_points.txt": entry_points(key, scripts)} if scripts else {})

    def _file_entries(self, laid: Laid, changed: Mapping[str, Path]) -> Iterator[WheelEntry]:
        module = laid.portion.module
        for path, placed in laid.files.items():
            name = f"{module}/{path}"
            if placed.launches is not None and self.launcher is not None:
                yield WheelEntry(name=name, content=launcher_for(self.launcher, placed.launches), executable=True)
            elif placed.content is not None:
                yield WheelEntry(name=name, content=placed.content, executable=placed.executable)
            elif path in changed:
                file = changed[path]
                yield WheelEntry(name=name, content=file, executable=placed.executable, size=file.stat().st_size)
            else:
                sha256 = self.plan.facts[placed.item.source].sha256
                item = placed.item
                yield WheelEntry(name=name, content=item.source, executable=placed.executable, size=item.size, sha256=sha256)

    def _devel_entries(self, tree: DevelTree, changed: Mapping[str, Path]) -> Iterator[WheelEntry]:
        archive = Archive(tree=tree, contents=changed)
        module = tree.portion.module
        digest = hashlib.sha256()
        own = sum(placed.item.size for placed in tree.files.values())
        entries = len(archive.names)

        def record() -> Iterator[bytes]:
            # The archive's name comes first in the order of members, so all of it has been digested by now.
            yield devel_record(
                version=self.plan.version,
                set_id=self.set_id,
                archive=ARCHIVE,
                sha256=digest.hexdigest(),
                entries=entries,
                size=own,
            )

        yield WheelEntry(name=f"{module}/{ARCHIVE}", content=lambda: archive.pieces(digest.update), size=archive.size)
        yield WheelEntry(name=f"{module}/devel.json", content=record)
