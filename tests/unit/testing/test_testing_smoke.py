"""Real child processes that pass, fail and end in every bad way that a test run can."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest

from build_tools import digest, process, process_groups
from build_tools.config.project import EmbeddedOrigin, Project, Version
from build_tools.config.wheel_demands import Wheel
from build_tools.errors import HipwrightError
from build_tools.receipts.check import JudgedWheel
from build_tools.testing import run as test_runs
from build_tools.testing.choosing import VisibleDevice
from build_tools.testing.devices import GpuDevice
from build_tools.testing.outcome import raise_for_outcome
from build_tools.testing.request import Limits
from build_tools.testing.run import REPORT_NAME
from build_tools.testing.smoke import SmokeRun, run_smoke
from build_tools.types import Platform
from tests.support.environment_under_test import TOY, WHEEL, ToyEnvironment, install_files, make_tested

if TYPE_CHECKING:
    from build_tools.receipts.verdict import Verdict

PROJECT = Project(
    schema=1,
    name="toy",
    summary="a toy",
    origin=EmbeddedOrigin(folder="sources"),
    version=Version(fixed="1.0"),
    sdk="none",
    wheel=Wheel(distribution="toywheel"),
)

GOOD = """
    import toywheel

    def test_answer():
        assert toywheel.answer() == 42
"""

QUICK = 4.0
"""Seconds for a run that has to reach its time limit, and first the test that hangs."""


@dataclass
class Desk:
    """Runs smoke tests given as file name to source."""

    tested: ToyEnvironment
    folder: Path
    runner: process.Runner
    said: list[str] = field(default_factory=list)
    devices: tuple[VisibleDevice, ...] = ()
    runs: tuple[SmokeRun, ...] = ()

    def run(self, time_limit: float = 60.0, exit_grace: float = 20.0, wheel: JudgedWheel = WHEEL, **sources: str) -> Verdict:
        project_folder = self.folder / "project"
        for name, text in sources.items():
            path = project_folder / "smoke-tests" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        self.runs = run_smoke(
            PROJECT,
            project_folder,
            environment=self.tested.record,
            wheels=(wheel,),
            local=None,
            devices=self.devices,
            runner=self.runner,
            folder=out,
            log=self.folder / "test.log",
            platform=Platform.LINUX,
            say=self.said.append,
            limits=Limits(whole=time_limit, exit_grace=exit_grace),
        )
        return self.runs[0].verdict

    def error(self, time_limit: float = 60.0, wheel: JudgedWheel = WHEEL, **sources: str) -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            self.run(time_limit, 20.0, wheel, **sources)
        return caught.value

    @property
    def log(self) -> str:
        return (self.folder / "test.log").read_text(encoding="utf-8")


def make_desk(tested: ToyEnvironment, folder: Path, **machine: str) -> Desk:
    # The environment borrows this one's pytest, and shall not borrow its plugins.
    environment = {**process.base_environment(os.environ), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **machine}
    return Desk(tested=tested, folder=folder, runner=process.Runner(environment=environment))


@pytest.fixture
def desk(tested: ToyEnvironment, tmp_path: Path) -> Desk:
    return make_desk(tested, tmp_path)


def test_a_pass_is_bound_to_the_wheel_and_to_the_report(desk: Desk) -> None:
    verdict = desk.run(test_toy=GOOD)
    assert (verdict.outcome, verdict.target, verdict.project, verdict.platform) == ("passed", "cpu-only", "toy", "linux")
    assert verdict.wheels == (WHEEL,)
    assert verdict.counts.passed == 1
    assert verdict.report_sha256 == digest.of_file(desk.folder / "out" / REPORT_NAME)
    assert "toywheel==1.0" in verdict.packages
    assert desk.said == []
    raise_for_outcome(desk.runs[0].outcome, what="smoke tests of toy")


def test_nothing_but_report_and_events_is_left(desk: Desk) -> None:
    desk.run(test_toy=GOOD + "\n    def test_folder(tmp_path):\n        (tmp_path / 'x').touch()\n")
    assert sorted(path.name for path in (desk.folder / "out").iterdir()) == ["events.jsonl", REPORT_NAME]
    assert [path.name for path in (desk.folder / "project/smoke-tests").rglob("*")] == ["test_toy.py"]


def test_failures_are_a_verdict_that_names_them_when_raised(desk: Desk) -> None:
    bad = "\n    def test_bad():\n        assert toywheel.answer() == 41, 'off by one'\n"
    verdict = desk.run(test_toy=GOOD + bad, test_broken="import nowhere_to_be_found\n")
    assert verdict.outcome == "failed"
    assert (verdict.counts.passed, verdict.counts.failed, verdict.counts.errors) == (0, 0, 1)
    verdict = desk.run(test_toy=GOOD + bad, test_broken="")
    assert (verdict.counts.passed, verdict.counts.failed, verdict.counts.errors) == (1, 1, 0)
    with pytest.raises(HipwrightError) as caught:
        raise_for_outcome(desk.runs[0].outcome, what="smoke tests of toy")
    assert caught.value.code.name == "tests-failed"
    assert "1 of 2 smoke tests of toy failed" in caught.value.message
    assert "test_bad" in caught.value.message
    assert "off by one" in (caught.value.excerpt or "")


def test_passes_then_does_not_end(desk: Desk) -> None:
    keeps_living = """
        import threading

        def test_leaves_a_thread():
            threading.Thread(target=threading.Event().wait).start()
    """
    verdict = desk.run(exit_grace=0.3, test_toy=GOOD, test_thread=keeps_living)
    assert verdict.outcome == "passed"
    assert any("hung or failed on its way out" in line for line in desk.said)
    assert "Timeout" in desk.log
    assert "most recent call first" in desk.log


def test_passes_then_crashes_on_its_way_out(desk: Desk) -> None:
    crash = "import os, signal\ndef pytest_unconfigure():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    verdict = desk.run(test_toy=GOOD, conftest=crash)
    assert verdict.outcome == "passed"
    assert any("SIGKILL" in line for line in desk.said)


def test_a_hang_is_stopped_names_its_test_and_prints_stacks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_groups, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(test_runs, "_STOP_MARGIN", 0.3)
    hang = """
        import os, pathlib, signal, subprocess, sys, threading

        def test_first_fails():
            assert False, "a failure must not switch the stacks off"

        def test_hangs():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            pathlib.Path(os.environ["HOME"], "child").write_text(str(child.pid))
            threading.Event().wait()
    """
    desk = make_desk(desk.tested, desk.folder, HOME=str(desk.folder))
    error = desk.error(time_limit=QUICK, test_hang=hang)
    assert error.code.name == "tests-timeout"
    assert "while test_hang.py::test_hangs ran" in error.message
    assert error.log == desk.folder / "test.log"
    assert "in test_hangs" in desk.log
    child = int((desk.folder / "child").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


LEAVES = """
    import os, pathlib, subprocess, sys, time

    def note(pid):
        pathlib.Path(os.environ["HOME"], "child").write_text(str(pid))

    def test_leaves_one():
        {start}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
@pytest.mark.parametrize(
    ("start", "outcome"),
    [
        ('note(subprocess.Popen(["sleep", "77"], start_new_session=True).pid)', "passed"),
        ('note(subprocess.Popen(["sleep", "77"]).pid)', "passed"),
        ('note(subprocess.Popen(["sh", "-c", "trap \'\' TERM; sleep 77; sleep 77"], start_new_session=True).pid)', "passed"),
        ('note(subprocess.Popen(["sleep", "77"], start_new_session=True).pid); os._exit(3)', "no-report"),
        ('note(subprocess.Popen(["sleep", "77"], start_new_session=True).pid); time.sleep(600)', "tests-timeout"),
    ],
)
def test_nothing_that_tests_started_outlives_the_run(desk: Desk, start: str, outcome: str) -> None:
    desk = make_desk(desk.tested, desk.folder, HOME=str(desk.folder))
    if outcome == "passed":
        assert desk.run(test_toy=GOOD, test_leaves=LEAVES.format(start=start)).outcome == outcome
    else:
        assert desk.error(time_limit=QUICK, test_leaves=LEAVES.format(start=start)).code.name == outcome
    child = int((desk.folder / "child").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    (remark,) = [line for line in desk.said if "left processes behind" in line]
    assert f"({child})" in remark


def test_helpers_that_end_by_themselves_are_no_leftovers(desk: Desk) -> None:
    helper = """
        import subprocess, sys

        CODE = "import sys, time; sys.stdin.read(); time.sleep(0.5)"
        HELPERS = []

        def test_helper():
            HELPERS.append(subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE))
    """
    assert desk.run(test_toy=GOOD, test_helper=helper).outcome == "passed"
    assert desk.said == []


def test_a_crash_names_signal_and_test(desk: Desk) -> None:
    crash = "import ctypes\ndef test_good():\n    pass\ndef test_crash():\n    ctypes.string_at(0)\n"
    error = desk.error(test_crash=crash)
    assert error.code.name == "tests-crashed"
    assert "SIGSEGV, while test_crash.py::test_crash ran" in error.message
    assert "Segmentation fault" in desk.log
    assert "in test_crash" in desk.log


def test_a_crash_while_collecting(desk: Desk) -> None:
    error = desk.error(test_crash="import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert error.code.name == "tests-crashed"
    assert "SIGKILL, before tests were collected" in error.message


def test_ends_with_zero_and_no_report(desk: Desk) -> None:
    error = desk.error(test_toy=GOOD, test_x="import os\ndef test_leaves():\n    os._exit(0)\n")
    assert error.code.name == "no-report"
    assert "while test_x.py::test_leaves ran" in error.message


def test_a_report_that_vanishes(desk: Desk) -> None:
    gone = "import os\ndef pytest_unconfigure(config):\n    os.unlink(config.option.xmlpath)\n"
    error = desk.error(test_toy=GOOD, conftest=gone)
    assert error.code.name == "no-report"
    assert "after the last test" in error.message


def test_an_earlier_report_does_not_count(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    desk = make_desk(own_tested, tmp_path)
    desk.run(test_toy=GOOD)
    (own_tested.site / "pytest-from-here.pth").unlink()
    assert desk.error(test_toy=GOOD).code.name == "no-report"


def test_half_a_report(desk: Desk) -> None:
    half = "import os\ndef pytest_unconfigure(config):\n    os.truncate(config.option.xmlpath, 150)\n"
    assert desk.error(test_toy=GOOD, conftest=half).code.name == "truncated-report"


@pytest.mark.parametrize("status", [0, 1], ids=["says-success", "says-failure"])
def test_a_session_that_ends_early_is_no_pass(desk: Desk, status: int) -> None:
    leaves = f"import pytest\ndef test_leaves():\n    pytest.exit('enough', returncode={status})\ndef test_never(): pass\n"
    error = desk.error(test_a=GOOD, test_b=leaves)
    assert error.code.name == "truncated-report"
    assert "1 of 3 tests" in error.message


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def answer(): pass\n", id="none-in-the-file"),
        pytest.param("import pytest\n@pytest.mark.skip\ndef test_x(): pass\n", id="all-skipped"),
    ],
)
def test_nothing_tested(desk: Desk, source: str) -> None:
    assert desk.error(test_x=source).code.name == "no-tests"


def test_everything_deselected(desk: Desk) -> None:
    error = desk.error(test_toy=GOOD, conftest="def pytest_collection_modifyitems(items):\n    items.clear()\n")
    assert error.code.name == "no-tests"


def test_a_folder_without_tests_is_named(desk: Desk) -> None:
    error = desk.error()
    assert error.code.name == "no-tests"
    assert str(desk.folder / "project" / "smoke-tests") in error.message
    assert not (desk.folder / "test.log").exists()


def test_a_source_tree_in_the_way_is_not_imported(desk: Desk) -> None:
    shadow = desk.folder / "shadow"
    (shadow / "toywheel").mkdir(parents=True)
    (shadow / "toywheel" / "__init__.py").write_text("raise ImportError('the source tree')\n", encoding="utf-8")
    (desk.folder / "project" / "smoke-tests" / "toywheel").mkdir(parents=True)
    (desk.folder / "project" / "smoke-tests" / "toywheel" / "__init__.py").touch()
    desk = make_desk(desk.tested, desk.folder, PYTHONPATH=str(shadow), PYTHONSTARTUP=str(shadow))
    in_a_child = """
        import subprocess, sys

        def test_child(tmp_path):
            (tmp_path / "toywheel.py").write_text("raise ImportError('the current folder')")
            subprocess.run([sys.executable, "-c", "import toywheel; assert toywheel.answer() == 42"], cwd=tmp_path, check=True,
                           env={**__import__("os").environ, "PYTHONPATH": ""})
    """
    verdict = desk.run(test_toy=GOOD, test_child=in_a_child)
    assert verdict.outcome == "passed", desk.log


def test_an_environment_that_leads_to_a_source_tree(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "toywheel").mkdir(parents=True)
    (tree / "toywheel" / "__init__.py").write_text("def answer():\n    return 42\n", encoding="utf-8")
    (own_tested.site / "editable.pth").write_text(f"import sys; sys.path.insert(0, {str(tree)!r})\n", encoding="utf-8")
    error = make_desk(own_tested, tmp_path).error(test_toy=GOOD)
    assert error.code.name == "foreign-import"
    assert str(tree / "toywheel" / "__init__.py") in error.message


def test_a_package_in_the_environment_that_is_not_the_wheel_s(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    other = Path(own_tested.record.folder) / "other"
    (other / "toywheel").mkdir(parents=True)
    (other / "toywheel" / "__init__.py").write_text("def answer():\n    return 42\n", encoding="utf-8")
    (own_tested.site / "other.pth").write_text(f"import sys; sys.path.insert(0, {str(other)!r})\n", encoding="utf-8")
    error = make_desk(own_tested, tmp_path).error(test_toy=GOOD)
    assert error.code.name == "foreign-import"
    assert str(other / "toywheel" / "__init__.py") in error.message


def test_a_namespace_package_that_reaches_out(tmp_path: Path) -> None:
    contents = {name.replace("__init__", "part"): text for name, text in TOY.items()}
    tested = make_tested(tmp_path / "env", contents)
    test = "from toywheel.part import answer\n\ndef test_answer():\n    assert answer() == 42\n"
    assert make_desk(tested, tmp_path).run(test_toy=test).outcome == "passed"
    (tmp_path / "tree" / "toywheel").mkdir(parents=True)
    (tested.site / "tree.pth").write_text(f"{tmp_path / 'tree'}\n", encoding="utf-8")
    error = make_desk(tested, tmp_path).error(test_toy=test)
    assert error.code.name == "foreign-import"
    assert str(tmp_path / "tree" / "toywheel") in error.message


def test_tests_that_put_a_source_tree_on_the_path(desk: Desk) -> None:
    tree = desk.folder / "tree"
    (tree / "toywheel").mkdir(parents=True)
    (tree / "toywheel" / "__init__.py").write_text("def answer():\n    return 42\n", encoding="utf-8")
    error = desk.error(test_toy=f"import sys\nsys.path.insert(0, {str(tree)!r})\n{dedent(GOOD)}")
    assert error.code.name == "foreign-import"
    assert str(tree) in error.message


def test_tests_that_import_nothing_under_test(desk: Desk) -> None:
    assert desk.error(test_x="def test_x(): pass\n").code.name == "wheel-not-tested"


def test_a_file_changed_after_the_install(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    (own_tested.site / "toywheel" / "__init__.py").write_text(
        "def answer():\n    return 42  # mended by hand\n", encoding="utf-8"
    )
    error = make_desk(own_tested, tmp_path).error(test_toy=GOOD)
    assert error.code.name == "environment-changed"
    assert "toywheel/__init__.py: changed" in error.message


def test_a_file_removed_after_the_install(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    install_files(own_tested.site, {**TOY, "toywheel/more.py": ""})
    (own_tested.site / "toywheel" / "more.py").unlink()
    error = make_desk(own_tested, tmp_path).error(test_toy=GOOD)
    assert error.code.name == "environment-changed"
    assert "toywheel/more.py: missing" in error.message


def test_other_bytes_than_the_wheel_s(desk: Desk) -> None:
    error = desk.error(wheel=msgspec.structs.replace(WHEEL, sha256=digest.of_bytes(b"another build")), test_toy=GOOD)
    assert error.code.name == "environment-changed"
    assert "other bytes" in error.message


def test_a_wheel_that_is_not_installed(desk: Desk) -> None:
    other = JudgedWheel(filename="other-1.0-py3-none-any.whl", sha256=WHEEL.sha256)
    assert desk.error(wheel=other, test_toy=GOOD).code.name == "environment-changed"


def test_a_wheel_without_a_package_proves_nothing(tmp_path: Path) -> None:
    tested = make_tested(tmp_path / "env", {name: text for name, text in TOY.items() if ".dist-info/" in name})
    assert make_desk(tested, tmp_path).error(test_x="def test_x(): pass\n").code.name == "wheel-not-tested"


def test_an_interpreter_of_another_environment(desk: Desk) -> None:
    record = msgspec.structs.replace(desk.tested.record, folder=str(desk.folder))
    desk = make_desk(ToyEnvironment(record=record, site=desk.tested.site), desk.folder)
    assert desk.error(test_toy=GOOD).code.name == "environment-changed"


def test_a_gpu_counts_when_a_test_says_that_it_ran_there(desk: Desk) -> None:
    on_gpu = "\n    def test_gpu(record_testsuite_property):\n        record_testsuite_property('gpu-target', 'gfx942')\n"
    desk.devices = (gpu("gfx942", 3),)
    assert desk.run(test_toy=GOOD).target == "cpu-only"
    assert desk.run(test_toy=GOOD + on_gpu).target == "gfx942"


def gpu(target: str, index: int = 0) -> VisibleDevice:
    device = GpuDevice(vendor="amd", index=index, target=target, memory=1 << 30, driver="6.1", uuid=f"GPU-{index:016x}")
    return VisibleDevice(device=device, variables={"HIP_VISIBLE_DEVICES": str(index)})


NEEDS_A_GPU = """
    import os, pytest, toywheel

    def seen():
        return os.environ["HIP_VISIBLE_DEVICES"]

    def test_cpu():
        assert toywheel.answer() == 42

    @pytest.mark.gpu
    @pytest.mark.skipif(seen() == "-1", reason="a condition of its own")
    def test_kernel(record_testsuite_property):
        record_testsuite_property("gpu-target", {"0": "gfx942", "1": "gfx1201"}[seen()])
"""


def test_without_a_gpu_what_needs_one_is_told_as_not_run(desk: Desk) -> None:
    verdict = desk.run(test_toy=NEEDS_A_GPU)
    assert (verdict.outcome, verdict.target, verdict.devices) == ("passed", "cpu-only", ())
    assert (verdict.counts.passed, verdict.counts.skipped, verdict.counts.not_run) == (1, 0, 1)
    assert desk.runs[0].outcome.results["test_toy.py::test_kernel"].outcome == "not-run"


def test_each_chosen_gpu_has_a_process_and_a_verdict_of_its_own(desk: Desk) -> None:
    desk.devices = (gpu("gfx942", 0), gpu("gfx1201", 1))
    desk.run(test_toy=NEEDS_A_GPU)
    assert [run.verdict.target for run in desk.runs] == ["gfx942", "gfx1201"]
    assert [run.verdict.counts.passed for run in desk.runs] == [2, 2]
    assert [[device.driver for device in run.verdict.devices] for run in desk.runs] == [["6.1"], ["6.1"]]
    assert len({run.outcome.report_path for run in desk.runs}) == 2
    assert all(run.outcome.log.is_file() for run in desk.runs)


def test_a_gpu_that_the_wheel_does_not_work_on_is_a_failure_of_its_own(desk: Desk) -> None:
    desk.devices = (gpu("gfx942", 0), gpu("gfx950", 7))
    desk.run(test_toy=NEEDS_A_GPU)
    assert [(run.verdict.outcome, run.verdict.target) for run in desk.runs] == [("passed", "gfx942"), ("failed", "cpu-only")]


def test_settings_around_the_project_do_not_take_part(desk: Desk) -> None:
    (desk.folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    (desk.folder / "conftest.py").write_text("raise SystemExit('a stray conftest')\n", encoding="utf-8")
    assert desk.run(test_toy=GOOD).outcome == "passed"


def test_scripts_of_the_environment_come_first(desk: Desk) -> None:
    where = "\n    def test_path():\n        import shutil, sys, os\n        assert os.path.samefile(os.path.dirname(shutil.which('python')), os.path.dirname(sys.executable))\n"
    verdict = desk.run(test_toy=GOOD + where)
    assert verdict.outcome == "passed", desk.log


def test_without_pytest_in_the_environment(own_tested: ToyEnvironment, tmp_path: Path) -> None:
    (own_tested.site / "pytest-from-here.pth").unlink()
    error = make_desk(own_tested, tmp_path).error(test_toy=GOOD)
    assert error.code.name == "no-report"
    assert "pytest" in (error.excerpt or "")


@pytest.mark.skipif(sys.platform == "win32", reason="a name that Windows refuses")
def test_names_of_folders_do_not_matter(tested: ToyEnvironment, tmp_path: Path) -> None:
    folder = tmp_path / "a b [c] 'é"
    folder.mkdir()
    assert make_desk(tested, folder).run(test_toy=GOOD).outcome == "passed"
