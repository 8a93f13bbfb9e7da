"""What a work dir has for a build of a project: its lock, its sources and its environment, read from what earlier commands left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools.environments.make import finished_environment
from build_tools.errors import HipwrightError
from build_tools.locking.keep import lock_in_use
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.companions import find_built_before
from build_tools.pipeline.engine import RECEIPT, Done, Work, imagine
from build_tools.pipeline.standing_sources import standing_sources
from build_tools.process import printable
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import LockedResult, SdkResult, StageReceipt
from build_tools.sources.modules import own_folder
from build_tools.types import ProjectName, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.config.project import Project
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.workplace import Workplace

__all__ = ["StandingBuild", "standing_build"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingBuild:
    """What a build of a project would begin with; the chain has its lock done, and the wheels that it would be built with."""

    chain: Chain
    source: SourceTree
    sdk: Sdk

    @property
    def project(self) -> Project:
        """The project."""
        return self.chain.project

    @property
    def locked(self) -> LockedProject:
        """Its lock."""
        return self.chain.locked()


def standing_build(project: Project, workplace: Workplace) -> StandingBuild:
    """Return what the work dir has for a build for the one interpreter that is named.

    Parameters
    ----------
    project
        The project.
    workplace
        Whose work dir.

    Raises
    ------
    HipwrightError
        ``stage-missing`` that names the stage that was not done, and the line that does it; what
        :func:`~build_tools.pipeline.companions.find_built_before` raises when a wheel that it is built with is not there.
    """
    try:
        locked = lock_in_use(workplace).projects.get(ProjectName(project.name))
    except HipwrightError as error:
        if error.code.name != "stage-missing":
            raise
        locked = None
    if locked is None:
        raise _missing(project, workplace, "is not locked")
    # As they stand, and not as the last build found them: an edit since is in the version, and a build would take it along.
    try:
        source = standing_sources(project, workplace) if _is_finished(project, workplace) else None
    except HipwrightError as error:
        if error.code.name != "stage-missing":
            raise
        source = None
    if source is None:
        raise _missing(project, workplace, "has no finished source tree")
    ((python, interpreter),) = workplace.interpreters.items()
    chain = Chain(project=project, workplace=workplace, targets=wanted_targets(workplace, project.name), python=python)
    chain.done[Stage.LOCK] = _locked(locked, workplace)
    chain.before = find_built_before(chain, [chain], {})
    provisioned = [r for r in _receipts(project, workplace, Stage.PROVISION) if r.python == interpreter.python_tag]
    for receipt in sorted(provisioned, key=lambda one: one.started, reverse=True):
        if isinstance(receipt.result, SdkResult) and _stands(receipt.result.value, chain):
            return StandingBuild(chain=chain, source=source, sdk=receipt.result.value)
    beside = "".join(f" and {build.filename}" for build in chain.before)
    raise _missing(project, workplace, f"has no environment to be built in with {interpreter.python_tag}{beside}")


def _locked(locked: LockedProject, workplace: Workplace) -> Done:
    """Return the lock stage as done with what the work dir has locked."""
    result = LockedResult(value=locked)
    receipt = workplace.work_dir / RECEIPT
    work = Work(stage=Stage.LOCK, project=locked.name, parts={}, make=lambda _making: result, receipt=receipt)
    return Done(receipt=imagine(work, result), path=receipt, state="skipped", why="it is locked", seconds=0.0)


def _stands(sdk: Sdk, chain: Chain) -> bool:
    """Say whether an environment is whole, and has the very wheels that a build would be given."""
    known = {package.sha256 for package in sdk.environment.packages}
    whole = finished_environment(Path(sdk.environment.folder), sdk.environment.digest, chain.workplace.platform) is not None
    return whole and all(build.sha256 in known for build in chain.before)


def _missing(project: Project, workplace: Workplace, what: str) -> HipwrightError:
    words = [f"--{project.name}-dir={workplace.settings.dir[project.name]}"] if project.name in workplace.settings.dir else []
    words += [f"--python={text}" for text in workplace.settings.python]
    words += ["--work-dir", str(workplace.work_dir)] if workplace.resolved.origin("work_dir") != "default" else []
    line = printable([*workplace.nox, "-s", "pipeline", "--", "--projects", project.name, "--until", "provision", *words])
    return HipwrightError("stage-missing", f"{project.name} {what} in {workplace.work_dir}", hint=line)


def _is_finished(project: Project, workplace: Workplace) -> bool:
    """Say whether the last source stage was done in a project's tree; one of the person's own is taken as it stands."""
    path = own_folder(workplace.work_dir / "src" / project.name) / f"{Stage.HIPIFIED_PATCHES}.json"
    return project.name in workplace.settings.dir or any(True for _ in _read(path))


def _receipts(project: Project, workplace: Workplace, stage: Stage) -> Iterator[StageReceipt]:
    for path in sorted((workplace.work_dir / stage.value / project.name).glob(f"*/{RECEIPT}")):
        yield from _read(path)


def _read(path: Path) -> Iterator[StageReceipt]:
    """Yield a receipt that is there and can be read; the next run of its stage writes another one."""
    if not path.is_file():
        return
    try:
        yield read_record(path, StageReceipt)
    except HipwrightError:
        return
