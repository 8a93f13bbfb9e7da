"""Job objects, against a kernel of the tests: the order of the calls, and the shapes that the real one reads."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.job_object import Accounting, BasicLimits, ExtendedLimits, InputOutput, Job, Jobs, declare

if TYPE_CHECKING:
    from collections.abc import Callable

JOB, PROCESS, PID = 0x1_0000_0010, 0x20, 4321


@dataclass
class FakeKernel:
    """Keeps account of what is asked for; ``fails`` are the functions that do not work, ``active`` how many processes run."""

    fails: frozenset[str] = frozenset()
    active: list[int] = field(default_factory=list)
    calls: list[tuple[object, ...]] = field(default_factory=list)

    def _done(self, name: str, *told: object) -> int:
        self.calls.append((name, *told))
        return int(name not in self.fails)

    def CreateJobObjectW(self, attributes: None, name: None, /) -> int | None:  # noqa: N802
        return JOB if self._done("create", attributes, name) else None

    def OpenProcess(self, access: int, inherit: int, pid: int, /) -> int | None:  # noqa: N802
        return PROCESS if self._done("open", access, inherit, pid) else None

    def AssignProcessToJobObject(self, job: int, process: int, /) -> int:  # noqa: N802
        return self._done("assign", job, process)

    def SetInformationJobObject(self, job: int, kind: int, information: Any, size: int, /) -> int:  # noqa: N802, ANN401
        limits = information._obj
        assert isinstance(limits, ExtendedLimits)
        flags = limits.BasicLimitInformation.LimitFlags
        return self._done("limit" if flags else "no limit", job, kind, flags, size)

    def QueryInformationJobObject(self, job: int, kind: int, information: Any, size: int, told: None, /) -> int:  # noqa: N802, ANN401
        information._obj.ActiveProcesses = self.active.pop(0) if self.active else 0
        return self._done("query", job, kind, size, told)

    def TerminateJobObject(self, job: int, status: int, /) -> int:  # noqa: N802
        return self._done("terminate", job, status)

    def CloseHandle(self, handle: int, /) -> int:  # noqa: N802
        return self._done("close", handle)

    @property
    def names(self) -> list[object]:
        return [call[0] for call in self.calls]


def test_the_shapes_are_those_of_64_bit_windows() -> None:
    assert [ctypes.sizeof(shape) for shape in (BasicLimits, InputOutput, ExtendedLimits, Accounting)] == [64, 48, 144, 48]
    assert BasicLimits.LimitFlags.offset == 16
    assert BasicLimits.MinimumWorkingSetSize.offset == 24
    assert BasicLimits.Affinity.offset == 48
    assert BasicLimits.SchedulingClass.offset == 60
    assert [entry[0] for entry in InputOutput._fields_] == [
        "ReadOperationCount",
        "WriteOperationCount",
        "OtherOperationCount",
        "ReadTransferCount",
        "WriteTransferCount",
        "OtherTransferCount",
    ]
    assert ExtendedLimits.IoInfo.offset == 64
    assert ExtendedLimits.ProcessMemoryLimit.offset == 112
    assert Accounting.ActiveProcesses.offset == 40


def test_a_process_gets_into_a_job_that_ends_it_with_us() -> None:
    kernel = FakeKernel()
    job = Job.of(PID, kernel)
    assert job == Job(kernel=kernel, handle=JOB)
    assert kernel.calls == [
        ("create", None, None),
        ("limit", JOB, 9, 0x2000, 144),
        ("open", 0x0101, 0, PID),
        ("assign", JOB, PROCESS),
        ("close", PROCESS),
    ]


@pytest.mark.parametrize(("fails", "closed"), [("create", []), ("limit", [JOB]), ("open", [JOB]), ("assign", [PROCESS, JOB])])
def test_a_job_that_cannot_be_had_is_none_and_leaves_no_handle(fails: str, closed: list[int]) -> None:
    kernel = FakeKernel(fails=frozenset({fails}))
    assert Job.of(PID, kernel) is None
    assert [call[1] for call in kernel.calls if call[0] == "close"] == closed


def test_a_program_runs_only_when_it_is_in_its_job() -> None:
    kernel = FakeKernel()
    order: list[list[object]] = []
    jobs = Jobs(kernel=kernel, resume=lambda _pid: order.append(kernel.names))
    jobs.began(PID)
    assert order == [["create", "limit", "open", "assign", "close"]]
    assert jobs.end(PID, 1)
    assert kernel.calls[5:] == [("terminate", JOB, 1), ("query", JOB, 1, 48, None)]


def test_a_program_that_gets_into_no_job_runs_and_is_ended_otherwise() -> None:
    resumed: list[int] = []
    jobs = Jobs(kernel=FakeKernel(fails=frozenset({"assign"})), resume=resumed.append)
    jobs.began(PID)
    assert resumed == [PID]
    assert not jobs.end(PID, 1)
    jobs.ended(PID)


def test_the_end_of_a_job_is_waited_for_within_limits() -> None:
    kernel = FakeKernel(active=[2, 1, 0])
    Job(kernel=kernel, handle=JOB).end(60)
    assert kernel.names == ["terminate", "query", "query", "query"]
    endless = FakeKernel(active=[1] * 99)
    Job(kernel=endless, handle=JOB).end(0)
    assert endless.names == ["terminate", "query"]
    assert Job(kernel=FakeKernel(fails=frozenset({"query"}), active=[5]), handle=JOB).running() == 0


def test_what_a_program_leaves_running_outlives_its_job() -> None:
    kernel = FakeKernel()
    jobs = Jobs(kernel=kernel, resume=lambda _pid: None)
    jobs.began(PID)
    kernel.calls.clear()
    jobs.ended(PID)
    assert kernel.calls == [("no limit", JOB, 9, 0, 144), ("close", JOB)]
    jobs.ended(PID)
    assert len(kernel.calls) == 2


def test_a_job_that_keeps_its_limit_is_not_closed() -> None:
    kernel = FakeKernel(fails=frozenset({"no limit"}))
    Job(kernel=kernel, handle=JOB).let_go()
    assert kernel.names == ["no limit"]


def test_ctypes_is_told_of_handles_that_are_wide() -> None:
    class Function:
        restype: object = ctypes.c_int
        argtypes: tuple[object, ...] = ()

    class Library:
        def __init__(self) -> None:
            self.functions: dict[str, Function] = {}

        def __getattr__(self, name: str) -> Function:
            return self.functions.setdefault(name, Function())

    library = Library()
    declare(library)
    wide: Callable[[str], bool] = lambda name: library.functions[name].restype is ctypes.c_void_p  # noqa: E731
    assert {name for name in library.functions if wide(name)} == {"CreateJobObjectW", "OpenProcess"}
    takes = {name: len(function.argtypes) for name, function in library.functions.items()}
    assert takes == {
        "CreateJobObjectW": 2,
        "OpenProcess": 3,
        "AssignProcessToJobObject": 2,
        "SetInformationJobObject": 4,
        "QueryInformationJobObject": 5,
        "TerminateJobObject": 2,
        "CloseHandle": 1,
    }
