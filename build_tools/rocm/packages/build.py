"""Make the ROCm Python packages of a folder of artifacts: all of them, proved, or none."""

from __future__ import annotations

import platform as machine
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, hold, make_folder, remove_tree, temporary_folder, write_bytes
from build_tools.receipts.record import read_record, to_json
from build_tools.rocm.packages.check import check_set
from build_tools.rocm.packages.launcher import compile_launcher
from build_tools.rocm.packages.meta import build_meta
from build_tools.rocm.packages.packing import Packer
from build_tools.rocm.packages.plan import Plan, make_plan
from build_tools.rocm.packages.receipt import RECEIPT_NAME, PackageFile, PackagesReceipt
from build_tools.rocm.packages.request import PackageRequest
from build_tools.wheels.run_path import find_patchelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.process import Runner
    from build_tools.types import Sha256

__all__ = ["BuiltPackages", "PackageRequest", "build_packages", "plan_packages"]

_OPTION: Final = "--dest-dir"
_DIST: Final = "dist"
_TEMPORARY: Final = ".packages"
_SHRINKS: Final = 4
"""No set of libraries and kernels is compressed to less than this part of it: so much room is needed for sure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltPackages:
    """A set of packages: its folder and its receipt.

    ``made`` is off when all was there already. ``left_out`` names the artifacts that went into none of them.
    """

    dist: Path
    receipt: Path
    packages: PackagesReceipt
    made: bool
    left_out: tuple[str, ...]


def _silent(_what: str, _done: int, _total: int) -> None:
    return


def plan_packages(
    request: PackageRequest,
    *,
    say: Callable[[str], None] = lambda _line: None,
    progress: Callable[[str, int, int], None] = _silent,
) -> Plan:
    """Say what would be made; nothing is written.

    Raises
    ------
    HipwrightError
        As :func:`build_packages`, but for what only making shows.
    """
    _apart(request)
    return make_plan(request, say=say, progress=progress)


def build_packages(
    request: PackageRequest,
    *,
    runner: Runner,
    say: Callable[[str], None] = lambda _line: None,
    progress: Callable[[str, int, int], None] = _silent,
    wait: bool = True,
) -> BuiltPackages:
    """Make the packages; the same artifacts give the same bytes.

    They are written into a temporary folder, proved there, and only then given their names.

    Parameters
    ----------
    request
        What is wanted.
    runner
        Starts the programs that binaries are changed with.
    say, progress
        Told what is done.
    wait
        Whether another run that writes into the same folder is waited for.

    Raises
    ------
    HipwrightError
        ``bad-artifact``, ``bad-version``, ``bad-binary``, ``no-compiler``, ``missing-tool``; ``package-incomplete`` when artifacts are
        missing or something did not come out; ``name-taken`` when other packages are there under these names, or those of another set; ``locked``.
    """
    plan = plan_packages(request, say=say, progress=progress)
    make_folder(request.target, option=_OPTION)
    lock = request.target / f"{_TEMPORARY}.lock"
    with hold(lock, purpose=f"packing {request.artifacts.name}", wait=wait, on_wait=say):
        return _build(plan, request, runner=runner, say=say, progress=progress)


def _build(
    plan: Plan,
    request: PackageRequest,
    *,
    runner: Runner,
    say: Callable[[str], None],
    progress: Callable[[str, int, int], None],
) -> BuiltPackages:
    target, dist = request.target, request.target / _DIST
    receipt = target / RECEIPT_NAME
    for left_over in target.glob(f"{_TEMPORARY}.partial-*"):
        remove_tree(left_over)
    with temporary_folder(target, _TEMPORARY) as folder:
        launcher = compile_launcher(folder=folder, runner=runner) if plan.needs_launcher else None
        patchelf = find_patchelf(runner, cwd=folder) if plan.needs_patchelf else None
        set_id = plan.set_id(
            launcher=launcher,
            patchelf=patchelf.version if patchelf else None,
            zlib=zlib.ZLIB_RUNTIME_VERSION if request.compress else None,
        )
        standing = read_record(receipt, PackagesReceipt) if receipt.exists() else None
        if standing is not None and not request.clean:
            if (standing.set_id, standing.compressed) != (set_id, request.compress):
                message = f"{dist} holds the set {standing.version}, {digest.short(standing.set_id)}, and this is another"
                _refuse(message, dist, version=plan.version, standing=standing)
            if all(_is_there(file, dist) for file in standing.files):
                say(f"all {len(standing.files)} packages of {plan.version} are in {dist} already")
                return BuiltPackages(dist=dist, receipt=receipt, packages=standing, made=False, left_out=plan.left_out)
        total = sum(placed.item.size for placed in plan.placed)
        free_space(target, total // _SHRINKS if request.compress else total, option=_OPTION)
        packer = Packer(
            plan=plan,
            set_id=set_id,
            platform=request.platform,
            folder=folder,
            launcher=launcher,
            patchelf=patchelf,
            runner=runner,
            compress=request.compress,
            jobs=request.jobs,
        )
        for number, wheel in enumerate(plan.wheels, 1):
            say(f"packing {wheel.filename} ({number} of {len(plan.wheels)}), {len(wheel.content.files)} files")
            packer.pack(wheel, progress=progress)
        build_meta(plan.description, folder)
        say(f"proving {len(plan.filenames)} packages")
        members = check_set(plan, folder, jobs=request.jobs)
        tools = {"zlib": zlib.ZLIB_RUNTIME_VERSION, "python": machine.python_version()}
        tools |= {"patchelf": patchelf.version} if patchelf else {}
        tools |= {"launcher": digest.of_bytes(launcher)} if launcher is not None else {}
        record = PackagesReceipt(
            version=plan.version,
            set_id=set_id,
            form=plan.selection.form,
            platform=request.platform,
            compressed=request.compress,
            targets=plan.selection.targets,
            families=plan.selection.families,
            files=tuple(_file(folder / name, plan, members) for name in sorted(plan.filenames)),
            tools=tools,
            notes=plan.notes,
        )
        if request.clean:
            _clear(standing, receipt, dist)
        _take(record, folder, dist, clean=request.clean)
    write_bytes(receipt, to_json(record))
    return BuiltPackages(dist=dist, receipt=receipt, packages=record, made=True, left_out=plan.left_out)


def _apart(request: PackageRequest) -> None:
    """Refuse to write where the artifacts are."""
    artifacts, dist = request.artifacts.resolve(), (request.target / _DIST).resolve()
    places = [request.target.resolve(), dist]
    if dist in artifacts.parents or any(place == artifacts or artifacts in place.parents for place in places):
        message = f"packages in {request.target} would lie where the artifacts are, and nothing is written there"
        raise HipwrightError("bad-option-value", message, hint=f"name another folder with {_OPTION}")


def _clear(standing: PackagesReceipt | None, receipt: Path, dist: Path) -> None:
    """Take an earlier set away: its receipt, and those of its files that still have the bytes that it states."""
    receipt.unlink(missing_ok=True)
    for file in standing.files if standing is not None else ():
        if _is_there(file, dist):
            (dist / file.filename).unlink()


def _is_there(file: PackageFile, dist: Path) -> bool:
    path = dist / file.filename
    return path.is_file() and path.stat().st_size == file.size and digest.of_file(path) == file.sha256


def _take(record: PackagesReceipt, folder: Path, dist: Path, *, clean: bool) -> None:
    """Give the packages their names; one that is taken by other bytes stops all, unless it may be replaced."""
    make_folder(dist, option=_OPTION)
    if not clean:
        taken = [file.filename for file in record.files if (dist / file.filename).exists() and not _is_there(file, dist)]
        if taken:
            _refuse(f"{dist} holds {', '.join(taken)} with other bytes", dist, version=record.version, standing=None)
    for file in record.files:
        (folder / file.filename).replace(dist / file.filename)


def _refuse(message: str, dist: Path, *, version: str, standing: PackagesReceipt | None) -> None:
    hint = "name another folder with --dest-dir, or replace what is there with --clean"
    if standing is None or standing.version == version:
        hint += "; packages that were given to others need another version: --version V"
    raise HipwrightError("name-taken", message, where=Where(file=dist), hint=hint)


def _file(path: Path, plan: Plan, members: dict[str, int]) -> PackageFile:
    distribution = next((wheel.portion.distribution for wheel in plan.wheels if wheel.filename == path.name), "rocm")
    sha256: Sha256 = digest.of_file(path)
    return PackageFile(
        filename=path.name,
        distribution=distribution,
        sha256=sha256,
        size=path.stat().st_size,
        files=members.get(path.name, 0),
    )
