"""``setup_venv`` refuses what would fail late, leak or be lost, and says the way out."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.setup_venv import setup_venv
from tests.integration.test_setup_venv import desk, refused, versions
from tests.support.packages import make_index, make_wheel, serve
from tests.support.stub_sdk import StubSdk
from tests.support.workplaces import memory_of


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A source with an SDK and a torch that goes with it and names no targets."""
    folder = StubSdk().write(tmp_path / "own")
    make_wheel(folder, "torch", "2.9.0+rocm7.10.0", requires=["rocm[libraries]==7.10.0"])
    return folder


def test_a_mixed_stack_is_refused_each_time_with_what_to_ask_for(own: Path, tmp_path: Path) -> None:
    make_wheel(own, "torchaudio", "2.9.0+rocm7.15.0")
    make_wheel(own, "torchaudio", "2.8.0+rocm7.10.0")
    first, error = (refused(desk(tmp_path, find_links=(str(own),), packages=("torch", "torchaudio"))) for _ in range(2))
    assert (first.code, first.message) == (error.code, error.message)
    assert error.code.name == "mixed-stack"
    assert "ROCm 7.15.0: torchaudio 2.9.0+rocm7.15.0" in error.message
    words = shlex.split((error.hint or "").partition("such as ")[2])
    assert words[0] == "--packages"
    document = setup_venv(desk(tmp_path, find_links=(str(own),), packages=tuple(words[1].split())))
    assert versions(document)["torchaudio"] == "2.8.0+rocm7.10.0"


def test_packages_of_two_builds_are_refused(own: Path, tmp_path: Path) -> None:
    for name, set_id in (("rocm-sdk-core", "a" * 64), ("rocm-sdk-libraries", "b" * 64)):
        mark = json.dumps({"schema": 1, "set_id": set_id, "version": "7.10.0", "distribution": name})
        make_wheel(own, name, "7.10.0", files={f"_{name.replace('-', '_')}/_set.json": mark})
    error = refused(desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries]",)))
    assert error.code.name == "mixed-stack"
    assert "of 2 builds" in error.message


def test_targets_bring_their_code_also_where_rocm_is_only_required(own: Path, tmp_path: Path) -> None:
    place = desk(tmp_path, find_links=(str(own),), packages=("torch",), gfx=("gfx942",))
    assert "rocm-sdk-device-gfx942" in versions(setup_venv(place))
    make_wheel(own, "triton", "3.5.0")
    error = refused(desk(tmp_path, find_links=(str(own),), packages=("triton",), gfx=("gfx942",)))
    assert error.code.name == "bad-option-value"
    assert "gfx942 is asked for, and nothing of triton has code" in error.message


@pytest.mark.parametrize("option", ["find_links", "rocm_index_url"])
def test_an_address_with_a_query_is_refused_and_not_shown(tmp_path: Path, option: str) -> None:
    place = "https://host.invalid/simple/?sig=SECRETTOKEN"
    named: dict[str, Any] = {option: (place,) if option == "find_links" else place}
    error = refused(desk(tmp_path, packages=("rocm",), **named))
    assert error.code.name == "bad-option-value"
    assert "SECRETTOKEN" not in f"{error.message}{error.hint}"


def test_a_file_at_an_address_with_a_query_is_not_recorded(own: Path, tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", sorted(own.glob("rocm*.whl")))
    for page in index.glob("*/index.html"):
        page.write_text(page.read_text().replace(".whl#", ".whl?sig=SECRETTOKEN#"))
    with serve(index) as server:
        error = refused(desk(tmp_path, index_url=f"{server.url}/", packages=("rocm",)))
    assert error.code.name == "source-unreachable"
    assert "SECRETTOKEN" not in f"{error.message}{error.hint}"
    assert not (tmp_path / "env").exists()


def test_a_folder_whose_name_nothing_can_hold_is_refused_at_once(own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a\nline"
    error = refused(desk(tmp_path, paths=(folder,), find_links=(str(own),), packages=("rocm",)))
    assert error.code.name == "bad-option-value"
    assert not folder.exists()


def test_what_came_from_nowhere_else_is_said_so(own: Path, tmp_path: Path) -> None:
    rocm = StubSdk().write_tree(tmp_path / "rocm")
    make_wheel(tmp_path / "base", "plain-tool", "1.0")
    machine = {"PIP_FIND_LINKS": str(tmp_path / "base"), "PIP_NO_INDEX": "1"}
    document = setup_venv(desk(tmp_path, machine=machine, rocm_path=str(rocm), packages=("plain-tool",)))
    assert document["environment"]["sources"] == "the base index"
    assert own.is_dir()


def test_packages_that_were_put_in_by_hand_are_not_lost(own: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"find_links": (str(own),), "packages": ("rocm",)}
    folder = setup_venv(desk(tmp_path, **asked))["environment"]["folder"]
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "six-1.16.dist-info").mkdir()
    (packages / "six-1.16.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: six\nVersion: 1.16\n")
    other = {**asked, "packages": ("rocm[libraries]",)}
    with pytest.raises(HipwrightError, match=r"six 1\.16 in it would be lost") as caught:
        setup_venv(desk(tmp_path, **other))
    assert "--clean" in (caught.value.hint or "")
    assert setup_venv(desk(tmp_path, **other, clean=True))["environment"]["folder"] == folder


def test_the_folder_beside_the_one_that_was_named_is_told(own: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "packages.json").write_text("{}")
    own.rename(packages / "dist")
    error = refused(desk(tmp_path, rocm_find_links=(str(packages),), packages=("rocm",)))
    assert error.code.name == "requirement-missing"
    assert f"--rocm-find-links {packages / 'dist'}" in (error.hint or "")
    assert "name a source" in (refused(desk(tmp_path, find_links=(str(packages / "dist"),), packages=("triton",))).hint or "")


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_folder_that_is_named_by_a_way_up_is_that_folder(own: Path, tmp_path: Path, installer: str) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    own.rename(tmp_path / "elsewhere" / "own")
    # Behind a link, `..` is the folder that the link leads into, and no folder beside the link.
    for place in ("elsewhere/deep/../own", "link/../own", (tmp_path / "elsewhere").as_uri() + "/deep/../own"):
        document = setup_venv(desk(tmp_path, installer=installer, find_links=(place,), packages=("rocm",), clean=True))
        assert versions(document)["rocm"] == "7.10.0"
        assert not [one for one in document["environment"]["packages"] if ".." in one["source"]]


@pytest.mark.parametrize("typed", ["rcom", "ROC", "torhc>=2", "rom-sdk-core"])
def test_a_slip_in_an_owned_name_installs_nobody_s_package(own: Path, tmp_path: Path, typed: str) -> None:
    name = typed.partition(">")[0]
    make_wheel(tmp_path / "base", name.lower(), "3.0")
    machine = {"PIP_FIND_LINKS": str(tmp_path / "base"), "PIP_NO_INDEX": "1"}
    error = refused(desk(tmp_path, machine=machine, find_links=(str(own),), packages=("rocm", typed)))
    assert error.code.name == "bad-option-value"
    assert "did you mean rocm" in error.message or "did you mean torch?" in error.message
    assert not (tmp_path / "env").exists()
    place = desk(tmp_path, machine=machine, find_links=(str(own),), packages=("rocm", f"{name}==3.0"))
    assert versions(setup_venv(place))[name.lower()] == "3.0"
    assert any(line.startswith(f"from the base index: {name}==3.0; ") for line in memory_of(place).said)


def test_what_is_not_for_this_interpreter_is_told(own: Path, tmp_path: Path) -> None:
    never = "rocm; python_version < '3'"
    error = refused(desk(tmp_path, find_links=(str(own),), packages=(never,)))
    assert error.code.name == "bad-option-value"
    assert "python_version" in error.message
    place = desk(tmp_path, find_links=(str(own),), packages=("rocm", "torch; python_version < '3'"))
    assert "torch" not in versions(setup_venv(place))
    assert any("left out" in line and "torch" in line for line in memory_of(place).said)


def test_a_query_of_the_base_index_goes_with_each_request_and_is_written_nowhere(own: Path, tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", [make_wheel(tmp_path / "base", "plain-tool", "1.0")])
    with serve(index, heads=True) as server:
        machine = {"PIP_INDEX_URL": f"{server.url}/?sig=HUSHHUSH", "PIP_CONFIG_FILE": os.devnull}
        asked: dict[str, Any] = {"machine": machine, "find_links": (str(own),), "packages": ("rocm", "plain-tool")}
        assert versions(setup_venv(desk(tmp_path, **asked)))["plain-tool"] == "1.0"
        assert "/plain-tool/?sig=HUSHHUSH" in server.seen
        error = refused(desk(tmp_path, installer="pip", **{**asked, "paths": (tmp_path / "other",)}))
        assert error.code.name == "source-unreachable"
        assert "--installer uv" in (error.hint or "")
        error = refused(desk(tmp_path, **{**asked, "packages": ("rocm", "plain-tool", "not-there")}))
        assert "HUSHHUSH" not in f"{error.message}{error.hint}{error.excerpt}"
    written = [path for top in ("work", "env") for path in (tmp_path / top).rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in written)
    assert not [path for path in written if b"HUSHHUSH" in path.read_bytes()]


def test_the_root_of_a_disk_is_no_environment(own: Path, tmp_path: Path) -> None:
    error = refused(desk(tmp_path, paths=(Path(tmp_path.anchor),), find_links=(str(own),), packages=("rocm",)))
    assert error.code.name == "foreign-folder"


def test_a_base_index_that_cannot_be_read_is_told_although_all_packages_lie_in_folders(own: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.conf"
    broken.write_text("[global\nx")
    machine = {"PIP_CONFIG_FILE": str(broken)}
    error = refused(desk(tmp_path, machine=machine, find_links=(str(own),), packages=("rocm",)))
    assert error.code.name == "bad-data-file"
    assert str(broken) in (error.excerpt or "")
    assert not (tmp_path / "env").exists()
