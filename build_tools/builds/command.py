"""The command line of a build: which front end begins it, and where in the tree."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.config.project import Project

__all__ = ["IN_TREE", "SETUPTOOLS", "back_end", "build_command", "config_settings", "kept_folder", "working_folder"]

SETUPTOOLS: Final = "setuptools"
IN_TREE: Final = "."
"""What stands for a back end that the sources have themselves, which mostly is setuptools with something around it."""

_SCIKIT: Final = "scikit_build_core"
_SCIKIT_FOLDER: Final = "build/{wheel_tag}"
"""Where scikit-build-core compiles in a tree instead of in a folder that goes with each build; it puts in the wheel's tag itself."""


def config_settings(project: Project) -> dict[str, str | list[str]]:
    """Return the settings that a project's build back end gets, as PEP 517 has them."""
    return {name: values if isinstance(values, str) else list(values) for name, values in project.build.config_settings.items()}


def back_end(folder: Path) -> str:
    """Return the package of the build back end that sources name; setuptools where they name none (PEP 517), and nothing where nobody can tell.

    For one that they have themselves that is :data:`IN_TREE`.
    """
    told = _pyproject(folder)
    if told is None:
        return ""
    table = told.get("build-system")
    if not isinstance(table, dict):
        return SETUPTOOLS
    if table.get("backend-path"):
        return IN_TREE
    return str(table.get("build-backend", SETUPTOOLS)).partition(":")[0].partition(".")[0]


def kept_folder(project: Project, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that has a back end compile in the tree, so that what did not change is not compiled again.

    That is for scikit-build-core, where neither the project nor a person says where it compiles; others have such a folder anyway, or have
    no setting for it that all their versions know.

    Parameters
    ----------
    project
        The project.
    folder
        Where in the sources the build begins.
    environment
        The build's variables.
    """
    if back_end(folder) != _SCIKIT or "SKBUILD_BUILD_DIR" in environment:
        return {}
    tool = (_pyproject(folder) or {}).get("tool")
    own = tool.get("scikit-build") if isinstance(tool, dict) else None
    said = {"build-dir", "skbuild.build-dir"} & project.build.config_settings.keys()
    if said or (isinstance(own, dict) and "build-dir" in own):
        return {}
    return {"build-dir": _SCIKIT_FOLDER}


def _pyproject(folder: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None


def build_command(
    project: Project, *, python: Path, folder: Path, outdir: Path, more: Mapping[str, str] | None = None
) -> list[str | Path]:
    """Return the command line that builds a wheel in the environment as it is; nothing is fetched.

    By PEP 517 that is ``python -m build`` without isolation, and without its own look at the requirements, which stops at the first kind:
    :func:`build_tools.builds.build_requires.refuse_unmet` has told all of them. For ``setup-py`` it is the project's own ``setup.py``.

    Parameters
    ----------
    project
        The project.
    python
        The environment's interpreter.
    folder
        Where in the copy of the sources the build begins.
    outdir
        The folder for the wheel.
    more
        Settings of the back end beside those of the project, as :func:`kept_folder` gives them.
    """
    if project.build.front_end == "setup-py":
        options = [part for value in config_settings(project).values() for part in ([value] if isinstance(value, str) else value)]
        return [python, "setup.py", "bdist_wheel", "--dist-dir", outdir, *options]
    settings = [
        f"--config-setting={name}={value}"
        for name, values in {**(more or {}), **config_settings(project)}.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    words = ("-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir")
    return [python, *words, outdir, *settings, folder]


def working_folder(project: Project, *, folder: Path, empty: Path) -> Path:
    """Return the folder that a build runs in: an empty one, as nothing beside the sources may be imported; ``setup.py`` needs its own."""
    return folder if project.build.front_end == "setup-py" else empty
