"""What starts and ends programs on Windows, loaded here as it would be there: its own lines run against a kernel of the tests."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from types import ModuleType

CODE = Path(__file__).parents[2] / "build_tools"


@dataclass
class Function:
    """A function of the kernel, as ctypes would give it."""

    name: str
    calls: list[str]
    answer: int
    restype: object = None
    argtypes: tuple[object, ...] = ()

    def __call__(self, *_arguments: object) -> int:
        self.calls.append(self.name)
        return self.answer


@dataclass
class Library:
    """``kernel32.dll``; ``fails`` are its functions that do not work."""

    calls: list[str]
    fails: tuple[str, ...] = ()
    functions: dict[str, Function] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Function:
        return self.functions.setdefault(name, Function(name, self.calls, int(name not in self.fails)))


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"build_tools.{name}", CODE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def windows(monkeypatch: pytest.MonkeyPatch, calls: list[str], *fails: str) -> Any:  # noqa: ANN401 - it has other names there
    """Load the modules as Windows does."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda _name: Library(calls, fails), raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    monkeypatch.setattr(psutil, "Process", lambda pid: SimpleNamespace(resume=lambda: calls.append(f"resume {pid}")))
    monkeypatch.setattr(subprocess, "run", lambda words, **_named: calls.append(" ".join(words)))
    load("job_object", monkeypatch)
    return load("process_groups", monkeypatch)


def program(calls: list[str], returncode: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(pid=7, returncode=returncode, wait=lambda: calls.append("wait"), kill=lambda: calls.append("kill"))


def test_a_program_of_windows_is_in_its_job_before_it_runs_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    groups = windows(monkeypatch, calls)
    assert (groups.CREATION_FLAGS, groups.NEW_SESSION) == (0x204, False)
    groups.began(program(calls))
    started = [
        "CreateJobObjectW",
        "SetInformationJobObject",
        "OpenProcess",
        "AssignProcessToJobObject",
        "CloseHandle",
        "resume 7",
    ]
    assert calls == started
    calls.clear()
    groups.end(program(calls))
    assert calls == ["TerminateJobObject", "QueryInformationJobObject", "wait", "SetInformationJobObject", "CloseHandle"]


def test_a_program_of_windows_that_ended_leaves_its_servers_running(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    groups = windows(monkeypatch, calls)
    for alone in (False, True):
        groups.began(program(calls))
        calls.clear()
        groups.end(program(calls, 0), alone=alone)
        assert ("TerminateJobObject" in calls) == alone
        assert calls[-2:] == ["SetInformationJobObject", "CloseHandle"]


def test_where_windows_gives_no_job_the_tree_is_ended_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    groups = windows(monkeypatch, calls, "AssignProcessToJobObject")
    groups.began(program(calls))
    assert calls[-1] == "resume 7"
    calls.clear()
    groups.end(program(calls))
    assert calls == ["taskkill /F /T /PID 7", "wait"]
    calls.clear()
    groups.end(program(calls, 0), alone=True)
    assert calls == ["wait"]


def test_a_program_of_windows_that_cannot_be_let_run_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    groups = windows(monkeypatch, calls)

    def refuse() -> None:
        raise psutil.AccessDenied(7)

    monkeypatch.setattr(psutil, "Process", lambda _pid: SimpleNamespace(resume=refuse))
    with pytest.raises(PermissionError, match="pid=7"):
        groups.began(program(calls))
    assert calls[-1] == "kill"
