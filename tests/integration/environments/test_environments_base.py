"""What the base index may not do: run code of a package that nobody locked; with the real pip and the real uv."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError
from tests.support.environments import Place, base_of, lock_from, marks_in, names_in, place_with, this_interpreter
from tests.support.packages import make_index, make_sdist, make_wheel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=["pip", "uv"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_with(request.param, tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The file that code of a foreign package writes as soon as any of it runs."""
    return tmp_path / "trace"


BUILDS = """
import os, zipfile
TRACE, NAME, VERSION = %r, %r, %r
open(TRACE, "a").write(NAME + "\\n")
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = f"{NAME.replace('-', '_')}-{VERSION}-py3-none-any.whl"
    info = f"{NAME.replace('-', '_')}-{VERSION}.dist-info"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr(NAME.replace("-", "_") + ".py", "MARK = 'built'\\n")
        z.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {NAME}\\nVersion: {VERSION}\\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        z.writestr(f"{info}/RECORD", "")
    return name
"""
SETUP = "open(%r, 'a').write('setup.py')\nfrom setuptools import setup\nsetup(name=%r, version=%r)\n"


def tracing_sdist(
    folder: Path, name: str, version: str, trace: Path, *, requires: Sequence[str] = (), builds: str | None = None
) -> Path:
    """Write a source distribution whose back end, and whose ``setup.py``, leave a trace; it may build another package's wheel."""
    needs = ", ".join(f'"{one}"' for one in requires)
    project = f'[build-system]\nrequires = [{needs}]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    backend = BUILDS % (str(trace), builds or name, version)
    files = {"pyproject.toml": project, "backend.py": backend, "setup.py": SETUP % (str(trace), name, version)}
    return make_sdist(folder, name, version, files=files)


def legacy_sdist(folder: Path, name: str, version: str, trace: Path) -> Path:
    return make_sdist(folder, name, version, files={"setup.py": SETUP % (str(trace), name, version)})


def refused(place: Place, base: Path, trace: Path, *, requires: tuple[str, ...], index: bool = False) -> HipwrightError:
    """Ask for packages that bring in foreign code, and return the refusal, after proof that nothing ran and nothing is left."""
    where = (
        base_of(index=make_index(base.parent / "index", sorted(path for path in base.iterdir() if path.is_file())))
        if index
        else base_of(base)
    )
    with pytest.raises(HipwrightError) as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), requires=requires), where)
    assert not trace.exists(), "code of a package that nobody locked has run"
    assert [path for path in (place.folder / "envs").glob("*") if path.is_dir()] == []
    return caught.value


@pytest.mark.parametrize("name", ["torch", "rocm-sdk-evil"])
@pytest.mark.parametrize(("sdist", "index"), [(tracing_sdist, False), (legacy_sdist, True)])
def test_a_source_distribution_of_an_owned_name_is_never_run(
    place: Place, tmp_path: Path, trace: Path, name: str, sdist: object, *, index: bool
) -> None:
    base = tmp_path / "base"
    make_wheel(base, "foo", "1.0", requires=["foo2"])
    make_wheel(base, "foo2", "1.0", requires=[name])
    sdist(base, name, "99.0", trace)  # type: ignore[operator]
    error = refused(place, base, trace, requires=("foo",), index=index)
    assert error.code.name == "owned-name-leak"
    assert name in error.message
    assert "name a source" in (error.hint or "")


@pytest.mark.parametrize("name", ["torch", "rocm-sdk-evil"])
def test_a_wheel_of_an_owned_name_is_refused_before_anything_is_installed(
    place: Place, tmp_path: Path, trace: Path, name: str
) -> None:
    base = tmp_path / "base"
    make_wheel(base, "foo2", "1.0", requires=[name])
    make_wheel(base, name, "99.0")
    error = refused(place, base, trace, requires=("foo2",))
    assert error.code.name == "owned-name-leak"
    assert "required by foo2" in error.message
    assert "Nothing of it was installed" in error.message
    log = (place.folder / "install.log").read_text()
    assert "Successfully installed" not in log
    assert "Installed " not in log


@pytest.mark.parametrize("name", ["rocm-sdk-evil", "plain"])
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_a_package_names_by_its_place_is_neither_run_nor_taken(
    place: Place, tmp_path: Path, trace: Path, name: str, kind: str
) -> None:
    base, far = tmp_path / "base", tmp_path / "far"
    evil = make_wheel(far, name, "99.0") if kind == "wheel" else tracing_sdist(far, name, "99.0", trace)
    make_wheel(base, "foo2", "1.0", requires=[f"{name} @ {evil.as_uri()}"])
    assert refused(place, base, trace, requires=("foo2",)).code.name in {"owned-name-leak", "install-failed"}


def test_an_owned_file_is_not_replaced_by_one_that_a_package_names(place: Place, tmp_path: Path, trace: Path) -> None:
    name = "rocm-sdk-evil"
    base, own = tmp_path / "base", tmp_path / "own"
    make_wheel(own, name, "1.0", mark="own")
    evil = tracing_sdist(tmp_path / "far", name, "1.0", trace)
    make_wheel(base, "foo2", "1.0", requires=[f"{name} @ {evil.as_uri()}"])
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, name), requires=("foo2",))
    with pytest.raises(HipwrightError) as caught:
        place.make(request, base_of(base))
    assert caught.value.code.name == "install-failed"
    assert not trace.exists()


def test_a_package_without_wheels_is_built_and_its_source_is_recorded(place: Place, tmp_path: Path, trace: Path) -> None:
    base = tmp_path / "base"
    make_wheel(base, "foo", "1.0", requires=["old-thing"])
    make_wheel(base, "plain-tool", "1.0")
    source = tracing_sdist(base, "old-thing", "2.0", trace, requires=["plain-tool"])
    tracing_sdist(base, "old-thing", "1.0", trace)
    record = place.make(EnvironmentRequest(interpreter=this_interpreter(), requires=("foo",)), base_of(base))
    assert names_in(record) == {"foo": "1.0", "old-thing": "2.0"}
    assert marks_in(record.folder, "old_thing") == ["built"]
    assert {one.name: one.sha256 for one in record.packages}["old-thing"] == digest.of_file(source)


def test_a_version_without_wheels_is_built_though_others_have_some(place: Place, tmp_path: Path, trace: Path) -> None:
    base = tmp_path / "base"
    make_wheel(base, "old-thing", "1.0", mark="wheel")
    make_wheel(base, "other", "1.0", requires=["more-thing>=2,<3"])
    make_wheel(base, "more-thing", "1.0", mark="wheel")
    for name, version in (("old-thing", "2.0"), ("old-thing", "3.0"), ("more-thing", "2.5"), ("more-thing", "3.0")):
        tracing_sdist(base, name, version, trace)
    request = EnvironmentRequest(interpreter=this_interpreter(), requires=("old-thing==2.0", "other"))
    record = place.make(request, base_of(base))
    assert names_in(record) == {"old-thing": "2.0", "more-thing": "2.5", "other": "1.0"}
    newest = place.make(EnvironmentRequest(interpreter=this_interpreter(), requires=("old-thing",)), base_of(base))
    assert marks_in(newest.folder, "old_thing") == ["wheel"]


@pytest.mark.parametrize("needs", ["torch", "rocm-sdk-evil", "foo2"])
def test_what_builds_a_package_may_not_be_owned_either(place: Place, tmp_path: Path, trace: Path, needs: str) -> None:
    base = tmp_path / "base"
    tracing_sdist(base, "old-thing", "2.0", trace, requires=[needs])
    make_wheel(base, "foo2", "1.0", requires=["torch"])
    make_wheel(base, "torch", "99.0")
    make_wheel(base, "rocm-sdk-evil", "99.0")
    error = refused(place, base, trace, requires=("old-thing",))
    assert error.code.name in {"owned-name-leak", "requirement-missing"}
    assert "torch" in error.message or needs in error.message


def test_a_source_distribution_cannot_build_the_wheel_of_an_owned_name(place: Place, tmp_path: Path, trace: Path) -> None:
    base = tmp_path / "base"
    make_wheel(base, "foo", "1.0", requires=["old-thing"])
    tracing_sdist(base, "old-thing", "2.0", trace, builds="rocm-sdk-evil")
    with pytest.raises(HipwrightError) as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), requires=("foo",)), base_of(base))
    assert caught.value.code.name == "install-failed"
    # pip itself refuses it, or its wheel is looked at.
    assert "rocm" in caught.value.message + (caught.value.excerpt or "") + (place.folder / "install.log").read_text()


@pytest.mark.parametrize("listed", [True, False])
def test_a_package_of_any_name_cannot_replace_an_owned_package_s_files(place: Place, tmp_path: Path, *, listed: bool) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    make_wheel(own, "rocm", "1.0", files={"rocm_sdk/__init__.py": "MARK = 'own'\n"})
    make_wheel(base, "foo", "1.0", files={"rocm_sdk/__init__.py": "MARK = 'foo'\n"})
    if not listed:
        leave_out(base / "foo-1.0-py3-none-any.whl", "rocm_sdk/__init__.py")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), requires=("rocm", "foo"))
    with pytest.raises(HipwrightError, match=r"rocm_sdk/__init__\.py") as caught:
        place.make(request, base_of(base))
    assert caught.value.code.name == "owned-name-leak"
    assert caught.value.message.startswith("foo put" if listed else ("foo put", "a package of the base index put"))


@pytest.mark.parametrize(
    ("file", "owner"),
    [("rocm_sdk/extra.py", "rocm-sdk"), ("_rocm_sdk_core/bin/tool", "rocm-sdk-core"), ("torch/__init__.py", "torch")],
)
def test_a_package_of_any_name_puts_nothing_where_an_owned_one_belongs(
    place: Place, tmp_path: Path, file: str, owner: str
) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    make_wheel(own, "rocm", "1.0", files={"rocm_sdk/__init__.py": "MARK = 'own'\n"})
    make_wheel(base, "foo", "1.0", files={file: "MARK = 'foo'\n", "torchmetrics/__init__.py": ""})
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), requires=("rocm", "foo"))
    with pytest.raises(HipwrightError) as caught:
        place.make(request, base_of(base))
    assert caught.value.code.name == "owned-name-leak"
    assert caught.value.message.startswith(f"foo holds files of {owner}, ")


def leave_out(wheel: Path, member: str) -> None:
    """Let a wheel's ``RECORD`` not list one of its files."""
    with zipfile.ZipFile(wheel) as old:
        files = {name: old.read(name) for name in old.namelist()}
    (record,) = [name for name in files if name.endswith("/RECORD")]
    kept = [line for line in files[record].decode().splitlines() if not line.startswith(member)]
    files[record] = "\n".join([*kept, ""]).encode()
    with zipfile.ZipFile(wheel, "w") as fresh:
        for name, data in files.items():
            fresh.writestr(name, data)
