from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.environments.base_listing import base_listing
from build_tools.environments.listing import Listing, PackageSource, parse_source
from build_tools.environments.network import Network
from build_tools.environments.settings import BaseIndex
from build_tools.errors import HipwrightError
from tests.support.packages import flat_page, make_index, make_wheel, serve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "wheels"
    return [
        make_wheel(folder, "torch", "2.9.0+rocm7.10.0"),
        make_wheel(folder, "torch", "2.8.0"),
        make_wheel(folder, "torchvision", "0.24.0"),
    ]


def found(source: PackageSource, name: str = "torch") -> list[str]:
    return sorted(str(candidate.version) for candidate in Listing(source=source, network=Network(retries=0)).files(name))


def wrong_kind(source: PackageSource) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        found(source)
    assert caught.value.code.name == "bad-option-value"
    return caught.value


BOTH = ["2.8.0", "2.9.0+rocm7.10.0"]


def test_a_folder_a_page_and_an_index_offer_the_same(wheels: list[Path], tmp_path: Path) -> None:
    folder = wheels[0].parent
    assert found(PackageSource(find_links=(str(folder),))) == BOTH
    assert found(PackageSource(find_links=(folder.as_uri(),))) == BOTH
    page = flat_page(tmp_path / "flat", wheels)
    assert found(PackageSource(find_links=(page.as_uri(),))) == BOTH
    assert found(PackageSource(find_links=(str(page),))) == BOTH
    assert found(PackageSource(find_links=(str(page.parent),))) == BOTH
    index = make_index(tmp_path / "index", wheels)
    assert found(PackageSource(index_url=index.as_uri())) == BOTH
    assert found(PackageSource(index_url=str(index))) == BOTH
    assert found(PackageSource(index_url=f"{index.as_uri()}/")) == BOTH
    assert found(PackageSource(find_links=(str(folder),), index_url=str(index))) == sorted(BOTH * 2)


def test_addresses_offer_the_same_and_each_page_is_read_once(wheels: list[Path], tmp_path: Path) -> None:
    make_index(tmp_path / "web" / "simple", wheels)
    for wheel in wheels:
        (tmp_path / "web" / wheel.name).write_bytes(wheel.read_bytes())
    flat_page(tmp_path / "web", [tmp_path / "web" / wheel.name for wheel in wheels])
    with serve(tmp_path / "web") as server:
        assert found(PackageSource(index_url=f"{server.url}/simple")) == BOTH
        assert server.seen == ["/simple/torch/"]
        assert found(PackageSource(find_links=(f"{server.url}/",))) == BOTH
        assert found(PackageSource(find_links=(f"{server.url}/index.html",))) == BOTH
        urls = [
            one.link.url
            for one in Listing(source=PackageSource(find_links=(f"{server.url}/",)), network=Network()).files("torch")
        ]
    assert any(url.endswith("/torch-2.9.0%2Brocm7.10.0-py3-none-any.whl") for url in urls)


def test_a_json_index_is_read(wheels: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "json" / "torch"
    folder.mkdir(parents=True)
    files = [{"filename": wheel.name, "url": wheel.as_uri(), "hashes": {"sha256": digest.of_file(wheel)}} for wheel in wheels[:2]]
    (folder / "index.json").write_text(json.dumps({"meta": {"api-version": "1.0"}, "name": "torch", "files": files}))
    assert found(PackageSource(index_url=str(tmp_path / "json"))) == BOTH
    assert found(PackageSource(index_url=str(tmp_path / "json")), "rocm") == []


def test_a_flat_page_given_as_an_index_is_explained(wheels: list[Path], tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    page = flat_page(flat, [wheel.rename(flat / wheel.name) for wheel in wheels[:2]])
    with serve(page.parent) as server:
        error = wrong_kind(PackageSource(index_url=f"{server.url}/", option_prefix="--rocm-"))
        assert "flat page" in error.message
        assert "--rocm-index-url" in error.message
        assert error.hint == f"say --rocm-find-links {server.url}/"
        wrong_kind(PackageSource(index_url=f"{server.url}/index.html"))
    wrong_kind(PackageSource(index_url=str(page.parent)))
    error = wrong_kind(PackageSource(index_url=str(wheels[2].parent)))
    assert error.hint == f"say --find-links {wheels[2].parent}"


def test_an_index_given_as_a_flat_page_is_explained(wheels: list[Path], tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", wheels)
    with serve(index) as server:
        error = wrong_kind(PackageSource(find_links=(f"{server.url}/",), option_prefix="--rocm-"))
        assert error.hint == f"say --rocm-index-url {server.url}/"
    wrong_kind(PackageSource(find_links=(str(index),)))
    (index / "index.html").unlink()
    wrong_kind(PackageSource(find_links=(str(index),)))


def test_a_project_s_own_page_is_a_flat_page(wheels: list[Path], tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", wheels)
    assert found(PackageSource(find_links=((index / "torch").as_uri(),))) == BOTH


def test_an_index_without_the_package_offers_nothing(wheels: list[Path], tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", wheels)
    with serve(index) as server:
        assert found(PackageSource(index_url=server.url), "rocm") == []
    assert found(PackageSource(index_url=str(index)), "rocm") == []


def test_a_place_where_nothing_is_is_an_error(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        sources = [
            PackageSource(index_url=f"{server.url}/nothing/"),
            PackageSource(find_links=(f"{server.url}/nothing.html",)),
            PackageSource(find_links=(str(tmp_path / "nothing"),)),
            PackageSource(index_url=str(tmp_path / "nothing")),
        ]
        for source in sources:
            with pytest.raises(HipwrightError, match="nothing") as caught:
                found(source)
            assert caught.value.code.name == "source-unreachable"


def test_an_empty_folder_offers_nothing(tmp_path: Path) -> None:
    assert found(PackageSource(find_links=(str(tmp_path),))) == []


def test_only_folders_of_files_need_no_network(tmp_path: Path) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    make_wheel(full, "rocm", "7.10.0")
    empty.mkdir()
    page = tmp_path / "links.html"
    page.write_text('<a href="https://e.example/rocm-7.10.0-py3-none-any.whl">x</a>')
    assert PackageSource(find_links=(str(full), full.as_uri())).is_local
    others = ["https://e.example/links.html", page, page.as_uri(), empty, tmp_path / "nothing"]
    assert not any(PackageSource(find_links=(str(full), str(other))).is_local for other in others)
    assert not PackageSource(find_links=(str(full),), index_url=str(tmp_path)).is_local


def test_names_are_compared_normalised(tmp_path: Path) -> None:
    make_wheel(tmp_path, "Rocm.SDK_core", "7.10.0")
    assert found(PackageSource(find_links=(str(tmp_path),)), "rocm-sdk-core") == ["7.10.0"]


def test_options_become_a_source(tmp_path: Path) -> None:
    source = parse_source(find_links=("wheels", "https://e/x"), index_url="idx", folder=tmp_path, option_prefix="--rocm-")
    assert source.find_links == (str(tmp_path / "wheels"), "https://e/x")
    assert source.index_url == str(tmp_path / "idx")
    assert source.describe() == f"{tmp_path}/wheels and https://e/x and the index {tmp_path}/idx"
    with pytest.raises(HipwrightError, match="--rocm-index-url is empty"):
        parse_source(index_url="", folder=tmp_path, option_prefix="--rocm-")


@pytest.mark.parametrize(("prefix", "run"), [("--", "--from-run-id"), ("--rocm-", "--rocm-run-id")])
def test_whoever_names_a_bucket_is_told_how_its_packages_are_installed(tmp_path: Path, prefix: str, run: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_source(find_links=["s3://bucket/x"], folder=tmp_path, option_prefix=prefix)
    hint = caught.value.hint or ""
    assert "aws s3 sync s3://bucket/x DIR" in hint
    assert f"{run} ID --store" in hint


@pytest.mark.parametrize("text", ["ftp://x", "s3://bucket/x", "s3:x", "c:x", "htps://host.invalid/simple"])
@pytest.mark.parametrize("option", ["find-links", "index-url"])
def test_an_address_of_another_kind_is_no_folder(tmp_path: Path, text: str, option: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        if option == "index-url":
            parse_source(index_url=text, folder=tmp_path, option_prefix="--rocm-")
        else:
            parse_source(find_links=[text], folder=tmp_path, option_prefix="--rocm-")
    assert caught.value.code.name == "bad-option-value"
    assert f"--rocm-{option} {text}" in caught.value.message
    assert f"of the kind {text.partition(':')[0]}:" in caught.value.message


def test_a_file_that_is_no_page_is_explained(wheels: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "passwd"
    file.write_text("root:x:0:0\n")
    for place in (str(file), file.as_uri()):
        for source in (PackageSource(find_links=(place,)), PackageSource(index_url=place)):
            assert "is a file, not a folder or a page" in wrong_kind(source).message
    error = wrong_kind(PackageSource(find_links=(str(wheels[0]),)))
    assert "is a package file" in error.message
    assert error.hint == f"say --find-links {wheels[0].parent}"


def test_a_place_that_cannot_be_reached_names_the_way_out() -> None:
    network = Network(retries=0, timeout=5)
    for source, options in (
        (PackageSource(index_url="http://127.0.0.1:1/simple"), "--find-links or --index-url"),
        (PackageSource(find_links=("http://127.0.0.1:1/x",), option_prefix="--rocm-"), "--rocm-find-links or --rocm-index-url"),
    ):
        with pytest.raises(HipwrightError) as caught:
            Listing(source=source, network=network).files("rocm")
        assert caught.value.code.name == "source-unreachable"
        assert options in (caught.value.hint or "")
    # Places of pip's settings are named by no option.
    (place,) = base_listing(BaseIndex(index_url="http://127.0.0.1:1/simple")).places
    with pytest.raises(HipwrightError) as caught:
        Listing(source=place.source, network=network).files("numpy")
    assert caught.value.hint is None


def test_a_query_stands_behind_what_is_asked_for(wheels: list[Path], tmp_path: Path) -> None:
    with serve(make_index(tmp_path / "index", wheels)) as server:
        assert found(PackageSource(index_url=f"{server.url}/?sig=x")) == BOTH
        assert found(PackageSource(index_url=f"{server.url}?sig=x"), "gone") == []
    assert server.seen[0] == "/torch/?sig=x"
    assert all(target.endswith("?sig=x") for target in server.seen)
