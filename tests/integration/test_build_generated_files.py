"""Generated files and a build back end that goes by ``.gitignore``: they get into the wheel, and the sources stay clean."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools.builds.generated import place_generated, with_generated

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("hatchling", reason="the back end that goes by .gitignore is not installed")

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "toy"
version = "1.0"
"""


def git(tree: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=tree, capture_output=True, check=True, text=True)
    return done.stdout


def wheel_of(tree: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=tree, capture_output=True, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_what_git_ignores_gets_into_the_wheel(tmp_path: Path) -> None:
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    (tree / "toy").mkdir(parents=True)
    (tree / "pyproject.toml").write_text(PYPROJECT)
    (tree / "toy" / "__init__.py").write_text("")
    (tree / ".gitignore").write_text("/toy/_rocm_init.py\n*.dll\n")
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    shutil.copytree(tree, copy)
    machine = tmp_path / "libomp140.x86_64.dll"
    machine.write_bytes(b"MZ")
    files: dict[str, bytes | Path] = {"toy/_rocm_init.py": b"def initialize(): ...\n", "toy/lib/libomp140.x86_64.dll": machine}
    place_generated(files, copy)
    built = wheel_of(copy, tmp_path / "out")
    with zipfile.ZipFile(built) as archive:
        # The back end leaves them out, which is the case that all this is for.
        assert not set(files) & set(archive.namelist())
    whole, added = with_generated(built, files, folder=copy)
    assert added == tuple(sorted(files))
    target = tmp_path / "site"
    words = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(target), str(whole)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    assert (target / "toy" / "_rocm_init.py").read_bytes() == files["toy/_rocm_init.py"]
    assert (target / "toy" / "lib" / machine.name).read_bytes() == b"MZ"
    assert git(tree, "status", "--porcelain", "--ignored", "--untracked-files=all").count("_rocm_init") == 0
