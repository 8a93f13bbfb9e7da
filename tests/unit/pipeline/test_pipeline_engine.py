from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.engine import (
    RECEIPT,
    Done,
    Making,
    Work,
    decide,
    input_digest,
    perform,
    stage_folder,
    verify_outputs,
    watch,
)
from build_tools.receipts.check import CheckReport
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import CheckResult, StageReceipt
from build_tools.types import Stage
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace

RESULT = CheckResult(value=CheckReport(project="p", wheels=(), rules=(), findings=()))


class Stagehand:
    """A stage that writes one file and counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0
        self.fail = False

    def make(self, making: Making) -> CheckResult:
        self.runs += 1
        (making.folder / "sub").mkdir()
        (making.folder / "sub" / "out.txt").write_text("result\n", encoding="utf-8")
        making.runner.run(["git", "--version"], cwd=making.folder, log=making.log)
        if self.fail:
            raise HipwrightError("check-failed", "it went wrong")
        return RESULT

    def work(self, place: Workplace, parts: Mapping[str, str], upstream: tuple[Done, ...] = ()) -> Work:
        value = input_digest(Stage.CHECK, "p", parts)
        folder = stage_folder(place.work_dir, Stage.CHECK, "p", value)
        return Work(stage=Stage.CHECK, project="p", parts=parts, make=self.make, receipt=folder / RECEIPT, upstream=upstream)


def test_a_stage_runs_once_and_leaves_its_receipt_beside_its_outputs(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {"a": "1"}), place)
    again = perform(hand.work(place, {"a": "1"}), place)
    assert (first.state, again.state, hand.runs) == ("run", "skipped", 1)
    receipt = read_record(first.path, StageReceipt)
    assert receipt == first.receipt == again.receipt
    assert [output.path for output in receipt.outputs] == ["sub/out.txt"]
    assert receipt.commands[0].argv == ("git", "--version")
    assert receipt.environment["PATH"] == os.environ["PATH"]
    assert receipt.result == RESULT
    assert 0 <= receipt.overhead_seconds <= receipt.seconds
    verify_outputs(receipt, first.folder)


def test_another_input_runs_and_says_which_part_changed(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path, explain=True), Stagehand()
    perform(hand.work(place, {"ref": "a", "same": "x"}), place)
    second = perform(hand.work(place, {"ref": "b", "same": "x"}), place)
    assert second.state == "run"
    assert second.why == "changed: ref (a → b)"
    assert any("runs: it was never done" in text for text in memory_of(place).said)
    assert any("runs: changed: ref (a → b)" in text for text in memory_of(place).said)
    # The older result stays, and stands when its input comes back.
    assert perform(hand.work(place, {"ref": "a", "same": "x"}), place).state == "skipped"


@pytest.mark.parametrize("harm", ["gone", "longer", "touched"])
def test_a_damaged_output_is_made_again(tmp_path: Path, harm: str) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {}), place)
    file = first.folder / "sub" / "out.txt"
    if harm == "gone":
        file.unlink()
    elif harm == "longer":
        file.write_text("result and more\n", encoding="utf-8")
    else:
        os.utime(file, ns=(1, 1))
    assert perform(hand.work(place, {}), place).why in {"sub/out.txt is gone", "sub/out.txt has changed"}
    assert file.read_text(encoding="utf-8") == "result\n"


def test_verify_finds_a_change_that_size_and_time_hide(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {}), place)
    file = first.folder / "sub" / "out.txt"
    stat = file.stat()
    file.write_text("rEsult\n", encoding="utf-8")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert not decide(hand.work(place, {}), place).run
    assert decide(hand.work(place, {}), workplace(tmp_path, verify=True)).why == "sub/out.txt has changed"
    with pytest.raises(HipwrightError, match="other bytes") as caught:
        verify_outputs(first.receipt, first.folder)
    assert caught.value.code.name == "output-changed"


def test_force_runs_it_again(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    perform(hand.work(place, {}), place)
    done = perform(hand.work(place, {}), workplace(tmp_path, force=(Stage.CHECK,)))
    assert (done.state, done.why, hand.runs) == ("run", "forced", 2)
    assert perform(hand.work(place, {}), workplace(tmp_path, force=(Stage.BUILD,))).state == "skipped"


def test_a_failed_stage_leaves_nothing_but_its_log(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    hand.fail = True
    with pytest.raises(HipwrightError) as caught:
        perform(hand.work(place, {}), place)
    assert caught.value.log is not None
    assert "git version" in caught.value.log.read_text(encoding="utf-8")
    assert list((place.work_dir / "check" / "p").iterdir()) == []
    hand.fail = False
    assert perform(hand.work(place, {}), place).state == "run"


def test_a_failed_redo_keeps_the_earlier_result(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {}), place)
    hand.fail = True
    with pytest.raises(HipwrightError):
        perform(hand.work(place, {}), workplace(tmp_path, force=(Stage.CHECK,)))
    hand.fail = False
    assert perform(hand.work(place, {}), place).receipt == first.receipt


def test_a_receipt_that_cannot_be_read_is_no_result(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {}), place)
    first.path.write_bytes(b"{")
    assert perform(hand.work(place, {}), place).why == "its receipt cannot be read"


def test_left_overs_of_a_killed_run_are_cleared_away(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    work = hand.work(place, {})
    half = work.receipt.parent.with_name(work.receipt.parent.name + ".partial-0123")
    half.mkdir(parents=True)
    (half / "junk").touch()
    assert perform(work, place).state == "run"
    assert [path.name for path in work.receipt.parent.parent.iterdir()] == [work.receipt.parent.name]


def test_receipts_name_their_input_relatively(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = perform(hand.work(place, {"n": "1"}), place)
    second = perform(hand.work(place, {"n": "2"}, upstream=(first,)), place)
    (upstream,) = second.receipt.upstream
    assert (second.folder / upstream.receipt).resolve() == first.path.resolve()
    assert not upstream.receipt.startswith("/")
    assert upstream.digest == first.receipt.digest


def test_a_watched_file_that_changes_makes_a_stage_run_again(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    file = tmp_path / "pip.conf"
    work = hand.work(place, {})

    def make(making: Making) -> CheckResult:
        making.watched.update({str(path): watch(path) for path in (file, tmp_path / "absent")})
        return hand.make(making)

    work = dataclasses.replace(work, make=make)
    file.write_text("a", encoding="utf-8")
    assert perform(work, place).state == "run"
    assert perform(work, place).state == "skipped"
    file.write_text("b", encoding="utf-8")
    assert perform(work, place).why == f"{file} has changed"
    (tmp_path / "absent").touch()
    assert perform(work, place).why == f"{tmp_path / 'absent'} has changed"


def test_the_first_of_a_further_python_was_never_done(tmp_path: Path) -> None:
    place, hand = workplace(tmp_path), Stagehand()
    first = dataclasses.replace(hand.work(place, {"interpreter": "cp310"}), python="cp310")
    perform(first, place)
    further = dataclasses.replace(hand.work(place, {"interpreter": "cp312"}), python="cp312")
    assert decide(further, place).why == "it was never done"
    other = dataclasses.replace(hand.work(place, {"interpreter": "cp310 of another place"}), python="cp310")
    assert decide(other, place).why.startswith("changed: interpreter (cp310 → ")
