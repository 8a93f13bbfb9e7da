"""A nox that cannot import this clone's build_tools becomes the wrapper: same arguments, same folder, its exit status."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[2]
NOX = Path(sys.executable).with_name("nox.exe" if os.name == "nt" else "nox")

STAND_IN = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "cwd": os.getcwd()}))
sys.exit(5)
"""


@pytest.fixture(name="clone")
def clone_with_a_stand_in(tmp_path: Path) -> Path:
    root = tmp_path / "a clone"
    root.mkdir()
    shutil.copy(CLONE / "noxfile.py", root)
    (root / "noxw.py").write_text(STAND_IN, encoding="utf-8")
    return root


def handed_over(cwd: Path, *arguments: str, **variables: str) -> dict[str, object]:
    """Run nox, and return what the wrapper's stand-in was given."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run([NOX, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_in_the_clone(clone: Path) -> None:
    words = ["-s", "build_pytorch", "--", "--pytorch-ref", "nightly", "a b"]
    assert handed_over(clone, *words) == {"arguments": words, "cwd": str(clone)}


def test_from_another_folder_with_the_noxfile_named(clone: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = ["-f", f"../{clone.name}/noxfile.py", "-l"]
    assert handed_over(elsewhere, *words) == {"arguments": words, "cwd": str(elsewhere)}


def test_where_another_clones_build_tools_would_be_imported(clone: Path) -> None:
    assert handed_over(clone, "-l", PYTHONPATH=str(CLONE))["arguments"] == ["-l"]


def test_where_build_tools_is_found_without_what_it_needs(clone: Path) -> None:
    (clone / "msgspec.py").write_text("raise ModuleNotFoundError", encoding="utf-8")
    (clone / "build_tools").mkdir()
    (clone / "build_tools" / "__init__.py").touch()
    assert handed_over(clone, "-l", PYTHONPATH=str(clone))["cwd"] == str(clone)


@pytest.mark.parametrize("named", [None, "/nowhere/uv"])
def test_a_uv_that_is_not_there_is_not_asked_for(tmp_path: Path, named: str | None) -> None:
    # Where this nox lies, uv may lie as well.
    without = {name: value for name, value in os.environ.items() if name != "UV"} | {"PATH": str(tmp_path)}
    without |= {"PYTHONPATH": str(CLONE)} | ({} if named is None else {"UV": named})
    script = "import sys; sys.modules['uv'] = None; sys.argv[0] = 'nox'; from nox.__main__ import main; main()"
    words = ["-f", str(CLONE / "noxfile.py"), "-s", "bench", "--", "--help"]
    done = subprocess.run([sys.executable, "-c", script, *words], env=without, capture_output=True, text=True, check=False)
    assert "Running session bench" in done.stderr
    assert "nox > uv" not in done.stderr


def test_at_home_nothing_is_handed_over() -> None:
    command = [str(NOX), "-f", str(CLONE / "noxfile.py"), "-l", "--json"]
    environment = os.environ | {"PYTHONPATH": str(CLONE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert {"lint", "types", "tests"} <= {session["session"] for session in json.loads(done.stdout)}
