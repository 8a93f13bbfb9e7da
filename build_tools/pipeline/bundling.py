"""Wheels with ROCm inside, on their way through the stages: which ROCm goes in, and what they run with afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from packaging.requirements import Requirement

from build_tools.builds.bundle import Rocm, bundle_wheels
from build_tools.config.owned import is_rocm
from build_tools.environments.download import download_all
from build_tools.errors import HipwrightError
from build_tools.locking.makers import makers_in, must_need
from build_tools.locking.packages import fetchable, fitting
from build_tools.types import Platform, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile, LockedProject
    from build_tools.receipts.values import BuiltWheels
    from build_tools.workplace import Workplace

__all__ = ["files_inside", "refuse_bundling", "runs_with", "second_rocm", "takes_rocm", "with_rocm_inside"]

_WHICH: Final = "ROCm goes into wheels that require its packages by themselves (wheel.pinned-requirements)"


def takes_rocm(project: Project) -> bool:
    """Return whether ``--bundle-rocm`` puts ROCm into a project's wheel: where it requires ROCm's packages by itself, such as torch's.

    What is built with such a wheel finds ROCm there.
    """
    return project.sdk == "rocm" and any(is_rocm(Requirement(text).name) for text in project.wheel.pinned_requirements)


def refuse_bundling(projects: Sequence[Project], last: Stage, workplace: Workplace) -> None:
    """Refuse ``--bundle-rocm`` before anything is built, where a project of the command could not be built so.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when ROCm would get into no wheel; ``not-supported`` when a project links ROCm's libraries and is built with
        a wheel that has them inside: a copy of its own would be a second ROCm in one process.
    """
    if not workplace.settings.bundle_rocm or last.number < Stage.BUILD.number:
        return
    below = {
        project.name: [
            maker.name
            for need in must_need(project)
            for maker in makers_in(workplace.external_builds, need.name)
            if takes_rocm(maker)
        ]
        for project in projects
    }
    for project in projects:
        if project.sdk == "rocm" and below[project.name]:
            raise second_rocm(project.name, " and ".join(below[project.name]))
    if projects and not any(takes_rocm(project) or below[project.name] for project in projects):
        names = " and ".join(project.name for project in projects)
        message = f"--bundle-rocm puts ROCm into no wheel of this command: {names} {'is' if len(projects) == 1 else 'are'} "
        message += "built without ROCm" if all(project.sdk == "none" for project in projects) else f"not for it; {_WHICH}"
        raise HipwrightError("bad-option-value", message, hint="build it without --bundle-rocm")


def second_rocm(name: str, others: str) -> HipwrightError:
    """Return the error for a project that links ROCm's libraries and is built with a wheel that would have them inside."""
    message = f"{name} links libraries of ROCm, and is not built with a wheel of {others} that has ROCm inside: "
    message += "one copy for both was never proved, and two in one process break it"
    return HipwrightError("not-supported", message, hint=f"build {name} and {others} without --bundle-rocm")


def files_inside(chain: Chain) -> tuple[LockedFile, ...] | None:
    """Return the locked wheels of ROCm that ``--bundle-rocm`` takes from, those for the interpreter of the chain; None for no such project.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the project is built without ROCm's packages.
    """
    if not takes_rocm(chain.project):
        chain.workplace.console.say(f"{chain.project.name} gets no ROCm inside: {_WHICH}")
        return None
    rocm = fitting(chain.locked(), chain.workplace.interpreters[chain.python]).rocm
    if rocm is None or rocm.folder is not None:
        why = "is built without ROCm" if rocm is None else f"is built against the ROCm in {rocm.folder}"
        message = f"--bundle-rocm takes from ROCm's packages, and {chain.project.name} {why}"
        raise HipwrightError("bad-option-value", message, hint="build it against packages, or without --bundle-rocm")
    return tuple(file for file in rocm.files if file.filename.endswith(".whl"))


def with_rocm_inside(
    chain: Chain, built: BuiltWheels, files: tuple[LockedFile, ...], folder: Path, *, runner: Runner
) -> BuiltWheels:
    """Return what a build has made in a folder once ROCm is inside its wheels; ROCm's own wheels are fetched and proved by their hashes.

    Raises
    ------
    HipwrightError
        ``hash-mismatch``, ``source-unreachable``, and what :func:`~build_tools.builds.bundle.bundle_wheel` raises.
    """
    place, wheel = chain.workplace, chain.project.wheel
    entry = fetchable(chain.locked(), chain.project, place)
    if entry.rocm is None:
        raise HipwrightError("internal", f"{chain.project.name} has no ROCm to be put inside")
    wanted = {file.filename for file in files}
    here = [file for file in entry.rocm.files if file.filename in wanted]
    wheels = download_all(here, cache=place.cache, network=place.base.network(), say=place.console.say)
    return bundle_wheels(
        built,
        folder,
        rocm=Rocm(version=entry.rocm.version, wheels=wheels, family=chain.sdk().family),
        preloads={Platform.LINUX: wheel.linux_preloads, Platform.WINDOWS: wheel.windows_preloads}[place.platform],
        platform=place.platform,
        runner=runner,
        package=wheel.import_name,
        jobs=place.jobs or place.processors,
        say=place.console.say,
    )


def runs_with(chain: Chain, entry: LockedProject) -> LockedProject:
    """Return a lock entry with what the wheels of a chain run with: one that has ROCm inside runs without its packages."""
    return msgspec.structs.replace(entry, rocm=None) if chain.built().bundled is not None else entry
