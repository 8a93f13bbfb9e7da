"""The runner that owns its child: real child programs that end in every bad way, and what is told of each."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest

from build_tools import process, process_groups
from build_tools.errors import CODES, HipwrightError
from build_tools.testing import run as test_runs
from build_tools.testing.outcome import OutcomeKind, TestOutcome, raise_for_outcome
from build_tools.testing.request import Limits, TestRequest
from build_tools.testing.run import run_tests

if TYPE_CHECKING:
    from tests.support.environment_under_test import ToyEnvironment

QUICK = 2.5
"""Seconds of a limit that has to be reached, and not before the test that hangs."""


@dataclass
class Bench:
    """Runs test files given as name to source."""

    tested: ToyEnvironment
    folder: Path
    said: list[str] = field(default_factory=list)

    def run(self, limits: Limits | None = None, arguments: tuple[str, ...] = (), **sources: str) -> TestOutcome:
        return self.request({"limits": limits or Limits(), "arguments": arguments}, **sources)

    def request(self, wishes: dict[str, Any], **sources: str) -> TestOutcome:
        tests = self.folder / "tests"
        for name, text in sources.items():
            path = tests / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        (self.folder / "empty").mkdir(exist_ok=True)
        python = Path(self.tested.record.python)
        request = TestRequest(
            python=python,
            environment=Path(self.tested.record.folder),
            cwd=self.folder / "empty",
            root=tests,
            tests=(os.path.join(os.pardir, "tests"),),  # noqa: PTH118 - a path that is not resolved
            **wishes,
        )
        # The environment borrows this one's pytest, and shall not borrow its plugins.
        machine = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(self.folder)}
        runner = process.Runner(environment={**process.base_environment(os.environ), **machine})
        return run_tests(request, runner=runner, folder=self.folder / "out", log=self.folder / "log", say=self.said.append)

    def ended(self, kind: OutcomeKind, outcome: TestOutcome) -> HipwrightError:
        """Return the problem of an outcome that is of this kind."""
        assert outcome.kind is kind, (outcome.problem, (self.folder / "log").read_text(encoding="utf-8"))
        assert outcome.problem is not None
        assert outcome.problem.code.name == kind.code
        with pytest.raises(HipwrightError) as caught:
            raise_for_outcome(outcome, what="tests")
        assert caught.value is outcome.problem
        return outcome.problem


@pytest.fixture
def bench(tested: ToyEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(process_groups, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(test_runs, "_STOP_MARGIN", 0.5)
    return Bench(tested=tested, folder=tmp_path)


GOOD = "def test_good():\n    pass\n"


def test_each_kind_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in OutcomeKind if kind is not OutcomeKind.PASSED]
    assert len(set(codes)) == len(OutcomeKind) - 1
    assert all(code in CODES for code in codes)


def test_results_come_by_test_id(bench: Bench) -> None:
    mixed = """
        import pytest

        def test_good(): pass
        def test_bad(): assert 1 == 2, "not the same"
        def test_no_text(): raise ValueError("half of \\ud83d")
        @pytest.mark.skip(reason="no GPU here")
        def test_skipped(): pass
        @pytest.mark.xfail(reason="known")
        def test_known(): assert False
        @pytest.fixture
        def broken(): raise OSError("no such thing")
        def test_error(broken): pass
        @pytest.mark.parametrize("value", ["a b", "[x]", "é"])
        def test_many(value): pass
    """
    outcome = bench.run(test_a=mixed, test_b="import nowhere_to_be_found\n")
    assert outcome.kind is OutcomeKind.FAILED
    assert {test: result.outcome for test, result in outcome.results.items()} == {"test_b.py": "error"}
    outcome = bench.run(test_a=mixed, test_b=GOOD)
    found = {test: (result.outcome, result.message) for test, result in outcome.results.items()}
    assert found["test_a.py::test_good"] == ("passed", "")
    assert found["test_a.py::test_bad"] == ("failed", "AssertionError: not the same")
    assert found["test_a.py::test_skipped"] == ("skipped", "no GPU here")
    assert found["test_a.py::test_known"] == ("skipped", "expected to fail: known")
    assert found["test_a.py::test_error"] == ("error", "OSError: no such thing")
    assert found["test_b.py::test_good"] == ("passed", "")
    # Half a surrogate pair is no text, and no reason to take the results for cut short.
    assert found["test_a.py::test_no_text"] == ("failed", "ValueError: half of ?")
    assert len(found) == 10
    assert set(outcome.story.collected or ()) == set(found)
    assert (outcome.counts.passed, outcome.counts.failed, outcome.counts.errors, outcome.counts.skipped) == (5, 2, 1, 2)
    with pytest.raises(HipwrightError) as caught:
        raise_for_outcome(outcome, what="tests of a toy")
    assert caught.value.code.name == "tests-failed"
    assert "3 of 10 tests of a toy failed" in caught.value.message
    assert "not the same" in (caught.value.excerpt or "")


def test_a_pass_is_no_error(bench: Bench) -> None:
    outcome = bench.run(test_a=GOOD)
    assert outcome.passed
    assert outcome.unfinished == ()
    assert bench.said == []
    raise_for_outcome(outcome, what="tests")


def test_a_crash_names_its_test_and_keeps_what_ended_before(bench: Bench) -> None:
    crash = "import ctypes\ndef test_good(): pass\ndef test_crash(): ctypes.string_at(0)\ndef test_after(): pass\n"
    outcome = bench.run(test_crash=crash)
    problem = bench.ended(OutcomeKind.CRASHED, outcome)
    assert "while test_crash.py::test_crash ran" in problem.message
    assert "in test_crash" in (problem.excerpt or "")
    assert list(outcome.results) == ["test_crash.py::test_good"]
    assert outcome.unfinished == ("test_crash.py::test_crash", "test_crash.py::test_after")


HANGS = """
    import os, pathlib, signal, subprocess, sys, threading

    def test_first_fails():
        assert False, "a failure must not switch the stacks off"

    def test_hangs():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        pathlib.Path(os.environ["HOME"], "child").write_text(str(child.pid))
        threading.Event().wait()
"""


def test_a_test_that_hangs_is_stopped_at_the_limit_of_one_test(bench: Bench) -> None:
    outcome = bench.run(limits=Limits(test=QUICK), test_hang=HANGS)
    problem = bench.ended(OutcomeKind.HUNG, outcome)
    assert "the time limit of one test, while test_hang.py::test_hangs ran" in problem.message
    assert "in test_hangs" in (problem.excerpt or "")
    assert outcome.results["test_hang.py::test_first_fails"].bad
    child = int((bench.folder / "child").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_many_quick_tests_are_no_hang(bench: Bench) -> None:
    slow = "import pytest, time\n@pytest.mark.parametrize('n', range(8))\ndef test_x(n): time.sleep(0.2)\n"
    assert bench.run(limits=Limits(test=1.0), test_x=slow).passed


def test_collection_that_hangs(bench: Bench) -> None:
    outcome = bench.run(limits=Limits(collection=QUICK), test_hang="import threading\nthreading.Event().wait()\n")
    problem = bench.ended(OutcomeKind.HUNG, outcome)
    assert "before tests were collected" in problem.message
    assert 'test_hang.py", line 2' in (problem.excerpt or "")


def test_the_whole_run_has_a_limit_too(bench: Bench) -> None:
    slow = "import pytest, time\n@pytest.mark.parametrize('n', range(600))\ndef test_x(n): time.sleep(0.2)\n"
    outcome = bench.run(limits=Limits(whole=QUICK), test_x=slow)
    problem = bench.ended(OutcomeKind.TIMED_OUT, outcome)
    assert f"{QUICK:g} s, their time limit" in problem.message
    assert "in test_x" in (problem.excerpt or "")
    assert outcome.results


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param("import os\ndef test_x(): os._exit(0)\n", OutcomeKind.NO_REPORT, id="writes-none"),
        pytest.param("def helper(): pass\n", OutcomeKind.NOTHING_COLLECTED, id="collects-none"),
        pytest.param(
            "import os, pytest\n@pytest.fixture(scope='session', autouse=True)\ndef leave(request):\n"
            "    path = request.config.option.xmlpath\n    yield\n"
            "    request.config.add_cleanup(lambda: os.truncate(path, 150))\ndef test_x(): pass\n",
            OutcomeKind.TRUNCATED_REPORT,
            id="writes-half",
        ),
        pytest.param("import os\ndef test_x(): os.abort()\n", OutcomeKind.CRASHED, id="aborts"),
    ],
)
def test_a_run_without_a_whole_report(bench: Bench, source: str, kind: OutcomeKind) -> None:
    bench.ended(kind, bench.run(test_x=source))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param("def test_x(): raise KeyboardInterrupt\n", "ended early, while test_x.py::test_x ran", id="interrupts"),
        pytest.param("import sys\nsys.exit(0)\n", "failed while it collected tests", id="exits-in-collection"),
    ],
)
def test_a_session_that_ends_early_says_where(bench: Bench, source: str, says: str) -> None:
    assert says in bench.ended(OutcomeKind.TRUNCATED_REPORT, bench.run(test_x=source)).message


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize(
    ("does", "says"), [("raise ValueError('in the child')", ", with ValueError: in the child"), ("return", "")]
)
def test_a_process_that_comes_back_out_of_a_test_is_ended_and_told(bench: Bench, does: str, says: str) -> None:
    source = f"""
        import os, pathlib

        def test_forks():
            child = os.fork()
            if child == 0:
                {does}
            os.waitpid(child, 0)

        def test_after():
            with pathlib.Path(os.environ["HOME"], "after").open("a") as stream:
                stream.write("once")
    """
    problem = bench.ended(OutcomeKind.CRASHED, bench.run(test_x=source))
    assert f"a process that test_x.py::test_forks had forked came back out of it{says}, and was ended" in problem.message
    assert (bench.folder / "after").read_text(encoding="utf-8") == "once"


PIPES = """
    import os, pathlib

    def test_puts_a_pipe_there(request):
        path = pathlib.Path(request.config.option.xmlpath).with_name("{name}")
        def put():
            path.unlink()
            os.mkfifo(path)
        request.config.add_cleanup(put) if path.suffix == ".xml" else put()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("name", [test_runs.REPORT_NAME, test_runs.EVENTS_NAME])
def test_a_pipe_in_place_of_a_report_is_no_report_and_is_not_waited_for(bench: Bench, name: str) -> None:
    bench.ended(OutcomeKind.NO_REPORT, bench.run(test_x=PIPES.format(name=name)))


def test_a_clock_that_a_test_has_put_in_place_of_ours_ends_no_run(bench: Bench) -> None:
    outcome = bench.run(test_x="import time\ndef test_a(): time.monotonic = lambda: 0.0\ndef test_b(): pass\n")
    assert outcome.passed
    assert outcome.story.latest != 0.0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_disk_that_is_full(bench: Bench) -> None:
    """A limit on the size of files makes each write fail as a full disk does."""
    full = "import resource\ndef test_fills(): resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\ndef test_after(): pass\n"
    outcome = bench.run(test_full=full)
    assert outcome.kind in {OutcomeKind.NO_REPORT, OutcomeKind.TRUNCATED_REPORT}
    problem = bench.ended(outcome.kind, outcome)
    assert "test_full.py::test_fills" in problem.message


def test_no_space_left_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_runs, "_LITTLE_SPACE", 1 << 62)
    problem = bench.ended(OutcomeKind.NO_REPORT, bench.run(test_x="import os\ndef test_x(): os._exit(1)\n"))
    assert "no space left" in (problem.hint or "")


def test_a_daemon_does_not_outlive_the_run(bench: Bench) -> None:
    daemon = """
        import os, pathlib, subprocess

        def test_starts_a_daemon():
            child = subprocess.Popen(["sleep", "77"], start_new_session=True)
            pathlib.Path(os.environ["HOME"], "child").write_text(str(child.pid))
    """
    assert bench.run(test_daemon=daemon).passed
    child = int((bench.folder / "child").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert any("left processes behind" in line for line in bench.said)


def test_a_test_that_passes_at_the_second_attempt_is_flaky(bench: Bench) -> None:
    flaky = """
        import os, pathlib

        def test_good(): pass

        def test_flaky():
            mark = pathlib.Path(os.environ["HOME"], "tried")
            seen = mark.exists()
            mark.touch()
            assert seen, "only the first time"

        def test_bad(): assert False, "always"
    """
    outcome = bench.request({"reruns": 2}, test_x=flaky)
    assert outcome.kind is OutcomeKind.FAILED
    assert [(result.test, result.attempts) for result in outcome.flaky] == [("test_x.py::test_flaky", 2)]
    assert "only the first time" in outcome.flaky[0].message
    assert [(result.test, result.attempts) for result in outcome.failures] == [("test_x.py::test_bad", 3)]
    assert (bench.folder / "out" / "attempt-3" / "report.xml").is_file()
    assert sum("again" in line for line in bench.said) == 2


def test_a_rerun_that_crashes_leaves_the_failure(bench: Bench) -> None:
    worse = """
        import os, pathlib

        def test_worse():
            mark = pathlib.Path(os.environ["HOME"], "tried")
            if mark.exists():
                os.abort()
            mark.touch()
            assert False, "a failure"
    """
    outcome = bench.request({"reruns": 1}, test_x=worse)
    assert outcome.kind is OutcomeKind.FAILED
    assert [(result.message, result.attempts) for result in outcome.failures] == [("AssertionError: a failure", 2)]


TURNS = """
    import os, pathlib, pytest

    def test_first():
        mark = pathlib.Path(os.environ["HOME"], "tried")
        if mark.exists():
            {then}
        else:
            mark.touch()
            assert False, "the first time"

    def test_after(): pass
"""


@pytest.mark.parametrize("then", ["pytest.skip('not now')", "os._exit(0)"])
def test_a_failure_that_does_not_pass_at_a_further_attempt_stays_one(bench: Bench, then: str) -> None:
    outcome = bench.request({"reruns": 1}, test_x=TURNS.format(then=then))
    assert outcome.kind is OutcomeKind.FAILED
    assert [(one.test, one.message, one.attempts) for one in outcome.failures] == [
        ("test_x.py::test_first", "AssertionError: the first time", 2)
    ]


def test_a_further_attempt_does_not_speak_for_tests_that_never_ran(bench: Bench) -> None:
    outcome = bench.request({"reruns": 1, "arguments": ("--exitfirst",)}, test_x=TURNS.format(then="pass"))
    problem = bench.ended(OutcomeKind.TRUNCATED_REPORT, outcome)
    assert "1 test never ran, first test_x.py::test_after" in problem.message


def test_all_skipped_passes_only_where_that_is_asked_for(bench: Bench) -> None:
    skipped = "import pytest\n@pytest.mark.skip\ndef test_x(): pass\n"
    bench.ended(OutcomeKind.NOTHING_COLLECTED, bench.run(test_x=skipped))
    assert bench.request({"may_skip_all": True}, test_x=skipped).passed
    whole_file = "import pytest\npytest.skip('not here', allow_module_level=True)\ndef test_x(): pass\n"
    outcome = bench.request({"may_skip_all": True}, test_x=whole_file)
    assert outcome.passed
    assert [(result.test, result.message) for result in outcome.results.values()] == [("test_x.py", "not here")]


def test_arguments_choose_tests(bench: Bench) -> None:
    outcome = bench.run(arguments=("-k", "good"), test_a=GOOD, test_b="def test_bad(): assert False\n")
    assert outcome.passed
    assert list(outcome.results) == ["test_a.py::test_good"]


def test_an_interpreter_that_is_not_there(bench: Bench) -> None:
    record = msgspec.structs.replace(bench.tested.record, python=str(bench.folder / "no" / "python"))
    bench.tested = replace(bench.tested, record=record)
    with pytest.raises(HipwrightError) as caught:
        bench.run(test_a=GOOD)
    assert caught.value.code.name == "missing-tool"
