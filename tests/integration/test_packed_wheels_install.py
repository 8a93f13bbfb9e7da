"""Wheels that :mod:`build_tools.wheels.pack` writes, given to the installers that people use."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import uv

from build_tools.wheels.pack import pack_wheel

if TYPE_CHECKING:
    from pathlib import Path

_INFO = "demo_kit-1.0+rocm7.10.0.dist-info"


@pytest.fixture(params=[False, True], ids=["stored", "deflated"])
def wheel(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "unpacked"
    for name, text in {
        "demo_kit/__init__.py": "answer = 42\n",
        "demo_kit/tool": "#!/bin/sh\nexit 0\n",
        f"{_INFO}/METADATA": "Metadata-Version: 2.4\nName: demo-kit\nVersion: 1.0+rocm7.10.0\n",
        f"{_INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (folder / "demo_kit/tool").chmod(0o755)
    return pack_wheel(folder, target=tmp_path / "dist", compress=request.param)


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_installers_take_a_packed_wheel(wheel: Path, tmp_path: Path, installer: str) -> None:
    program = [sys.executable, "-m", "pip"] if installer == "pip" else [uv.find_uv_bin(), "pip"]
    target = tmp_path / "target"
    options = ["--no-index", "--no-deps", "--target", str(target)]
    more = (
        ["--disable-pip-version-check"]
        if installer == "pip"
        else ["--no-cache", "--offline", "--python", sys.executable, "--no-config"]
    )
    done = subprocess.run([*program, "install", *options, *more, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (target / "demo_kit/__init__.py").read_text() == "answer = 42\n"
    assert (target / _INFO / "RECORD").is_file()
    assert sys.platform == "win32" or os.access(target / "demo_kit/tool", os.X_OK)
