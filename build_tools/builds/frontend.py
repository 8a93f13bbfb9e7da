"""Build a wheel: a copy of the sources, a planned environment, the project's own build by way of ``python -m build``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools import digest
from build_tools.builds.hooks import load_hooks
from build_tools.builds.plan import build_command, plan_build
from build_tools.builds.preflight import prove_compiler
from build_tools.builds.variables import BuildFolders, find_sdk_parts
from build_tools.errors import HipwrightError
from build_tools.files import free_space, make_folder, remove_tree
from build_tools.receipts.values import BuiltWheels, WheelFile
from build_tools.sources.export import materialise
from build_tools.types import GfxTarget
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.sources.git import Git
    from build_tools.types import Platform

__all__ = ["DIST", "LEAST_SPACE", "build_wheel"]

DIST: Final = "dist"
"""The folder of wheels in a build's output."""

LEAST_SPACE: Final = 256 * 2**20
"""Free bytes without which no build is begun."""

_SCRATCH: Final = "scratch"


def build_wheel(
    project: Project,
    project_folder: Path,
    *,
    source: SourceTree,
    sdk: Sdk,
    locked: LockedProject,
    folder: Path,
    git: Git,
    runner: Runner,
    platform: Platform,
    jobs: int | None,
    log: Path,
    targets: tuple[GfxTarget, ...] = (),
    space: int = LEAST_SPACE,
    on_plan: Callable[[BuildPlan, Compiler], None] = lambda _plan, _compiler: None,
) -> BuiltWheels:
    """Build the wheel of a project into ``<folder>/dist``.

    The build works on a copy of the sources as they stand, below ``folder``, which is removed at the end.

    Parameters
    ----------
    project, project_folder
        The project and its folder, where ``hooks.py`` may lie.
    source
        The source tree.
    sdk
        The environment that the build runs in.
    locked
        The project's lock.
    folder
        The output folder; it need not exist.
    git
        Copies the sources.
    runner
        Starts the build; its environment is the base of the child's.
    platform
        The system that is built on and for.
    jobs
        How many programs may run at once; None leaves it to the project's build system.
    log
        The log file.
    targets
        The GPU targets; the SDK's own when empty.
    space
        Free bytes that the disk of ``folder`` must have.
    on_plan
        Called once with the plan and the compiler before the build runs, for the receipt.

    Raises
    ------
    HipwrightError
        ``disk-space``, ``folder-not-writable``, ``no-compiler``, ``build-failed``, ``command-timeout``, ``no-wheel``,
        ``several-wheels``, ``bad-wheel``, and what :func:`~build_tools.builds.plan.plan_build` raises.
    """
    make_folder(folder)
    free_space(folder, space)
    scratch = folder / _SCRATCH
    remove_tree(scratch)
    folders = BuildFolders(tree=scratch / "src", home=scratch / "home", temporary=scratch / "tmp")
    hooks = load_hooks(project_folder)
    plan = plan_build(
        project,
        project_folder,
        source=source,
        sdk=sdk,
        locked=locked,
        hooks=hooks,
        parts=find_sdk_parts(sdk),
        folders=folders,
        platform=platform,
        path=runner.environment.get("PATH", ""),
        targets=targets or tuple(GfxTarget(name) for name in sdk.targets),
        jobs=jobs,
    )
    try:
        for made in (folders.home, folders.temporary, scratch / "run", scratch / "out"):
            made.mkdir(parents=True)
        compiler = prove_compiler(runner, platform=platform, scratch=scratch, environment=plan.environment)
        materialise(source, folders.tree, git=git)
        hooks.prepare_sources(folders.tree, plan.context)
        on_plan(plan, compiler)
        _tell(log, plan, f"{compiler.path}: {compiler.version}")
        runner.run(
            build_command(project, python=Path(sdk.environment.python), tree=folders.tree, outdir=scratch / "out"),
            cwd=scratch / "run",
            log=log,
            env=plan.environment,
            timeout=project.build.time_limit_minutes * 60.0,
            code="build-failed",
            what=f"the build of {project.name}",
        )
        wheel = _collect(project, scratch / "out", folder, log)
        _prove_version(project, wheel, plan, log)
    finally:
        remove_tree(scratch)
    return BuiltWheels(
        project=project.name,
        version=plan.version,
        upstream=source.upstream,
        python_tag=sdk.environment.python_tag,
        wheels=(wheel,),
        pins=plan.pins,
        targets=plan.targets,
        local=source.local.digest if source.local is not None else None,
    )


def _tell(log: Path, plan: BuildPlan, compiler: str) -> None:
    """Write the plan into the log: what a build was given is the first thing to look at when it goes wrong."""
    lines = [f"# version {plan.version}", f"# compiler {compiler}", *(f"# {n}={v}" for n, v in sorted(plan.environment.items()))]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _prove_version(project: Project, wheel: WheelFile, plan: BuildPlan, log: Path) -> None:
    """Refuse a wheel of another version than was planned: its name would speak of other sources than it was built from."""
    if Version(wheel.version) == Version(plan.version):
        return
    name = project.build.variables.get("version")
    hint = f"the sources have to take their version from {name}" if name else "version in project.toml is not that of the sources"
    message = f"the build of {project.name} wrote version {wheel.version}, and {plan.version} was planned"
    raise HipwrightError("bad-version", message, hint=hint, log=log)


def _collect(project: Project, made: Path, folder: Path, log: Path) -> WheelFile:
    """Move the one wheel that there must be into the output folder."""
    found = sorted(made.glob("*.whl"))
    names = ", ".join(path.name for path in found)
    wanted = canonicalize_name(project.wheel.distribution)
    if not found:
        raise HipwrightError("no-wheel", f"the build of {project.name} ended well and wrote no wheel", log=log)
    if len(found) > 1:
        raise HipwrightError("several-wheels", f"the build of {project.name} wrote {len(found)} wheels: {names}", log=log)
    path = found[0]
    name = parse_wheel_name(path.name)
    if name.project != wanted:
        message = f"the build of {project.name} wrote {path.name}, which is no wheel of {project.wheel.distribution}"
        raise HipwrightError("no-wheel", message, log=log)
    target = folder / DIST / path.name
    target.parent.mkdir(exist_ok=True)
    path.replace(target)
    return WheelFile(
        path=f"{DIST}/{path.name}",
        filename=path.name,
        distribution=name.project,
        version=name.version,
        sha256=digest.of_file(target),
        size=target.stat().st_size,
    )
