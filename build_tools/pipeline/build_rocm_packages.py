"""The command ``build_rocm_packages``: the ROCm Python packages of a folder of artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import humanize

from build_tools.config.targets import family_name, family_names, parse_targets, target_of
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import plain
from build_tools.rocm.artifact_sources import SOURCES_TABLE
from build_tools.rocm.artifacts.catalog import read_catalog
from build_tools.rocm.packages.build import PackageRequest, build_packages, plan_packages
from build_tools.rocm.packages.select import read_about
from build_tools.rocm.versions import RocmVersion, custom_version, rocm_version, today
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.options.model import Settings
    from build_tools.rocm.packages.plan import Plan
    from build_tools.rocm.packages.receipt import PackagesReceipt
    from build_tools.rocm.versions import ReleaseType
    from build_tools.workplace import Workplace

__all__ = ["build_rocm_packages"]

_DEVELOPMENT: Final = ".dev0"


def build_rocm_packages(workplace: Workplace) -> dict[str, Any]:
    """Make the packages and return their receipt as plain data; with ``--dry-run``, what would be made.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the folder of the artifacts or of the packages is not named, and what
        :func:`build_tools.rocm.packages.build.build_packages` raises.
    """
    settings, console = workplace.settings, workplace.console
    artifacts = _needed(settings.artifact_dir, "--artifact-dir", "of the artifacts")
    target = _needed(settings.dest_dir, "--dest-dir", "that packages are written to")
    _refuse_sources(artifacts)
    version = RocmVersion(wheel=settings.version) if settings.version else _version(workplace, artifacts)
    platform = Platform(settings.platform) if settings.platform else workplace.platform
    by_platform = {Platform.LINUX: settings.linux_gfx, Platform.WINDOWS: settings.windows_gfx}
    targets, families = _expected(settings, by_platform[platform], platform)
    request = PackageRequest(
        artifacts=artifacts,
        target=target,
        version=version.wheel,
        platform=platform,
        form=cast("Any", settings.package_form),
        targets=targets,
        families=families,
        elsewhere={other: names for other, names in by_platform.items() if names and other is not platform},
        compress=settings.compress,
        jobs=workplace.jobs,
        clean=settings.clean,
    )
    if settings.dry_run:
        plan = plan_packages(request, say=console.say, progress=console.progress)
        return {**_told(plan, workplace), "system_packages": version.system}
    built = build_packages(request, runner=workplace.runner, say=console.say, progress=console.progress, wait=settings.wait)
    _show(built.packages, workplace, dist=built.dist)
    return {
        "dist": str(built.dist),
        "receipt": str(built.receipt),
        "made": built.made,
        "left_out": list(built.left_out),
        "packages": plain(built.packages),
        "system_packages": version.system,
    }


def _expected(
    settings: Settings, of_platform: tuple[str, ...], platform: Platform
) -> tuple[tuple[GfxTarget, ...], tuple[str, ...]]:
    """Return the targets and the families that have to come out."""
    # A device package has the code of its target for all features.
    targets = tuple(dict.fromkeys(GfxTarget(target_of(name).base) for name in parse_targets(settings.gfx)))
    families = family_names(settings.gpu_family)
    if not of_platform:
        return targets, families
    own = tuple(dict.fromkeys(map(family_name, of_platform)))
    if targets or families:
        flag = f"--{platform.value}-gfx"
        message = f"{flag} says which targets the packages have on {platform.value}, and so does {'--gfx' if targets else '--gpu-family'}"
        raise HipwrightError("bad-option-value", message, hint=f"leave one of them out; {flag} is enough")
    return (), own


def _needed(folder: Path | None, flag: str, what: str) -> Path:
    if folder is None:
        raise HipwrightError("bad-option-value", f"the folder {what} is not named", hint=f"name it with {flag} DIR")
    return folder


def _refuse_sources(folder: Path) -> None:
    """Refuse what a project brings to make artifacts of: half of them are compiled first."""
    table = next((place for place in (folder / SOURCES_TABLE, folder.parent / SOURCES_TABLE) if place.is_file()), None)
    if table is not None:
        message = f"{folder} holds what ROCm artifacts are made of, with {table.name} beside it, and not the artifacts"
        hint = "the stages of the project compile and package it themselves: nox -s pipeline -- --projects NAME"
        raise HipwrightError("bad-artifact", message, where=Where(file=table), hint=hint)


def _version(workplace: Workplace, artifacts: Path) -> RocmVersion:
    """Return the version for a release type, of the ROCm version and commit that the artifacts state."""
    settings = workplace.settings
    about = read_about(read_catalog(artifacts, jobs=workplace.jobs))
    if about.version is None:
        message = f"the artifacts in {artifacts} do not say which ROCm they are of"
        raise HipwrightError("bad-version", message, hint="give the version of the packages: --version V")
    release = cast("ReleaseType | None", settings.release_type)
    if release is None:
        version = RocmVersion(wheel=custom_version(about.version, _DEVELOPMENT))
    else:
        date = settings.date or today()
        version = rocm_version(release, about.version, date=date, sha=about.commit, candidate=settings.candidate)
    workplace.console.say(f"the packages get the version {version.wheel}")
    return version


def _told(plan: Plan, workplace: Workplace) -> dict[str, Any]:
    rows = [
        (wheel.filename, str(len(wheel.content.files)), humanize.naturalsize(_size(wheel.content), binary=True))
        for wheel in plan.wheels
    ]
    rows += [(name, "", "") for name in plan.filenames[len(plan.wheels) :]]
    workplace.console.table("ROCm packages that would be made", ("file", "files", "before packing"), rows, "\n".join(plan.notes))
    selection = plan.selection
    return {
        "dry_run": True,
        "version": plan.version,
        "form": selection.form,
        "targets": list(selection.targets),
        "families": {family: list(targets) for family, targets in selection.families.items()},
        "files": list(plan.filenames),
        "left_out": list(plan.left_out),
        "notes": list(plan.notes),
    }


def _size(content: Any) -> int:  # noqa: ANN401 - both kinds of content have files
    return sum(placed.item.size for placed in content.files.values())


def _show(packages: PackagesReceipt, workplace: Workplace, *, dist: Path) -> None:
    rows = [
        (file.filename, str(file.files or ""), humanize.naturalsize(file.size, binary=True), file.sha256[:12])
        for file in packages.files
    ]
    title = f"ROCm packages {packages.version} in {dist}"
    workplace.console.table(title, ("file", "files", "size", "sha256"), rows, "\n".join(packages.notes))
