"""What the stages of one project have brought so far, and what each hands to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from build_tools.errors import HipwrightError
from build_tools.receipts.stage import (
    BuildResult,
    CheckResult,
    LockedResult,
    PromoteResult,
    PublishResult,
    SdkResult,
    SourceResult,
    TestResult,
)
from build_tools.types import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.pipeline.earlier_builds import EarlierBuild
    from build_tools.pipeline.engine import Done
    from build_tools.receipts.check import CheckReport
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.snapshot import IndexedFile, PublishedIndex
    from build_tools.receipts.values import BuiltWheels, Sdk, SourceTree
    from build_tools.receipts.verdict import Promotion, Verdict
    from build_tools.sources.own import OwnTree
    from build_tools.types import GfxTarget
    from build_tools.workplace import Workplace

__all__ = ["Chain", "RuledOut"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class RuledOut:
    """Why a project is skipped, and where that is told."""

    reason: str
    link: str | None = None


@dataclass(kw_only=True, slots=True)
class Chain:
    """One project on its way through the stages, for one target interpreter.

    ``done`` holds the finished stages; the typed getters below are the arrows between them. ``would_run`` holds what a
    dry run found that it would do, with the reason. ``locked_before`` is the lock entry that this run replaced. ``own_tree`` is a tree of
    the person's own as it was read when it was locked. ``developed`` says where a build in the tree itself has left what. ``before`` are the builds of other projects that it is built with, once they are
    found. ``ruled_out`` says why it is skipped. ``put`` are the wheels in the folder that ``--dist-dir`` names.
    ``upload_plan`` and ``promotion_plan`` are what a dry run found that publishing and promoting would do; ``promised`` are files that
    it found would be promoted before. ``failed`` is the stage that failed, and what it said.
    """

    project: Project
    workplace: Workplace
    targets: tuple[GfxTarget, ...]
    python: str | None = None
    done: dict[Stage, Done] = field(default_factory=dict)
    would_run: dict[Stage, str] = field(default_factory=dict)
    locked_before: LockedProject | None = None
    own_tree: OwnTree | None = None
    developed: dict[str, Any] | None = None
    before: tuple[EarlierBuild, ...] = ()
    ruled_out: RuledOut | None = None
    put: tuple[Path, ...] = ()
    upload_plan: dict[str, Any] | None = None
    promotion_plan: dict[str, Any] | None = None
    promised: tuple[IndexedFile, ...] = ()
    failed: tuple[Stage, str] | None = None

    @property
    def folder(self) -> Path:
        """The project's folder under ``external-builds``."""
        return self.workplace.external_builds / self.project.name

    @property
    def python_tag(self) -> str:
        """The tag of the target interpreter."""
        return self.workplace.interpreters[self.python].python_tag

    @property
    def own(self) -> Path | None:
        """The tree of the person's own that is built instead of one that is checked out, None without one."""
        return self.workplace.settings.dir.get(self.project.name)

    @property
    def tree(self) -> Path:
        """Where the project's source tree lies."""
        return self.own or self.workplace.work_dir / "src" / self.project.name

    @property
    def is_locked(self) -> bool:
        """Whether its lock stage is done."""
        return Stage.LOCK in self.done

    def locked(self) -> LockedProject:
        """The lock stage's value."""
        return self._result(Stage.LOCK, LockedResult).value

    def source(self) -> SourceTree:
        """The source tree, as the last source stage left it."""
        return self._result(Stage.HIPIFIED_PATCHES, SourceResult).value

    def sdk(self) -> Sdk:
        """The provision stage's value."""
        return self._result(Stage.PROVISION, SdkResult).value

    def built(self) -> BuiltWheels:
        """The build stage's value."""
        return self._result(Stage.BUILD, BuildResult).value

    def report(self) -> CheckReport:
        """The check stage's value."""
        return self._result(Stage.CHECK, CheckResult).value

    def index(self) -> PublishedIndex:
        """The publish stage's value."""
        return self._result(Stage.PUBLISH, PublishResult).value

    def verdicts(self) -> tuple[Verdict, ...]:
        """The test stage's values, one for each device that was tested on."""
        result = self._result(Stage.TEST, TestResult)
        return (result.value, *result.more)

    def promotion(self) -> Promotion:
        """The promote stage's value."""
        return self._result(Stage.PROMOTE, PromoteResult).value

    def wheel_paths(self) -> list[Path]:
        """Where the built wheels lie."""
        built = self.done[Stage.BUILD]
        return [built.folder / wheel.path for wheel in self.built().wheels]

    def _result(self, stage: Stage, kind: type[_Result]) -> _Result:
        done = self.done.get(stage)
        if done is None:
            message = f"the {stage} stage of {self.project.name} is needed, and neither this run nor a receipt has brought it"
            raise HipwrightError(
                "stage-missing", message, hint=f"hand its receipt over too: --from-receipt …/{stage}/…/receipt.json"
            )
        result: Any = done.receipt.result
        if not isinstance(result, kind):
            raise HipwrightError("bad-receipt", f"{done.path} is a receipt of {stage}, but holds {type(result).__name__}")
        return result
