"""``update_deps_index`` from a base index on the loopback address into a folder: what it adds, leaves, plans and refuses."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.pipeline.update_deps_index import update_deps_index
from build_tools.stores.local import FolderStore
from tests.support.packages import make_index, make_wheel, serve
from tests.support.publishing import same_everywhere, tree_of
from tests.support.wheel_maker import WheelMaker
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.packages import Server

LISTED = ("demo", "plain")


class Base:
    """A base index that is served; ``add`` puts wheels into it."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server
        self.wheels: list[Path] = []

    def add(self, name: str, version: str, **more: Any) -> None:  # noqa: ANN401 - as make_wheel takes them
        self.wheels.append(make_wheel(self.folder / "made", name, version, **more))
        make_index(self.folder / "simple", self.wheels)

    @property
    def fetched(self) -> list[str]:
        """The wheels that somebody fetched since this was asked last."""
        found = [path for path in self.server.seen if path.endswith(".whl")]
        self.server.seen.clear()
        return found


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    folder = tmp_path / "base"
    folder.mkdir()
    with serve(folder) as server:
        yield Base(folder, server)


def update(folder: Path, base: Base, **settings: object) -> dict[str, Any]:
    place = workplace(folder, **{"python": ("3.12",), "packages": LISTED, **settings})
    machine = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    machine |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"{base.server.url}/simple"}
    found = update_deps_index(replace(place, machine=machine))["deps_index"]
    assert isinstance(found, dict)
    return found


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["filename"] for row in rows]


def test_what_is_lacking_is_added_and_then_nothing_is(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0", requires=["needed"])
    base.add("plain", "1.0")
    base.add("needed", "2.0")
    first = update(tmp_path, base)
    files = ["demo-1.0-py3-none-any.whl", "needed-2.0-py3-none-any.whl", "plain-1.0-py3-none-any.whl"]
    assert names(first["added"]) == files
    assert first["served"] == [{"python": "3.12", "platform": "linux"}, {"python": "3.12", "platform": "windows"}]
    store = FolderStore(tmp_path / "work" / "store")
    assert first["index_url"] == f"{store.url('python-deps/simple')}/"
    assert [file.filename for file in same_everywhere(store, "python-deps").files] == files
    assert len(base.fetched) == 3
    before = tree_of(tmp_path / "work" / "store")
    again = update(tmp_path, base)
    assert (again["added"], again["kept"]) == ([], files)
    assert tree_of(tmp_path / "work" / "store") == before
    assert base.fetched == []


def test_what_was_published_stays_when_the_base_index_moves_on(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0")
    base.add("plain", "1.0")
    update(tmp_path, base)
    base.add("demo", "2.0")
    base.wheels = [wheel for wheel in base.wheels if not wheel.name.startswith("plain-1.0")]
    base.add("plain", "3.0")
    found = update(tmp_path, base)
    assert names(found["added"]) == ["demo-2.0-py3-none-any.whl", "plain-3.0-py3-none-any.whl"]
    rows = same_everywhere(FolderStore(tmp_path / "work" / "store"), "python-deps").files
    assert [(row.project, row.version) for row in rows] == [("demo", "1.0"), ("demo", "2.0"), ("plain", "1.0"), ("plain", "3.0")]


def test_a_plan_writes_nothing_and_fetches_no_wheel(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0")
    base.add("plain", "1.0")
    found = update(tmp_path, base, dry_run=True, store=str(tmp_path / "store"))
    assert names(found["added"]) == ["demo-1.0-py3-none-any.whl", "plain-1.0-py3-none-any.whl"]
    assert found["dry_run"] is True
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "work" / "store").exists()


def test_one_platform_alone(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0", tag="cp312-cp312-win_amd64")
    base.add("plain", "1.0")
    found = update(tmp_path, base, platform="windows")
    assert names(found["added"]) == ["demo-1.0-cp312-cp312-win_amd64.whl", "plain-1.0-py3-none-any.whl"]
    with pytest.raises(HipwrightError, match=r"Python 3\.12 on linux") as caught:
        update(tmp_path, base)
    assert caught.value.code.name == "requirement-missing"


def test_an_owned_name_never_comes_in(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0", requires=["torch", "rocm[libraries]"])
    base.add("plain", "1.0")
    base.add("torch", "99.0")
    base.add("rocm", "99.0", extras={"libraries": []})
    found = update(tmp_path, base)
    assert names(found["added"]) == ["demo-1.0-py3-none-any.whl", "plain-1.0-py3-none-any.whl"]
    before = tree_of(tmp_path / "work" / "store")
    with pytest.raises(HipwrightError) as caught:
        update(tmp_path, base, packages=("torch",))
    assert caught.value.code.name == "owned-name-leak"
    assert tree_of(tmp_path / "work" / "store") == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"requires": ["needed @ https://example.org/needed-9-py3-none-any.whl"]}, "by its address"),
        ({"requires": ["triton @ file:///tmp/triton-98.0-py3-none-any.whl"]}, "by its address"),
        ({"files": {"rocm_sdk/_cli.py": ""}}, "holds files of rocm-sdk"),
        ({"files": {"_rocm_sdk_core/lib/libamdhip64.so.7": ""}}, "holds files of rocm-sdk-core"),
        ({"files": {"plain-1.0.data/purelib/torch-99.0.dist-info/METADATA": ""}}, "holds files of torch"),
        ({"files": {"plain-1.0.data/purelib/triton/__init__.py": ""}}, "holds files of triton"),
        ({"files": {"plain-1.0.data/data/lib/python3.12/site-packages/torch.py": ""}}, "holds files of torch"),
        ({"files": {"plain-1.0.data/scripts/rocm-sdk": ""}}, "holds files of rocm-sdk"),
    ],
)
def test_a_wheel_that_brings_what_is_owned_or_leads_elsewhere_is_not_published(
    tmp_path: Path, base: Base, more: dict[str, Any], said: str
) -> None:
    base.add("plain", "1.0", **more)
    base.add("needed", "1.0")
    with pytest.raises(HipwrightError) as caught:
        update(tmp_path, base, packages=("plain",))
    assert caught.value.code.name == "owned-name-leak"
    assert said in caught.value.message
    assert "plain-1.0" in caught.value.message
    assert not list(FolderStore(tmp_path / "work" / "store").list())


def test_modules_with_names_like_owned_ones_are_not_taken_for_them(tmp_path: Path, base: Base) -> None:
    base.add(
        "plain", "1.0", files={"torchmetrics/__init__.py": "", "plain/torch/__init__.py": "", "rocmx.py": ""}, requires=["torch"]
    )
    assert names(update(tmp_path, base, packages=("plain",))["added"]) == ["plain-1.0-py3-none-any.whl"]


def test_bytes_that_changed_behind_a_name_are_refused(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0")
    base.add("plain", "1.0")
    update(tmp_path, base)
    before = tree_of(tmp_path / "work" / "store")
    base.wheels = [wheel for wheel in base.wheels if not wheel.name.startswith("demo")]
    base.add("demo", "1.0", mark="changed")
    with pytest.raises(HipwrightError, match=r"demo-1\.0") as caught:
        update(tmp_path, base)
    assert caught.value.code.name == "name-taken"
    assert tree_of(tmp_path / "work" / "store") == before


def test_bytes_that_the_page_does_not_promise_are_not_published(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0")
    base.add("plain", "1.0")
    (base.folder / "simple" / "plain" / "plain-1.0-py3-none-any.whl").write_bytes(b"something else")
    with pytest.raises(HipwrightError) as caught:
        update(tmp_path, base)
    assert caught.value.code.name == "hash-mismatch"
    assert list(FolderStore(tmp_path / "work" / "store").list("python-deps")) == []


def test_pages_that_an_earlier_run_left_behind_are_mended(tmp_path: Path, base: Base) -> None:
    base.add("demo", "1.0")
    base.add("plain", "1.0")
    update(tmp_path, base)
    (tmp_path / "work" / "store" / "python-deps" / "simple" / "index.html").unlink()
    assert update(tmp_path, base)["added"] == []
    same_everywhere(FolderStore(tmp_path / "work" / "store"), "python-deps")


def offer(base: Base, wheel: Path, *, metadata: bytes | None = None, attributes: str = "") -> None:
    """Make a wheel the only one of its project in the base index, with a metadata side file or attributes of its link."""
    folder = base.folder / "simple" / wheel.name.partition("-")[0].lower().replace("_", "-")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(wheel, folder)
    if metadata is not None:
        (folder / f"{wheel.name}.metadata").write_bytes(metadata)
        attributes = f'data-core-metadata="sha256={digest.of_bytes(metadata)}"'
    link = f'<a href="{wheel.name}#sha256={digest.of_file(wheel)}" {attributes}>{wheel.name}</a>'
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")


def test_metadata_that_says_less_than_the_wheel_is_found_out(tmp_path: Path, base: Base) -> None:
    said = b"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"
    offer(base, WheelMaker(metadata=f"{said.decode()}Requires-Dist: needed\n").write(tmp_path / "made"), metadata=said)
    with pytest.raises(HipwrightError, match=r"demo-1\.0-py3-none-any\.whl requires needed, and it does not say so") as caught:
        update(tmp_path, base, packages=("demo",))
    assert caught.value.code.name == "hash-mismatch"
    assert not (tmp_path / "work" / "store").exists()


def test_a_release_in_another_spelling_is_no_further_file(tmp_path: Path, base: Base) -> None:
    offer(base, WheelMaker(name="Demo_Kit").write(tmp_path / "made"))
    assert names(update(tmp_path, base, packages=("demo.KIT",))["added"]) == ["Demo_Kit-1.0-py3-none-any.whl"]
    assert update(tmp_path, base, packages=("DEMO-kit", "demo_kit"))["added"] == []
    offer(base, WheelMaker(name="demo_kit").write(tmp_path / "made"))
    with pytest.raises(
        HipwrightError, match=r"what the index has as Demo_Kit-1\.0-py3-none-any\.whl, spelled otherwise"
    ) as caught:
        update(tmp_path, base, packages=("demo-kit",))
    assert caught.value.code.name == "name-taken"


def test_a_wheel_that_no_installer_takes_is_not_added(tmp_path: Path, base: Base) -> None:
    wheel = WheelMaker(compress=False).write(tmp_path / "made")
    wheel.write_bytes(wheel.read_bytes().replace(b"answer", b"bnswer"))
    offer(base, wheel)
    with pytest.raises(HipwrightError, match="its content has CRC") as caught:
        update(tmp_path, base, packages=("demo",))
    assert caught.value.code.name == "bad-wheel"
    assert not (tmp_path / "work" / "store").exists()


def test_what_is_yanked_is_added_only_where_it_is_asked_for_by_its_version(tmp_path: Path, base: Base) -> None:
    offer(base, WheelMaker().write(tmp_path / "made"), attributes='data-yanked="bad"')
    with pytest.raises(HipwrightError, match="no version of demo") as caught:
        update(tmp_path, base, packages=("demo",))
    assert caught.value.code.name == "requirement-missing"
    assert names(update(tmp_path, base, packages=("demo==1.0",))["added"]) == ["demo-1.0-py3-none-any.whl"]


def test_a_listed_file_that_is_gone_is_told_with_a_hint(tmp_path: Path, base: Base) -> None:
    wheel = WheelMaker().write(tmp_path / "made")
    offer(base, wheel, metadata=b"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n")
    (base.folder / "simple" / "demo" / wheel.name).unlink()
    with pytest.raises(HipwrightError, match="404") as caught:
        update(tmp_path, base, packages=("demo",))
    assert caught.value.code.name == "source-unreachable"
    assert "still leads there" in str(caught.value.hint)
    assert not (tmp_path / "work" / "store").exists()
