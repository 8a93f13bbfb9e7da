"""``profile`` on real children: examples that pass, crash, hang, take memory, fork, and lack what they need."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from build_tools.config.examples import Example, missing_asset_names
from build_tools.errors import HipwrightError
from build_tools.pipeline.profile import profile
from build_tools.process import Runner, base_environment
from build_tools.receipts.profile import ExampleProfile, ProfileReport
from build_tools.receipts.record import read_record
from build_tools.testing.profile import ProfilePlan, profile_example
from tests.support.given_environments import bare_environment
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = """
schema = 1
name = "ext"
summary = "An extension"
sdk = "none"
[origin]
kind = "git"
url = "https://example.invalid/ext.git"
[version]
fixed = "1"
[wheel]
distribution = "ext"
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks")


def measured(
    folder: Path,
    text: str,
    *,
    limit: float = 60,
    repeat: int = 1,
    warm_up: bool = False,
    assets: tuple[str, ...] = (),
    **env: str,
) -> ExampleProfile:
    """Return the profile of an example with this text, run in a folder."""
    (folder / "example.py").write_text(text, encoding="utf-8")
    plan = ProfilePlan(
        python=Path(sys.executable),
        cwd=folder,
        logs=folder / "logs",
        time_limit=limit,
        missing=missing_asset_names(),
        env=env,
        repeat=repeat,
        warm_up=warm_up,
    )
    plan.logs.mkdir(exist_ok=True)
    example = Example(script="example.py", assets=assets)
    return profile_example(example, 1, plan, runner=Runner(environment=base_environment(os.environ)), say=lambda _text: None)


def test_what_passes_is_measured_as_often_as_asked_for(tmp_path: Path) -> None:
    one = measured(tmp_path, "open('turns', 'a').write('x')\nassert __name__ == '__main__'", repeat=3, warm_up=True)
    assert (one.status, one.error, len(one.runs)) == ("passed", None, 3)
    assert (tmp_path / "turns").read_text() == "xxxx"
    times = sorted(run.duration_s for run in one.runs)
    assert one.duration_s == times[1]


def test_the_peak_of_memory_is_that_of_the_example(tmp_path: Path) -> None:
    # What hipwright itself has in memory is no part of it.
    ballast = bytearray(256 << 20)
    small = measured(tmp_path, "pass").peak_memory_mb
    large = measured(tmp_path, "x = bytearray(150 << 20)\nx[::4096] = b'x' * len(x[::4096])\ndel x").peak_memory_mb
    assert small is not None
    assert large is not None
    assert small < 60
    assert 140 < large - small < 170
    assert len(ballast) == 256 << 20


def test_memory_of_a_child_that_ended_counts(tmp_path: Path) -> None:
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = bytearray(120 << 20); x[::4096] = b\"x\" * len(x[::4096])'], check=True)"
    one = measured(tmp_path, text)
    assert one.status == "passed"
    assert one.peak_memory_mb is not None
    assert one.peak_memory_mb > 110


@pytest.mark.parametrize(
    ("text", "status", "code", "words"),
    [
        ("raise ValueError('shape mismatch')", "failed", "command-failed", "ValueError: shape mismatch"),
        ("import sys; sys.exit(3)", "failed", "command-failed", "it ended with 3"),
        ("import sys; sys.exit('no device')", "failed", "command-failed", "it ended with no device"),
        ("import os; os.abort()", "crashed", "tests-crashed", "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed", "tests-crashed", "SIGKILL"),
        ("import os; os._exit(0)", "failed", "no-report", "without leaving what it took"),
        ("raise RuntimeError('half of \\ud83d, no text')", "failed", "command-failed", "RuntimeError: half of ?, no text"),
        ("import no_such_package", "failed", "command-failed", "ModuleNotFoundError"),
        ("x = bytearray(1 << 62)", "failed", "command-failed", "MemoryError"),
        ("import atexit, os; atexit.register(os.abort)", "crashed", "tests-crashed", "after it was done"),
        ("import atexit, os; atexit.register(os._exit, 5)", "failed", "command-failed", "status 5 after it was done"),
        ("raise RuntimeError from None\n", "failed", "command-failed", "RuntimeError"),
    ],
)
def test_how_an_example_fails_is_told(tmp_path: Path, text: str, status: str, code: str, words: str) -> None:
    one = measured(tmp_path, text, repeat=3)
    assert (one.status, one.code) == (status, code)
    assert words in (one.error or "")
    assert len(one.runs) == 1
    assert one.log is not None
    assert Path(one.log).is_file()


def test_one_that_hangs_is_stopped_with_its_stacks(tmp_path: Path) -> None:
    text = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef waits_for_ever():\n    time.sleep(900)\nwaits_for_ever()"
    one = measured(tmp_path, text, limit=1)
    assert (one.status, one.code) == ("timeout", "tests-timeout")
    assert "1 s" in (one.error or "")
    assert "waits_for_ever" in Path(one.log or "").read_text()


def test_one_that_fails_only_after_the_warm_up_did_not_pass(tmp_path: Path) -> None:
    one = measured(
        tmp_path, "import os\nif os.path.exists('been'): raise OSError(5, 'again')\nopen('been', 'w')", repeat=2, warm_up=True
    )
    assert one.status == "failed"
    assert "again" in (one.error or "")


@pytest.mark.parametrize(
    "text",
    [
        "open('models/weights.bin')",
        "try:\n    open('models/weights.bin')\nexcept OSError as error:\n    raise RuntimeError('cannot load') from error",
    ],
)
def test_a_missing_asset_is_a_skip_that_names_it(tmp_path: Path, text: str) -> None:
    one = measured(tmp_path, text, repeat=3)
    assert (one.status, one.missing, one.code) == ("skipped", "models/weights.bin", None)


def test_a_fault_on_the_way_around_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    one = measured(tmp_path, "try:\n    open('cache')\nexcept OSError:\n    raise ValueError('wrong shape')")
    assert one.status == "failed"


def test_an_asset_that_a_list_names_is_looked_for_first(tmp_path: Path) -> None:
    one = measured(tmp_path, "open('ran', 'w')", assets=("weights.bin",))
    assert (one.status, one.missing) == ("skipped", "weights.bin")
    assert not (tmp_path / "ran").exists()


def test_an_example_that_puts_others_in_the_places_of_functions_is_measured_all_the_same(tmp_path: Path) -> None:
    text = "import json, os, time\njson.dump = os.replace = None\ntime.perf_counter = lambda: float('nan')"
    one = measured(tmp_path, text)
    assert (one.status, one.error) == ("passed", None)
    assert one.duration_s is not None
    assert 0 < one.duration_s < 10


def test_an_asset_whose_name_is_no_text_is_told_on_one_line(tmp_path: Path) -> None:
    one = measured(tmp_path, "open('model\\udc80\\n.bin')")
    assert (one.status, one.missing) == ("skipped", "model? .bin")


def test_what_an_example_forks_off_speaks_for_nobody_and_does_not_stay(tmp_path: Path) -> None:
    text = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    open('child', 'w').write(str(os.getpid()))\n    time.sleep(900)\nwhile not (os.path.exists('child') and open('child').read()):\n    time.sleep(0.01)"
    one = measured(tmp_path, text)
    assert one.status == "passed"
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    both = measured(tmp_path, "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: raise SystemExit(9)")
    assert both.status == "passed"


def test_an_example_sees_its_arguments_its_folder_and_its_variables(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 7")
    text = "import os, sys, beside\nassert beside.VALUE == 7\nassert os.environ['MODEL'] == 'tiny', os.environ\nassert sys.argv == [__file__], sys.argv\nassert os.getcwd() == os.path.dirname(__file__)"
    assert measured(tmp_path, text, MODEL="tiny").error is None


STUB_TORCH = """
import types
__version__ = "2.13.0+rocm7.10.0"
version = types.SimpleNamespace(hip="7.10.1", cuda=None)
cuda = types.SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: {initialized}, device_count=lambda: 2,
    get_device_name=lambda n: f"AMD Instinct {{n}}", max_memory_reserved=lambda n: (n + 1) << 20,
)
"""


@pytest.mark.parametrize(("initialized", "peak"), [(True, 3.0), (False, None)])
def test_the_framework_is_asked_for_the_memory_of_its_devices(tmp_path: Path, *, initialized: bool, peak: float | None) -> None:
    (tmp_path / "torch.py").write_text(STUB_TORCH.format(initialized=initialized))
    one = measured(tmp_path, "import torch")
    assert one.framework is not None
    assert (one.framework.torch, one.framework.hip) == ("2.13.0+rocm7.10.0", "7.10.1")
    assert one.peak_device_memory_mb == peak
    assert one.framework.devices == (("AMD Instinct 0", "AMD Instinct 1") if initialized else ())


def test_what_a_framework_says_that_cannot_be_hides_nothing(tmp_path: Path) -> None:
    odd = STUB_TORCH.replace('hip="7.10.1"', "hip=7").replace("(n + 1) << 20", "float('inf')").replace('f"AMD', '7 or f"AMD')
    (tmp_path / "torch.py").write_text(odd.format(initialized=True))
    one = measured(tmp_path, "import torch")
    assert (one.status, one.peak_device_memory_mb) == ("passed", None)
    assert one.framework is not None
    assert (one.framework.hip, one.framework.devices) == ("7", ("7", "7"))


def test_a_broken_framework_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("__version__ = '2'\n")
    one = measured(tmp_path, "import torch")
    assert (one.status, one.framework) == ("passed", None)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_environment(tmp_path_factory.mktemp("environment") / "venv")


def profiled(folder: Path, environment: Path, scripts: Mapping[str, str], *words: str, **settings: Any) -> ProfileReport:  # noqa: ANN401 - as the options are
    for name, text in scripts.items():
        (folder / name).write_text(text)
    place = workplace(folder, words=words or tuple(scripts), venv=environment, **{"repeat": 1, "warm_up": False, **settings})
    profile(place)
    return read_record(folder / "logs" / "rocm_profile.json", ProfileReport)


def test_one_bad_example_hides_no_other(tmp_path: Path, environment: Path) -> None:
    scripts = {"bad.py": "import os; os.abort()", "good.py": "pass", "bare.py": "open('model')"}
    with pytest.raises(HipwrightError) as caught:
        profiled(tmp_path, environment, scripts, "gone.py", *scripts)
    error = caught.value
    assert error.code.name == "examples-failed"
    assert "2 of 4 examples did not pass, first gone.py" in error.message
    report = read_record(tmp_path / "logs" / "rocm_profile.json", ProfileReport)
    assert [(one.name, one.status) for one in report.examples] == [
        ("gone.py", "failed"),
        ("bad.py", "crashed"),
        ("good.py", "passed"),
        ("bare.py", "skipped"),
    ]
    assert error.document is not None
    assert json.loads(json.dumps(error.document))["report"] == str(tmp_path / "logs" / "rocm_profile.json")


def test_a_skip_beside_what_passes_is_no_failure(tmp_path: Path, environment: Path) -> None:
    report = profiled(tmp_path, environment, {"good.py": "pass", "bare.py": "open('model')"})
    assert [one.status for one in report.examples] == ["passed", "skipped"]
    assert report.repeat == 1


def test_where_all_are_skipped_nothing_was_measured(tmp_path: Path, environment: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        profiled(tmp_path, environment, {"bare.py": "open('model')"})
    assert caught.value.code.name == "no-examples"
    assert "model" in caught.value.message


def test_lists_name_examples_as_words_do(tmp_path: Path, environment: Path) -> None:
    (tmp_path / "list").write_text("\ufeff# the quick ones\none.py --steps '2 3'\n\none.py   # and plain\n")
    (tmp_path / "list.toml").write_text(
        'schema = 1\n[[example]]\nscript = "one.py"\narguments = ["--slow"]\nassets = ["weights.bin"]\ntime-limit-s = 5\n'
    )
    report = profiled(
        tmp_path, environment, {"one.py": "import sys; assert len(sys.argv) in (1, 3)"}, "@list", "@list.toml", "one.py --a b"
    )
    assert [(one.name, one.status) for one in report.examples] == [
        ("one.py --steps '2 3'", "passed"),
        ("one.py", "passed"),
        ("one.py --slow", "skipped"),
        ("one.py --a b", "passed"),
    ]


def test_a_recipe_lists_examples_of_its_tree(tmp_path: Path, environment: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "examples").mkdir(parents=True)
    (tree / "examples" / "one.py").write_text("import sys; assert sys.argv[1:] == ['--steps', '2']; open('here', 'w').close()")
    recipe = tmp_path / "clone" / "external-builds" / "ext" / "project.toml"
    recipe.parent.mkdir(parents=True)
    text = RECIPE + '[extension]\nexamples = ["examples/one.py --steps 2"]\n'
    settings: dict[str, Any] = {"projects": ("ext",), "dir": {"ext": tree}, "repeat": 1, "warm_up": False}
    place = replace(workplace(tmp_path, venv=environment, **settings), clone=tmp_path / "clone")
    recipe.write_text(text)
    assert profile(place)["examples"][0]["name"] == "examples/one.py --steps 2"
    assert (tree / "here").is_file()
    recipe.write_text(RECIPE)
    with pytest.raises(HipwrightError, match="the recipe of ext lists no example"):
        profile(place)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "no-examples"),
        (("@empty",), "no-examples"),
        (("@nowhere",), "bad-data-file"),
        (("@odd",), "bad-data-file"),
        (("@wrong.toml",), "bad-data-file"),
        (("a.py", "a.py"), "bad-option-value"),
        (("'a.py",), "bad-option-value"),
        (("''",), "bad-option-value"),
        (("@nested",), "bad-data-file"),
        (("@bytes",), "bad-data-file"),
        (("@",), "bad-data-file"),
    ],
)
def test_wrong_lists_are_told_before_anything_runs(tmp_path: Path, environment: Path, words: tuple[str, ...], code: str) -> None:
    (tmp_path / "empty").write_text("# none\n")
    (tmp_path / "odd").write_text("a.py 'open\n")
    (tmp_path / "nested").write_text("a.py\n@list\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "wrong.toml").write_text('schema = 1\n[[example]]\nscript = "a.py"\nasset = ["b"]\n')
    with pytest.raises(HipwrightError) as caught:
        profile(workplace(tmp_path, words=words, venv=environment))
    assert caught.value.code.name == code
    assert caught.value.hint is not None or "wrong" in words[0]
    assert not (tmp_path / "logs").exists()


def test_without_an_environment_there_is_a_command_that_makes_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("pass")
    with pytest.raises(HipwrightError) as caught:
        profile(workplace(tmp_path, words=("a.py",)))
    assert caught.value.code.name == "bad-option-value"
    assert "setup_venv" in (caught.value.hint or "")


def test_a_base_gives_deltas(tmp_path: Path, environment: Path) -> None:
    first = profiled(tmp_path, environment, {"a.py": "pass"})
    base = tmp_path / "base.json"
    (tmp_path / "logs" / "rocm_profile.json").rename(base)
    second = profiled(tmp_path, environment, {"a.py": "pass", "b.py": "pass"}, baseline=str(base))
    delta = second.examples[0].delta
    assert delta is not None
    assert first.examples[0].duration_s is not None
    assert delta.duration_delta_s == pytest.approx((second.examples[0].duration_s or 0) - first.examples[0].duration_s)
    assert second.examples[1].delta is not None
    assert second.examples[1].delta.change == "new"


def test_rocm_of_the_machine_is_found_by_examples(tmp_path: Path, environment: Path) -> None:
    rocm = tmp_path / "rocm"
    (rocm / "bin").mkdir(parents=True)
    (rocm / "lib").mkdir()
    (tmp_path / "a.py").write_text(
        f"import os\nassert os.environ['ROCM_PATH'] == {str(rocm)!r}\n"
        f"assert os.environ['PATH'].split(os.pathsep)[0] == {str(rocm / 'bin')!r}\n"
        f"assert os.environ['LD_LIBRARY_PATH'].split(os.pathsep)[0] == {str(rocm / 'lib')!r}\n"
    )
    place = workplace(tmp_path, words=("a.py",), venv=environment, repeat=1, warm_up=False)
    place = replace(place, machine={"ROCM_PATH": str(rocm)})
    profile(place)
    assert any("programs find ROCm" in said for said in memory_of(place).said)
