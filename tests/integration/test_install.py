"""`pip install -e .` in an environment of a person's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

CLONE = Path(__file__).parents[2]

ASK = """
import importlib.metadata, json, build_tools
found = importlib.metadata.distribution("hipwright")
print(json.dumps({"file": build_tools.__file__, "version": found.version, "own": build_tools.__version__, "requires": found.requires}))
"""


def test_an_editable_install_imports_from_the_clone_and_asks_for_the_one_list(tmp_path: Path) -> None:
    copy = tmp_path / "clone"
    (copy / "build_tools").mkdir(parents=True)
    shutil.copy(CLONE / "pyproject.toml", copy)
    shutil.copy(CLONE / "build_tools" / "__init__.py", copy / "build_tools")
    (copy / "README.md").touch()
    venv.EnvBuilder(symlinks=os.name != "nt").create(tmp_path / "env")
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--no-deps",
        "--no-build-isolation",
        "-e",
        str(copy),
    ]
    packages = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(install, env=packages, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    answer = json.loads(subprocess.run([python, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    assert Path(answer["file"]) == copy / "build_tools" / "__init__.py"
    assert answer["version"] == answer["own"]
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))
    assert sorted(answer["requires"]) == sorted(project["project"]["dependencies"])
