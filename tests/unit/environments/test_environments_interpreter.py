from __future__ import annotations

import ensurepip
import json
import os
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import packaging.markers
import packaging.tags
import pytest

from build_tools.environments.interpreter import find_interpreter, parse_wanted, supported_tags
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from tests.support.environments import PLATFORM, this_interpreter

DEFAULT = Path(sys.executable)


def runner(**environment: str) -> Runner:
    return Runner(environment={**base_environment(os.environ), "PATH": "/nowhere", "HOME": "/nowhere", **environment})


def fake(path: Path, version: str, *, threaded: bool = False, implementation: str = "cpython") -> Path:
    """Write a program that answers as an interpreter of a version does."""
    answer = {
        "path": str(path),
        "version": [int(part) for part in version.split(".")],
        "threaded": threaded,
        "markers": {**this_interpreter().markers, "implementation_name": implementation},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("3.12", "3.12"),
        ("3.12.4", "3.12.4"),
        ("3.13t", "3.13t"),
        ("cp312", "3.12"),
        ("python3.12", "3.12"),
        ("312", "3.12"),
        ("cp313t", "3.13t"),
        ("3", None),
        ("2.7", None),
        ("3.12t4", None),
        ("", None),
    ],
)
def test_versions_as_people_spell_them(text: str, meaning: str | None) -> None:
    found = parse_wanted(text)
    assert (str(found) if found else None) == meaning


def test_nothing_wanted_is_hipwright_s_own_without_its_environment() -> None:
    found = find_interpreter(None, default=DEFAULT, runner=runner(), platform=PLATFORM)
    assert found == this_interpreter()
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.python_tag == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert found.path.resolve() == Path(sys._base_executable).resolve()  # type: ignore[attr-defined]


def test_tags_and_markers_are_those_of_the_packaging_library() -> None:
    assert set(supported_tags(this_interpreter())) == set(packaging.tags.sys_tags())
    assert supported_tags(this_interpreter())[0] == next(packaging.tags.sys_tags())
    expected = packaging.markers.default_environment()
    assert dict(this_interpreter().markers) == dict(expected)
    assert sysconfig.get_config_var("Py_GIL_DISABLED") in {None, 0}


def test_the_pip_that_an_interpreter_brings_is_told_with_it(tmp_path: Path) -> None:
    own_pip = this_interpreter().own_pip
    assert own_pip is not None
    assert own_pip == Path(ensurepip.__file__).parent / "_bundled" / f"pip-{ensurepip.version()}-py3-none-any.whl"
    assert own_pip.is_file()
    without = fake(tmp_path / "python3.14", "3.14.0")
    assert find_interpreter(str(without), default=DEFAULT, runner=runner(), platform=PLATFORM).own_pip is None


def test_tags_of_a_free_threaded_interpreter_for_windows() -> None:
    windows = replace(this_interpreter(), version="3.13.1", python_tag="cp313t", platforms=("win_amd64",))
    tags = [str(tag) for tag in supported_tags(windows)]
    assert tags[0] == "cp313-cp313t-win_amd64"
    assert "cp313-cp313-win_amd64" not in tags
    assert "py3-none-any" in tags
    assert not any("abi3-" in tag and not tag.startswith("cp315") for tag in tags)


def test_own_version_is_found_without_a_search() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    own = runner()
    assert find_interpreter(version, default=DEFAULT, runner=own, platform=PLATFORM) == this_interpreter()
    assert len(own.record) == 1


def test_the_path_the_folders_and_a_full_path(tmp_path: Path) -> None:
    on_path = fake(tmp_path / "bin" / "python3.14", "3.14.0")
    fake(tmp_path / "home" / ".pyenv" / "versions" / "3.15.9" / "bin" / "python3", "3.15.9")
    newest = fake(tmp_path / "home" / ".pyenv" / "versions" / "3.15.10" / "bin" / "python3", "3.15.10")
    threaded = fake(
        tmp_path / "home" / ".local/share/uv/python/cpython-3.15.1+freethreaded-linux" / "bin" / "python3",
        "3.15.1",
        threaded=True,
    )
    own = runner(PATH=f"relative{os.pathsep}{tmp_path / 'bin'}", HOME=str(tmp_path / "home"))
    for wanted, path in (
        ("3.14", on_path),
        ("3.15", newest),
        ("3.15.9", newest.parents[2] / "3.15.9/bin/python3"),
        ("3.15t", threaded),
    ):
        assert find_interpreter(wanted, default=DEFAULT, runner=own, platform=PLATFORM).path == path
    assert find_interpreter(str(on_path), default=DEFAULT, runner=own, platform=PLATFORM).path == on_path


def test_what_is_missing_is_told_with_what_there_is(tmp_path: Path) -> None:
    fake(tmp_path / "bin" / "python3.14", "3.14.0")
    fake(tmp_path / "bin" / "python3.15", "3.15.0", implementation="pypy")
    broken = tmp_path / "bin" / "python3.16"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    own = runner(PATH=str(tmp_path / "bin"))
    for wanted in ("3.15", "3.16", "3.14t", "3.14.1"):
        with pytest.raises(HipwrightError, match=rf"no Python {wanted}.*3\.14\.0 \({tmp_path}/bin/python3\.14\)") as caught:
            find_interpreter(wanted, default=DEFAULT, runner=own, platform=PLATFORM)
        assert caught.value.code.name == "no-interpreter"
    for path in (broken, tmp_path / "bin" / "python3.15", tmp_path / "gone"):
        with pytest.raises(HipwrightError, match="no working CPython") as caught:
            find_interpreter(str(path), default=DEFAULT, runner=own, platform=PLATFORM)
        assert caught.value.code.name == "no-interpreter"


def test_what_is_no_version_or_too_old_is_told() -> None:
    for wanted, words in (("three", "no Python version"), ("3.9", "too old")):
        with pytest.raises(HipwrightError, match=words) as caught:
            find_interpreter(wanted, default=DEFAULT, runner=runner(), platform=PLATFORM)
        assert caught.value.code.name == "bad-option-value"
