"""A suite in real processes: what is collected, skipped, sharded, crashes, hangs, or is not there."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import process_groups
from build_tools.errors import HipwrightError
from build_tools.testing import run as test_runs
from build_tools.testing.upstream import running
from build_tools.testing.upstream.merge import merge, refuse_partial
from tests.support.upstream_suites import SuiteSite

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.suite import SuiteTest
    from build_tools.testing.outcome import TestOutcome
    from build_tools.testing.request import TestRequest
    from build_tools.testing.upstream.desk import Desk
    from tests.support.environment_under_test import ToyEnvironment

MIXED = {
    "test_a": """
        import unittest
        import pytest
        import toywheel

        class TestA(unittest.TestCase):
            def test_good(self):
                assert toywheel.answer() == 42

            def test_bad(self):
                raise ValueError("off by one")

            @unittest.skip("not here")
            def test_skipped(self):
                pass

        @pytest.mark.parametrize("value", ["a::b", "[x]", "a b", "ä", "'\\"|`", "*", "<&>"])
        def test_odd(value):
            assert value
    """,
    "sub/test_b": "import toywheel\ndef test_b(): pass\n",
    "test_broken": "from toywheel import nothing_of_that_name\n",
    "test_empty": "",
    "helper": "def test_not_collected(): raise SystemExit\n",
}


@pytest.fixture
def site(tested: ToyEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteSite:
    monkeypatch.setattr(process_groups, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(test_runs, "_STOP_MARGIN", 0.5)
    return SuiteSite(tested=tested, folder=tmp_path)


def outcomes(tests: dict[str, SuiteTest]) -> dict[str, str]:
    return {name: test.outcome for name, test in tests.items()}


def test_every_test_has_an_end_by_its_id(site: SuiteSite) -> None:
    site.write(MIXED)
    result = site.run()
    told = outcomes(result.tests)
    odd = [name for name in told if "test_odd" in name]
    assert len(odd) == 7
    assert all(told.pop(name) == "passed" for name in odd)
    assert told == {
        "sub/test_b.py::test_b": "passed",
        "test_a.py::TestA::test_bad": "failed",
        "test_a.py::TestA::test_good": "passed",
        "test_a.py::TestA::test_skipped": "skipped",
        "test_broken.py": "error",
    }
    assert "off by one" in result.tests["test_a.py::TestA::test_bad"].message
    assert "nothing_of_that_name" in result.tests["test_broken.py"].message
    assert result.files_left_out == {"test_empty.py": "no test of it was collected: it has no tests"}
    assert (result.planned, result.whole, result.passed) == (len(result.tests), True, False)
    assert (result.counts.passed, result.counts.failed, result.counts.errors, result.counts.skipped) == (9, 1, 1, 1)


def test_three_shards_are_together_what_one_is(site: SuiteSite) -> None:
    site.write(MIXED)
    whole = site.run()
    parts = [site.run(shard=shard, num_shards=3) for shard in (1, 2, 3)]
    assert len({part.plan for part in parts}) == 1
    assert all(part.tests for part in parts)
    union = merge(parts)
    refuse_partial(union)
    assert outcomes(union.tests) == outcomes(whole.tests)
    assert sum(len(part.tests) for part in parts) == len(whole.tests)


def test_what_the_skip_files_say_is_not_run_and_is_told_as_ours(site: SuiteSite) -> None:
    site.write(MIXED)
    skips = site.skips("""
        [[skip]]
        tests = ["test_a.py::TestA::test_bad"]
        files = ["test_broken.py"]
        reason = "is off by one"
        link = "https://example.org/1"
    """)
    result = site.run(skips=skips)
    test = result.tests["test_a.py::TestA::test_bad"]
    assert (test.outcome, test.message, test.link) == ("skipped-by-us", "is off by one", "https://example.org/1")
    assert result.files_left_out["test_broken.py"] == "skipped by us: is off by one (https://example.org/1)"
    assert result.passed
    assert result.findings == ()


def test_a_skip_with_a_typo_is_a_finding_and_skips_nothing(site: SuiteSite) -> None:
    site.write(MIXED)
    skips = site.skips("""
        [[skip]]
        tests = ["test_a.py::TestA::test_bda"]
        reason = "is off by one"
        link = "https://example.org/1"
    """)
    result = site.run(skips=skips, wanted=("test_a",))
    assert result.tests["test_a.py::TestA::test_bad"].outcome == "failed"
    assert ["test_bda" in finding.message for finding in result.findings] == [True]


def test_a_choice_by_name_or_file_says_so(site: SuiteSite) -> None:
    site.write(MIXED)
    named = site.run(keyword="good")
    assert (list(named.tests), named.narrowed) == (["test_a.py::TestA::test_good", "test_broken.py"], "-k good")
    chosen = site.prepared(wanted=("sub",))
    assert chosen.plan.entries == ("sub/test_b.py::test_b",)
    assert chosen.narrowed == "sub"


@pytest.mark.parametrize(
    ("wishes", "code"),
    [
        ({"wanted": ("test_gone",)}, "bad-option-value"),
        ({"wanted": ("test_empty",)}, "no-tests"),
        ({"wanted": ("sub/test_b.py",), "keyword": "nothing_like_it"}, "no-tests"),
    ],
)
def test_a_choice_of_nothing_is_an_error(site: SuiteSite, wishes: dict[str, str], code: str) -> None:
    site.write(MIXED)
    with pytest.raises(HipwrightError) as caught:
        site.prepared(**wishes)
    assert caught.value.code.name == code


def test_a_suite_without_test_files_is_an_error(site: SuiteSite) -> None:
    site.write({"helper": "x = 1\n"})
    with pytest.raises(HipwrightError) as caught:
        site.prepared()
    assert caught.value.code.name == "no-tests"


def test_a_crash_costs_the_test_that_crashed_and_no_other(site: SuiteSite) -> None:
    site.write(
        {
            "test_crash": """
            import os, signal, toywheel
            def test_before(): pass
            def test_crashes(): os.kill(os.getpid(), signal.SIGKILL)
            def test_after(): pass
            def test_crashes_too(): os.kill(os.getpid(), signal.SIGKILL)
        """,
            "test_other": "def test_other(): pass\n",
        }
    )
    result = site.run()
    assert outcomes(result.tests) == {
        "test_crash.py::test_before": "passed",
        "test_crash.py::test_crashes": "crashed",
        "test_crash.py::test_after": "passed",
        "test_crash.py::test_crashes_too": "crashed",
        "test_other.py::test_other": "passed",
    }
    assert "SIGKILL" in result.tests["test_crash.py::test_crashes"].message


def test_a_hang_is_stopped_and_the_others_go_on(site: SuiteSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.testing.upstream.desk._MINUTE", 2.5 / site.suite.test_limit_minutes)
    site.write(
        {
            "test_hang": """
            import threading, toywheel
            def test_before(): pass
            def test_hangs(): threading.Event().wait()
            def test_after(): pass
        """
        }
    )
    result = site.run()
    assert list(outcomes(result.tests).values()) == ["passed", "timed-out", "passed"]


def test_a_process_that_never_gets_to_a_test_is_not_started_for_ever(site: SuiteSite) -> None:
    site.write(
        {
            "test_ends": """
            import os, sys, toywheel
            if not any("--collect-only" in text for text in sys.orig_argv + [open(sys.orig_argv[-1]).read()]):
                os._exit(0)
            def test_one(): pass
            def test_two(): pass
        """
        }
    )
    result = site.run()
    assert list(outcomes(result.tests).values()) == ["not-run", "not-run"]
    assert not result.passed


def test_a_file_that_crashes_while_it_is_loaded_is_one_failure(site: SuiteSite) -> None:
    site.write({"test_dies": "import os\nos._exit(3)\n", "test_b": "import toywheel\ndef test_b(): pass\n"})
    result = site.run()
    assert outcomes(result.tests) == {"test_b.py::test_b": "passed", "test_dies.py": "error"}


def test_a_disk_that_is_full_for_one_file_loses_no_result_of_the_others(site: SuiteSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write(dict.fromkeys(("test_a", "test_b", "test_c"), "import toywheel\ndef test_one(): pass\n"))

    def full(request: TestRequest, **more: Any) -> TestOutcome:  # noqa: ANN401 - as of the function
        if request.tests == ("test_b.py",):
            raise OSError(errno.ENOSPC, "No space left on device")
        return test_runs.run_tests(request, **more)

    monkeypatch.setattr(running, "run_tests", full)
    result = site.run()
    assert list(outcomes(result.tests).values()) == ["passed", "not-run", "passed"]
    assert "disk-space" in result.tests["test_b.py::test_one"].message


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use is not removed there")
@pytest.mark.parametrize(
    ("does", "other", "ends"),
    [
        ("open('test_b.py', 'w').write('import toywheel\\ndef test_b(): pass\\n')", "assert 0", ["passed", "passed"]),
        ("__import__('shutil').rmtree(os.getcwd())", "pass", ["passed", "not-run"]),
    ],
)
def test_tests_that_change_other_tests_are_a_problem_and_lose_no_result(
    site: SuiteSite, does: str, other: str, ends: list[str]
) -> None:
    site.write({"test_a": f"import os, toywheel\ndef test_a(): {does}\n", "test_b": f"import toywheel\ndef test_b(): {other}\n"})
    result = site.run()
    assert list(outcomes(result.tests).values()) == ends
    assert "was changed or removed while the tests ran" in result.problems["test_b.py"]
    assert not result.passed


def test_a_source_tree_that_shadows_the_wheel_is_a_problem(site: SuiteSite) -> None:
    (site.folder / "tree" / "test" / "toywheel").mkdir(parents=True)
    (site.folder / "tree" / "test" / "toywheel" / "__init__.py").write_text("def answer():\n    return 42\n", encoding="utf-8")
    site.write({"test_shadow": "import toywheel\ndef test_answer(): assert toywheel.answer() == 42\n"})
    result = site.run()
    assert "foreign-import" in result.problems["test_shadow.py"]
    assert not result.passed


def test_tests_that_never_import_the_wheel_say_nothing_of_it(site: SuiteSite) -> None:
    site.write({"test_else": "def test_else(): pass\n"})
    result = site.run()
    assert (result.counts.passed, result.imported, result.passed) == (1, False, False)


def test_what_failed_the_last_time_comes_first(site: SuiteSite) -> None:
    site.write(
        {
            "test_a": "import toywheel\ndef test_1(): pass\ndef test_2(): assert not open('order', 'a').write('a2 ')\n",
            "test_b": "def test_1(): open('order', 'a').write('b1 ')\ndef test_2(): open('order', 'a').write('b2 ')\n",
        }
    )
    desk: list[Desk] = []
    original = site.desk

    def keep(**more: object) -> Desk:
        desk.append(original(**more))
        return desk[0]

    site.desk = keep  # type: ignore[method-assign]
    result = site.run(failed_first=("test_b.py::test_2",))
    assert list(result.tests) == ["test_a.py::test_1", "test_a.py::test_2", "test_b.py::test_1", "test_b.py::test_2"]
    assert (desk[0].tests.folder / "order").read_text(encoding="utf-8").split() == ["b2", "b1", "a2"]


FLAKY = """
    import os, pathlib, pytest, signal, toywheel

    def tries(name):
        with pathlib.Path(os.environ["HOME"], name).open("a+") as stream:
            stream.write("x")
            stream.seek(0)
            return len(stream.read())

    @pytest.mark.parametrize("value", ["a::b [c]"])
    def test_flaky(value): assert tries("flaky") > 1, "only the first time"
    def test_bad(): assert False, f"attempt {tries('bad')}"
    def test_good(): assert tries("good") == 1
    def test_crashes():
        tries("crashes")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_fails_is_tried_again_and_counted_and_what_crashes_is_not(site: SuiteSite) -> None:
    site.write({"test_x": FLAKY})
    result = site.run(desk={"reruns": 2})
    told = {name.partition("::")[2]: (test.outcome, test.attempts, test.message) for name, test in result.tests.items()}
    assert told.pop("test_flaky[a::b [c]]") == ("passed", 2, "AssertionError: only the first time")
    assert told.pop("test_bad") == ("failed", 3, "AssertionError: attempt 3")
    assert told.pop("test_good") == ("passed", 1, "")
    assert told.pop("test_crashes")[:2] == ("crashed", 1)
    assert (site.folder / "crashes").read_text(encoding="utf-8") == "x"
    assert [(one.attempts, one.message) for one in result.flaky] == [(2, "AssertionError: only the first time")]


def test_processes_that_run_at_once_have_a_gpu_each(site: SuiteSite) -> None:
    names = ("test_a", "test_b", "test_c")
    source = "import os, toywheel\ndef test_one(): open('seen', 'a').write(os.environ['HIP_VISIBLE_DEVICES'] + ' ')\n"
    site.write(dict.fromkeys(names, source))
    desks: list[Desk] = []
    original = site.desk

    def keep(**more: object) -> Desk:
        desks.append(original(**more))
        return desks[0]

    site.desk = keep  # type: ignore[method-assign]
    assert site.run(desk={"seats": ({"HIP_VISIBLE_DEVICES": "5"}, {"HIP_VISIBLE_DEVICES": "7"})}, jobs=2).passed
    seen = (desks[0].tests.folder / "seen").read_text(encoding="utf-8").split()
    assert (len(seen), set(seen)) == (3, {"5", "7"})


def test_two_tests_of_one_name_count_as_one_that_passes_when_both_do(site: SuiteSite) -> None:
    site.write(
        {
            "conftest": "def pytest_collection_modifyitems(items):\n    items.extend(items[:1])\n",
            "test_twice": "import toywheel\nCALLS = []\ndef test_it():\n    CALLS.append(1)\n    assert len(CALLS) == 2\n",
        }
    )
    result = site.run()
    assert not result.passed


def test_the_number_of_processes_has_an_end(site: SuiteSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MOST_PROCESSES", 2)
    crash = "\n".join(f"def test_{number}(): os._exit(1)" for number in range(4))
    site.write({"test_crash": f"import os, toywheel\n{crash}\n"})
    ends = list(outcomes(site.run().tests).values())
    assert ends == ["crashed", "crashed", "not-run", "not-run"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_in_the_tests_does_not_bring_the_tree_along(site: SuiteSite) -> None:
    (site.folder / "tree" / "toywheel").mkdir(parents=True)
    site.write({"test_a": "import toywheel\ndef test_a(): pass\n"})
    (site.folder / "tree" / "test" / "link").symlink_to(site.folder / "tree" / "toywheel")
    desk = site.desk()
    assert (desk.tests.folder / "link").is_symlink()
    assert not (desk.tests.root / "toywheel").exists()
