"""A script under the driver is a script that was started directly, and what it opens for reading is noted."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from build_tools.hipify import driver
from build_tools.hipify.account import read_notes

DRIVER = Path(driver.__file__)


def start(folder: Path, *words: str | Path) -> tuple[int, str, str]:
    """Return status, stdout and stderr of Python in a folder."""
    done = subprocess.run([sys.executable, "-X", "utf8", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def opened(folder: Path, script: str) -> set[str]:
    """Run a script under the driver and return what of its folder was noted, from there."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    status, _, stderr = start(folder, DRIVER, folder / "notes", "script.py")
    assert status == 0, stderr
    root = os.path.realpath(folder)
    names = [os.path.normpath(os.fsdecode(name)) for name in read_notes(folder / "notes").opened]
    inside = {os.path.relpath(name, root) for name in names if name.startswith(f"{root}{os.sep}")}
    # Byte code is looked for before the source.
    return {name for name in inside if "__pycache__" not in name}


SCRIPTS = {
    "globals": "print(sorted(globals()), __name__, __file__, __spec__, __package__, __doc__, type(__loader__).__name__)",
    "arguments": "import sys; print(sys.argv, sys.path[0], sys.flags)",
    "main": "import sys; print(sys.modules['__main__'].__dict__ is globals())",
    "beside": "import beside; print(beside.value)",
    "exception": "def f():\n    raise ValueError('a\\nb')\n\n\nf()",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error",
    "hook": "import sys\nsys.excepthook = lambda kind, value, trace: print('mine', kind, trace.tb_lineno)\nraise ValueError",
    "syntax": "x = (\n",
    "missing": "import there_is_no_such_module",
    "exit with a number": "raise SystemExit(3)",
    "exit with words": "import sys; sys.exit('error: no')",
    "exit with nothing": "import sys; print('x', end=''); sys.exit()",
    "at exit": "import atexit; atexit.register(print, 'last'); print('first')",
    "future": "x: int = 'not evaluated' if False else 1\ny: print('evaluated') = 2",
    "standard input": "import sys; print(sys.stdin.read() == '')",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
}


PLACES = [(name, "tools/s.py") for name in SCRIPTS]
PLACES += [(name, script) for name in ("globals", "arguments", "beside", "exception") for script in ("s.py", "link.py")]


@pytest.mark.parametrize(("name", "script"), PLACES)
def test_a_script_does_what_it_does_when_started_directly(tmp_path: Path, name: str, script: str) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "real").mkdir()
    for place in (tmp_path / "s.py", tmp_path / "tools" / "s.py", tmp_path / "real" / "target.py"):
        place.write_text(SCRIPTS[name], encoding="utf-8")
        place.with_name("beside.py").write_text("value = 7\n", encoding="utf-8")
    (tmp_path / "link.py").symlink_to("real/target.py")
    words = (script, "é", "--flag", "")
    assert start(tmp_path, DRIVER, tmp_path / "notes", *words) == start(tmp_path, *words)


def test_the_version_of_the_interpreter_is_noted(tmp_path: Path) -> None:
    opened(tmp_path, "")
    assert read_notes(tmp_path / "notes").python == platform.python_version()


READING = {
    "open('a')": {"a"},
    "open(b'a')": {"a"},
    "import pathlib; pathlib.Path('a').read_bytes()": {"a"},
    "import os; os.open('a', os.O_RDONLY)": {"a"},
    "open('sub/../a', 'rb')": {"a"},
    "open('a', 'r+')": {"a"},
    "import os; os.chdir('sub'); open('../a'); open('b')": {"a", "sub/b"},
    "import shutil; shutil.copyfile('a', 'new')": {"a"},
    "import shutil; shutil.copytree('sub', 'other')": {"sub/b"},
    "import mod": {"mod.py"},
    "import os; open(os.open('a', os.O_RDONLY))": {"a"},
    "import os\nif os.fork() == 0:\n    open('a')\n    os._exit(0)\nos.wait()": {"a"},
    "import threading; t = threading.Thread(target=open, args=('a',)); t.start(); t.join()": {"a"},
    "open('a'); import os; os._exit(0)": {"a"},
    "import mmap, os; mmap.mmap(os.open('a', os.O_RDONLY), 0, prot=mmap.PROT_READ)": {"a"},
    "open('a', 'w')": set(),
    "open('a', 'w+')": set(),
    "open('a', 'a')": set(),
    "import os; os.listdir('.'); os.stat('a'); os.rename('a', 'z')": set(),
    "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\ntry:\n    open('a')\nexcept OSError:\n    pass": set(),
}


@pytest.mark.parametrize("script", READING)
def test_what_is_opened_for_reading_is_noted_and_nothing_else(tmp_path: Path, script: str) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a", "sub/b", "mod.py"):
        (tmp_path / name).write_text("1\n", encoding="utf-8")
    assert opened(tmp_path, f"# {script!r}\n{script}\n") - {"script.py"} == READING[script]


def test_names_that_are_no_text_are_noted_as_they_are(tmp_path: Path) -> None:
    for name in (b"a\nb", b"\xff\xfe", "é".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"x")
    found = opened(tmp_path, "import os\nfor name in os.listdir(b'.'):\n    open(name, 'rb')\n")
    assert {os.fsencode(name) for name in found} >= {b"a\nb", b"\xff\xfe", "é".encode()}


def test_a_file_that_cannot_be_noted_stops_the_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os\nos.closerange(3, 64)\nopen('other')\n", encoding="utf-8")
    status, _, stderr = start(tmp_path, DRIVER, tmp_path / "notes", "script.py")
    assert status != 0
    assert "Bad file descriptor" in stderr
