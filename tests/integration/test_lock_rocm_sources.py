"""Where a project's ROCm is locked from: a run's outputs, a folder of the machine, an index that is still being written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.config.project import Project, load_project
from build_tools.errors import HipwrightError
from build_tools.locking.keep import refuse_contradiction
from build_tools.locking.packages import incomplete, with_packages
from build_tools.locking.resolve import recipe_of
from build_tools.rocm.folder import read_folder_sdk
from build_tools.stores.run_outputs import RunOutputs
from build_tools.types import ProjectName
from tests.support.environments import PLATFORM
from tests.support.locks import locked
from tests.support.packages import flat_page, serve
from tests.support.stub_sdk import StubSdk
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.lock import LockedProject
    from build_tools.workplace import Workplace
    from tests.support.s3 import S3Server


@pytest.fixture
def project() -> Project:
    project = load_project(CLONE / "external-builds", ProjectName("sample"))
    return msgspec.structs.replace(project, rocm=msgspec.structs.replace(project.rocm, embedded=None))


def entry_of(project: Project, place: Workplace) -> LockedProject:
    return with_packages(locked("sample", recipe=recipe_of(project)), project, place)


def refused(project: Project, place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        entry_of(project, place)
    return caught.value


def publish(tmp_path: Path, run_id: str, group: str | None, stub: StubSdk) -> Path:
    """Put packages into the outputs of a run, in a store that is a folder; return its flat page."""
    folder = RunOutputs(run_id=run_id, platform=PLATFORM).python(group)
    dist = stub.write(tmp_path / "store" / folder.dist_prefix)
    return flat_page(tmp_path / "store" / folder.prefix, sorted(dist.glob("*.whl")))


def test_the_outputs_of_a_run(project: Project, tmp_path: Path) -> None:
    page = publish(tmp_path, "77", "gfx94X-dcgpu", StubSdk())
    publish(tmp_path, "77", "gfx120X-all", StubSdk(version="7.11.0"))
    publish(tmp_path, "78", "gfx94X-dcgpu", StubSdk(version="7.12.0"))
    asked: dict[str, Any] = {"rocm_run_id": "77", "artifact_group": "gfx94X-dcgpu", "store": str(tmp_path / "store")}
    place = workplace(tmp_path, **asked)
    entry = entry_of(project, place)
    assert entry.rocm is not None
    assert (entry.rocm.version, entry.rocm.source) == ("7.10.0", page.as_uri())
    assert (entry.requested.rocm_run_id, entry.requested.artifact_group) == ("77", "gfx94X-dcgpu")
    refuse_contradiction(entry, project, place)
    # A group without such a run is where what is made goes, and contradicts nothing.
    refuse_contradiction(entry, project, workplace(tmp_path, artifact_group="gfx120X-all"))
    hint = ""
    for other in ({"rocm_run_id": "78"}, {"artifact_group": "gfx120X-all"}):
        with pytest.raises(HipwrightError) as caught:
            refuse_contradiction(entry, project, workplace(tmp_path, **{**asked, **other}))
        assert caught.value.code.name == "lock-conflict"
        hint = caught.value.hint or ""
    assert "--rocm-run-id 77" in hint
    assert "--artifact-group gfx120X-all" in hint
    assert "--relock" in hint


def test_a_run_that_has_no_packages_is_told(project: Project, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    error = refused(project, workplace(tmp_path, rocm_run_id="77", store=str(tmp_path / "store")))
    assert error.code.name == "run-not-found"
    assert "the run 77 has no packages" in error.message
    assert "--artifact-group" in (error.hint or "")
    assert (
        refused(project, workplace(tmp_path, rocm_run_id="../x", store=str(tmp_path / "store"))).code.name == "bad-option-value"
    )


@pytest.mark.parametrize("group", [None, "gfx110X-all"])
def test_the_groups_that_a_run_has_are_named(project: Project, tmp_path: Path, group: str | None) -> None:
    publish(tmp_path, "77", "gfx94X-dcgpu", StubSdk())
    publish(tmp_path, "77", "gfx120X-all", StubSdk())
    publish(tmp_path, "78", "gfx90a", StubSdk())
    error = refused(project, workplace(tmp_path, rocm_run_id="77", artifact_group=group, store=str(tmp_path / "store")))
    assert error.code.name == "run-not-found"
    assert (error.hint or "").startswith("the run has packages of gfx120X-all, gfx94X-dcgpu: --artifact-group gfx120X-all")


def test_the_packages_of_a_whole_run(project: Project, tmp_path: Path) -> None:
    publish(tmp_path, "77", None, StubSdk())
    entry = entry_of(project, workplace(tmp_path, rocm_run_id="77", store=str(tmp_path / "store")))
    assert entry.rocm is not None
    assert entry.rocm.version == "7.10.0"


def test_a_folder_of_the_machine(project: Project, tmp_path: Path) -> None:
    folder = StubSdk(version="6.4.1", hip=(6, 4)).write_tree(tmp_path / "rocm")
    place = workplace(tmp_path, rocm_path=str(folder))
    entry = entry_of(project, place)
    assert entry.rocm is not None
    assert (entry.rocm.folder, entry.rocm.version, entry.rocm.files) == (str(folder), "6.4.1", ())
    assert entry.rocm.state == read_folder_sdk(folder).digest
    assert not incomplete(entry, project, place)
    refuse_contradiction(entry, project, place)
    by_name = replace(workplace(tmp_path, rocm_path="env"), machine={"ROCM_PATH": str(folder)})
    assert entry_of(project, by_name) == entry
    assert any("ROCM_PATH names" in line for line in memory_of(by_name).said)
    with pytest.raises(HipwrightError) as caught:
        refuse_contradiction(entry, project, workplace(tmp_path, rocm_path=str(tmp_path)))
    assert caught.value.code.name == "lock-conflict"
    assert refused(project, replace(workplace(tmp_path, rocm_path="env"), machine={})).code.name == "no-rocm-source"
    assert refused(project, workplace(tmp_path, rocm_path=str(folder), rocm_version="6.3.0")).code.name == "sdk-incomplete"
    assert refused(project, workplace(tmp_path, rocm_path=str(tmp_path / "gone"))).code.name == "sdk-incomplete"


def test_another_source_takes_the_place_of_the_folder(project: Project, tmp_path: Path) -> None:
    folder = StubSdk(version="6.4.1").write_tree(tmp_path / "rocm")
    entry = entry_of(project, workplace(tmp_path, rocm_path=str(folder)))
    own = StubSdk().write(tmp_path / "own")
    anew = with_packages(msgspec.structs.replace(entry, rocm=None), project, workplace(tmp_path, rocm_find_links=(str(own),)))
    assert anew.rocm is not None
    assert anew.rocm.folder is None
    assert (anew.requested.rocm_path, anew.requested.rocm_find_links) == (None, (str(own),))


def test_packages_that_are_still_appearing_are_waited_for(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("build_tools.environments.wait._FIRST_PAUSE", 0.01)
    own = StubSdk().write(tmp_path / "own")
    whole = flat_page(own, sorted(own.glob("*.whl"))).read_bytes()
    first = flat_page(own, sorted(own.glob("rocm-7*.whl"))).read_bytes()
    with serve(tmp_path) as server:
        server.answers["/own/"] = [(404, "text/plain", b""), (200, "text/html", first), (200, "text/html", whole)]
        place = workplace(tmp_path, rocm_find_links=(f"{server.url}/own/",), rocm_version="7.10.0", timeout=60)
        entry = entry_of(project, place)
        assert entry.rocm is not None
        assert {file.version for file in entry.rocm.files} == {"7.10.0"}
    waits = [line for line in memory_of(place).said if line.startswith("waiting")]
    assert len(waits) == 2
    assert "nothing at" in waits[0]
    assert "rocm-sdk-core is not at" in waits[1]


def test_how_often_to_look_for_them_is_what_is_asked_for(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Left to itself it would look a second time when the wait is over.
    monkeypatch.setattr("build_tools.environments.wait._FIRST_PAUSE", 3600)
    monkeypatch.setattr("build_tools.environments.wait._LONGEST_PAUSE", 3600)
    own = StubSdk().write(tmp_path / "own")
    whole = flat_page(own, sorted(own.glob("*.whl"))).read_bytes()
    with serve(tmp_path) as server:
        server.answers["/own/"] = [(404, "text/plain", b""), (404, "text/plain", b""), (200, "text/html", whole)]
        place = workplace(tmp_path, rocm_find_links=(f"{server.url}/own/",), rocm_version="7.10.0", timeout=20, wait_between=0)
        assert entry_of(project, place).rocm is not None


def test_a_version_is_complete_for_the_targets_that_it_is_built_for(project: Project, tmp_path: Path) -> None:
    own = StubSdk(leave_out=("rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1201")).write(tmp_path / "own")
    error = refused(project, workplace(tmp_path, rocm_find_links=(str(own),), gfx=("gfx942", "gfx1201")))
    assert error.code.name == "requirement-missing"
    assert "rocm-sdk-device-gfx942 is not at" in error.message
    assert "rocm-sdk-device-gfx1201 is not at" in error.message
    entry = entry_of(project, workplace(tmp_path, rocm_find_links=(str(own),)))
    assert entry.rocm is not None
    whole = StubSdk().write(tmp_path / "whole")
    built = entry_of(project, workplace(tmp_path, rocm_find_links=(str(whole),), gfx=("gfx942", "gfx1201")))
    assert built.rocm is not None
    # A build does without them: they are not what is installed for it.
    assert not [file for file in built.rocm.files if "device" in file.distribution]


def test_targets_that_a_set_is_not_made_for_are_a_warning(project: Project, tmp_path: Path) -> None:
    own = StubSdk().write(tmp_path / "own")
    place = workplace(tmp_path, rocm_find_links=(str(own),), gfx=("gfx1100",))
    entry = entry_of(project, place)
    assert entry.rocm is not None
    assert any("no device package for gfx1100" in line for line in memory_of(place).said)


def test_a_page_that_only_credentials_open_is_told(project: Project, tmp_path: Path, s3_server: S3Server) -> None:
    publish(tmp_path, "77", "g", StubSdk())
    for public in (False, True):
        bucket = s3_server.bucket(public=public)
        store = s3_server.store(bucket)
        for path in sorted((tmp_path / "store").rglob("*")):
            if path.is_file():
                store.put(path.relative_to(tmp_path / "store").as_posix(), path, content_type="text/html", cache_seconds=0)
        asked: dict[str, Any] = {"bucket": bucket, "endpoint_url": s3_server.endpoint, "rocm_run_id": "77", "artifact_group": "g"}
        place = replace(workplace(tmp_path, **asked), machine={**s3_server.machine, "PIP_NO_INDEX": "1"})
        if public:
            entry = entry_of(project, place)
            assert entry.rocm is not None
            assert entry.rocm.version == "7.10.0"
        else:
            error = refused(project, place)
            assert error.code.name == "source-unreachable"
            assert "without credentials" in error.message
            assert f"aws --endpoint-url {s3_server.endpoint} s3 sync s3://{bucket}/" in (error.hint or "")
