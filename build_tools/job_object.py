"""Job objects of Windows: a program with all that it starts, ended as one, also when the process that started it is gone.

A process group of Windows hears signals and ends nothing, and ``taskkill /T`` finds only children whose parents are still there. A process
in a job brings all that it starts into it. The kernel ends a job whose last handle is closed, as Microsoft documents it for
``JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE``; a process that is killed closes all of its own. Jobs may be nested since Windows 8, so that one of
a CI runner's is in nobody's way.

The structures are those of 64-bit Windows, with widths of their own: what ctypes calls ``long`` is not the same elsewhere.
"""

from __future__ import annotations

import ctypes
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Accounting", "BasicLimits", "ExtendedLimits", "InputOutput", "Job", "Jobs", "Kernel", "declare"]

_KILL_ON_CLOSE: Final = 0x2000
_ACCOUNTING, _EXTENDED_LIMITS = 1, 9
_TERMINATE, _SET_QUOTA = 0x0001, 0x0100
_STEP_SECONDS: Final = 0.01


class BasicLimits(ctypes.Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``."""

    _fields_ = (  # type: ignore[mutable-override] # read once, by ctypes
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_uint64),
        ("MaximumWorkingSetSize", ctypes.c_uint64),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_uint64),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class InputOutput(ctypes.Structure):
    """``IO_COUNTERS``."""

    _fields_ = tuple(  # type: ignore[mutable-override] # as above
        (f"{what}{kind}Count", ctypes.c_uint64) for kind in ("Operation", "Transfer") for what in ("Read", "Write", "Other")
    )


class ExtendedLimits(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``."""

    _fields_ = (  # type: ignore[mutable-override] # read once, by ctypes
        ("BasicLimitInformation", BasicLimits),
        ("IoInfo", InputOutput),
        ("ProcessMemoryLimit", ctypes.c_uint64),
        ("JobMemoryLimit", ctypes.c_uint64),
        ("PeakProcessMemoryUsed", ctypes.c_uint64),
        ("PeakJobMemoryUsed", ctypes.c_uint64),
    )


class Accounting(ctypes.Structure):
    """``JOBOBJECT_BASIC_ACCOUNTING_INFORMATION``."""

    _fields_ = (  # type: ignore[mutable-override] # read once, by ctypes
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", ctypes.c_uint32),
        ("TotalProcesses", ctypes.c_uint32),
        ("ActiveProcesses", ctypes.c_uint32),
        ("TotalTerminatedProcesses", ctypes.c_uint32),
    )


class Kernel(Protocol):
    """The functions of ``kernel32.dll`` that jobs take, by their own names."""

    def CreateJobObjectW(self, attributes: None, name: None, /) -> int | None: ...
    def OpenProcess(self, access: int, inherit: int, pid: int, /) -> int | None: ...
    def AssignProcessToJobObject(self, job: int, process: int, /) -> int: ...
    def SetInformationJobObject(self, job: int, kind: int, information: Any, size: int, /) -> int: ...  # noqa: ANN401 - a pointer
    def QueryInformationJobObject(self, job: int, kind: int, information: Any, size: int, told: None, /) -> int: ...  # noqa: ANN401
    def TerminateJobObject(self, job: int, status: int, /) -> int: ...
    def CloseHandle(self, handle: int, /) -> int: ...


_HANDLE, _NUMBER, _YES = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
_SIGNATURES: Final = {
    "CreateJobObjectW": (_HANDLE, (ctypes.c_void_p, ctypes.c_wchar_p)),
    "OpenProcess": (_HANDLE, (_NUMBER, _YES, _NUMBER)),
    "AssignProcessToJobObject": (_YES, (_HANDLE, _HANDLE)),
    "SetInformationJobObject": (_YES, (_HANDLE, ctypes.c_int, ctypes.c_void_p, _NUMBER)),
    "QueryInformationJobObject": (_YES, (_HANDLE, ctypes.c_int, ctypes.c_void_p, _NUMBER, ctypes.c_void_p)),
    "TerminateJobObject": (_YES, (_HANDLE, _NUMBER)),
    "CloseHandle": (_YES, (_HANDLE,)),
}


def declare(library: Any) -> Kernel:  # noqa: ANN401 - ctypes looks its functions up by name
    """Tell ctypes what the functions take and return; a handle would be cut to 32 bits without."""
    for name, (returns, takes) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = returns, takes
    kernel: Kernel = library
    return kernel


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A program with all that it starts."""

    kernel: Kernel
    handle: int

    @classmethod
    def of(cls, pid: int, kernel: Kernel) -> Job | None:
        """Return a new job that a process is in; None where the system does not let it into one.

        The process should not run yet: what it starts before it is in the job is not in it.
        """
        handle = kernel.CreateJobObjectW(None, None)
        if not handle:
            return None
        job = cls(kernel=kernel, handle=handle)
        if job._limit(_KILL_ON_CLOSE) and job._take(pid):
            return job
        kernel.CloseHandle(handle)
        return None

    def end(self, seconds: float) -> None:
        """End all that is in it, and wait at most so long until nothing of it runs."""
        self.kernel.TerminateJobObject(self.handle, 1)
        until = time.monotonic() + seconds
        while self.running() and time.monotonic() < until:
            time.sleep(_STEP_SECONDS)

    def running(self) -> int:
        """Return how many processes are in it; none where the system does not tell."""
        told = Accounting()
        asked = self.kernel.QueryInformationJobObject(self.handle, _ACCOUNTING, ctypes.byref(told), ctypes.sizeof(told), None)
        return int(told.ActiveProcesses) if asked else 0

    def let_go(self) -> None:
        """Give it up: what is still in it runs on, as a server does that a program leaves behind."""
        # Closed with its limit it would end them; so one that keeps the limit is not closed.
        if self._limit(0):
            self.kernel.CloseHandle(self.handle)

    def _limit(self, flags: int) -> bool:
        limits = ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = flags
        size = ctypes.sizeof(limits)
        return bool(self.kernel.SetInformationJobObject(self.handle, _EXTENDED_LIMITS, ctypes.byref(limits), size))

    def _take(self, pid: int) -> bool:
        process = self.kernel.OpenProcess(_SET_QUOTA | _TERMINATE, 0, pid)
        if not process:
            return False
        try:
            return bool(self.kernel.AssignProcessToJobObject(self.handle, process))
        finally:
            self.kernel.CloseHandle(process)


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """The jobs of the programs that run, by the number of their process.

    ``resume`` lets a process run that was started suspended.
    """

    kernel: Kernel
    resume: Callable[[int], None]
    held: dict[int, Job] = field(default_factory=dict)

    def began(self, pid: int) -> None:
        """Put a program that was started suspended into a job of its own, and let it run."""
        job = Job.of(pid, self.kernel)
        if job is not None:
            self.held[pid] = job
        self.resume(pid)

    def end(self, pid: int, seconds: float) -> bool:
        """End a program with all that it started, as :meth:`Job.end`; False where it is in no job."""
        job = self.held.get(pid)
        if job is None:
            return False
        job.end(seconds)
        return True

    def ended(self, pid: int) -> None:
        """Give up the job of a program that has ended."""
        job = self.held.pop(pid, None)
        if job is not None:
            job.let_go()


if sys.platform == "win32":
    __all__ += ["system_kernel"]

    def system_kernel() -> Kernel:
        """Return the system's own."""
        return declare(ctypes.WinDLL("kernel32"))
