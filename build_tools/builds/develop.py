"""A build for somebody who edits the sources: in the tree itself, installed editable, and what did not change is not compiled again."""

from __future__ import annotations

import functools
import importlib.metadata
import json
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.builds.command import IN_TREE, SETUPTOOLS, back_end, config_settings, kept_folder
from build_tools.environments.installed import site_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.builds.plan import BuildPlan
    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.types import Platform

__all__ = ["build_in_place", "compile_command", "install_command", "installed_from", "remove_editable"]

_OPTION_KEYS = ("--build-option", "--global-option")
_SETUP = "setup.py"


def compile_command(project: Project, *, python: Path, folder: Path) -> list[str | Path] | None:
    """Return the command line that compiles extension modules into the tree, whose objects stay in ``build``; None where none does.

    The editable install of setuptools compiles into a folder that is thrown away: only for modules that are there already it has nothing
    to do. Other back ends compile when they install.
    """
    by_setup = project.build.front_end == "setup-py" or back_end(folder) in {SETUPTOOLS, IN_TREE}
    if not by_setup or not (folder / _SETUP).is_file():
        return None
    given = config_settings(project)
    values = [given[key] for key in _OPTION_KEYS if key in given]
    options = [option for value in values for option in ([value] if isinstance(value, str) else value)]
    return [python, _SETUP, *options, "build_ext", "--inplace"]


def install_command(
    project: Project, *, python: Path, folder: Path, environment: Mapping[str, str] | None = None
) -> list[str | Path]:
    """Return the command line that installs a tree editable into the environment as it is, in a build's variables; nothing is fetched."""
    if project.build.front_end == "setup-py":
        return [python, _SETUP, "develop", "--no-deps"]
    settings = [
        f"--config-settings={name}={value}"
        for name, values in {**kept_folder(project, folder, environment or {}), **config_settings(project)}.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    # A setting that a back end does not know is an error to some.
    own = ["--config-settings=editable_mode=compat"] if back_end(folder) == SETUPTOOLS else []
    words = (
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        # What the build says is shown while it runs.
        "--verbose",
    )
    return [python, *words, *own, *settings, "--editable", folder]


def installed_from(environment: Path, project: Project, *, platform: Platform) -> tuple[str, str] | None:
    """Return the version of a project's editable install in an environment and the folder that it leads to; None when there is none."""
    wanted = canonicalize_name(project.wheel.distribution)
    for each in importlib.metadata.distributions(path=[str(site_packages(environment, platform))]):
        direct = each.read_text("direct_url.json")
        if canonicalize_name(each.metadata["Name"] or "") == wanted and direct is not None:
            told = json.loads(direct)
            if told.get("dir_info", {}).get("editable"):
                return each.version, str(told.get("url", ""))
    return None


def remove_editable(environment: Path, project: Project, *, python: Path, runner: Runner, log: Path) -> None:
    """Take a project's editable install out of an environment; its tree stays as it is."""
    words = ("-m", "pip", "--disable-pip-version-check", "uninstall", "--yes", project.wheel.distribution)
    command: list[str | Path] = [python, *words]
    runner.run(command, cwd=environment, log=log, code="install-failed", what=f"taking {project.wheel.distribution} out")


def build_in_place(
    project: Project, plan: BuildPlan, *, folder: Path, python: Path, runner: Runner, log: Path, platform: Platform, anew: bool
) -> bool:
    """Compile what has changed in a tree, and install it editable where it is not installed yet; return whether it had to be.

    Where the back end compiles when it installs, it is installed each time.

    Parameters
    ----------
    project
        The project.
    plan
        The build; its environment is that of the compilation.
    folder
        Where in the tree the build begins.
    python
        The environment's interpreter.
    runner
        Starts the build.
    log
        The log file.
    platform
        The operating system of this machine.
    anew
        Whether it is installed again in any case: what an install notes of the tree, such as its entry points, may have changed.

    Raises
    ------
    HipwrightError
        ``build-failed``, ``command-timeout``.
    """
    limit = project.build.time_limit_minutes * 60.0
    # What it leaves behind would go on writing into the tree.
    run = functools.partial(runner.run, cwd=folder, log=log, env=plan.environment, timeout=limit, code="build-failed", alone=True)
    compiling = compile_command(project, python=python, folder=folder)
    if compiling is not None:
        run(compiling, what=f"the build of {project.name}")
    there = installed_from(Path(plan.context.environment), project, platform=platform)
    anew = anew or (compiling is None and back_end(folder) != SETUPTOOLS)
    if there == (plan.version, folder.as_uri()) and not anew:
        return False
    command = install_command(project, python=python, folder=folder, environment=plan.environment)
    run(command, what=f"the editable install of {project.name}")
    return True
