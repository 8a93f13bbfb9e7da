"""The generated artifact trees: what other tests take for granted of them."""

from __future__ import annotations

import hashlib
import os
import tarfile
from typing import TYPE_CHECKING, Literal

import pytest
import zstandard
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from build_tools import digest
from build_tools.config.rocm_packages import package_table
from build_tools.rocm.artifacts.name import parse_artifact_name
from build_tools.types import Platform
from tests.support.rocm_trees import TARGETS, archive_artifact, make_tree

if TYPE_CHECKING:
    from pathlib import Path

Form = Literal["device", "family"]
Kind = Literal["zst", "xz"]


def small(folder: Path, *, form: Form = "device", platform: Platform = Platform.LINUX) -> Path:
    return make_tree(folder, form=form, platform=platform, targets=("gfx942", "gfx1201"), kernels=2, headers=1).folder


def test_the_whole_tree_has_all_libraries_targets_and_thousands_of_files(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    names = [parse_artifact_name(path.name) for path in tmp_path.iterdir()]
    assert None not in names
    assert len(TARGETS) == 20
    assert {name.target for name in names if name} == {"generic", *TARGETS}
    table = package_table()
    assert len(table.library) == 31
    for library in table.library:
        assert library.linux
        assert list(tmp_path.glob(f"*_lib_generic/**/{library.linux}")), library.name
    assert tree.count > 2500


@pytest.mark.parametrize("form", ["device", "family"])
def test_the_same_arguments_give_the_same_tree(tmp_path: Path, form: Form) -> None:
    assert digest.of_folder(small(tmp_path / "one", form=form)) == digest.of_folder(small(tmp_path / "two", form=form))


def test_libraries_of_two_families_differ_and_hold_their_device_code(tmp_path: Path) -> None:
    small(tmp_path, form="family")
    one, two = (next(tmp_path.glob(f"blas_lib_{name}/**/librocblas.so.5.*")) for name in ("gfx94X-dcgpu", "gfx120X-all"))
    assert one.read_bytes() != two.read_bytes()
    assert [path.name for path in sorted(tmp_path.glob("blas_lib_gfx120X-all/**/*_Type0_*.dat"))] == [
        "TensileLibrary_Type0_gfx1200.dat",
        "TensileLibrary_Type0_gfx1201.dat",
    ]
    assert not list(tmp_path.glob("*_gfx942"))


def test_elf_files_bear_their_names_and_the_run_paths_of_a_build(tmp_path: Path) -> None:
    small(tmp_path)
    (path,) = tmp_path.glob("blas_lib_generic/**/librocsolver.so.0.7.13.0")
    assert os.readlink(path.with_name("librocsolver.so")) == "librocsolver.so.0"  # noqa: PTH115
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        tags = {tag.entry.d_tag: tag for tag in section.iter_tags()}
        assert getattr(tags["DT_SONAME"], "soname") == "librocsolver.so.0"  # noqa: B009 - it has what its kind of tag has
        assert "/therock/build/dist/lib" in getattr(tags["DT_RUNPATH"], "runpath")  # noqa: B009


def test_windows_has_its_own_layout(tmp_path: Path) -> None:
    small(tmp_path, platform=Platform.WINDOWS)
    for library in package_table().library:
        if library.windows:
            assert list(tmp_path.glob(f"*_lib_generic/**/{library.windows}")), library.name
    assert not [path for path in tmp_path.rglob("*") if path.is_symlink() or ".so" in path.name]


@pytest.mark.parametrize("kind", ["zst", "xz"])
def test_archives_begin_with_the_manifest_and_are_proved_by_the_file_beside_them(tmp_path: Path, kind: Kind) -> None:
    small(tmp_path / "tree")
    archive = archive_artifact(tmp_path / "tree" / "core-hip_lib_generic", tmp_path / "run", kind=kind)
    sum_, name = archive.with_name(f"{archive.name}.sha256sum").read_text().split()
    assert (sum_, name) == (hashlib.sha256(archive.read_bytes()).hexdigest(), f"core-hip_lib_generic.tar.{kind}")
    if kind == "zst":
        whole = tmp_path / "whole.tar"
        with archive.open("rb") as source, whole.open("wb") as sink:
            zstandard.ZstdDecompressor().copy_stream(source, sink)
        archive = whole
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    assert members[0].name == "artifact_manifest.txt"
    assert any(member.issym() for member in members)
