"""What is known of how wheels came to be: the receipts that made them, read for what papers say of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.receipts.stage import BuildResult, CheckResult, LockedResult, SdkResult
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.patches.series import Patch
    from build_tools.receipts.check import CheckReport
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.stage import StageReceipt
    from build_tools.receipts.values import BuiltWheels, InstalledPackage

__all__ = ["BuildFacts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildFacts:
    """One build: the receipts of its stages, and the patches that its sources had where they are at hand."""

    project: str
    receipts: Mapping[Stage, StageReceipt]
    patches: tuple[Patch, ...] = field(default=())

    @property
    def built(self) -> BuiltWheels | None:
        """What the build made."""
        receipt = self.receipts.get(Stage.BUILD)
        return receipt.result.value if receipt and isinstance(receipt.result, BuildResult) else None

    @property
    def locked(self) -> LockedProject | None:
        """What the build was locked to."""
        receipt = self.receipts.get(Stage.LOCK)
        return receipt.result.value if receipt and isinstance(receipt.result, LockedResult) else None

    @property
    def report(self) -> CheckReport | None:
        """What the checks found."""
        receipt = self.receipts.get(Stage.CHECK)
        return receipt.result.value if receipt and isinstance(receipt.result, CheckResult) else None

    @property
    def packages(self) -> tuple[InstalledPackage, ...]:
        """The packages that the build had in its environment."""
        receipt = self.receipts.get(Stage.PROVISION)
        return receipt.result.value.environment.packages if receipt and isinstance(receipt.result, SdkResult) else ()

    @property
    def label(self) -> str:
        """The build as names of papers have it: the project, and the target interpreter where there is one."""
        tag = self.built.python_tag if self.built is not None else None
        return f"{self.project}-{tag}" if tag else self.project
