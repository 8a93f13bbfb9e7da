from __future__ import annotations

import sys
import types

import pytest

from build_tools.builds.bundle_loader import loader_code, with_loader
from build_tools.errors import HipwrightError

_CALL = "from ._rocm_init import initialize as _initialize_rocm\n_initialize_rocm()\ndel _initialize_rocm\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("", "import os\n"),
        ("#!/usr/bin/python\n# -*- coding: utf-8 -*-\n", "import os\n"),
        ('"""Text."""\n', "\nimport os\n"),
        ('# comment\n\n"""Text\nof several lines."""\n\nfrom __future__ import annotations\n', "import os\n"),
        ("from __future__ import (\n    annotations,\n)\n", "x = 1\n"),
        ("from __future__ import annotations\nfrom __future__ import division\n", '"""No docstring."""\n'),
    ],
)
def test_rocm_is_loaded_before_anything_else(before: str, after: str) -> None:
    code = with_loader((before + after).encode(), member="demo/__init__.py").decode()
    assert code == before + _CALL + after
    compile(code, "demo/__init__.py", "exec")


def test_a_last_line_without_an_end_and_ends_of_windows() -> None:
    assert with_loader(b'"""Text."""', member="x").decode() == f'"""Text."""\n{_CALL}'
    code = with_loader(b'"""Text."""\r\nimport os\r\n', member="x").decode()
    assert code == '"""Text."""\r\n' + _CALL.replace("\n", "\r\n") + "import os\r\n"


@pytest.mark.parametrize("code", [b"def broken(:\n", b"x = '\x00'\n", b'"""Text."""; import os\n'])
def test_code_that_cannot_be_changed(code: bytes) -> None:
    with pytest.raises(HipwrightError, match=r"demo/__init__\.py") as caught:
        with_loader(code, member="demo/__init__.py")
    assert caught.value.code.name == "bundle-incomplete"


def test_windows_gets_its_folders_and_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code for Windows runs here on stand-ins: each folder is searched, then each library is loaded, once."""
    code = loader_code(version="7.13.0", folder="lib/rocm", libraries=["bin/amdhip64_7.dll", "bin/rocblas.dll"], searched=["bin"])
    done: list[tuple[str, str]] = []

    def search(path: str) -> str:
        done.append(("search", path))
        return path

    def load(path: str, *, mode: int) -> tuple[str, int]:
        done.append(("load", path))
        return path, mode

    module = types.ModuleType("_rocm_init")
    module.__file__ = "/site/demo/_rocm_init.py"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("os.add_dll_directory", search, raising=False)
    monkeypatch.setattr("ctypes.CDLL", load)
    exec(compile(code, module.__file__, "exec"), module.__dict__)  # noqa: S102 - the code under test
    module.initialize()
    module.initialize()
    root = "/site/demo/lib/rocm/bin"
    assert done == [("search", root), ("load", f"{root}/amdhip64_7.dll"), ("load", f"{root}/rocblas.dll")]
    assert module.ROCM_VERSION == "7.13.0"
