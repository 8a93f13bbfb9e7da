"""Files that pages of an index offer are held to its snapshot before they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.environments.listing import PackageSource
from build_tools.errors import HipwrightError
from build_tools.pipeline.snapshot_proof import prove_by_snapshots
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.lock import LockedFile
from build_tools.stores.local import FolderStore
from tests.support.publishing import write_wheel
from tests.support.serving import serving
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

RUN = "17-linux/pytorch/gfx94X-dcgpu"


@pytest.fixture
def index(tmp_path: Path) -> tuple[Path, LockedFile]:
    """The folder of an index, and the one file in it as a page of it tells it."""
    wheel = write_wheel(tmp_path / "wheels", "torch")
    published = publish_wheels([wheel], store=FolderStore(tmp_path / "store"), prefix=RUN, replace=False, say=lambda _line: None)
    folder, (file,) = tmp_path / "store" / RUN, published.files
    url = (folder / file.key).as_uri()
    return folder, LockedFile(distribution="torch", version=file.version, filename=file.filename, url=url, sha256=file.sha256)


@pytest.mark.parametrize("page", ["index.html", "simple/", "dist"])
def test_files_as_the_snapshot_has_them_are_told(tmp_path: Path, index: tuple[Path, LockedFile], page: str) -> None:
    folder, file = index
    place = workplace(tmp_path)
    source = PackageSource(index_url=str(folder / page)) if page == "simple/" else PackageSource(find_links=(str(folder / page),))
    prove_by_snapshots([file], (source, None), place)
    assert any("1 of 1 files are as the snapshot" in line for line in memory_of(place).said)


def test_a_page_that_says_something_else_than_the_snapshot_is_refused(tmp_path: Path, index: tuple[Path, LockedFile]) -> None:
    folder, file = index
    source = PackageSource(find_links=(str(folder / "index.html"),))
    offered = (
        msgspec.structs.replace(file, sha256=digest.of_bytes(b"other")),
        msgspec.structs.replace(file, filename="torch-9-py3-none-any.whl"),
    )
    for one, says in zip(offered, ("snapshot of that index has", "has no such file"), strict=True):
        with pytest.raises(HipwrightError, match=says) as caught:
            prove_by_snapshots([one], (source,), workplace(tmp_path))
        assert caught.value.code.name == "hash-mismatch"
    (folder / "snapshot.json").write_text("{}", encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        prove_by_snapshots([file], (source,), workplace(tmp_path))
    assert caught.value.code.name == "bad-index"


def test_an_index_behind_a_server_is_read_there(tmp_path: Path, index: tuple[Path, LockedFile]) -> None:
    folder, file = index
    with serving(folder) as url:
        served = msgspec.structs.replace(file, url=f"{url}dist/{file.filename}", sha256=digest.of_bytes(b"other"))
        with pytest.raises(HipwrightError) as caught:
            prove_by_snapshots([served], (PackageSource(find_links=(f"{url}index.html",)),), workplace(tmp_path))
    assert caught.value.code.name == "hash-mismatch"


def test_of_an_index_without_a_snapshot_nothing_is_asked(tmp_path: Path, index: tuple[Path, LockedFile]) -> None:
    _folder, file = index
    path = tmp_path / "wheels" / file.filename
    elsewhere = msgspec.structs.replace(file, url=path.as_uri(), sha256=digest.of_bytes(b"other"))
    place = workplace(tmp_path)
    prove_by_snapshots([elsewhere], (PackageSource(find_links=(str(path.parent),)),), place)
    assert memory_of(place).said == []
