"""Everything about a set of packages that is decided before the first of them is written: what goes where, by which name, and its id."""

from __future__ import annotations

import collections
import platform as host
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from packaging.tags import Tag
from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.config.rocm_packages import package_table
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.receipts.record import to_json
from build_tools.rocm.artifacts.catalog import read_catalog
from build_tools.rocm.packages.clashes import refuse_clashes
from build_tools.rocm.packages.describe import describe, families_of
from build_tools.rocm.packages.devel import lay_out_devel
from build_tools.rocm.packages.inputs import (
    expected_targets,
    left_out,
    require_fetched,
    require_whole,
    restated_targets,
    uneven,
    unknown,
    without_libraries,
)
from build_tools.rocm.packages.layout import lay_out
from build_tools.rocm.packages.metadata import scripts_of
from build_tools.rocm.packages.names import refuse_names
from build_tools.rocm.packages.payload import payload_files, source_files
from build_tools.rocm.packages.run_paths import room_of, with_run_paths
from build_tools.rocm.packages.scan import scan
from build_tools.rocm.packages.select import DIST_INFO, read_about, select
from build_tools.rocm.packages.tree import flatten
from build_tools.types import Platform
from build_tools.wheels.name import wheel_filename
from build_tools.wheels.platform_tag import linux_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from build_tools.config.rocm_packages import PackageTable
    from build_tools.rocm.artifacts.catalog import Catalog
    from build_tools.rocm.description import SdkDescription
    from build_tools.rocm.packages.devel import DevelTree
    from build_tools.rocm.packages.layout import Laid, Placed
    from build_tools.rocm.packages.request import PackageRequest
    from build_tools.rocm.packages.scan import Facts
    from build_tools.rocm.packages.select import Portion, Selection
    from build_tools.types import Sha256

__all__ = ["Plan", "Tagged", "make_plan"]

_SHOWN: Final = 10
_WINDOWS_TAG: Final = "win_amd64"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """A wheel to be: what is in it, its file name, its platform tag, and which distributions of the set it requires."""

    content: Laid | DevelTree
    filename: str
    platform_tag: str
    requires: tuple[str, ...]

    @property
    def portion(self) -> Portion:
        """The package that it is."""
        return self.content.portion


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A set to be made.

    ``description`` is that of the package ``rocm`` and ``rocm`` its digest. ``without`` are the libraries that packages are made without,
    by distribution, ``left_out`` the artifacts that go into none. ``base`` is the digest of all that goes in but what the tools make of
    it, which :meth:`set_id` adds. ``notes`` are sentences for people.
    """

    version: str
    selection: Selection
    table: PackageTable
    wheels: tuple[Tagged, ...]
    facts: Mapping[Path, Facts]
    description: SdkDescription
    rocm: Sha256
    without: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    base: Sha256
    notes: tuple[str, ...]

    @property
    def placed(self) -> tuple[Placed, ...]:
        """All files of all packages."""
        return tuple(placed for wheel in self.wheels for placed in wheel.content.files.values())

    @property
    def needs_launcher(self) -> bool:
        """Whether a launcher is among them."""
        return any(placed.launches is not None for placed in self.placed)

    @property
    def needs_patchelf(self) -> bool:
        """Whether the run path of one of them is set."""
        return any(placed.run_path is not None for placed in self.placed)

    @property
    def filenames(self) -> tuple[str, ...]:
        """The names of all files of the set."""
        rocm = (f"rocm-{self.version}-py3-none-any.whl", f"rocm-{self.version}.tar.gz")
        return (*(wheel.filename for wheel in self.wheels), *rocm)

    def set_id(self, *, launcher: bytes | None, patchelf: str | None, zlib: str | None) -> Sha256:
        """Return the digest of all files of the set but those that name it: of what they are made from, and by which tools."""
        return digest.of_value([self.base, digest.of_bytes(launcher) if launcher is not None else None, patchelf, zlib])


def make_plan(request: PackageRequest, *, say: Callable[[str], None], progress: Callable[[str, int, int], None]) -> Plan:
    """Read artifacts and say what becomes of them; nothing is written.

    Raises
    ------
    HipwrightError
        ``bad-version``, ``bad-artifact``, ``bad-binary``; ``package-incomplete`` when there are no artifacts for something that has to
        be there.
    """
    version = _normal(request.version)
    table = package_table()
    platform = request.platform
    catalog = read_catalog(request.artifacts, jobs=request.jobs)
    about = read_about(catalog)
    form = request.form or about.form
    elsewhere = [name for other, names in request.elsewhere.items() if other is not platform for name in names]
    selection = select(
        catalog,
        table,
        form=form,
        platform=platform,
        targets=expected_targets(request, about, form),
        families=request.families if form == "family" else (),
        elsewhere=tuple(families_of(elsewhere)) if form == "family" else (),
    )
    require_fetched(request.artifacts, catalog, selection)
    others = left_out(catalog, selection)
    say(f"{request.artifacts} has {len(catalog.artifacts)} artifacts, {len(selection.artifacts)} of which go into packages")
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        say(f"not in packages: {', '.join(others[:_SHOWN])}{more}")
    if about.version is not None and _release(about.version) != _release(version):
        say(f"the artifacts say that they are of ROCm {about.version}, and the packages are called {version}")
    description = describe(selection, table, version=version, platform=platform, elsewhere=request.elsewhere)
    notes = [*require_whole(selection.artifacts), *_of_no_use(catalog, table), *uneven(selection)]
    items = [item for artifact in selection.artifacts for item in artifact.items]
    refuse_names(((item.path, item.source) for item in items), platform=platform)
    facts = scan(items, platform=platform, jobs=request.jobs, progress=progress)

    laid = [_laid(portion, facts, table=table, platform=platform) for portion in selection.runtime]
    refuse_clashes(((one.portion.distribution, _installed(one, table, platform)) for one in laid), platform=platform)
    notes += [_dropped(one) for one in laid if one.dropped]
    without = without_libraries(laid, table, platform)
    notes += [
        f"{name} is made without {', '.join(libraries)}: their artifacts are not here" for name, libraries in without.items()
    ]
    laid = [_restated(one, selection) for one in laid]
    if platform is Platform.LINUX:
        laid = _with_run_paths(laid, facts, table)
    trees = [
        lay_out_devel(
            portion,
            flatten(portion.artifacts, facts, platform=platform),
            facts,
            packages=[one for one in laid if one.portion.key != "profiler" and one.portion.family in {None, portion.family}],
            platform=platform,
        )
        for portion in selection.devel
    ]
    for tree in trees:
        refuse_clashes([(tree.portion.distribution, (*tree.files, *tree.links))], platform=platform)
    contents: tuple[Laid | DevelTree, ...] = (*laid, *trees)
    names = {path.rpartition("/")[2] for content in contents for path in content.files}
    machine = _machine(facts.values())
    wheels: list[Tagged] = []
    for content in contents:
        tag, reason = _tag(content, facts, platform=platform, machine=machine, has=names.__contains__)
        if reason:
            notes.append(f"{content.portion.distribution} is tagged {tag}: {reason}")
        filename = wheel_filename(name=content.portion.distribution, version=version, tags=[Tag("py3", "none", tag)])
        requires = _requires(content.portion, selection)
        wheels.append(Tagged(content=content, filename=filename, platform_tag=tag, requires=requires))
    rocm = digest.of_bytes(to_json(description))
    base = digest.of_value(
        [
            ["hipwright packages", 1, platform, rocm, sorted(without.items())],
            [_parts(wheel, facts) for wheel in wheels],
            sorted((name, digest.of_bytes(data)) for name, data in _payload().items()),
        ]
    )
    return Plan(
        version=version,
        selection=selection,
        table=table,
        wheels=tuple(wheels),
        facts=facts,
        description=description,
        rocm=rocm,
        without=without,
        left_out=others,
        base=base,
        notes=tuple(notes),
    )


def _normal(version: str) -> str:
    try:
        return str(Version(version))
    except InvalidVersion:
        message = f"{version!r} is no version that a package can have"
        raise HipwrightError("bad-version", message, hint="give one that PEP 440 can read: --version 7.10.0.dev0") from None


def _release(version: str) -> tuple[int, ...] | None:
    try:
        return Version(version).release
    except InvalidVersion:  # an artifact may state any text
        return None


def _laid(portion: Portion, facts: Mapping[Path, Facts], *, table: PackageTable, platform: Platform) -> Laid:
    leave_out = () if portion.key == "device" else table.runtime(portion.key).leave_out
    tree = flatten(portion.artifacts, facts, platform=platform)
    return lay_out(portion, tree, facts, platform=platform, leave_out=leave_out)


def _installed(laid: Laid, table: PackageTable, platform: Platform) -> Iterator[str]:
    """Give the paths of what an installer puts there for a package: the artifacts' files, and the console scripts that start them."""
    yield from (f"{laid.portion.module}/{path}" for path in laid.files)
    if laid.portion.key in {"core", "profiler"}:
        yield from (f"bin/{name}" for name in scripts_of(table, laid.files, platform=platform))


def _with_run_paths(packages: list[Laid], facts: Mapping[Path, Facts], table: PackageTable) -> list[Laid]:
    """Let the binaries of each package look in its own module, in those of the packages that it requires, and where the table says."""
    rooms = {laid.portion.distribution: room_of(laid.portion.module, laid.files) for laid in packages}
    by_key = {laid.portion.key: laid for laid in packages}
    mended = []
    for laid in packages:
        key = laid.portion.key
        own = rooms[laid.portion.distribution]
        if key == "device":
            # Its files lie among those of the libraries.
            own = room_of(laid.portion.module, [*by_key["libraries"].files, *laid.files])
        core = rooms[by_key["core"].portion.distribution]
        entries = table.runtime("libraries" if key == "device" else key).run_paths
        modules: dict[str, str] = {"core": core.module, key: own.module}
        extra = [(modules.get(name, ""), folder) for name, _, folder in (entry.partition(":") for entry in entries)]
        seen = [own] if key == "core" else [own, core]
        mended.append(with_run_paths(laid, facts, rooms=seen, extra=extra))
    return mended


def _requires(portion: Portion, selection: Selection) -> tuple[str, ...]:
    def named(key: str) -> tuple[str, ...]:
        return tuple(one.distribution for one in selection.runtime if one.key == key and one.family in {None, portion.family})

    match portion.key:
        case "core":
            return ()
        case "device":
            return named("libraries")
        case "devel":
            return (*named("core"), *named("libraries"))
        case _:
            return named("core")


def _tag(
    content: Laid | DevelTree, facts: Mapping[Path, Facts], *, platform: Platform, machine: str, has: Callable[[str], bool]
) -> tuple[str, str]:
    if platform is Platform.WINDOWS:
        return _WINDOWS_TAG, ""
    binaries = (
        (placed.path, elf)
        for placed in content.files.values()
        if placed.launches is None and (elf := facts[placed.item.source].elf) is not None
    )
    found = linux_tag(binaries, machine=machine, has=has)
    return found.tag, found.reason


def _machine(facts: Iterable[Facts]) -> str:
    """Return the processor that most binaries are for; this machine's where there are none."""
    machines = collections.Counter(one.elf.machine for one in facts if one.elf is not None)
    return max(sorted(machines), key=machines.__getitem__, default=host.machine())


def _dropped(laid: Laid) -> str:
    links = counted(len(laid.dropped), "link")
    return f"{laid.portion.distribution} is without {links} to folders or to nothing, such as {laid.dropped[0]}; the devel tree has them"


def _of_no_use(catalog: Catalog, table: PackageTable) -> list[str]:
    names = unknown(catalog, table)
    return [f"no package has a place for {', '.join(names)}"] if names else []


def _restated(laid: Laid, selection: Selection) -> Laid:
    """Let the core package say which targets it was packaged for; the artifacts may be those of a run for more."""
    placed = laid.files.get(DIST_INFO) if laid.portion.key == "core" else None
    content = restated_targets(placed.item.source, selection.targets) if placed is not None else None
    if placed is None or content is None:
        return laid
    return replace(laid, files={**laid.files, DIST_INFO: replace(placed, content=content)})


def _parts(wheel: Tagged, facts: Mapping[Path, Facts]) -> list[object]:
    """Return all that a wheel is made of, as plain data."""
    rows = [
        [placed.path, _digest(placed, facts), placed.executable, placed.launches, placed.run_path]
        for placed in wheel.content.files.values()
    ]
    links = sorted(getattr(wheel.content, "links", {}).items())
    return [wheel.filename, wheel.requires, rows, links]


def _digest(placed: Placed, facts: Mapping[Path, Facts]) -> Sha256:
    return facts[placed.item.source].sha256 if placed.content is None else digest.of_bytes(placed.content)


def _payload() -> dict[str, bytes]:
    """Return all files of our own that go into packages."""
    files = {f"source/{name}": data for name, data in source_files().items()}
    for key in ("rocm", "core", "libraries", "devel", "profiler"):
        files |= payload_files(key)
    return files
