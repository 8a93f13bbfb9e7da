"""The benchmarks' arithmetic and the line that each prints; what they measure is no test."""

from __future__ import annotations

import cProfile
import importlib
import json
import pstats
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import __main__ as front
from benchmarks import _measure as measure
from benchmarks import (
    checkout,
    compiler_cache,
    environment,
    fat_wheel,
    fetch_artifacts,
    foreign_extension,
    fresh_clone,
    hipify_cache,
    index_pages,
    nothing_to_do,
    nox_list,
    patches_apply,
    patches_save,
    promote,
    rocm_packages,
    runner_overhead,
    second_run,
    shard_balance,
    stage_overhead,
    upload,
    wheel_rewrite,
    wrapper,
)
from build_tools.pipeline.engine import Done
from build_tools.receipts.check import CheckReport
from build_tools.receipts.record import to_json
from build_tools.receipts.stage import CheckResult, CommandRecord, StageReceipt
from build_tools.types import Sha256, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYS = {"name", "ours", "baseline", "ratio", "limit", "unit", "limit_on", "met"}
MORE = {"difference", "detail", "profile", "how"}


def timed(seconds: float) -> measure.Timed:
    return measure.Timed(seconds=seconds, processor_seconds=seconds / 2, stdout="", stderr="")


def pair(ours: float, baseline: float) -> measure.Pair:
    return measure.Pair(ours=timed(ours), baseline=timed(baseline))


def receipt(stage: Stage = Stage.BUILD, *commands: float, seconds: float, started: str = "2026-01-01T00:00:00Z") -> StageReceipt:
    return StageReceipt(
        stage=stage,
        project="torch-spline-conv",
        digest=Sha256("0" * 64),
        parts={},
        upstream=(),
        outputs=(),
        result=CheckResult(value=CheckReport(project="torch-spline-conv", wheels=(), findings=(), rules=())),
        commands=tuple(
            CommandRecord(argv=("/usr/bin/c++", "-c", "a.cpp"), cwd="/", seconds=took, returncode=0) for took in commands
        ),
        started=started,
        seconds=seconds,
        overhead_seconds=round(seconds - sum(commands), 3),
    )


def known(ours: float, tool: float) -> hipify_cache.Round:
    done = Done(receipt=receipt(seconds=ours), path=Path("receipt.json"), state="run", why="", seconds=ours)
    return hipify_cache.Round(ours=done, tool=timed(tool), reset=timed(ours / 2))


def parsed(result: measure.Result) -> dict[str, Any]:
    line = result.line()
    assert "\n" not in line
    row = json.loads(line)
    assert isinstance(row, dict)
    assert set(row) >= KEYS
    assert set(row) <= KEYS | MORE
    return row


def cached(*, hits: int = 0, misses: int = 0) -> compiler_cache.Built:
    objects = {f"{number}.o": "1" for number in range(hits + misses)}
    return compiler_cache.Built(seconds=1.0, hits=hits, misses=misses, objects=objects)


ONE_RUN = {
    "checkout": (receipt(Stage.CHECKOUT, 0.25, seconds=0.5), 0.625),
    "build": (receipt(Stage.BUILD, 3.0, 1.0, seconds=4.5), 4.5),
}

MET: dict[str, tuple[Callable[[], measure.Result], tuple[float, float]]] = {
    "nox_list": (lambda: nox_list.result([pair(3.0, 2.0), pair(1.25, 1.0), pair(9.0, 3.0)]), (3.0, 2.0)),
    "wrapper": (lambda: wrapper.result([pair(1.25, 1.125), pair(2.0, 1.0), pair(1.0, 1.0)]), (1.25, 1.0)),
    "second_run": (lambda: second_run.result([pair(1.0, 16.0)]), (1.0, 16.0)),
    "fresh_clone": (
        lambda: fresh_clone.result(fresh_clone.Fresh(clone=1.0, environment=9.0, run=20.0, stages=ONE_RUN)),
        (30.0, 14.25),
    ),
    "foreign_extension": (lambda: foreign_extension.result(receipt(Stage.BUILD, 60.0, 40.0, seconds=105.0)), (105.0, 100.0)),
    "checkout": (lambda: checkout.result([pair(6.0, 5.0), pair(5.5, 5.0), pair(9.0, 3.0)]), (6.0, 5.0)),
    "hipify_cache": (lambda: hipify_cache.result([known(0.25, 10.0), known(0.125, 8.0), known(1.0, 10.0)]), (0.25, 10.0)),
    "nothing_to_do": (lambda: nothing_to_do.result([pair(1.5, 1.0), pair(2.0, 1.0), pair(9.0, 3.0)]), (2.0, 1.0)),
    "patches_apply": (lambda: patches_apply.result([pair(1.0, 1.0), pair(1.125, 1.0), pair(9.0, 3.0)], 17), (1.125, 1.0)),
    "patches_save": (lambda: patches_save.result([pair(1.5, 1.0), pair(2.0, 1.0), pair(9.0, 3.0)]), (2.0, 1.0)),
    "rocm_packages": (
        lambda: rocm_packages.result([pair(2.5, 2.0), pair(1.0, 1.0), pair(9.0, 3.0)], mebibytes=256, files=3000),
        (2.5, 2.0),
    ),
    "fetch_artifacts": (
        lambda: fetch_artifacts.result([pair(2.0, 2.0), pair(1.0, 2.0), pair(9.0, 3.0)], mebibytes=512, files=80),
        (2.0, 2.0),
    ),
    "upload": (lambda: upload.result([pair(2.0, 2.0), pair(1.0, 2.0), pair(9.0, 3.0)], again=False), (2.0, 2.0)),
    "promote": (lambda: promote.result([pair(2.25, 2.0), pair(1.0, 1.0), pair(9.0, 3.0)]), (2.25, 2.0)),
    "compiler_cache": (lambda: compiler_cache.result("warm", cached(misses=3), cached(hits=3)), (0.0, 3.0)),
    "environment": (
        lambda: environment.result([pair(2.25, 2.0), pair(1.0, 1.0), pair(9.0, 3.0)], mebibytes=256, start=1),
        (2.25, 2.0),
    ),
    "wheel_rewrite": (
        lambda: wheel_rewrite.result([pair(0.5, 20.0), pair(0.5, 10.0), pair(9.0, 3.0)], mebibytes=183, peak=43),
        (0.5, 10.0),
    ),
    "fat_wheel": (
        lambda: fat_wheel.result([pair(2.0, 20.0), pair(1.0, 10.0), pair(9.0, 3.0)], mebibytes=512, peak=60),
        (2.0, 10.0),
    ),
    "runner_overhead": (lambda: runner_overhead.result([pair(6.0, 5.0), pair(3.0, 2.0), pair(9.0, 3.0)]), (6.0, 3.0)),
    "index_pages": (lambda: index_pages.result([pair(2.0, 20.0), pair(1.0, 10.0), pair(9.0, 3.0)]), (2.0, 10.0)),
    "shard_balance": (lambda: shard_balance.result([10.5, 10.0, 9.5, 10.0], [20.0, 10.0, 5.0, 5.0], 240), (1.05, 2.0)),
}

UNITS = {"compiler_cache": "objects", "shard_balance": "times"}


@pytest.mark.parametrize("name", MET)
def test_a_line_has_the_numbers_and_keeps_the_limit(name: str) -> None:
    make, numbers = MET[name]
    row = parsed(make())
    assert (row["ours"], row["baseline"]) == numbers
    assert row["met"] is True
    assert row["unit"] == UNITS.get(name, "s")
    assert "profile" not in row


def test_the_stage_with_the_most_counts_and_is_missed() -> None:
    row = parsed(stage_overhead.result([ONE_RUN]))
    assert (row["ours"], row["baseline"], row["ratio"], row["met"]) == (0.5, 4.0, 1.125, False)
    assert row["detail"]["stage"] == "build"
    assert row["detail"]["stages"] == {"checkout": 0.25, "build": 0.5}
    assert stage_overhead.missed(stage_overhead.result([ONE_RUN])) == [Stage.BUILD]


def test_a_stage_without_programs_has_no_ratio() -> None:
    row = parsed(stage_overhead.result([{"lock": (receipt(Stage.LOCK, seconds=0.125), 1.125)}]))
    assert (row["baseline"], row["ratio"]) == (0, None)
    assert row["detail"]["beside the receipt"] == {"lock": 1.0}


def test_every_goal_is_a_benchmark_with_a_line_here() -> None:
    assert set(front.GOALS) <= set(front.known())
    assert set(front.GOALS) == {*MET, "stage_overhead"}
    for name in front.known():
        assert callable(importlib.import_module(f"benchmarks.{name}").main)


@pytest.mark.parametrize(
    ("limit_on", "met"),
    [("ours", False), ("ratio", True), ("difference", True)],
)
def test_the_limit_is_on_one_number(limit_on: Any, met: bool) -> None:  # noqa: ANN401, FBT001 - a parameter's values
    result = measure.Result(name="x", limit=2.0, limit_on=limit_on, ours=3.0, baseline=2.0, ratio=1.5, difference=1.0)
    assert result.met is met


@pytest.mark.parametrize(("ours", "told"), [(1.0, []), (3.0, ["here"])])
def test_a_profile_is_made_only_when_the_limit_is_missed(
    ours: float, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    measure.show(measure.Result(name="x", limit=2.0, limit_on="ours", ours=ours), lambda: ["here"])
    assert json.loads(capsys.readouterr().out).get("profile", []) == told


def test_where_nothing_was_built_there_is_no_number_but_the_way_to_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert foreign_extension.newest(tmp_path) is None
    for found in (None, receipt(Stage.BUILD, seconds=1.0)):
        row = parsed(foreign_extension.result(found))
        assert (row["ours"], row["baseline"], row["ratio"], row["met"]) == (None, None, None, None)
        assert "nox -s pipeline -- --projects torch-spline-conv" in row["how"]
    with pytest.raises(SystemExit, match="there is no receipt"):
        foreign_extension.main(["--work-dir", str(tmp_path)])
    assert json.loads(capsys.readouterr().out)["met"] is None


def test_the_newest_build_counts_and_its_longest_programs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seconds, started in (("a", 12.0, "2026-01-02T00:00:00Z"), ("b", 11.0, "2026-01-01T00:00:00Z")):
        place = tmp_path / "build" / "torch-spline-conv" / name / "receipt.json"
        place.parent.mkdir(parents=True)
        place.write_bytes(to_json(receipt(Stage.BUILD, 7.0, 3.0, seconds=seconds, started=started)))
    foreign_extension.main(["--work-dir", str(tmp_path)])
    row = json.loads(capsys.readouterr().out)
    assert (row["ratio"], row["met"]) == (1.2, False)
    assert row["profile"] == ["not in a program: 2.00 s of 12.00 s", "c++ -c a.cpp: 7.00 s", "c++ -c a.cpp: 3.00 s"]


def test_a_fresh_clone_tells_its_parts_the_longest_first() -> None:
    told = fresh_clone.profile(fresh_clone.Fresh(clone=1.0, environment=9.0, run=20.0, stages=ONE_RUN))
    assert told[:3] == ["nox and the start: 14.9 s", ".venv: 9.0 s", "build, programs: 4.0 s"]


def test_a_clone_that_had_its_environment_was_not_fresh() -> None:
    assert fresh_clone.made_seconds("hipwright: making .venv (once) ...\nhipwright: made .venv in 12.5 s\n") == 12.5
    with pytest.raises(SystemExit, match="made no environment"):
        fresh_clone.made_seconds("nox > Running session pipeline\n")


def test_pairs_take_turns_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []

    def noted(name: str) -> measure.Timed:
        calls.append(name)
        return timed(len(calls))

    found = measure.pairs(lambda: noted("ours"), lambda: noted("baseline"), 2)
    assert calls == ["ours", "baseline", "ours", "baseline", "baseline", "ours"]
    assert [(each.ours.seconds, each.baseline.seconds) for each in found] == [(3, 4), (6, 5)]


def test_the_longest_programs_of_a_known_result_are_told() -> None:
    done = replace(known(0.5, 9.0).ours, receipt=receipt(Stage.HIPIFY, 0.125, 0.25, seconds=0.5))
    assert hipify_cache.longest(done.receipt)[:2] == ["not in a program: 0.125 s of 0.500 s", "git -c: 0.250 s"]


def test_a_program_is_timed_and_a_failed_one_is_no_measurement(tmp_path: Path) -> None:
    done = measure.timed([sys.executable, "-c", "print('out')"], cwd=tmp_path)
    assert done.stdout == "out"
    assert done.seconds > 0
    ends = [sys.executable, "-c", "import sys; sys.exit('it broke')"]
    assert "it broke" in measure.timed(ends, cwd=tmp_path, statuses=(0, 1)).stderr
    with pytest.raises(SystemExit, match=r"it broke\n.*ended with status 1"):
        measure.timed(ends, cwd=tmp_path)


def test_the_environment_is_a_persons() -> None:
    machine = {
        "PATH": "/bin",
        "PIP_INDEX_URL": "x",
        "HIPWRIGHT_JOBS": "1",
        "NOX_CURRENT_SESSION": "bench",
        "CI": "true",
        "CITY": "y",
    }
    assert measure.machine_environment(machine) == {"PATH": "/bin", "PIP_INDEX_URL": "x", "CITY": "y"}


@pytest.mark.parametrize("arguments", [["0"], ["x"], ["1", "2"], ["-1"]])
def test_rounds_are_a_number(arguments: Sequence[str]) -> None:
    assert (measure.rounds([], 5), measure.rounds(["7"], 5)) == (5, 7)
    with pytest.raises(SystemExit, match="number of rounds"):
        measure.rounds(arguments, 5)


def test_a_run_without_stages_is_no_measurement() -> None:
    with pytest.raises(SystemExit, match="no stage"):
        measure.receipts_of('{"stages": []}')


def test_imports_that_both_have_do_not_count() -> None:
    head = "import time: self [us] | cumulative | imported package\n"
    shared = "import time:       900 |        900 | json\n"
    ours = (
        "import time:      2000 |       5000 |   build_tools.console.render\nnoise\nimport time:      3000 |  3000 | rich.table\n"
    )
    told = measure.import_times(head + shared + ours, without=head + shared)
    assert told == ["imports: 5 ms in all", "import rich: 3.0 ms", "import build_tools.console: 2.0 ms"]


def test_time_of_other_programs_is_told_apart(tmp_path: Path) -> None:
    # The first program of a process gets a second one beside it that watches over all.
    measure.timed([sys.executable, "-c", ""], cwd=tmp_path)
    profiler = cProfile.Profile()
    profiler.runcall(measure.timed, [sys.executable, "-c", ""], cwd=tmp_path)
    found = measure.spent(pstats.Stats(profiler))
    assert found.programs == 1
    assert found.waited > 0
    more = measure.Spent(waited=found.waited + 1, programs=3, own={**found.own, "x.busy": 0.25})
    assert more.beyond(found).lines() == ["1.00 s in 2 other programs, 0.25 s in Python itself", "x.busy: 250 ms"]


def test_names_come_first_and_arguments_after() -> None:
    assert front.split([]) == ((), ())
    assert front.split(["nox_list", "wrapper", "3"]) == (("nox_list", "wrapper"), ("3",))
    assert front.split(["foreign_extension", "--work-dir", "wrapper"]) == (("foreign_extension",), ("--work-dir", "wrapper"))
    for words in (["fast"], ["nox_list", "fast"], ["--work-dir", "x"], ["_measure"]):
        with pytest.raises(SystemExit, match="there is no benchmark"):
            front.split(words)
