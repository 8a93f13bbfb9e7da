"""What a build requires of its environment, all of it looked at before the build begins: what data say, and what the back end asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement

from build_tools.builds.command import config_settings
from build_tools.counted import counted
from build_tools.environments.installed import installed_distributions, site_packages, unmet_requirements
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.provision import build_requirements
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.values import EnvironmentRecord

__all__ = ["markers_of", "refuse_unmet"]

_SECONDS: Final = 600.0
_ASK: Final = """
import json, sys
from build import ProjectBuilder
settings = json.loads(sys.argv[2])
wanted = ProjectBuilder(sys.argv[1]).get_requires_for_build("wheel", settings)
print("\\n" + sys.argv[3] + json.dumps(sorted(wanted)))
"""
_MARK: Final = "requires for a wheel: "


def markers_of(environment: EnvironmentRecord, platform: Platform) -> dict[str, str]:
    """Return what environment markers (PEP 508) see in an environment of this machine."""
    here = {name: str(value) for name, value in default_environment().items()}
    windows = platform is Platform.WINDOWS
    version = environment.python_version
    return here | {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "implementation_version": version,
        "os_name": "nt" if windows else "posix",
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
    }


def refuse_unmet(
    project: Project,
    *,
    folder: Path,
    environment: EnvironmentRecord,
    variables: Mapping[str, str],
    runner: Runner,
    platform: Platform,
    cwd: Path,
    again: str = "--force provision",
) -> None:
    """Refuse an environment that lacks anything that a build requires, and name all of it.

    Parameters
    ----------
    project
        The project: what its recipe requires counts.
    folder
        Where in the copy of the sources the build begins: its ``build-system.requires`` count, and what its back end asks for.
    environment
        The environment that the build is to run in.
    variables
        What the build's environment adds; back ends read it when they are asked.
    runner
        Starts the environment's interpreter, which asks the back end.
    platform
        The operating system of this machine.
    cwd
        An empty folder, which the back end is asked from.
    again
        The option that makes the environment again, for the hint.

    Raises
    ------
    HipwrightError
        ``unmet-requirement``; ``bad-source-tree`` when the sources say it in a way that cannot be read; ``build-failed`` when the back
        end cannot tell.
    """
    static = (*build_requirements(folder), *project.build.all_requires(windows=platform is Platform.WINDOWS))
    lacking = _lacking(static, environment, platform, by=project.name)
    if not lacking and project.build.front_end == "pep517":
        # Only now can the back end be asked: it is one of the requirements.
        told = runner.capture(
            [environment.python, "-c", _ASK, folder, json.dumps(config_settings(project)), _MARK],
            cwd=cwd,
            env=variables,
            timeout=_SECONDS,
            code="build-failed",
            what=f"the build back end of {project.name}, asked what it requires,",
        )
        answer = next((line for line in reversed(told.text.splitlines()) if line.startswith(_MARK)), None)
        if answer is None:
            raise HipwrightError("build-failed", f"the build back end of {project.name} does not say what it requires")
        lacking = _lacking(
            json.loads(answer.removeprefix(_MARK)), environment, platform, by=f"the build back end of {project.name}"
        )
    if not lacking:
        return
    count = counted(len(lacking), "requirement")
    message = f"the build environment of {project.name} does not meet {count} of its build: {'; '.join(lacking)}"
    hint = f"name them in build.requires of {project.name}'s project.toml where the sources do not, and make it again: {again}"
    raise HipwrightError("unmet-requirement", message, where=Where(file=environment.folder), hint=hint)


def _lacking(texts: Iterable[str], environment: EnvironmentRecord, platform: Platform, *, by: str) -> list[str]:
    """Return what of some requirements is not met, a sentence each."""
    wanted = []
    for text in texts:
        try:
            wanted.append(Requirement(text))
        except InvalidRequirement as error:
            raise HipwrightError("bad-source-tree", f"{by} requires {text!r}, which cannot be read: {error}") from error
    installed = installed_distributions(site_packages(Path(environment.folder), platform))
    unmet = unmet_requirements(installed, wanted, markers=markers_of(environment, platform), by=by)
    return [str(each) for each in unmet]
