"""Provision a build: the environment that it runs in, with the ROCm packages in it when the project needs them.

The build runs without isolation, so that a build requirement such as ``torch`` is the package that was locked and not what
the base index offers. What the tree's ``build-system.requires`` says is installed here instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.config.load import parse_toml
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.sdk import describe_sdk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import EnvironmentRecord, Sdk
    from build_tools.types import Platform

__all__ = ["build_requirements", "provision", "provision_request"]

_LEGACY: Final = ("setuptools>=40.8.0",)
"""What a tree without ``pyproject.toml``, or without ``build-system`` in it, is built with (PEP 517)."""


class _BuildSystem(msgspec.Struct, kw_only=True):
    requires: tuple[str, ...]


class _PyProject(msgspec.Struct, kw_only=True, rename="kebab"):
    build_system: _BuildSystem | None = None


def build_requirements(tree: Path) -> tuple[str, ...]:
    """Return what a source tree says that its build requires (PEP 518).

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when its ``pyproject.toml`` cannot be read.
    """
    path = tree / "pyproject.toml"
    if not path.exists():
        return _LEGACY
    try:
        project = parse_toml(path.read_text(encoding="utf-8"), path, _PyProject)
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-source-tree", f"cannot read {path}: {error}", where=Where(file=path)) from error
    except HipwrightError as error:
        raise HipwrightError("bad-source-tree", error.message, where=error.where) from error
    return project.build_system.requires if project.build_system is not None else _LEGACY


def provision_request(
    project: Project, locked: LockedProject, *, tree: Path, interpreter: Interpreter, pins: Path
) -> EnvironmentRequest:
    """Return what a project's build environment is to hold.

    Parameters
    ----------
    project
        The project.
    locked
        Its exact inputs: the ROCm files and the other owned files.
    tree
        Its source tree, whose own build requirements count.
    interpreter
        The target interpreter.
    pins
        The hash-pinned file with the build front end and what it needs.

    Raises
    ------
    HipwrightError
        ``bad-source-tree``; ``no-rocm-source`` when the project needs ROCm and the lock has none.
    """
    owned = locked.owned
    requires: tuple[str, ...] = ()
    if project.sdk == "rocm":
        if locked.rocm is None:
            raise HipwrightError("no-rocm-source", f"{project.name} needs ROCm packages, and its lock has none")
        extras = f"[{','.join(project.rocm.extras)}]" if project.rocm.extras else ""
        requires = (f"{project.rocm.requirement}{extras}=={locked.rocm.version}",)
        owned = (*locked.rocm.files, *owned)
    return EnvironmentRequest(
        interpreter=interpreter,
        owned=owned,
        pins=pins,
        requires=(*requires, *project.build.owned_requires, *build_requirements(tree), *project.build.requires),
        purpose=f"the build environment of {project.name}",
    )


def provision(
    project: Project,
    locked: LockedProject,
    *,
    tree: Path,
    interpreter: Interpreter,
    pins: Path,
    make: Callable[[EnvironmentRequest], EnvironmentRecord],
    runner: Runner,
    platform: Platform,
) -> Sdk:
    """Make a project's build environment and describe the SDK in it.

    Parameters
    ----------
    project, locked, tree, interpreter, pins
        As for :func:`provision_request`.
    make
        Makes the environment: :func:`build_tools.environments.make.make_environment` with this machine's settings.
    runner
        Starts the environment's interpreter.
    platform
        The operating system of this machine.

    Raises
    ------
    HipwrightError
        As :func:`provision_request`, ``make`` and :func:`build_tools.rocm.sdk.describe_sdk`.
    """
    environment = make(provision_request(project, locked, tree=tree, interpreter=interpreter, pins=pins))
    requirement = project.rocm.requirement if project.sdk == "rocm" else None
    return describe_sdk(environment, requirement=requirement, runner=runner, platform=platform)
