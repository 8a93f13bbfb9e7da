"""What goes into the deps index: chosen for Pythons and platforms that are on no machine here, never an owned name, never less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from build_tools import digest
from build_tools.config.deps_index import DepsPlatform
from build_tools.environments.base_listing import base_listing
from build_tools.environments.interpreter import supported_tags
from build_tools.errors import HipwrightError
from build_tools.publish.deps import choose_deps, plan_deps, served
from build_tools.receipts.lock import LockedFile
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.types import Platform, Sha256
from tests.support.environments import base_of
from tests.support.packages import make_index, make_sdist, make_wheel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LINUX = DepsPlatform(name=Platform.LINUX, machine="x86_64", glibc="2.28")
WINDOWS = DepsPlatform(name=Platform.WINDOWS, machine="AMD64")


def chosen(
    folder: Path, *requirements: str, pythons: Sequence[str] = ("3.12",), platforms: Sequence[DepsPlatform] = (LINUX,)
) -> list[str]:
    offers = base_listing(base_of(folder / "files"))
    targets = [served(python, platform) for platform in platforms for python in pythons]
    files = choose_deps(requirements, targets, offers=offers, cache=folder / "cache", say=lambda _line: None)
    return [file.filename for file in files]


def row(filename: str, sha256: str = "0" * 64) -> IndexedFile:
    project, version = filename.split("-")[:2]
    return IndexedFile(
        project=project, filename=filename, key=f"dist/{filename}", version=version, sha256=Sha256(sha256), size=1, uploaded=""
    )


def locked(filename: str, sha256: str = "0" * 64) -> LockedFile:
    project, version = filename.split("-")[:2]
    return LockedFile(
        distribution=project, version=version, filename=filename, url=f"https://example.org/{filename}", sha256=Sha256(sha256)
    )


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ('sys_platform == "win32"', {"windows"}),
        ('sys_platform == "linux" and platform_machine == "x86_64"', {"linux"}),
        ('os_name == "nt"', {"windows"}),
        ('platform_system == "Linux"', {"linux"}),
        ('platform_machine == "AMD64"', {"windows"}),
        ('python_version < "3.10"', set()),
        ('python_version >= "3.10"', {"linux", "windows"}),
        ('python_full_version < "3.10.1"', {"linux", "windows"}),
        ('implementation_name == "cpython" and platform_python_implementation == "CPython"', {"linux", "windows"}),
    ],
)
def test_markers_see_the_python_and_platform_that_is_served(marker: str, expected: set[str]) -> None:
    condition = Requirement(f"x ; {marker}").marker
    assert condition is not None
    targets = [served("3.10", platform) for platform in (LINUX, WINDOWS)]
    assert {target.platform.value for target in targets if condition.evaluate(dict(target.interpreter.markers))} == expected


def test_tags_are_those_of_the_oldest_c_library_that_is_served_and_of_older_ones() -> None:
    tags = [str(tag) for tag in supported_tags(served("3.12", LINUX).interpreter)]
    assert tags[0] == "cp312-cp312-manylinux_2_28_x86_64"
    assert {"cp312-abi3-manylinux2014_x86_64", "cp38-abi3-manylinux1_x86_64", "cp312-cp312-linux_x86_64", "py3-none-any"} <= set(
        tags
    )
    assert not [tag for tag in tags if "2_29" in tag or "musl" in tag or "win" in tag]
    assert tags.index("cp312-cp312-manylinux_2_17_x86_64") < tags.index("cp312-cp312-manylinux_2_5_x86_64")
    windows = [str(tag) for tag in supported_tags(served("3.13t", WINDOWS).interpreter)]
    assert windows[0] == "cp313-cp313t-win_amd64"


@pytest.mark.parametrize("text", ["", "latest", "3", "/usr/bin/python3", "2.7"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        served(text, LINUX)
    assert caught.value.code.name == "bad-option-value"


def test_requirements_are_followed_for_each_python_and_platform(tmp_path: Path) -> None:
    files = tmp_path / "files"
    make_wheel(files, "demo", "1.0", requires=["plain<3", 'windows-only ; sys_platform == "win32"', "tagged"])
    for version in ("2.9", "3.0"):
        make_wheel(files, "plain", version)
    make_wheel(files, "windows-only", "1.0")
    make_wheel(files, "never-asked-for", "1.0")
    for tag in (
        "cp311-cp311-manylinux_2_17_x86_64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-cp312-win_amd64",
        "cp311-cp311-win_amd64",
    ):
        make_wheel(files, "tagged", "1.0", tag=tag)
    make_wheel(files, "tagged", "1.0", tag="cp312-cp312-manylinux_2_35_x86_64")
    assert chosen(tmp_path, "demo") == [
        "demo-1.0-py3-none-any.whl",
        "plain-2.9-py3-none-any.whl",
        "tagged-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    ]
    assert chosen(tmp_path, "demo", pythons=["3.11", "3.12"], platforms=[LINUX, WINDOWS]) == [
        "demo-1.0-py3-none-any.whl",
        "plain-2.9-py3-none-any.whl",
        "tagged-1.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        "tagged-1.0-cp311-cp311-win_amd64.whl",
        "tagged-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "tagged-1.0-cp312-cp312-win_amd64.whl",
        "windows_only-1.0-py3-none-any.whl",
    ]


def test_a_newer_version_that_has_no_wheel_is_not_taken(tmp_path: Path) -> None:
    make_wheel(tmp_path / "files", "demo", "1.0")
    make_sdist(tmp_path / "files", "demo", "2.0", files={})
    assert chosen(tmp_path, "demo") == ["demo-1.0-py3-none-any.whl"]


def test_an_owned_name_that_something_requires_is_left_out(tmp_path: Path) -> None:
    files = tmp_path / "files"
    make_wheel(files, "demo", "1.0", requires=["torch", "rocm-sdk-core==7.1", "plain"])
    for name in ("torch", "rocm-sdk-core", "plain"):
        make_wheel(files, name, "99.0")
    assert chosen(tmp_path, "demo") == ["demo-1.0-py3-none-any.whl", "plain-99.0-py3-none-any.whl"]


@pytest.mark.parametrize("text", ["torch", "ROCm", "rocm_sdk.core>=7", "amd-torch-device-gfx942"])
def test_an_owned_name_that_is_asked_for_is_refused(tmp_path: Path, text: str) -> None:
    make_wheel(tmp_path / "files", "demo", "1.0")
    with pytest.raises(HipwrightError) as caught:
        chosen(tmp_path, "demo", text)
    assert caught.value.code.name == "owned-name-leak"


def test_a_requirement_on_a_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        chosen(tmp_path, "demo @ https://example.org/demo-1.0-py3-none-any.whl")
    assert caught.value.code.name == "bad-option-value"


def test_all_that_is_missing_is_named_with_the_pythons_that_miss_it(tmp_path: Path) -> None:
    files = tmp_path / "files"
    make_wheel(files, "tagged", "1.0", tag="cp312-cp312-manylinux_2_28_x86_64")
    make_wheel(files, "demo", "1.0", requires=["absent"])
    with pytest.raises(HipwrightError) as caught:
        chosen(tmp_path, "demo", "tagged", pythons=["3.12", "3.13"])
    assert caught.value.code.name == "requirement-missing"
    assert "absent" in caught.value.message
    assert "Python 3.13 on linux" in caught.value.message
    assert "tagged" in caught.value.message


def test_all_places_of_the_base_index_count_alike(tmp_path: Path) -> None:
    make_wheel(tmp_path / "files", "demo", "1.0", requires=["plain"])
    first = make_index(tmp_path / "first", [make_wheel(tmp_path / "made", "plain", "1.0")])
    second = make_index(tmp_path / "second", [make_wheel(tmp_path / "made", "plain", "2.0")])
    offers = base_listing(base_of(tmp_path / "files", index=first, extra=[second]))
    files = choose_deps(["demo"], [served("3.12", LINUX)], offers=offers, cache=tmp_path / "cache", say=lambda _line: None)
    assert [(file.distribution, file.version) for file in files] == [("demo", "1.0"), ("plain", "2.0")]
    assert files[0].sha256 == digest.of_file(tmp_path / "files" / "demo-1.0-py3-none-any.whl")


def test_a_place_that_cannot_be_read_is_not_passed_by(tmp_path: Path) -> None:
    make_wheel(tmp_path / "files", "demo", "1.0")
    offers = base_listing(base_of(tmp_path / "files", index=tmp_path / "gone"))
    with pytest.raises(HipwrightError) as caught:
        choose_deps(["demo"], [served("3.12", LINUX)], offers=offers, cache=tmp_path / "cache", say=lambda _line: None)
    assert caught.value.code.name == "source-unreachable"


def test_a_plan_parts_what_is_new_from_what_is_there() -> None:
    there = Snapshot(files=(row("demo-1.0-py3-none-any.whl"), row("old-1.0-py3-none-any.whl")))
    plan = plan_deps([locked("demo-1.0-py3-none-any.whl"), locked("new-1.0-py3-none-any.whl")], there)
    assert [file.filename for file in plan.added] == ["new-1.0-py3-none-any.whl"]
    assert [file.filename for file in plan.kept] == ["demo-1.0-py3-none-any.whl"]


def test_other_bytes_under_a_published_name_are_refused() -> None:
    with pytest.raises(HipwrightError, match=r"demo-1\.0") as caught:
        plan_deps([locked("demo-1.0-py3-none-any.whl", "1" * 64)], Snapshot(files=(row("demo-1.0-py3-none-any.whl"),)))
    assert caught.value.code.name == "name-taken"


def test_an_index_that_holds_an_owned_name_is_not_gone_on_with() -> None:
    with pytest.raises(HipwrightError, match="torch in the deps index") as caught:
        plan_deps([], Snapshot(files=(row("torch-2.0-py3-none-any.whl"),)))
    assert caught.value.code.name == "owned-name-leak"
