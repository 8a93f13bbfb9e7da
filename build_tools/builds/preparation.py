"""What every build begins with, be it of a wheel or in the tree itself: its plan, the files that it generates, and compilers that work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from build_tools.builds.build_requires import refuse_unmet
from build_tools.builds.generated import judge_generated
from build_tools.builds.plan import plan_build
from build_tools.builds.preflight import prove_compiler, prove_hip_compiler
from build_tools.builds.variables import find_sdk_parts
from build_tools.errors import HipwrightError
from build_tools.files import make_folder
from build_tools.types import GfxTarget

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.builds.hooks import ProjectHooks
    from build_tools.builds.plan import BuildPlan, BuildWishes
    from build_tools.builds.preflight import Compiler
    from build_tools.builds.variables import BuildFolders
    from build_tools.builds.workshop import Bench
    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.types import Platform

__all__ = ["RUN", "Prepared", "Subject"]

RUN = "run"
"""The empty folder below a build's own in which programs are started that are to find nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A build that can begin: its plan with the variables of its compiler cache, its compilers, and the files that its hook generates."""

    plan: BuildPlan
    compiler: Compiler
    hip: Compiler | None
    generated: Mapping[str, bytes | Path]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What is built, with what and for what: all that makes a build what it is, but for the folders that it happens in.

    Parameters
    ----------
    project, project_folder, hooks
        The project, its folder, and the functions of its ``hooks.py``.
    source, sdk, locked
        The source tree, the environment that the build runs in, and the project's lock.
    platform
        The system that is built on and for.
    targets
        The GPU targets; the SDK's own when empty.
    jobs
        How many programs may run at once; None leaves it to the project's build system.
    inside
        Whether ROCm goes into the wheel afterwards, which its version tells.
    wishes
        What the person and the machine want of the build.
    """

    project: Project
    project_folder: Path
    hooks: ProjectHooks
    source: SourceTree
    sdk: Sdk
    locked: LockedProject
    platform: Platform
    targets: tuple[GfxTarget, ...] = ()
    jobs: int | None = None
    inside: bool = False
    wishes: BuildWishes | None = None

    def plan(self, folders: BuildFolders, *, path: str) -> BuildPlan:
        """Return the plan of the build in these folders, with the machine's search path behind its own.

        Raises
        ------
        HipwrightError
            What :func:`~build_tools.builds.plan.plan_build` raises.
        """
        return plan_build(
            self.project,
            self.project_folder,
            source=self.source,
            sdk=self.sdk,
            locked=self.locked,
            hooks=self.hooks,
            parts=find_sdk_parts(self.sdk),
            folders=folders,
            platform=self.platform,
            path=path,
            targets=self.targets or tuple(GfxTarget(name) for name in self.sdk.targets),
            jobs=self.jobs,
            inside=self.inside,
            wishes=self.wishes,
        )

    def prepare(self, folders: BuildFolders, *, scratch: Path, runner: Runner, bench: Bench | None = None) -> Prepared:
        """Settle what a build needs before anything of it runs, and make its folders.

        Parameters
        ----------
        folders
            The build's folders.
        scratch
            The folder that is the build's own.
        runner
            Starts the compilers; its environment is the base of the child's.
        bench
            What the build has on its machine; its compiler cache adds to the variables.

        Raises
        ------
        HipwrightError
            ``no-compiler``, ``mixed-stack``, ``sdk-incomplete``, ``bad-hooks``, ``folder-not-writable``, and what :meth:`plan` raises.
        """
        plan = self.plan(folders, path=runner.environment.get("PATH", ""))
        generated = self.hooks.generated_files(plan.context)
        judge_generated(generated, hooks=self.hooks.file)
        for made in (folders.home, folders.temporary, scratch / RUN):
            make_folder(made)
        compiler = self._compiler(plan, scratch, runner)
        hip = prove_hip_compiler(runner, self.sdk, platform=self.platform, scratch=scratch, environment=plan.environment)
        if bench is not None:
            plan = replace(plan, environment=bench.variables(self.project, plan, compiler))
        return Prepared(plan=plan, compiler=compiler, hip=hip, generated=generated)

    def require_met(
        self, plan: BuildPlan, begins: Path, *, scratch: Path, runner: Runner, again: str = "--force provision"
    ) -> None:
        """Refuse an environment that lacks what the sources say that their build requires.

        Parameters
        ----------
        plan
            The build.
        begins
            Where in the sources it begins.
        scratch
            The folder that is the build's own.
        runner
            Starts the environment's interpreter.
        again
            What makes the environment again, for the hint.

        Raises
        ------
        HipwrightError
            ``unmet-requirement``, and what else :func:`~build_tools.builds.build_requires.refuse_unmet` raises.
        """
        refuse_unmet(
            self.project,
            folder=begins,
            environment=self.sdk.environment,
            variables=plan.environment,
            runner=runner,
            platform=self.platform,
            cwd=scratch / RUN,
            again=again,
        )

    def _compiler(self, plan: BuildPlan, scratch: Path, runner: Runner) -> Compiler:
        """Return the compiler of a build; where there is none and a person has said where to look, that is what is told."""
        try:
            return prove_compiler(runner, platform=self.platform, scratch=scratch, environment=plan.environment)
        except HipwrightError as error:
            said = sorted({"CXX", "PATH"} & plan.context.overrides.keys())
            if error.code.name != "no-compiler" or not said:
                raise
            hint = f"--build-env sets {' and '.join(said)}: see whether a compiler is there"
            raise HipwrightError(error.code.name, error.message, hint=hint, excerpt=error.excerpt) from error
