"""Two runs at once: the one that needs what the other makes waits and names it; others run side by side."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from build_tools.files import hold as hold_lock
from tests.support.commands import add_project, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Started

pytestmark = pytest.mark.end_to_end


@pytest.fixture(name="hold")
def waiting_project(desk: Desk, tmp_path: Path) -> Path:
    hold = tmp_path / "hold"
    add_project(desk.clone, "waiting", behaviour="waits", hold=hold)
    return hold


def began(hold: Path, run: Started) -> None:
    until(lambda: list(hold.glob("began-*")) or run.process.poll() is not None, "build that waits")
    assert run.process.poll() is None, run.said


def test_the_same_build_waits_and_all_else_goes_on(desk: Desk, hold: Path) -> None:
    with desk.started("build_waiting", "--json") as first:
        began(hold, first)

        impatient = desk.nox("build_waiting", "--no-wait", "--json").failed("locked")
        assert f"build of waiting (process {first.process.pid}, since " in impatient["message"]
        assert impatient["kind"] == "conflict"

        with desk.started("build_waiting", "--json") as second:
            second.hear(f"waiting: build of waiting (process {first.process.pid}, since ")
            desk.nox("build_tiny_project", "--no-wait").well()
            desk.with_work("beside").nox("checkout_waiting", "--no-wait").well()
            assert first.process.poll() is None
            assert second.process.poll() is None
            (hold / "go").touch()
            ran = first.ended().well()
            waited = second.ended().well()
    assert ran.states["build"] == "run"
    assert waited.states["build"] == "skipped"
    assert waited.wheel == ran.wheel
    assert len(list(hold.glob("began-*"))) == 1


@pytest.mark.parametrize("name", ["src-tiny-project", "lock-tiny-project"])
def test_a_source_tree_or_a_lock_that_another_run_holds_is_waited_for(desk: Desk, name: str) -> None:
    path = desk.work / "locks" / f"{name}.lock"
    relock = ["--relock"] if name.startswith("lock") else []
    with contextlib.ExitStack() as stack:
        with hold_lock(path, purpose="something long", wait=False, on_wait=print):
            error = desk.nox("checkout_tiny_project", *relock, "--no-wait", "--json").failed("locked")
            assert f"something long (process {os.getpid()}, since " in error["message"]
            run = stack.enter_context(desk.started("checkout_tiny_project", *relock))
            run.hear(f"something long (process {os.getpid()}, since ")
            assert run.process.poll() is None
        run.ended().well()
