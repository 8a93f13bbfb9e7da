"""Prove that a set of packages came out as planned: every target, every file, every hash, and every link of the devel archives."""

from __future__ import annotations

import posixpath
import tarfile
import zipfile
from typing import TYPE_CHECKING, Final

from build_tools.checks.registry import FORMAT
from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.packages.devel import DevelTree
from build_tools.rocm.packages.packing import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from build_tools.rocm.packages.plan import Plan

__all__ = ["check_set"]

_SHOWN: Final = 5


def check_set(plan: Plan, folder: Path, *, jobs: int) -> dict[str, int]:
    """Read the packages of a set again and compare them with their plan; return how many members each wheel has.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` naming what is missing or wrong.
    """
    missing = [name for name in plan.filenames if not (folder / name).is_file()]
    if missing:
        raise _incomplete(folder, [f"{name} did not come out" for name in missing])
    wheels = [folder / name for name in plan.filenames if name.endswith(".whl")]
    # What lies in them is AMD's, and was proved against the plan; how it is packed is ours.
    report = check_wheels(wheels, expectations=None, only=FORMAT, say=lambda _line: None, jobs=jobs)
    faults = [f"{found.wheel}: {found.message}" for found in report.findings if found.severity == "error"]
    members = {wheel.name: _names(wheel) for wheel in wheels}
    for wheel in plan.wheels:
        if isinstance(wheel.content, DevelTree):
            expected = {f"{wheel.portion.module}/{ARCHIVE}"}
        else:
            expected = {f"{wheel.portion.module}/{path}" for path in wheel.content.files}
        lacking = sorted(expected - members[wheel.filename])
        faults += [f"{wheel.filename} lacks {name}" for name in lacking]
    if not faults:
        faults += _link_faults(plan, folder, members)
    if faults:
        raise _incomplete(folder, faults)
    return {name: len(names) for name, names in members.items()}


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _link_faults(plan: Plan, folder: Path, members: Mapping[str, set[str]]) -> Iterator[str]:
    """Give the links of devel archives that lead neither into their own tree nor to a file of the package that they name."""
    by_name = {wheel.portion.distribution: wheel for wheel in plan.wheels}
    for wheel in plan.wheels:
        if not isinstance(wheel.content, DevelTree):
            continue
        root = wheel.content.root
        reachable = set().union(*(members[by_name[name].filename] for name in wheel.requires))
        count = 0
        with (
            zipfile.ZipFile(folder / wheel.filename) as archive,
            archive.open(f"{wheel.portion.module}/{ARCHIVE}") as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in tar:
                count += 1
                if not member.name.startswith(f"{root}/"):
                    yield f"{wheel.filename}: {member.name} of its archive is not in {root}"
                if not member.issym():
                    continue
                target = posixpath.normpath(posixpath.join(posixpath.dirname(member.name), member.linkname))
                if not target.startswith(f"{root}/") and target not in reachable:
                    yield f"{wheel.filename}: {member.name} leads to {target}, which no package that it requires has"
        planned = len(wheel.content.links) + len(wheel.content.files)
        if count != planned:
            yield f"{wheel.filename}: its archive has {count} members, and {planned} were planned"


def _incomplete(folder: Path, faults: list[str]) -> HipwrightError:
    more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    message = f"the packages are not as they should be: {'; '.join(faults[:_SHOWN])}{more}"
    return HipwrightError("package-incomplete", message, where=Where(file=folder))
