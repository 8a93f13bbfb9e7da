"""The wrapper's parts that can be looked at without making an environment."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import CODES

if TYPE_CHECKING:
    from types import ModuleType

CLONE = Path(__file__).parents[2]
SOURCE = (CLONE / "noxw.py").read_text(encoding="utf-8")
WANTED = {"layout": "1", "clone": "/c", "pins": "p", "python": "/usr/bin/python3.11", "version": "3.11.7"}


@pytest.fixture(name="noxw")
def load_noxw() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxw_under_test", CLONE / "noxw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_old_python_can_read_it() -> None:
    ast.parse(SOURCE, feature_version=(3, 6))
    # Annotations are looked at when a function is defined: older Pythons don't know `list[str]` there.
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.FunctionDef):
            arguments = [argument.annotation for argument in (*node.args.args, *node.args.kwonlyargs) if argument.annotation]
            for annotation in [*arguments, node.returns]:
                assert isinstance(annotation, ast.Name | ast.Constant), f"line {node.lineno}"


def test_needs_nothing_but_the_standard_library_and_little_at_the_start() -> None:
    tree = ast.parse(SOURCE)
    names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    at_the_top = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert at_the_top == {"hashlib", "os", "sys"}


def test_its_error_codes_are_in_the_table() -> None:
    codes = set(re.findall(r'WrapperError\("([a-z-]+)"', SOURCE))
    assert codes
    assert codes <= set(CODES)


def test_an_old_python_is_told_so(noxw: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(noxw.WrapperError, match=r"Python 3\.11 or newer is needed.* is 3\.9"):
        noxw.check_version()


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"python": "/opt/python3.13", "version": "3.13.0"}, True),
        ({"version": "3.11.6"}, False),
        ({"pins": "q"}, False),
        ({"layout": "0"}, False),
        ({"clone": "/elsewhere"}, False),
    ],
    ids=str,
)
def test_what_makes_an_environment_fit(noxw: ModuleType, change: dict[str, str], *, fits: bool) -> None:
    assert noxw.fits(WANTED | change, WANTED) is fits


def test_nothing_fits_nothing(noxw: ModuleType) -> None:
    assert not noxw.fits({}, WANTED)


def test_in_the_clone_the_arguments_go_on_as_they_are(noxw: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noxw, "CLONE", str(Path.cwd()))
    command = noxw.command_line(["-s", "build", "--", "a b", "", "--x=$y"])
    assert command[-6:] == ["-s", "build", "--", "a b", "", "--x=$y"]
    assert Path(command[-7]).stem == "nox"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-l"], ["nox", "--noxfile", "{clone}/noxfile.py", "-l"]),
        (["invoke", "--list"], ["invoke", "--search-root", "{clone}", "--list"]),
        (["-s", "invoke"], ["nox", "--noxfile", "{clone}/noxfile.py", "-s", "invoke"]),
        ([], ["nox", "--noxfile", "{clone}/noxfile.py"]),
    ],
    ids=str,
)
def test_from_another_folder_the_clones_files_are_named(
    noxw: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tool, *rest = noxw.command_line(arguments)[-len(expected) :]
    assert [Path(tool).stem, *rest] == [str(Path(word.format(clone=CLONE))) if "{" in word else word for word in expected]


def test_another_pythons_folders_are_left_out_and_the_rest_is_handed_on(
    noxw: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONHOME", "PYTHONPATH", "PYTHONUNBUFFERED", "HIPWRIGHT_JOBS"):
        monkeypatch.setenv(name, "1")
    environment = noxw.child_environment()
    assert "PYTHONHOME" not in environment
    assert "PYTHONPATH" not in environment
    assert environment["PYTHONUNBUFFERED"] == environment["HIPWRIGHT_JOBS"] == "1"


def test_windows_runs_the_script_and_leaves_with_its_status(noxw: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noxw, "WINDOWS", True)
    assert noxw.command_line(["-l"])[0].endswith("nox.exe")
    with pytest.raises(SystemExit) as caught:
        noxw.hand_on([sys.executable, "-c", "raise SystemExit(7)"])
    assert caught.value.code == 7


def test_only_the_listed_settings_of_pip_are_dropped(noxw: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_TARGET", "elsewhere")
    monkeypatch.setenv("PIP_CERT", "cert.pem")
    log = tmp_path / "log"
    code = "import os; print(sorted(name for name in os.environ if name in ('PIP_TARGET', 'PIP_CERT')))"
    with log.open("wb") as stream:
        assert noxw.call([sys.executable, "-c", code], stream) == 0
    assert log.read_text(encoding="utf-8").strip() == "['PIP_CERT']"


def test_a_second_lock_is_not_had(noxw: ModuleType, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        first, second = (stack.enter_context((tmp_path / "lock").open("a+b")) for _ in range(2))
        assert noxw.try_lock(first)
        assert not noxw.try_lock(second)
        first.close()
        assert noxw.try_lock(second)


def test_a_python_with_neither_pip_nor_ensurepip_is_told_what_to_install(
    noxw: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_pip(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", without_pip)
    monkeypatch.setattr(noxw, "PYTHON", sys.executable)
    monkeypatch.setattr(noxw, "call", lambda _command, _log: 1)
    with (tmp_path / "log").open("wb") as log, pytest.raises(noxw.WrapperError) as caught:
        noxw.pip_command(log)
    assert caught.value.code == "missing-tool"
    assert "-venv`" in caught.value.hint
