from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin, Project, Tests, Version
from build_tools.config.wheel_demands import Wheel
from build_tools.environments.interpreter import Interpreter
from build_tools.environments.network import Network
from build_tools.errors import HipwrightError
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.lock import LockedFile, LockedPatches, LockedProject, LockedRocm, LockedSources, Requested
from build_tools.stores.local import FolderStore
from build_tools.testing.install import environment_under_test, published_files, runtime_files
from build_tools.types import CommitId, Sha256, TreeId
from tests.support.publishing import write_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.snapshot import PublishedIndex


def judged(path: Path) -> JudgedWheel:
    return JudgedWheel(filename=path.name, sha256=digest.of_file(path))


def locked_file(distribution: str) -> LockedFile:
    filename = f"{distribution.replace('-', '_')}-7.10.0-py3-none-any.whl"
    return LockedFile(
        distribution=distribution, version="7.10.0", filename=filename, url=f"file:///x/{filename}", sha256=digest.of_bytes(b"")
    )


def locked(*rocm: str, owned: tuple[str, ...] = ()) -> LockedProject:
    sources = LockedSources(
        origin="o", ref="main", reason="asked for", commit=CommitId("0" * 40), tree=TreeId("0" * 40), base_version="1.0"
    )
    files = tuple(locked_file(name) for name in rocm)
    return LockedProject(
        name="demo",
        requested=Requested(),
        recipe=Sha256("0" * 64),
        sources=sources,
        patches=LockedPatches(line=None, reason="none", digest=digest.of_bytes(b"")),
        hipify=None,
        rocm=LockedRocm(source="s", version="7.10.0", files=files) if files else None,
        owned=tuple(locked_file(name) for name in owned),
    )


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "built")[0]


@pytest.fixture
def published(tmp_path: Path, wheel: Path) -> PublishedIndex:
    (tmp_path / "store").mkdir()
    pair = write_wheel(wheel.parent)
    return publish_wheels([pair], store=FolderStore(tmp_path / "store"), prefix="run", replace=False, say=lambda _line: None)


def test_a_wheel_comes_from_its_index_with_its_hash(published: PublishedIndex, wheel: Path, tmp_path: Path) -> None:
    (file,) = published_files(published, [judged(wheel)], network=Network())
    assert (file.distribution, file.version, file.filename) == ("demo", "1.0+rocm7.1", wheel.name)
    assert file.sha256 == digest.of_file(wheel)
    assert file.url.startswith((tmp_path / "store").as_uri())


def test_a_wheel_that_is_only_in_the_work_tree_is_not_taken(published: PublishedIndex, tmp_path: Path) -> None:
    for name, version in (("demo", "2.0"), ("other", "1.0")):
        path, _ = write_wheel(tmp_path / "built", name, version)
        with pytest.raises(HipwrightError) as caught:
            published_files(published, [judged(path)], network=Network())
        assert caught.value.code.name == "nothing-published"
        assert path.name in caught.value.message


def test_other_bytes_in_the_index_than_were_judged(published: PublishedIndex, wheel: Path) -> None:
    other = msgspec.structs.replace(judged(wheel), sha256=digest.of_bytes(b"another build"))
    with pytest.raises(HipwrightError) as caught:
        published_files(published, [other], network=Network())
    assert caught.value.code.name == "nothing-published"
    assert digest.of_file(wheel) in caught.value.message


def test_no_wheels_is_an_error(published: PublishedIndex) -> None:
    with pytest.raises(HipwrightError) as caught:
        published_files(published, [], network=Network())
    assert caught.value.code.name == "no-wheel"


@pytest.mark.parametrize(
    ("pins", "names"),
    [
        pytest.param(["rocm[libraries]==7.10.0"], ["rocm", "rocm-sdk-core", "torch"], id="runtime"),
        pytest.param(
            ["rocm[libraries,devel]==7.10.0"], ["rocm", "rocm-sdk-core", "rocm-sdk-devel", "torch"], id="asks-for-devel"
        ),
        pytest.param([], ["rocm", "rocm-sdk-core", "torch"], id="no-pins"),
    ],
)
def test_what_only_builds_need_stays_away(pins: list[str], names: list[str]) -> None:
    files = runtime_files(locked("rocm", "rocm-sdk-core", "rocm-sdk-devel", owned=("torch",)), pins)
    assert [file.distribution for file in files] == names


def test_a_project_without_rocm_has_its_owned_packages_alone() -> None:
    assert [file.distribution for file in runtime_files(locked(owned=("torch",)), [])] == ["torch"]


def test_the_environment_holds_published_and_locked_files_and_the_project_s_test_requirements(
    published: PublishedIndex, wheel: Path, tmp_path: Path
) -> None:
    project = Project(
        schema=1,
        name="demo",
        summary="a demo",
        origin=EmbeddedOrigin(folder="sources"),
        version=Version(fixed="1.0"),
        sdk="rocm",
        wheel=Wheel(distribution="demo"),
        tests=Tests(requires=("numpy>=2",)),
    )
    request = environment_under_test(
        project,
        published=published,
        wheels=[judged(wheel)],
        pins=["rocm[libraries]==7.10.0"],
        locked=locked("rocm", "rocm-sdk-core"),
        interpreter=Interpreter(path=tmp_path / "python", version="3.12.1", python_tag="cp312", markers={}, platforms=()),
        requirements=tmp_path / "smoke-env.txt",
        network=Network(),
    )
    assert [file.distribution for file in request.owned] == ["demo", "rocm", "rocm-sdk-core"]
    assert request.pins == tmp_path / "smoke-env.txt"
    assert request.requires == ("numpy>=2",)
