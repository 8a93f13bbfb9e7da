"""``upload_rocm_packages`` into a folder: the layout of a run's outputs, what a second time does, and what is refused."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.console.events import Console, Said, Table
from build_tools.console.render import GitHubRenderer
from build_tools.errors import HipwrightError
from build_tools.options.resolve import Resolved
from build_tools.pipeline.upload_rocm_packages import upload_rocm_packages
from build_tools.stores.local import FolderStore
from build_tools.types import Platform
from tests.support.install_lines import carry_out_line
from tests.support.publishing import same_everywhere, tree_of
from tests.support.vouched_sets import VERSION, write_set
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace
    from tests.support.s3 import S3Server

GROUP = "gfx94X-dcgpu"
PREFIX = f"77-linux/python/{GROUP}"


def desk(folder: Path, packages: Path, **settings: object) -> Workplace:
    return workplace(folder, **{"packages_dir": packages, "artifact_group": GROUP, "run_id": "77", **settings})


def upload(folder: Path, packages: Path, **settings: object) -> dict[str, Any]:
    found = upload_rocm_packages(desk(folder, packages, **settings))["packages"]
    assert isinstance(found, dict)
    return found


def refused(folder: Path, packages: Path, **settings: object) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        upload(folder, packages, **settings)
    return caught.value


def store_of(folder: Path) -> FolderStore:
    return FolderStore(folder / "work" / "store")


def test_a_set_goes_into_the_outputs_of_its_run(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    found = upload(tmp_path, packages)
    store = store_of(tmp_path)
    names = sorted(path.name for path in (packages / "dist").iterdir())
    assert [file.filename for file in sorted(same_everywhere(store, PREFIX).files, key=lambda one: one.filename)] == names
    keys = {listed.key for listed in store.list(PREFIX)}
    assert {f"{PREFIX}/dist/{name}" for name in names} <= keys
    assert {f"{PREFIX}/index.html", f"{PREFIX}/simple/index.html", f"{PREFIX}/simple/rocm-sdk-core/index.html"} <= keys
    assert f"{PREFIX}/dist/rocm-{VERSION}.tar.gz.metadata" not in keys
    assert {file["action"] for file in found["files"]} == {"publish"}
    assert found["find_links_url"] == store.url(f"{PREFIX}/index.html")
    assert found["requirement"] == f"rocm[libraries,devel,device-gfx942]=={VERSION}"
    assert (found["run_id"], found["artifact_group"], found["platform"]) == ("77", GROUP, "linux")


def test_the_same_set_once_more_writes_nothing(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    upload(tmp_path, packages)
    before = tree_of(tmp_path / "work" / "store")
    assert {file["action"] for file in upload(tmp_path, packages)["files"]} == {"keep"}
    assert tree_of(tmp_path / "work" / "store") == before


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    found = upload(tmp_path, packages, dry_run=True)
    assert {file["action"] for file in found["files"]} == {"publish"}
    assert not (tmp_path / "work").exists()


def test_a_twin_has_the_layout_of_the_store(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    upload(tmp_path, packages)
    upload(tmp_path, packages, output_dir=tmp_path / "twin")
    twin = FolderStore(tmp_path / "twin")
    same_everywhere(twin, PREFIX)

    def keys(store: FolderStore) -> set[str]:
        return {listed.key for listed in store.list(PREFIX) if "/snapshots/" not in listed.key}

    assert keys(twin) == keys(store_of(tmp_path))


def test_a_folder_that_cannot_be_made_is_told_with_its_own_option(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    (tmp_path / "twin").touch()
    with pytest.raises(HipwrightError) as caught:
        upload(tmp_path, packages, output_dir=tmp_path / "twin")
    assert caught.value.code.name == "store-unusable"
    assert caught.value.hint == "name a folder with --output-dir"


def test_a_twin_and_a_store_that_were_both_typed_contradict_each_other(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    place = desk(tmp_path, packages, output_dir=tmp_path / "twin", store=str(tmp_path / "store"))
    typed = replace(place, resolved=Resolved(settings=place.settings, origins={"store": "command line --store"}))
    with pytest.raises(HipwrightError) as caught:
        upload_rocm_packages(typed)
    assert caught.value.code.name == "option-conflict"
    assert not (tmp_path / "twin").exists()
    # One from the environment is the usual place, which what was typed overrides.
    assert upload_rocm_packages(place)["packages"]["store"] == str(tmp_path / "twin")


def test_packages_for_windows_are_outputs_of_the_windows_run(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages", platform=Platform.WINDOWS)
    assert upload(tmp_path, packages)["prefix"] == f"77-windows/python/{GROUP}"
    assert refused(tmp_path, packages, platform="linux").code.name == "option-conflict"


def test_a_later_attempt_supersedes_at_a_desk_and_never_in_a_nightly(tmp_path: Path) -> None:
    first = write_set(tmp_path / "first", mark="first")
    second = write_set(tmp_path / "second", mark="second")
    upload(tmp_path, first)
    before = tree_of(tmp_path / "work" / "store")
    for dry in (True, False):
        error = refused(tmp_path, second, release_type="nightly", dry_run=dry)
        assert error.code.name == "name-taken"
        assert f"rocm-{VERSION}.tar.gz" in error.message
    assert tree_of(tmp_path / "work" / "store") == before
    assert {file["action"] for file in upload(tmp_path, second)["files"]} == {"supersede"}
    published = {file.filename: file.sha256 for file in same_everywhere(store_of(tmp_path), PREFIX).files}
    assert published == {file["filename"]: file["sha256"] for file in upload(tmp_path, second)["files"]}


def test_what_an_install_could_mix_with_the_set_is_told(tmp_path: Path) -> None:
    upload(tmp_path, write_set(tmp_path / "first", targets=("gfx942", "gfx1100")))
    place = desk(tmp_path, write_set(tmp_path / "second", targets=("gfx942",), mark="second"))
    upload_rocm_packages(place)
    warned = [event.text for event in memory_of(place).events if isinstance(event, Said) and event.level == "warning"]
    assert len(warned) == 1
    assert f"rocm_sdk_device_gfx1100-{VERSION}-py3-none-manylinux_2_28_x86_64.whl" in warned[0]


@pytest.mark.parametrize(
    ("group", "targets", "device"),
    [
        ("gfx94X-dcgpu", ("gfx942", "gfx1201"), ",device-gfx942"),
        ("gfx120x-asan", ("gfx942", "gfx1200", "gfx1201"), ",device-gfx1200,device-gfx1201"),
        ("gfx1201", ("gfx942", "gfx1201"), ",device-gfx1201"),
        ("multi-arch-release", ("gfx942",), ",device-gfx942"),
        ("multi-arch-release", ("gfx942", "gfx1201"), ""),
    ],
)
def test_the_lines_bring_the_code_for_the_groups_gpus_or_say_that_they_do_not(
    tmp_path: Path, group: str, targets: tuple[str, ...], device: str
) -> None:
    place = desk(tmp_path, write_set(tmp_path / "packages", targets=targets), artifact_group=group)
    document = upload_rocm_packages(place)["packages"]
    assert document["requirement"] == f"rocm[libraries,devel{device}]=={VERSION}"
    assert document["install"]["pip"].endswith(f"'{document['requirement']}'")
    (shown,) = (event for event in memory_of(place).events if isinstance(event, Table))
    assert ("bring no code for a GPU" in shown.note) is not bool(device)


@pytest.mark.parametrize("public", [True, False])
def test_a_bucket_that_installers_cannot_read_is_told(tmp_path: Path, s3_server: S3Server, *, public: bool) -> None:
    bucket = s3_server.bucket(public=public)
    place = desk(tmp_path, write_set(tmp_path / "packages"), bucket=bucket, endpoint_url=s3_server.endpoint)
    place = replace(place, machine={**place.machine, **s3_server.machine})
    document = upload_rocm_packages(place)["packages"]
    warned = [event.text for event in memory_of(place).events if isinstance(event, Said) and event.level == "warning"]
    assert len(warned) == (0 if public else 1)
    assert all(document["find_links_url"] in text and "s3:GetObject" in text for text in warned)
    # A bucket has nothing at the address of an index, which ends in a slash.
    assert document["index_url"] is None


@pytest.mark.parametrize(
    ("bucket", "who"),
    [("therock-nightly-artifacts", "arn:aws:iam::692859939525:role/therock-nightly"), ("therock-artifacts-testing", "by hand")],
)
def test_who_may_write_a_bucket_is_named_to_who_may_not(tmp_path: Path, s3_server: S3Server, bucket: str, who: str) -> None:
    packages = write_set(tmp_path / "packages")
    # To prove the packages, which may be gigabytes, would find this out first.
    next((packages / "dist").glob("rocm_sdk_core-*")).write_bytes(b"other bytes")
    place = desk(tmp_path, packages, bucket=bucket, endpoint_url=s3_server.endpoint)
    with pytest.raises(HipwrightError) as caught:
        upload_rocm_packages(replace(place, machine=s3_server.nobody))
    assert caught.value.code.name == "no-credentials"
    assert "AWS_PROFILE" in (caught.value.hint or "")
    assert who in (caught.value.hint or "")


def test_nothing_is_published_of_a_set_that_is_not_whole(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    next((packages / "dist").glob("rocm_sdk_core-*")).unlink()
    assert refused(tmp_path, packages).code.name == "output-changed"
    assert not (tmp_path / "work").exists()


def test_what_is_not_named_is_asked_for(tmp_path: Path) -> None:
    packages = write_set(tmp_path / "packages")
    error = refused(tmp_path, packages, artifact_group=None)
    assert (error.code.name, error.hint is not None and "--artifact-group gfx94X-dcgpu or gfx120X-all" in error.hint) == (
        "bad-option-value",
        True,
    )
    assert refused(tmp_path, packages, packages_dir=None).code.name == "bad-option-value"
    error = refused(tmp_path, packages, artifact_group="gfx110X-all")
    assert (error.code.name, "the packages are for gfx942, gfx1201" in error.message) == ("bad-option-value", True)
    for group in ("a/b", "..", ""):
        assert refused(tmp_path, packages, artifact_group=group).code.name == "bad-option-value"


def test_a_jobs_summary_has_the_page_and_the_lines(tmp_path: Path) -> None:
    place = desk(tmp_path, write_set(tmp_path / "packages"))
    summary = tmp_path / "summary.md"
    renderer = GitHubRenderer(out=io.StringIO(), err=io.StringIO(), summary=summary)
    document = upload_rocm_packages(replace(place, console=Console(renderer=renderer)))["packages"]
    text = summary.read_text(encoding="utf-8")
    assert f"### ROCm packages {VERSION}" in text
    for shown in (document["find_links_url"], *document["install"].values(), "device-gfx942, device-gfx1201, device-all"):
        assert shown in text
    assert text.count("| published |") == len(document["files"])


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_line_that_is_shown_installs_the_set(tmp_path: Path, tool: str) -> None:
    place = desk(tmp_path, write_set(tmp_path / "packages"))
    document = upload_rocm_packages(place)["packages"]
    shown = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert len(shown) == 1
    line = document["install"][tool]
    assert line in shown[0].note
    # The generated wheels are for Linux on x86_64.
    installed = carry_out_line(line, tmp_path / "target")
    wanted = ("rocm", "rocm_sdk_core", "rocm_sdk_devel", "rocm_sdk_device_gfx942", "rocm_sdk_libraries")
    assert installed == [f"{name}-{VERSION}.dist-info" for name in wanted]


@pytest.mark.parametrize("inside", ["", "twin"])
@pytest.mark.parametrize("option", ["store", "output_dir"])
def test_a_place_among_the_packages_is_refused_before_anything_is_written(tmp_path: Path, inside: str, option: str) -> None:
    packages = write_set(tmp_path / "packages")
    before = tree_of(packages)
    place = packages / "dist" / inside
    error = refused(tmp_path, packages, **{option: place if option == "output_dir" else str(place)})
    assert error.code.name == "option-conflict"
    assert tree_of(packages) == before
    # Beside the packages there is room.
    upload(tmp_path, packages, output_dir=packages / "twin")
    upload(tmp_path, packages, output_dir=packages / "twin")
