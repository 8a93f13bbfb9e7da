"""What examples cost: how long each ran and how much memory it took, run by run, and how two such reports differ."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from build_tools.receipts.record import Record

__all__ = [
    "Change",
    "ExampleDelta",
    "ExampleProfile",
    "ExampleRun",
    "ExampleStatus",
    "Framework",
    "Mebibytes",
    "ProfileReport",
    "Seconds",
]

ExampleStatus: TypeAlias = Literal["passed", "failed", "crashed", "timeout", "skipped"]
Change: TypeAlias = Literal[
    "same", "noise", "slower", "larger", "slower and larger", "better", "new", "missing", "broken", "mended", "not run"
]

Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1e9)]
"""What a run took: more than nothing, and less than a lifetime."""

Mebibytes: TypeAlias = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]
"""A peak of memory, of less than a pebibyte."""


class Framework(Record, frozen=True, kw_only=True):
    """The framework that an example had loaded when it ended: its version, that of HIP or CUDA, and the names of its devices."""

    torch: str
    hip: str | None = None
    cuda: str | None = None
    devices: tuple[str, ...] = ()


class ExampleRun(Record, frozen=True, kw_only=True):
    """One run: seconds, and peaks of memory in MiB; of the device none is known where no framework had one."""

    duration_s: Seconds
    peak_memory_mb: Mebibytes | None = None
    peak_device_memory_mb: Mebibytes | None = None


class ExampleDelta(Record, frozen=True, kw_only=True):
    """How an example differs from an earlier report; a delta is None where one side has no value.

    ``noise_percent`` is how far the runs of one side lie apart at the most, of the base's median; None where each side has one run.
    """

    example: str
    change: Change
    base_status: ExampleStatus | None = None
    new_status: ExampleStatus | None = None
    base_duration_s: float | None = None
    new_duration_s: float | None = None
    duration_delta_s: float | None = None
    duration_delta_percent: float | None = None
    noise_percent: float | None = None
    peak_memory_delta_mb: float | None = None
    peak_device_memory_delta_mb: float | None = None


class ExampleProfile(Record, frozen=True, kw_only=True):
    """One example: how it ended, and the medians of its measured runs.

    ``name`` is the command line as it was given. ``error`` says in one line what was wrong, ``code`` is that error's name.
    ``missing`` is the asset without which it was skipped.
    """

    name: str
    status: ExampleStatus
    code: str | None = None
    error: str | None = None
    missing: str | None = None
    duration_s: Seconds | None = None
    peak_memory_mb: Mebibytes | None = None
    peak_device_memory_mb: Mebibytes | None = None
    runs: tuple[ExampleRun, ...] = ()
    framework: Framework | None = None
    log: str | None = None
    delta: ExampleDelta | None = None

    def __post_init__(self) -> None:
        """Refuse an example that passed and was not measured: it would be as fast as any."""
        if self.status == "passed" and (self.duration_s is None or not self.runs):
            message = f"the example {self.name!r} passed, and has no run or no duration"
            raise ValueError(message)


class ProfileReport(Record, frozen=True, kw_only=True):
    """The profile of examples in one environment on one machine."""

    MADE_BY: ClassVar[str | None] = "nox -s profile"

    schema: Literal[1] = 1
    platform: str
    python: str
    environment: str
    gpus: tuple[str, ...] = ()
    started: str
    warm_up: bool
    repeat: int
    time_limit_s: float
    examples: tuple[ExampleProfile, ...]

    def __post_init__(self) -> None:
        """Refuse a report that has an example twice: either could be the one that is compared."""
        names = [example.name for example in self.examples]
        if len(set(names)) != len(names):
            message = f"the report has examples twice: {', '.join(sorted({name for name in names if names.count(name) > 1}))}"
            raise ValueError(message)
