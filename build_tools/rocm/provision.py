"""Provision a build: the environment that it runs in, with the ROCm packages in it when the project needs them.

The build runs without isolation, so that a build requirement such as ``torch`` is the package that was locked and not what
the base index offers. What the tree's ``build-system.requires`` says is installed here instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.environments.build_system import build_requires
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.folder import read_folder_sdk
from build_tools.rocm.sdk import describe_folder, describe_sdk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import EnvironmentRecord, Sdk
    from build_tools.types import Platform

__all__ = ["BUILD_FILES", "build_folder", "build_requirements", "provision", "provision_request"]

BUILD_FILES: Final = ("pyproject.toml", "setup.py")
"""What says how a tree is built."""


def build_folder(project: Project, tree: Path) -> Path | None:
    """Return where in a source tree a project's build begins: the first of ``build.folders`` that has a build file; None when none has."""
    folders = [tree if name == "." else tree / name for name in project.build.folders]
    return next((folder for folder in folders if any((folder / file).is_file() for file in BUILD_FILES)), None)


def build_requirements(tree: Path) -> tuple[str, ...]:
    """Return what a source tree says that its build requires (PEP 518).

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when its ``pyproject.toml`` cannot be read.
    """
    path = tree / "pyproject.toml"
    try:
        return build_requires(path.read_text(encoding="utf-8") if path.exists() else None, path)
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-source-tree", f"cannot read {path}: {error}", where=Where(file=path)) from error
    except HipwrightError as error:
        raise HipwrightError("bad-source-tree", error.message, where=error.where) from error


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
        if locked.rocm.folder is None:
            extras = f"[{','.join(project.rocm.extras)}]" if project.rocm.extras else ""
            requires = (f"{project.rocm.requirement}{extras}=={locked.rocm.version}",)
            owned = (*locked.rocm.files, *owned)
    recipe = project.build.all_requires(windows=interpreter.markers.get("sys_platform") == "win32")
    return EnvironmentRequest(
        interpreter=interpreter,
        owned=owned,
        pins=pins,
        requires=(*requires, *build_requirements(build_folder(project, tree) or tree), *recipe),
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
    warn: Callable[[str], None] = lambda _line: None,
    targets: Sequence[str] = (),
    family: str | None = None,
) -> Sdk:
    """Make a project's build environment and describe the SDK in it, or the one in a folder that the lock names.

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
    warn
        Told what looks odd about the SDK.
    targets, family
        As for :func:`build_tools.rocm.sdk.describe_sdk`.

    Raises
    ------
    HipwrightError
        ``output-changed`` when a folder was locked and is another ROCm now; as :func:`provision_request`, ``make``, :func:`build_tools.rocm.sdk.describe_sdk` and
        :func:`build_tools.rocm.sdk.describe_folder`.
    """
    rocm = locked.rocm if project.sdk == "rocm" else None
    if rocm is not None and rocm.folder is not None and read_folder_sdk(Path(rocm.folder)).digest != rocm.state:
        message = f"the ROCm in {rocm.folder} says something else of itself than when it was locked as {rocm.version}"
        raise HipwrightError("output-changed", message, hint="say --relock to lock what is there now")
    environment = make(provision_request(project, locked, tree=tree, interpreter=interpreter, pins=pins))
    if rocm is not None and rocm.folder is not None:
        return describe_folder(environment, folder=Path(rocm.folder), platform=platform)
    requirement = project.rocm.requirement if project.sdk == "rocm" else None
    return describe_sdk(
        environment, requirement=requirement, runner=runner, platform=platform, warn=warn, targets=targets, family=family
    )
