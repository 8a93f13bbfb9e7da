from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version
from pypi_simple import DistributionPackage, IndexPage, ProjectPage

from build_tools.index.layout import project_of
from build_tools.index.plan import pages
from build_tools.index.snapshots import merged
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.types import ObjectKey, Sha256
from tests.support.snapshots import SNAPSHOTS, UPLOADED

if TYPE_CHECKING:
    from random import Random

HERE = "https://index.invalid/some/where/"


def expected(file: IndexedFile) -> tuple[object, ...]:
    return (
        file.filename,
        file.key,
        {"sha256": file.sha256},
        file.requires_python,
        file.metadata_sha256 is not None,
        {"sha256": file.metadata_sha256} if file.metadata_sha256 else None,
        file.yanked is not None,
        # An empty reason is none, on every page.
        file.yanked or None,
        Version(file.version),
    )


def shown(package: DistributionPackage) -> tuple[object, ...]:
    assert package.url.startswith(HERE)
    assert "+" not in package.url
    assert package.version is not None
    return (
        package.filename,
        unquote(package.url.removeprefix(HERE)),
        package.digests,
        package.requires_python,
        bool(package.has_metadata),
        package.metadata_digests,
        package.is_yanked,
        package.yanked_reason or None,
        Version(package.version),
    )


@settings(deadline=None)
@given(SNAPSHOTS)
def test_html_and_json_and_the_flat_page_say_what_the_snapshot_says(snapshot: Snapshot) -> None:
    plan = pages(snapshot)
    projects = sorted({file.project for file in snapshot.files})
    assert IndexPage.from_html(plan[ObjectKey("simple/index.html")].body).projects == projects
    root = msgspec.json.decode(plan[ObjectKey("simple-json/index.json")].body)
    assert IndexPage.from_json_data(root).projects == projects
    for project in projects:
        wanted = [file for file in snapshot.files if file.project == project]
        key = f"simple/{project}/index.html"
        html = ProjectPage.from_html(project, plan[ObjectKey(key)].body, base_url=HERE + key)
        key = f"simple-json/{project}/index.json"
        json = ProjectPage.from_json_data(msgspec.json.decode(plan[ObjectKey(key)].body), base_url=HERE + key)
        assert [shown(package) for package in html.packages] == [expected(file) for file in wanted]
        assert [shown(package) for package in json.packages] == [expected(file) for file in wanted]
        assert html.repository_version == json.repository_version == "1.1"
        assert json.project == project
        assert json.versions == [str(version) for version in sorted({Version(file.version) for file in wanted})]
        assert [package.size for package in json.packages] == [file.size for file in wanted]
        times = {package.upload_time.strftime("%Y-%m-%dT%H:%M:%SZ") for package in json.packages if package.upload_time}
        assert times == {UPLOADED}
    flat = ProjectPage.from_html("any", plan[ObjectKey("index.html")].body, base_url=HERE + "index.html")
    assert [shown(package) for package in flat.packages] == [expected(file) for file in snapshot.files]


@given(SNAPSHOTS, st.randoms())
def test_pages_are_the_same_bytes_whatever_order_the_files_came_in(snapshot: Snapshot, random: Random) -> None:
    rows = list(snapshot.files)
    random.shuffle(rows)
    assert pages(merged(Snapshot(files=()), rows)) == pages(snapshot)
    assert pages(Snapshot(files=tuple(rows))) == pages(snapshot)


@given(SNAPSHOTS)
def test_a_page_that_names_projects_is_written_after_their_pages(snapshot: Snapshot) -> None:
    keys = list(pages(snapshot))
    assert keys[-4:] == ["index.html", "packages.html", "simple-json/index.json", "simple/index.html"]
    assert all(key.count("/") == 2 for key in keys[:-4])
    keys = list(pages(snapshot, slash_keys=True))
    assert keys[-6:-4] == ["index.html", "packages.html"]
    assert keys[-4:] == ["simple-json/index.json", "simple-json/", "simple/index.html", "simple/"]


@given(SNAPSHOTS, st.booleans())
def test_pages_of_some_projects_are_those_of_all(snapshot: Snapshot, slash_keys: bool) -> None:  # noqa: FBT001 - drawn
    whole = pages(snapshot, slash_keys=slash_keys)
    some = {file.project for file in snapshot.files[::2]}
    part = pages(snapshot, slash_keys=slash_keys, projects=some)
    assert part.items() <= whole.items()
    assert {project_of(key) for key in part} - {None} == some
    assert {key for key in whole.keys() - part.keys() if project_of(key) is None} == set()


@pytest.mark.parametrize(
    ("key", "project"),
    [
        ("simple/torch/index.html", "torch"),
        ("simple/torch/", "torch"),
        ("simple-json/torch/index.json", "torch"),
        ("simple-json/torch/", "torch"),
        ("simple/torch/index.json", None),
        ("simple/index.html", None),
        ("simple/", None),
        ("simple-json/index.json", None),
        ("simple/torch/more/index.html", None),
        ("dist/torch/index.html", None),
        ("index.html", None),
    ],
)
def test_whose_page_lies_under_a_key(key: str, project: str | None) -> None:
    assert project_of(key) == project


def test_old_pips_are_not_given_what_they_fail_at(torch: IndexedFile) -> None:
    page = pages(Snapshot(files=(torch,)))[ObjectKey("simple-json/torch/index.json")].body
    assert b"dist-info-metadata" not in page
    assert b"dist-info-metadata" not in pages(Snapshot(files=(torch,)))[ObjectKey("simple/torch/index.html")].body
    assert msgspec.json.decode(page)["files"][0]["core-metadata"] == {"sha256": "b" * 64}


def test_what_each_page_is_served_as() -> None:
    types = {key.rpartition(".")[2]: page.content_type for key, page in pages(Snapshot(files=())).items()}
    assert types == {"html": "text/html; charset=utf-8", "json": "application/vnd.pypi.simple.v1+json"}


@pytest.fixture
def torch() -> IndexedFile:
    name = "torch-2.9.0+rocm7.1-cp311-cp311-linux_x86_64.whl"
    return IndexedFile(
        project="torch",
        filename=name,
        key=f"dist/{name}",
        version="2.9.0+rocm7.1",
        sha256=Sha256("a" * 64),
        size=12,
        uploaded=UPLOADED,
        metadata_sha256=Sha256("b" * 64),
        requires_python=">=3.10",
    )


def test_a_project_page_as_bytes(torch: IndexedFile) -> None:
    page = pages(Snapshot(files=(torch,)))[ObjectKey("simple/torch/index.html")].body.decode()
    assert (
        f'<a href="../../dist/torch-2.9.0%2Brocm7.1-cp311-cp311-linux_x86_64.whl#sha256={"a" * 64}"'
        f' data-requires-python="&gt;=3.10" data-core-metadata="sha256={"b" * 64}">torch-2.9.0+rocm7.1-cp311-cp311-linux_x86_64.whl</a>'
    ) in page


def test_versions_are_ordered_as_versions(torch: IndexedFile) -> None:
    versions = ["2.10.0", "2.9.0+rocm7.10", "2.9.0+rocm7.9", "2.9.0"]
    rows = [
        msgspec.structs.replace(torch, version=version, filename=f"torch-{version}-py3-none-any.whl", key=f"dist/{version}")
        for version in versions
    ]
    page = msgspec.json.decode(pages(merged(Snapshot(files=()), rows))[ObjectKey("simple-json/torch/index.json")].body)
    assert page["versions"] == ["2.9.0", "2.9.0+rocm7.9", "2.9.0+rocm7.10", "2.10.0"]
    assert [file["filename"].split("-")[1] for file in page["files"]] == page["versions"]


def test_a_file_of_the_same_name_takes_the_place_of_the_older(torch: IndexedFile) -> None:
    newer = msgspec.structs.replace(torch, sha256=Sha256("c" * 64), key="dist/cc/torch")
    assert merged(Snapshot(files=(torch,)), [newer]).files == (newer,)
