from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.catalog import MANIFEST, read_catalog
from tests.support.rocm_trees import write_artifact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _items(folder: Path) -> dict[str, str | None]:
    return {item.path: item.link for artifact in read_catalog(folder).artifacts for item in artifact.items}


def test_files_and_links_are_told_by_their_place_in_the_tree(tmp_path: Path) -> None:
    write_artifact(tmp_path, "blas_lib_generic", {"lib/liba.so.1": b"a", "lib/liba.so": "->liba.so.1"}, base="math/stage")
    write_artifact(tmp_path, "base_run_generic", {"bin/tool": b"#!/bin/sh\n"})
    (tmp_path / "base_run_generic/some/stage/bin/tool").chmod(0o755)
    (tmp_path / "blas_lib_gfx942.tar.zst").write_bytes(b"")
    (tmp_path / ".marker").mkdir()
    catalog = read_catalog(tmp_path, jobs=4)
    assert [str(artifact.name) for artifact in catalog.artifacts] == ["base_run_generic", "blas_lib_generic"]
    assert _items(tmp_path) == {"bin/tool": None, "lib/liba.so": "liba.so.1", "lib/liba.so.1": None}
    (tool,) = catalog.artifacts[0].items
    assert (tool.executable, tool.size, tool.folder, tool.name) == (True, 10, "bin", "tool")


def test_several_bases_make_one_tree(tmp_path: Path) -> None:
    folder = write_artifact(tmp_path, "core_lib_generic", {"lib/one": b"1"}, base="one/stage")
    (folder / "two/stage/lib").mkdir(parents=True)
    (folder / "two/stage/lib/two").write_bytes(b"2")
    (folder / MANIFEST).write_text("one/stage\n\ntwo/stage\none/stage\nempty/stage\n")
    assert set(_items(tmp_path)) == {"lib/one", "lib/two"}


def test_one_place_in_two_bases_is_refused(tmp_path: Path) -> None:
    folder = write_artifact(tmp_path, "core_lib_generic", {"lib/one": b"1"}, base="one/stage")
    (folder / "two/stage/lib").mkdir(parents=True)
    (folder / "two/stage/lib/one").write_bytes(b"2")
    (folder / MANIFEST).write_text("one/stage\ntwo/stage\n")
    with pytest.raises(HipwrightError, match="lib/one twice") as caught:
        read_catalog(tmp_path)
    assert caught.value.code.name == "bad-artifact"


@pytest.mark.parametrize(
    "line", ["/etc", "..", "some/../../other", "some\\stage", "C:stage", ".", "some/stage\0x", "no/such", "link/stage"]
)
def test_a_hostile_manifest_is_refused(tmp_path: Path, line: str) -> None:
    folder = write_artifact(tmp_path / "in", "core_lib_generic", {"lib/one": b"1"})
    write_artifact(tmp_path / "in", "other_lib_generic", {"lib/two": b"1"})
    outside = tmp_path / "outside" / "stage"
    outside.mkdir(parents=True)
    if sys.platform != "win32":
        (folder / "link").symlink_to(tmp_path / "outside")
    (folder / MANIFEST).write_text(f"{line}\n")
    with pytest.raises(HipwrightError) as caught:
        read_catalog(tmp_path / "in")
    assert caught.value.code.name == "bad-artifact"
    assert "core_lib_generic" in caught.value.message


def _without_manifest(folder: Path) -> None:
    (folder / MANIFEST).unlink()


def _no_text(folder: Path) -> None:
    (folder / MANIFEST).write_bytes(b"\xff\xfe")


def _linked_manifest(folder: Path) -> None:
    (folder / MANIFEST).rename(folder / "elsewhere")
    (folder / MANIFEST).symlink_to("elsewhere")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "some/stage/pipe")


def _absolute(folder: Path) -> None:
    (folder / "some/stage/link").symlink_to("/etc/passwd")


def _out(folder: Path) -> None:
    (folder / "some/stage/link").symlink_to("lib/../../x")


def _strange_name(folder: Path) -> None:
    (folder / "some/stage" / "new\nline").write_bytes(b"")


def _no_utf8(folder: Path) -> None:
    (folder / "some/stage" / os.fsdecode(b"\xff")).write_bytes(b"")


def _other_name(folder: Path) -> None:
    folder.rename(folder.with_name("core"))


@pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and such names are of other systems")
@pytest.mark.parametrize(
    "spoil",
    [_without_manifest, _no_text, _linked_manifest, _pipe, _absolute, _out, _strange_name, _no_utf8, _other_name],
)
def test_what_no_artifact_has_is_refused(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(write_artifact(tmp_path, "core_lib_generic", {"lib/one": b"1"}))
    with pytest.raises(HipwrightError) as caught:
        read_catalog(tmp_path)
    assert caught.value.code.name == "bad-artifact"


def test_archives_alone_are_told_how_to_unpack(tmp_path: Path) -> None:
    (tmp_path / "core_lib_generic.tar.zst").write_bytes(b"")
    with pytest.raises(HipwrightError, match="archives, and no unpacked artifact") as caught:
        read_catalog(tmp_path)
    assert caught.value.hint is not None
    assert "fetch_artifacts" in caught.value.hint


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_artifacts_is_refused(tmp_path: Path, *, there: bool) -> None:
    with pytest.raises(HipwrightError) as caught:
        read_catalog(tmp_path if there else tmp_path / "none")
    assert caught.value.code.name == "bad-artifact"
