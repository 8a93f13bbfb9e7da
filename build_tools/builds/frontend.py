"""Build a wheel: a copy of the sources, a planned environment, the project's own build by way of ``python -m build``."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools import digest
from build_tools.builds.command import build_command, kept_folder, working_folder
from build_tools.builds.generated import place_generated, with_generated
from build_tools.builds.hooks import load_hooks
from build_tools.builds.preparation import RUN, Subject
from build_tools.builds.variables import BuildFolders
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, make_folder, remove_tree
from build_tools.receipts.values import BuiltWheels, WheelFile
from build_tools.rocm.provision import BUILD_FILES, build_folder
from build_tools.sources.export import materialise
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.opened import open_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from build_tools.builds.plan import BuildPlan, BuildWishes
    from build_tools.builds.preflight import Compiler
    from build_tools.builds.workshop import Bench, Workshop
    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.sources.git import Git
    from build_tools.types import GfxTarget, Platform

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
    inside: bool = False,
    wishes: BuildWishes | None = None,
    workshop: Workshop | None = None,
    verify: bool = False,
    finish: Callable[[BuiltWheels, Path], BuiltWheels] = lambda built, _folder: built,
    on_plan: Callable[[BuildPlan, Compiler, Compiler | None], None] = lambda _plan, _compiler, _hip: None,
) -> BuiltWheels:
    """Build the wheel of a project into ``<folder>/dist``.

    The build works on a copy of the sources as they stand, which is removed at the end unless the workshop keeps it.

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
    inside
        Whether ROCm goes into the wheel afterwards, which its version tells.
    wishes
        What the person and the machine want of the build.
    workshop
        What the build has on its machine; None builds in a folder below ``folder`` that goes with it.
    verify
        Whether the workshop builds it again in another folder, which must give the same bytes.
    finish
        Called with what the build has made and the folder that it is in; what it makes of that is what the build has made. A build that is
        to be compared with a second one is compared when it is finished.
    on_plan
        Called once with the plan, the C++ compiler and the HIP compiler before the build runs, for the receipt.

    Raises
    ------
    HipwrightError
        ``disk-space``, ``folder-not-writable``, ``no-compiler``, ``build-failed``, ``command-timeout``, ``no-wheel``,
        ``several-wheels``, ``bad-wheel``, ``bad-version``, ``cache-unusable``, ``not-reproducible``, ``locked``,
        ``bad-source-tree``, ``unmet-requirement``, and what :func:`~build_tools.builds.plan.plan_build` raises.
    """
    make_folder(folder)
    free_space(folder, space)
    subject = Subject(
        project=project,
        project_folder=project_folder,
        hooks=load_hooks(project_folder),
        source=source,
        sdk=sdk,
        locked=locked,
        platform=platform,
        targets=targets,
        jobs=jobs,
        inside=inside,
        wishes=wishes,
    )
    build = _Build(subject=subject, git=git, runner=runner, log=log)
    if workshop is None:
        scratch = folder / _SCRATCH
        remove_tree(scratch)
        try:
            return finish(build.make(scratch, folder, on_plan=on_plan), folder)
        finally:
            remove_tree(scratch)
    with workshop.bench(source, runner=runner) as bench:
        built = finish(build.make(bench.folder, folder, bench=bench, on_plan=on_plan), folder)
        bench.running = False
        if verify:

            def again(second: Bench, other: Path) -> BuiltWheels:
                return finish(build.make(second.folder, other, bench=second), other)

            # What was compiled for the first is not lost with the comparison.
            bench.running = True
            bench.compare(built, folder, again, log=log)
            bench.running = False
            built = msgspec.structs.replace(built, reproducible=True)
        return msgspec.structs.replace(built, cache=bench.tell_cache(), objects=bench.objects)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Build:
    """All that makes a build what it is, but for the folders that it happens in, and how it is run."""

    subject: Subject
    git: Git
    runner: Runner
    log: Path

    def make(
        self,
        scratch: Path,
        output: Path,
        *,
        bench: Bench | None = None,
        on_plan: Callable[[BuildPlan, Compiler, Compiler | None], None] = lambda _plan, _compiler, _hip: None,
    ) -> BuiltWheels:
        """Build in ``scratch``, and put the wheel into ``<output>/dist``; the parameters are those of :func:`build_wheel`."""
        subject, runner, log = self.subject, self.runner, self.log
        project, source, sdk = subject.project, subject.source, subject.sdk
        folders = BuildFolders(tree=scratch / "src", home=scratch / "home", temporary=scratch / "tmp")
        prepared = subject.prepare(folders, scratch=scratch, runner=runner, bench=bench)
        plan, compiler, hip = prepared.plan, prepared.compiler, prepared.hip
        (scratch / "out").mkdir()
        on_plan(plan, compiler, hip)
        _tell(log, plan, compiler, hip, mask=runner.mask)
        if bench is None or bench.tree is None:
            materialise(source, folders.tree, git=self.git)
        else:
            named = {"the compiler": compiler.version, "the HIP compiler": hip.version if hip is not None else "none"}
            bench.bring(source, plan, named, git=self.git)
        begins = _build_folder(project, folders.tree)
        subject.hooks.prepare_sources(folders.tree, plan.context)
        place_generated(prepared.generated, begins)
        subject.require_met(plan, begins, scratch=scratch, runner=runner)
        with contextlib.nullcontext(runner) if bench is None else bench.watched(runner, project, log=log) as watched:
            watched.run(
                build_command(
                    project,
                    python=Path(sdk.environment.python),
                    folder=begins,
                    outdir=scratch / "out",
                    more=kept_folder(project, begins, plan.environment),
                ),
                cwd=working_folder(project, folder=begins, empty=scratch / RUN),
                log=log,
                env=plan.environment,
                timeout=project.build.time_limit_minutes * 60.0,
                code="build-failed",
                what=f"the build of {project.name}",
                # What it leaves behind would go on writing into the sources that the next build finds.
                alone=True,
            )
        wheel = _collect(
            project,
            scratch / "out",
            output,
            log,
            lambda made: with_generated(made, prepared.generated, folder=begins, jobs=subject.jobs or 1),
        )
        _prove_version(project, output / wheel.path, plan, log)
        return BuiltWheels(
            project=project.name,
            version=plan.version,
            upstream=source.upstream,
            python_tag=sdk.environment.python_tag,
            wheels=(wheel,),
            pins=plan.pins,
            targets=plan.targets,
            local=plan.local,
        )


def _tell(log: Path, plan: BuildPlan, compiler: Compiler, hip: Compiler | None, *, mask: Callable[[str], str]) -> None:
    """Write the plan into the log: what a build was given is the first thing to look at when it goes wrong."""
    lines = [f"version {plan.version}", f"compiler {compiler.path}: {compiler.version}"]
    lines += [f"HIP compiler {hip.path}: {hip.version}"] if hip is not None else []
    lines += [f"targets {';'.join(plan.targets)}"] if plan.targets else []
    _note(log, [*lines, *(mask(f"{name}={value}") for name, value in sorted(plan.environment.items()))])


def _note(log: Path, lines: Iterable[str]) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"# {line}\n" for line in lines)


def _prove_version(project: Project, wheel: Path, plan: BuildPlan, log: Path) -> None:
    """Refuse a wheel of another version than was planned, in its name or inside: it would speak of other sources than it was built from."""
    # What opens it holds name and metadata against each other.
    written = open_wheel(wheel).name.version
    if Version(written) == Version(plan.version):
        return
    name = project.build.variables.get("version") or project.build.variables.get("version-suffix")
    if name in plan.context.overrides:
        hint = f"--build-env sets {name}, which the version comes from: leave it away"
    else:
        hint = (
            f"the sources have to take their version from {name}"
            if name
            else "version in project.toml is not that of the sources"
        )
    message = f"the build of {project.name} wrote version {written}, and {plan.version} was planned"
    raise HipwrightError("bad-version", message, hint=hint, log=log)


def _build_folder(project: Project, tree: Path) -> Path:
    """Return where a build begins."""
    folder = build_folder(project, tree)
    if folder is None:
        places = ", ".join("their root" if name == "." else name for name in project.build.folders)
        message = f"the sources of {project.name} have no {' and no '.join(BUILD_FILES)} in {places}"
        raise HipwrightError("bad-source-tree", message, where=Where(file=tree))
    return folder


def _collect(
    project: Project, made: Path, folder: Path, log: Path, complete: Callable[[Path], tuple[Path, tuple[str, ...]]]
) -> WheelFile:
    """Move the one wheel that there must be, with all that it must hold, into the output folder."""
    found = sorted(made.glob("*.whl"))
    for odd in (path for path in found if path.is_symlink() or not path.is_file()):
        kind = "a link" if odd.is_symlink() else "a folder" if odd.is_dir() else "no file"
        raise HipwrightError("bad-wheel", f"the build of {project.name} wrote {odd.name}, which is {kind}", log=log)
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
    target.parent.mkdir(parents=True, exist_ok=True)
    whole, added = complete(path)
    if added:
        _note(log, [f"left out by the build, and put into the wheel: {member}" for member in added])
    whole.replace(target)
    return WheelFile(
        path=f"{DIST}/{path.name}",
        filename=path.name,
        distribution=name.project,
        version=name.version,
        sha256=digest.of_file(target),
        size=target.stat().st_size,
    )
