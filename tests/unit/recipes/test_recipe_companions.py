"""The recipes of the projects that go with PyTorch: what their data and hooks say of refs, pins and builds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from build_tools.builds.hooks import BuildContext, load_hooks
from build_tools.builds.variables import computed_variables, constants
from build_tools.config.project import CommitFilePin, GitOrigin, Project, RelatedCommitsPin, VersionFilePin, load_project
from build_tools.patches.lines import find_line
from build_tools.sources.pins import PinFile, parse_commit_file
from build_tools.types import CommitId, GfxTarget, Platform, ProjectName

EXTERNAL_BUILDS = Path(__file__).resolve().parents[3] / "external-builds"
COMPANIONS = ("apex", "pytorch-audio", "pytorch-vision", "triton")
COMMIT = CommitId("0123456789abcdef" * 2 + "01234567")
PINS = ("torch==2.13.0+rocm7.10.0",)


def project(name: str) -> Project:
    return load_project(EXTERNAL_BUILDS, ProjectName(name))


def context(name: str) -> BuildContext:
    return BuildContext(
        project=name,
        version="3.6.0+rocm7.10.0",
        rocm_version="7.10.0",
        rocm_root=None,
        targets=(GfxTarget("gfx942"),),
        platform=Platform.LINUX,
        upstream=COMMIT,
        source_date=0,
        environment=Path("/envs/e"),
    )


@pytest.mark.parametrize("name", COMPANIONS)
@pytest.mark.parametrize("ref", ["main", "nightly", "release/2.13", "v2.13.0", "0" * 40])
def test_every_ref_is_declared_to_be_right_without_patches(name: str, ref: str) -> None:
    line, reason = find_line(project(name), ref, folder=EXTERNAL_BUILDS / name)
    assert line is None
    assert reason


@pytest.mark.parametrize(("name", "row"), [("apex", "apex"), ("pytorch-audio", "torchaudio"), ("pytorch-vision", "torchvision")])
def test_torchs_file_of_related_commits_pins_it_on_every_system(name: str, row: str) -> None:
    (pin,) = project(name).pins
    assert isinstance(pin, RelatedCommitsPin)
    assert (pin.project, pin.file, pin.row, pin.linux, pin.windows) == ("pytorch", "related_commits", row, "ubuntu", "ubuntu")
    assert set(pin.platforms) == {"linux", "windows"}


def test_triton_is_pinned_by_a_version_for_releases_of_torch_and_by_a_commit_for_all_else() -> None:
    release, other = (pin for pin in project("triton").pins if "linux" in pin.platforms)
    assert isinstance(release, VersionFilePin)
    assert (release.project, release.when, release.branch) == ("pytorch", "release", "release/{major}.{minor}.x")
    assert isinstance(other, CommitFilePin)
    assert (other.project, other.when, other.origin) == ("pytorch", None, None)


def test_triton_for_windows_is_a_commit_of_its_own_repository() -> None:
    (pin,) = (pin for pin in project("triton").pins if "windows" in pin.platforms)
    assert isinstance(pin, CommitFilePin)
    assert pin.project is None
    assert pin.origin == "https://github.com/triton-lang/triton-windows.git"
    file = EXTERNAL_BUILDS / "triton" / pin.file
    assert re.fullmatch(r"[0-9a-f]{40}", parse_commit_file(PinFile(name=pin.file, of=None, data=file.read_bytes())))


def test_triton_s_version_is_found_in_the_module_that_has_it() -> None:
    version = project("triton").version
    assert version.file == "python/triton/__init__.py"
    assert version.pattern is not None
    found = re.match(version.pattern, "__version__ = '3.7.0'")
    assert found is not None
    assert found[1] == "3.7.0"


def test_triton_puts_no_commit_into_its_version(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text(COMMIT, encoding="utf-8")
    load_hooks(EXTERNAL_BUILDS / "triton").prepare_sources(tmp_path, context("triton"))
    head = (git / "HEAD").read_text(encoding="utf-8").removeprefix("ref: ").strip()
    assert head.removeprefix("refs/heads/").startswith("release")
    assert (git / head).read_text(encoding="utf-8").strip() == COMMIT


def test_apex_reads_its_version_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("1.10.0\n", encoding="utf-8")
    load_hooks(EXTERNAL_BUILDS / "apex").prepare_sources(tmp_path, context("apex"))
    assert (tmp_path / "version.txt").read_text(encoding="utf-8") == "3.6.0+rocm7.10.0\n"


@pytest.mark.parametrize("name", ["pytorch-audio", "pytorch-vision"])
@pytest.mark.parametrize("platform", list(Platform))
def test_the_torch_of_the_build_becomes_an_exact_requirement(name: str, platform: Platform) -> None:
    found = project(name)
    values = computed_variables(
        found,
        EXTERNAL_BUILDS / name,
        version="2.13.0+rocm7.10.0",
        targets=(GfxTarget("gfx942"), GfxTarget("gfx1201")),
        rocm_home="/rocm",
        pins=PINS,
        commit=COMMIT,
    )
    assert values["PYTORCH_VERSION"] == "2.13.0+rocm7.10.0"
    assert values["PYTORCH_ROCM_ARCH"] == "gfx942;gfx1201"
    assert found.wheel.pinned_requirements == ("torch",)
    assert ("DISTUTILS_USE_SDK" in constants(found, platform)) == (platform is Platform.WINDOWS)


@pytest.mark.parametrize("name", COMPANIONS)
def test_sources_come_from_a_repository_and_wheels_have_compiled_members(name: str) -> None:
    found = project(name)
    assert isinstance(found.origin, GitOrigin)
    assert found.wheel.linux_members
    assert found.version_suffix == "rocm"
