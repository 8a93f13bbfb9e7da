"""A run that is killed or interrupted in the middle of a build: nothing half-made counts, and the same command ends well."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.commands import add_project, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Started

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX systems"),
]


@dataclass(frozen=True, kw_only=True)
class Held:
    """A project whose build waits, and the wheel of a run that nothing disturbed."""

    desk: Desk
    hold: Path
    undisturbed: bytes

    def go(self) -> None:
        (self.hold / "go").touch()

    def began(self, run: Started) -> int:
        """Wait for a run's build to be under way, and return the process that builds."""
        mark = until(lambda: next(self.hold.glob("began-*"), None) or run.process.poll() is not None, "build that waits")
        assert run.process.poll() is None, run.said
        mark.unlink()
        return int(mark.name.removeprefix("began-"))


@pytest.fixture(scope="module")
def undisturbed(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Held:
    hold = tmp_path_factory.mktemp("hold")
    add_project(desk.clone, "waiting", behaviour="waits", hold=hold)
    (hold / "go").touch()
    wheel = desk.nox("build_waiting", "--json").well().wheel
    return Held(desk=desk, hold=hold, undisturbed=wheel.read_bytes())


@pytest.fixture
def held(undisturbed: Held) -> Held:
    for mark in undisturbed.hold.iterdir():
        mark.unlink()
    return undisturbed


def no_longer_there(number: int) -> bool:
    try:
        return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("whole_group", [False, True], ids=["nox", "group"])
def test_after_a_hard_kill_the_same_command_gives_the_same_bytes(held: Held, whole_group: bool) -> None:  # noqa: FBT001
    """The build itself outlives its nox, and ends while the next run builds anew."""
    desk = held.desk.with_work(f"killed-{'group' if whole_group else 'nox'}")
    with desk.started("build_waiting", "--json") as run:
        orphan = held.began(run)
        run.kill_group() if whole_group else run.process.kill()
        assert run.process.wait() < 0
    assert not list(desk.work.glob("build/waiting/*/receipt.json"))
    with desk.started("build_waiting", "--json") as run:
        assert held.began(run) != orphan
        held.go()
        ran = run.ended().well()
    assert ran.states["build"] == "run"
    assert {state for stage, state in ran.states.items() if stage != "build"} == {"skipped"}
    assert ran.wheel.read_bytes() == held.undisturbed
    until(lambda: no_longer_there(orphan), "end of the orphan")
    assert [path.name for path in (desk.work / "build" / "waiting").iterdir()] == [ran.receipt_path("build").parent.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: signal.Signals(number).name)
def test_interrupted_from_outside_a_run_takes_its_children_with_it(held: Held, number: signal.Signals) -> None:
    desk = held.desk.with_work(f"interrupted-{number.name}")
    with desk.started("build_waiting", "--json") as run:
        builder = held.began(run)
        family = run.family()
        assert builder in {member.pid for member in family}
        run.signal_group(number)
        ended = run.ended()
        assert all(no_longer_there(member.pid) for member in family)
    error = ended.failed("interrupted")
    assert error["message"].startswith("build_waiting was interrupted")
    assert error["hint"].startswith("nox -s build_waiting -- ")
    assert not list(desk.work.glob("build/waiting/*"))
    held.go()
    ran = desk.paste(error["hint"]).well()
    document = json.loads(ran.out)
    states = {stage["stage"]: stage["state"] for stage in document["stages"]}
    assert (states["provision"], states["build"]) == ("skipped", "run")
    assert ran.wheel.read_bytes() == held.undisturbed
