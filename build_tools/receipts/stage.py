"""The receipt of a stage: what went in, what came out, how."""

from __future__ import annotations

from typing import ClassVar, Literal

from build_tools.receipts.check import CheckReport
from build_tools.receipts.ids import Sha256
from build_tools.receipts.lock import LockedProject
from build_tools.receipts.record import Record
from build_tools.receipts.snapshot import PublishedIndex
from build_tools.receipts.values import BuiltWheels, Sdk, SourceTree
from build_tools.receipts.verdict import Promotion, Verdict
from build_tools.types import Stage

__all__ = [
    "BuildResult",
    "CheckResult",
    "CommandRecord",
    "LockedResult",
    "OutputFile",
    "PromoteResult",
    "PublishResult",
    "SdkResult",
    "SourceResult",
    "StageReceipt",
    "StageResult",
    "TestResult",
    "Upstream",
]


class OutputFile(Record, frozen=True, kw_only=True):
    """A file that a stage made, relative to its receipt; size and time are the quick proof that it is intact."""

    path: str
    sha256: Sha256
    size: int
    mtime_ns: int


class CommandRecord(Record, frozen=True, kw_only=True):
    """A program that was run: its arguments, where, how long, how it ended; secrets are masked."""

    argv: tuple[str, ...]
    cwd: str
    seconds: float
    returncode: int


class Upstream(Record, frozen=True, kw_only=True):
    """The receipt that a stage's input came from; ``receipt`` is relative to the receipt that names it."""

    stage: Stage
    digest: Sha256
    receipt: str


class LockedResult(Record, frozen=True, kw_only=True, tag="lock", tag_field="type"):
    """The lock stage's result."""

    value: LockedProject


class SourceResult(Record, frozen=True, kw_only=True, tag="source-tree", tag_field="type"):
    """The result of the four source stages."""

    value: SourceTree


class SdkResult(Record, frozen=True, kw_only=True, tag="sdk", tag_field="type"):
    """The provision stage's result."""

    value: Sdk


class BuildResult(Record, frozen=True, kw_only=True, tag="built-wheels", tag_field="type"):
    """The build stage's result."""

    value: BuiltWheels


class CheckResult(Record, frozen=True, kw_only=True, tag="check-report", tag_field="type"):
    """The check stage's result."""

    value: CheckReport


class PublishResult(Record, frozen=True, kw_only=True, tag="published-index", tag_field="type"):
    """The publish stage's result."""

    value: PublishedIndex


class TestResult(Record, frozen=True, kw_only=True, tag="verdict", tag_field="type"):
    """The test stage's result: the verdict of the first device, and those of the others, where several were tested on."""

    __test__ = False

    value: Verdict
    more: tuple[Verdict, ...] = ()


class PromoteResult(Record, frozen=True, kw_only=True, tag="promotion", tag_field="type"):
    """The promote stage's result."""

    value: Promotion


StageResult = LockedResult | SourceResult | SdkResult | BuildResult | CheckResult | PublishResult | TestResult | PromoteResult


class StageReceipt(Record, frozen=True, kw_only=True):
    """What one stage did; lies beside its outputs as ``receipt.json``.

    ``parts`` are the named inputs, each as a digest or a short text; ``digest`` is the digest over stage, project and parts.
    Times are UTC in ISO 8601. ``python`` is the target interpreter's tag where the result is for one. ``watched`` are files of the
    machine that the result depends on, with their sha256 (None: absent).
    """

    MADE_BY: ClassVar[str | None] = "nox -s pipeline"

    schema: Literal[1] = 1
    stage: Stage
    project: str
    python: str | None = None
    digest: Sha256
    parts: dict[str, str]
    watched: dict[str, Sha256 | None] = {}
    upstream: tuple[Upstream, ...]
    outputs: tuple[OutputFile, ...]
    result: StageResult
    commands: tuple[CommandRecord, ...] = ()
    environment: dict[str, str] = {}
    tools: dict[str, str] = {}
    started: str
    seconds: float
    overhead_seconds: float = 0.0
