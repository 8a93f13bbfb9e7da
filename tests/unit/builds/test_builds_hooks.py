from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from build_tools.builds.hooks import load_hooks
from build_tools.errors import HipwrightError
from tests.support.builds import context

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def hooks_file(folder: Path, text: str) -> Path:
    (folder / "hooks.py").write_text(text, encoding="utf-8")
    return folder


def refusal(folder: Path, text: str) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        load_hooks(hooks_file(folder, text))
    assert caught.value.code.name == "bad-hooks"
    assert caught.value.where is not None
    assert caught.value.where.file == folder / "hooks.py"
    return caught.value


def test_a_project_without_hooks_has_some_that_do_nothing(tmp_path: Path) -> None:
    hooks = load_hooks(tmp_path)
    assert hooks.build_environment(context()) == {}
    hooks.prepare_sources(tmp_path, context())
    assert list(tmp_path.iterdir()) == []


def test_hooks_are_called_with_what_they_may_know(tmp_path: Path) -> None:
    text = """
from pathlib import Path

def _name(context):
    return f"{context.project}-{context.rocm_version}"

def build_environment(context):
    return {"WHAT": _name(context), "WHEN": str(context.source_date)}

def prepare_sources(tree, context):
    (tree / "made.txt").write_text(context.version)
"""
    hooks = load_hooks(hooks_file(tmp_path, text))
    assert hooks.build_environment(context()) == {"WHAT": "toy-7.10.0", "WHEN": "1700000000"}
    hooks.prepare_sources(tmp_path, context())
    assert (tmp_path / "made.txt").read_text() == "1.2.0+rocm7.10.0"


def test_loading_leaves_no_trace(tmp_path: Path) -> None:
    before = (set(sys.modules), list(sys.path))
    load_hooks(hooks_file(tmp_path, "def build_environment(context):\n    return {}\n"))
    assert (set(sys.modules), list(sys.path)) == before
    assert [path.name for path in tmp_path.iterdir()] == ["hooks.py"]


def test_a_name_that_nobody_calls_is_an_error(tmp_path: Path) -> None:
    error = refusal(tmp_path, "\n\ndef build_enviroment(context):\n    return {}\n")
    assert "build_enviroment" in error.message
    assert "build_environment" in str(error.hint)
    assert error.where is not None
    assert error.where.line == 3


def test_names_that_a_hooks_file_imports_are_not_hooks(tmp_path: Path) -> None:
    assert load_hooks(hooks_file(tmp_path, "from textwrap import dedent\n")).functions == {}


def test_wrong_parameters_show_the_right_ones(tmp_path: Path) -> None:
    error = refusal(tmp_path, "def prepare_sources(context):\n    pass\n")
    assert error.message == "prepare_sources must be prepare_sources(tree: Path, context: BuildContext) -> None"


def test_wrong_syntax_names_the_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, "a = 1\nb = = 2\n")
    assert error.where is not None
    assert error.where.line == 2


def test_a_file_that_fails_names_the_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, "def _f():\n    return 1 / 0\n\nA = _f()\n")
    assert "ZeroDivisionError" in error.message
    assert error.where is not None
    assert error.where.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "A = 1\nraise SystemExit(0)\n",
        "import sys\nsys.exit()\n",
        "A = 1\nraise GeneratorExit\n",
        "A = 1\nraise BaseException('x')\n",
    ],
)
def test_a_file_that_would_end_the_process_is_an_error(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, text)
    assert error.where is not None
    assert error.where.line == 2


@pytest.mark.parametrize("ending", ["raise SystemExit(0)", "import sys; sys.exit()", "raise GeneratorExit"])
def test_a_hook_that_would_end_the_process_is_an_error(tmp_path: Path, ending: str) -> None:
    text = f"def build_environment(context):\n    {ending}\n\ndef prepare_sources(tree, context):\n    {ending}\n"
    hooks = load_hooks(hooks_file(tmp_path, text))
    with pytest.raises(HipwrightError) as caught:
        hooks.build_environment(context())
    assert (caught.value.code.name, caught.value.where and caught.value.where.line) == ("bad-hooks", 2)
    with pytest.raises(HipwrightError) as caught:
        hooks.prepare_sources(tmp_path, context())
    assert (caught.value.code.name, caught.value.where and caught.value.where.line) == ("bad-hooks", 5)


def test_a_person_may_interrupt_a_hook(tmp_path: Path) -> None:
    hooks = load_hooks(hooks_file(tmp_path, "def prepare_sources(tree, context):\n    raise KeyboardInterrupt\n"))
    with pytest.raises(KeyboardInterrupt):
        hooks.prepare_sources(tmp_path, context())
    with pytest.raises(KeyboardInterrupt):
        load_hooks(hooks_file(tmp_path, "raise KeyboardInterrupt\n"))


@pytest.mark.parametrize(
    "text",
    [
        "prepare_sources = 3",
        "prepare_sources = None",
        "class prepare_sources: pass",
        "from textwrap import dedent as prepare_sources",
        "import functools; prepare_sources = functools.partial(print)",
        "async def prepare_sources(tree, context): pass",
        "def prepare_sources(tree, context): yield",
    ],
)
def test_what_has_a_hooks_name_and_is_no_plain_function_is_an_error(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, f"A = 1\n{text}\n")
    assert error.message == "prepare_sources must be a plain function that hooks.py defines"
    assert error.where is not None
    assert (error.where.line, error.where.key) == (2, "prepare_sources")


@pytest.mark.parametrize("value", ["None", "[]", "{'A': 1}", "{1: 'a'}"])
def test_an_environment_that_is_none_is_an_error(tmp_path: Path, value: str) -> None:
    hooks = load_hooks(hooks_file(tmp_path, f"def build_environment(context):\n    return {value}\n"))
    with pytest.raises(HipwrightError) as caught:
        hooks.build_environment(context())
    assert caught.value.code.name == "bad-hooks"


@pytest.mark.parametrize(
    ("entry", "fault"),
    [("'A=B': 'x'", "no name"), ("'': 'x'", "no name"), ("'A': 'a\\0b'", "no text"), ("'A': '\\udcff'", "no text")],
)
def test_a_variable_that_no_program_can_be_given_is_the_hooks_fault(tmp_path: Path, entry: str, fault: str) -> None:
    hooks = load_hooks(hooks_file(tmp_path, f"def build_environment(context):\n    return {{{entry}}}\n"))
    with pytest.raises(HipwrightError, match=fault) as caught:
        hooks.build_environment(context())
    assert caught.value.code.name == "bad-hooks"


def test_a_hook_that_fails_names_its_line(tmp_path: Path) -> None:
    hooks = load_hooks(hooks_file(tmp_path, "def prepare_sources(tree, context):\n    x = {}\n    x['gone']\n"))
    with pytest.raises(HipwrightError) as caught:
        hooks.prepare_sources(tmp_path, context())
    assert caught.value.message == "prepare_sources failed: KeyError: 'gone'"
    assert caught.value.where is not None
    assert caught.value.where.line == 3


def test_generated_files_are_bytes_or_paths_by_name(tmp_path: Path) -> None:
    assert load_hooks(tmp_path).generated_files(context()) == {}
    hooks = load_hooks(hooks_file(tmp_path, "def generated_files(context):\n    return {'a.py': context.version.encode()}\n"))
    assert hooks.generated_files(context()) == {"a.py": b"1.2.0+rocm7.10.0"}
    hooks = load_hooks(hooks_file(tmp_path, "def generated_files(context):\n    return {'a.py': 'text'}\n"))
    with pytest.raises(HipwrightError) as caught:
        hooks.generated_files(context())
    assert caught.value.code.name == "bad-hooks"


ENDS = {
    "os._exit": "import os\nos._exit(0)",
    "posix._exit": "import posix\nposix._exit(0)",
    "_exit as imported": "from os import _exit\n_exit(0)",
    "os.execv": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', ''])",
    "os.execlp": "import os\nos.execlp('true', 'true')",
}


@pytest.mark.skipif(sys.platform == "win32", reason="posix is no module there")
@pytest.mark.parametrize("ending", ENDS.values(), ids=ENDS)
def test_a_hook_that_would_end_the_command_with_success_is_an_error(tmp_path: Path, ending: str) -> None:
    error = refusal(tmp_path, ending)
    assert "would end the whole command" in error.message
    body = "\n    ".join(ending.splitlines())
    hooks = load_hooks(hooks_file(tmp_path, f"def build_environment(context):\n    {body}\n"))
    with pytest.raises(HipwrightError, match="build_environment failed: EndOfProcessError") as caught:
        hooks.build_environment(context())
    assert caught.value.where is not None
    assert caught.value.where.line == 3


def test_when_no_hook_runs_os_is_as_it_was(tmp_path: Path) -> None:
    before = (os._exit, os.execv, os.execve)
    text = "import os\n\ndef build_environment(context):\n    return {'NAME': os._exit.__name__}\n"
    assert load_hooks(hooks_file(tmp_path, text)).build_environment(context()) == {"NAME": "asks"}
    assert (os._exit, os.execv, os.execve) == before


CHANGES = {
    "os.chdir(os.sep)": "the current folder",
    "os.environ['HOOK_WAS_HERE'] = '1'": "the variable HOOK_WAS_HERE",
    "os.environ.pop('PATH')": "the variable PATH",
    "os.environ['PATH'] = ''": "the variable PATH",
    "sys.path.insert(0, '/somewhere')": "sys.path",
}


@pytest.mark.parametrize(("change", "what"), CHANGES.items())
def test_a_hook_that_changes_the_process_is_an_error_and_the_change_is_undone(tmp_path: Path, change: str, what: str) -> None:
    before = (Path.cwd(), dict(os.environ), list(sys.path))
    assert f"ChangedProcessError: it changes {what} " in refusal(tmp_path, f"import os, sys\n{change}").message
    assert (Path.cwd(), dict(os.environ), list(sys.path)) == before
    hooks = load_hooks(hooks_file(tmp_path, f"import os, sys\n\ndef generated_files(context):\n    {change}\n    return {{}}\n"))
    with pytest.raises(HipwrightError, match=f"generated_files failed: ChangedProcessError: it changes {what} ") as caught:
        hooks.generated_files(context())
    assert caught.value.code.name == "bad-hooks"
    assert (Path.cwd(), dict(os.environ), list(sys.path)) == before


def test_a_hook_that_fails_is_told_as_it_failed_and_what_it_changed_is_undone(tmp_path: Path) -> None:
    before = Path.cwd()
    assert "ValueError: first" in refusal(tmp_path, "import os\nos.chdir(os.sep)\nraise ValueError('first')").message
    assert Path.cwd() == before


def test_what_a_hook_prints_is_talk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "print('loading')\n\ndef build_environment(context):\n    print('asked')\n    return {}\n"
    load_hooks(hooks_file(tmp_path, text)).build_environment(context())
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "loading\nasked\n")


@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
def test_a_process_that_a_hook_forks_may_end_itself_and_ours_too_when_no_hook_runs(tmp_path: Path) -> None:
    text = """
import os

def build_environment(context):
    child = os.fork()
    if not child:
        os._exit(7)
    return {"STATUS": str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))}
"""
    hooks_file(tmp_path, text)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom build_tools.builds.hooks import load_hooks\n"
        "print(load_hooks(Path(sys.argv[1])).build_environment(None), flush=True)\nos._exit(5)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (ran.returncode, ran.stdout, ran.stderr) == (5, "{'STATUS': '7'}\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="it ends itself as POSIX has it")
def test_what_ends_the_process_unseen_leaves_no_receipt(tmp_path: Path) -> None:
    hooks_file(tmp_path, "import ctypes\n\ndef build_environment(context):\n    ctypes.CDLL(None)._exit(0)\n")
    code = (
        "import sys\nfrom pathlib import Path\nfrom build_tools.builds.hooks import load_hooks\n"
        "from build_tools.pipeline.engine import Work, decide, perform\nfrom build_tools.types import Stage\n"
        "from tests.support.workplaces import workplace\nhere = Path(sys.argv[1])\n"
        "make = lambda _making: load_hooks(here).build_environment(None)\n"
        "work = Work(stage=Stage.BUILD, project='p', parts={}, make=make, receipt=here / 'out' / 'receipt.json')\n"
        "print(decide(work, workplace(here)).why, flush=True)\nperform(work, workplace(here))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    for _ in range(2):
        # A stage that was done would be told as such the second time.
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert (ran.returncode, ran.stdout) == (0, "it was never done\n"), ran.stderr
    assert not (tmp_path / "out" / "receipt.json").exists()
