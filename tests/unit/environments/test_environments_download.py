from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.environments.download import download, download_all, fetch_sdist
from build_tools.environments.network import Network
from build_tools.environments.settings import BaseIndex
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.types import Sha256
from tests.support.environments import base_of
from tests.support.packages import make_index, make_sdist, make_wheel, serve

if TYPE_CHECKING:
    from pathlib import Path

NETWORK = Network(retries=0)


def locked(path: Path, url: str, sha256: str | None = None) -> LockedFile:
    return LockedFile(distribution="x", version="1", filename=path.name, url=url, sha256=Sha256(sha256 or digest.of_file(path)))


def test_a_local_file_is_used_where_it_lies_once_it_is_proved(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "torch", "1.0+rocm7")
    assert download(locked(wheel, wheel.as_uri()), cache=tmp_path / "cache", network=NETWORK) == wheel
    with pytest.raises(HipwrightError, match=r"should have the sha256 0{64}") as caught:
        download(locked(wheel, wheel.as_uri(), "0" * 64), cache=tmp_path / "cache", network=NETWORK)
    assert caught.value.code.name == "hash-mismatch"
    file = locked(wheel, wheel.as_uri())
    wheel.unlink()
    with pytest.raises(HipwrightError, match="not there any more") as caught:
        download(file, cache=tmp_path / "cache", network=NETWORK)
    assert caught.value.code.name == "source-unreachable"


def test_a_fetched_file_is_kept_and_a_spoilt_one_is_fetched_again(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "torch", "1.0+rocm7")
    said: list[str] = []
    with serve(tmp_path / "s") as server:
        file = locked(wheel, f"{server.url}/torch-1.0%2Brocm7-py3-none-any.whl")
        first = download(file, cache=tmp_path / "cache", network=NETWORK, say=said.append)
        assert first.name == wheel.name
        assert first.read_bytes() == wheel.read_bytes()
        assert download(file, cache=tmp_path / "cache", network=NETWORK, say=said.append) == first
        assert len(server.seen) == 1
        assert said == [f"fetching {wheel.name}"]
        first.write_bytes(b"spoilt")
        assert download(file, cache=tmp_path / "cache", network=NETWORK).read_bytes() == wheel.read_bytes()
        assert len(server.seen) == 2


def test_other_bytes_than_locked_are_not_kept(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "torch", "1.0")
    with serve(tmp_path / "s") as server:
        file = locked(wheel, f"{server.url}/{wheel.name}", "0" * 64)
        with pytest.raises(HipwrightError, match=server.url) as caught:
            download(file, cache=tmp_path / "cache", network=NETWORK)
    assert caught.value.code.name == "hash-mismatch"
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "torch", "1.0")
    with serve(tmp_path / "s") as server, pytest.raises(HipwrightError, match="404") as caught:
        download(locked(wheel, f"{server.url}/gone.whl"), cache=tmp_path / "cache", network=NETWORK)
    assert caught.value.code.name == "source-unreachable"


def test_several_come_in_the_order_asked_for(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "s", f"p{number}", "1.0") for number in range(7)]
    with serve(tmp_path / "s") as server:
        files = [locked(wheel, f"{server.url}/{wheel.name}") for wheel in wheels]
        paths = download_all(files, cache=tmp_path / "cache", network=NETWORK)
    assert [path.name for path in paths] == [wheel.name for wheel in wheels]
    assert download_all([], cache=tmp_path, network=NETWORK) == ()


def test_an_sdist_comes_from_wherever_the_base_index_has_it(tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "s", "torch-spline-conv", "1.2.2", files={"setup.py": "raise SystemExit('never run')\n"})
    sha = digest.of_file(sdist)
    index = make_index(tmp_path / "index", [sdist])
    empty = make_index(tmp_path / "empty", [make_wheel(tmp_path / "other", "other", "1.0")])
    with serve(index) as server:
        bases = [base_of(tmp_path / "s"), base_of(index=index), base_of(index=empty, extra=[index]), base_of(index=server.url)]
        for number, base in enumerate(bases):
            found = fetch_sdist("Torch_Spline.Conv", "1.2.2", sha, base=base, cache=tmp_path / f"cache{number}")
            assert found.read_bytes() == sdist.read_bytes()
    # From the cache, with the server gone.
    assert fetch_sdist("torch-spline-conv", "1.2.2", sha, base=base_of(index=server.url), cache=tmp_path / "cache3").is_file()


def test_an_sdist_with_other_bytes_is_refused(tmp_path: Path) -> None:
    sdist = make_sdist(tmp_path / "s", "pkg", "1.0", files={})
    for base in (base_of(tmp_path / "s"), base_of(index=make_index(tmp_path / "index", [sdist]))):
        with pytest.raises(HipwrightError, match=digest.of_file(sdist)) as caught:
            fetch_sdist("pkg", "1.0", "0" * 64, base=base, cache=tmp_path / "cache")
        assert caught.value.code.name == "hash-mismatch"


def test_a_place_that_states_the_right_hash_comes_first(tmp_path: Path) -> None:
    right = make_sdist(tmp_path / "right", "pkg", "1.0", files={"a": "right"})
    wrong = make_sdist(tmp_path / "wrong", "pkg", "1.0", files={"a": "wrong"})
    base = base_of(tmp_path / "wrong", index=make_index(tmp_path / "index", [right]))
    assert wrong.is_file()
    found = fetch_sdist("pkg", "1.0", digest.of_file(right), base=base, cache=tmp_path / "cache")
    assert found.read_bytes() == right.read_bytes()


def test_a_missing_sdist_is_named_with_the_places(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", [make_wheel(tmp_path / "s", "pkg", "1.0")])
    with pytest.raises(HipwrightError, match=r"pkg 1\.0.*index") as caught:
        fetch_sdist("pkg", "1.0", "0" * 64, base=base_of(index=index), cache=tmp_path / "cache")
    assert caught.value.code.name == "requirement-missing"
    with pytest.raises(HipwrightError) as caught:
        fetch_sdist("pkg", "1.0", "0" * 64, base=base_of(index="http://127.0.0.1:9/"), cache=tmp_path / "cache")
    assert caught.value.code.name == "source-unreachable"
    with pytest.raises(HipwrightError, match="no place"):
        fetch_sdist("pkg", "1.0", "0" * 64, base=BaseIndex(), cache=tmp_path / "cache")
