"""Source distributions of owned packages, and what installs; with the real pip and the real uv."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError
from tests.support.environments import Place, base_of, lock_from, marks_in, names_in, pin_file, place_with, this_interpreter
from tests.support.packages import make_sdist, make_wheel

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=["pip", "uv"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_with(request.param, tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A source of owned packages."""
    make_wheel(tmp_path / "own", "rocm", "7.10.0", mark="own")
    return tmp_path / "own"


BACKEND = (
    "import os, sys, zipfile\n"
    "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
    "    name = 'rocm-7.10.0-py3-none-any.whl'\n"
    "    with zipfile.ZipFile(os.path.join(folder, name), 'w') as z:\n"
    "        z.writestr('rocm.py', 'MARK = %r' % MARK)\n"
    "        z.writestr('rocm-7.10.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: rocm\\nVersion: 7.10.0\\n')\n"
    "        z.writestr('rocm-7.10.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
    "        z.writestr('rocm-7.10.0.dist-info/RECORD', '')\n"
    "    return name\n"
)


def sdist(folder: Path, *, requires: str = "[]", backend: str = "", mark: str = "own") -> None:
    """Write a source distribution of ``rocm`` whose back end lies in it."""
    project = f'[build-system]\nrequires = {requires}\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"pyproject.toml": project, "backend.py": f"{backend}MARK = {mark!r}\n{BACKEND}"}
    make_sdist(folder, "rocm", "7.10.0", files=files)


def test_a_source_distribution_needs_no_index_and_is_never_taken_from_a_cache(place: Place, tmp_path: Path) -> None:
    own = tmp_path / "own"
    for number, mark in enumerate(("first", "second")):
        sdist(own, mark=mark)
        files = lock_from(place, own, "rocm")
        assert files[0].filename == "rocm-7.10.0.tar.gz"
        record = place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=files), base_of())
        assert marks_in(record.folder, "rocm") == [mark], number
        assert record.packages[0].sha256 == files[0].sha256


def test_what_a_source_distribution_is_built_with_comes_from_the_base_index_and_does_not_stay(
    place: Place, tmp_path: Path
) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    sdist(own, requires='["plain-backend>=2"]', backend="import plain_backend\n")
    make_wheel(own, "plain-backend", "9.0", mark="own")
    make_wheel(base, "plain-backend", "2.0", requires=["plain-dep"])
    make_wheel(base, "plain-dep", "1.0")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    record = place.make(request, base_of(base))
    assert names_in(record) == {"rocm": "7.10.0"}
    assert any("plain-backend>=2, from the base index" in line for line in place.said)


def test_the_pinned_build_tools_are_taken_where_a_source_distribution_needs_them(place: Place, tmp_path: Path) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    sdist(own, requires='["plain-backend"]', backend="import plain_backend\nassert plain_backend.MARK == 'pinned'\n")
    make_wheel(base, "plain-backend", "3.0", mark="newest")
    elsewhere = make_wheel(tmp_path / "elsewhere", "not-needed", "1.0")
    pins = pin_file(tmp_path / "pins.txt", [make_wheel(base, "plain-backend", "2.0", mark="pinned"), elsewhere])
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), build_pins=pins)
    assert names_in(place.make(request, base_of(base))) == {"rocm": "7.10.0"}


@pytest.mark.parametrize(("asked", "mark"), [("plain-backend", "newest"), ("plain-backend<3", "older")])
def test_a_base_index_need_not_have_the_pinned_build_tools(place: Place, asked: str, mark: str, tmp_path: Path) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    sdist(own, requires=f'["{asked}"]', backend=f"import plain_backend\nassert plain_backend.MARK == {mark!r}\n")
    make_wheel(base, "plain-backend", "3.0", mark="newest")
    make_wheel(base, "plain-backend", "1.0", mark="older")
    elsewhere = [make_wheel(tmp_path / "elsewhere", "plain-backend", "2.0", mark="pinned")]
    pins = pin_file(tmp_path / "pins.txt", elsewhere)
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), build_pins=pins)
    assert names_in(place.make(request, base_of(base))) == {"rocm": "7.10.0"}


def test_a_pinned_build_tool_that_is_not_allowed_is_not_taken(place: Place, tmp_path: Path) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    sdist(own, requires='["plain-backend<2"]', backend="import plain_backend\nassert plain_backend.MARK == 'older'\n")
    make_wheel(base, "plain-backend", "1.0", mark="older")
    pins = pin_file(tmp_path / "pins.txt", [make_wheel(base, "plain-backend", "2.0", mark="pinned")])
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), build_pins=pins)
    assert names_in(place.make(request, base_of(base))) == {"rocm": "7.10.0"}
    assert not re.search(r"plain[-_]backend[-=]+2\.0", (place.folder / "install.log").read_text())


def test_a_source_distribution_that_cannot_be_built_here_is_told(place: Place, own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sdists"
    sdist(folder, requires='["some-backend-that-is-nowhere"]')
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, folder, "rocm"))
    with pytest.raises(HipwrightError) as caught:
        place.make(request, base_of(own))
    assert caught.value.code.name == "install-failed"
    assert "what rocm-7.10.0.tar.gz is built with cannot be installed from the base index" in caught.value.message
    assert "show-config" in (caught.value.hint or "")
    assert "some-backend-that-is-nowhere" in (place.folder / "install.log").read_text()
    # An owned build requirement is never asked of the base index.
    sdist(folder, requires='["triton"]')
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, folder, "rocm"))
    make_wheel(tmp_path / "base", "triton", "99.0")
    with pytest.raises(HipwrightError, match="triton") as caught:
        place.make(request, base_of(tmp_path / "base"))
    assert caught.value.code.name == "requirement-missing"


def test_the_interpreter_s_own_pip_can_be_put_in(place: Place, own: Path) -> None:
    make_wheel(own.parent / "hostile", "pip", "99.0")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), with_pip=True)
    record = place.make(request, base_of(own.parent / "hostile"))
    (pip,) = [package for package in record.packages if package.name == "pip"]
    assert pip.version != "99.0"
    assert pip.source.startswith("Python 3.")
    assert pip.sha256
    shown = subprocess.run([Path(record.folder, "bin", "pip"), "--version"], check=True, capture_output=True, text=True)
    assert record.folder in shown.stdout


@pytest.mark.parametrize("program", ["pip", "uv"])
def test_what_installs_can_be_asked_for(program: Literal["pip", "uv"], own: Path, tmp_path: Path) -> None:
    with_uv, without = place_with("uv", tmp_path / "with"), place_with("pip", tmp_path / "without")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(with_uv, own, "rocm"), installer=program)
    with_uv.make(request, base_of())
    assert any(line.endswith(f"with {program}") for line in with_uv.said)
    if program == "pip":
        without.make(request, base_of())
        return
    with pytest.raises(HipwrightError, match="none on the path") as caught:
        without.make(request, base_of())
    assert caught.value.code.name == "missing-tool"
