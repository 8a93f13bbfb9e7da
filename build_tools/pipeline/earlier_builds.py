"""Finished builds as later ones use them: the wheel, its lock, and what it was made for; read from receipts in the work dir."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError, Where
from build_tools.pipeline.engine import RECEIPT, Done, verify_outputs
from build_tools.receipts.lock import LockedFile
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import BuildResult, LockedResult, PublishResult, StageReceipt
from build_tools.types import ProjectName, Sha256, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.values import BuiltWheels, WheelFile
    from build_tools.workplace import Workplace

__all__ = ["EarlierBuild", "earlier_build", "earlier_builds", "targets_text"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierBuild:
    """A finished build of a project: its receipt, where that lies, and the lock that it was made from.

    ``published`` is the index that has its wheel, where that is known; a receipt from elsewhere may have come without the wheel then.
    """

    project: Project
    done: Done
    built: BuiltWheels
    lock: LockedProject
    published: PublishedIndex | None = None

    @property
    def wheel(self) -> WheelFile:
        """The wheel."""
        return self.built.wheels[0]

    @property
    def filename(self) -> str:
        """The wheel's file name."""
        return self.wheel.filename

    @property
    def sha256(self) -> Sha256:
        """The wheel's digest."""
        return self.wheel.sha256

    @property
    def distribution(self) -> str:
        """The name of the package, normalised."""
        return canonicalize_name(self.wheel.distribution)

    @property
    def version(self) -> str:
        """The wheel's version."""
        return self.wheel.version

    @property
    def python(self) -> str | None:
        """The tag of the interpreter that it is for."""
        return self.done.receipt.python

    @property
    def targets(self) -> str:
        """The targets that were asked for, as :func:`targets_text` writes them."""
        return self.done.receipt.parts.get("targets", "none")

    @property
    def rocm(self) -> str | None:
        """The version of ROCm that it was built against, None without one."""
        return self.lock.rocm.version if self.lock.rocm is not None else None

    @property
    def started(self) -> str:
        """When it was made, comparable."""
        return self.done.receipt.started

    @property
    def path(self) -> Path:
        """Where the wheel lies."""
        return self.done.folder / self.wheel.path

    def file(self) -> LockedFile:
        """Return the wheel as a package file that can be installed by address and digest."""
        return LockedFile(
            distribution=self.distribution,
            version=self.version,
            filename=self.filename,
            url=self.path.as_uri(),
            sha256=self.sha256,
        )

    def proven(self) -> EarlierBuild:
        """Return it once its bytes are those of its receipt.

        Raises
        ------
        HipwrightError
            ``output-changed``.
        """
        verify_outputs(self.done.receipt, self.done.folder)
        return self


def targets_text(targets: Iterable[str]) -> str:
    """Return targets that were asked for as receipts of builds name them."""
    return ";".join(targets) or "none"


def earlier_build(
    done: Done, workplace: Workplace, *, lock: LockedProject | None = None, published: Done | None = None
) -> EarlierBuild:
    """Return a finished build as later ones use it.

    Parameters
    ----------
    done
        The build stage of some project.
    workplace
        Where projects are.
    lock
        The lock that it was made from; the one that its receipt names when not given.
    published
        The publish stage of its wheel, where that is done.

    Raises
    ------
    HipwrightError
        ``bad-receipt`` when it is of no build, or names no lock that can be read; ``bad-data-file``, ``unknown-project``.
    """
    receipt = done.receipt
    if not isinstance(receipt.result, BuildResult) or not receipt.result.value.wheels:
        raise HipwrightError("bad-receipt", f"{done.path} is a receipt of no built wheel", where=Where(file=done.path))
    project = load_project(workplace.external_builds, ProjectName(receipt.project))
    result = published.receipt.result if published is not None else None
    return EarlierBuild(
        project=project,
        done=done,
        built=receipt.result.value,
        lock=lock or _lock_of(done),
        published=result.value if isinstance(result, PublishResult) else None,
    )


def earlier_builds(workplace: Workplace, project: Project, *, python: str | None) -> tuple[EarlierBuild, ...]:
    """Return the builds of a project that lie in the work dir and are for this system; for one interpreter unless None.

    A receipt that cannot be read, whose lock or wheel is gone, stands for nothing.
    """
    found = []
    for path in sorted((workplace.work_dir / Stage.BUILD / project.name).glob(f"*/{RECEIPT}")):
        try:
            done = Done(receipt=read_record(path, StageReceipt), path=path, state="skipped", why="built earlier", seconds=0.0)
            build = earlier_build(done, workplace)
        except HipwrightError:
            continue
        here = done.receipt.parts.get("platform") == workplace.platform.value and build.path.is_file()
        if here and python in {None, build.python}:
            found.append(build)
    return tuple(found)


def _lock_of(done: Done) -> LockedProject:
    for upstream in done.receipt.upstream:
        if upstream.stage is Stage.LOCK:
            path = done.folder / upstream.receipt
            result = read_record(path, StageReceipt).result
            if isinstance(result, LockedResult) and result.value.name == done.receipt.project:
                return result.value
    raise HipwrightError("bad-receipt", f"{done.path} names no lock that it was made from", where=Where(file=done.path))
