"""ROCm packages of generated artifacts: real libraries, real wheels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.rocm.packages.build import BuiltPackages, PackageRequest, build_packages
from build_tools.types import Platform
from build_tools.wheels.elf import read_elf
from tests.support.rocm_trees import make_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.wheels.elf import Elf

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="libraries of Linux are compiled for these")

_VERSION = "7.13.0a20260801"
_TARGETS = ("gfx942", "gfx1201")


def _runner() -> Runner:
    return Runner(environment=base_environment(os.environ))


def _build(artifacts: Path, target: Path, **more: object) -> BuiltPackages:
    request = PackageRequest(artifacts=artifacts, target=target, version=_VERSION, **more)  # type: ignore[arg-type]
    return build_packages(request, runner=_runner())


def _small(folder: Path, *, form: str = "device", platform: Platform = Platform.LINUX) -> Path:
    return make_tree(folder, form=form, platform=platform, targets=_TARGETS, kernels=2, headers=1).folder  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Site:
    artifacts: Path
    built: BuiltPackages
    packages: Path

    def wheel(self, distribution: str) -> Path:
        name = distribution.replace("-", "_")
        (found,) = self.built.dist.glob(f"{name}-{_VERSION}-*.whl")
        return found

    def binaries(self) -> Iterator[tuple[Path, Elf]]:
        for path in sorted(self.packages.rglob("*")):
            if path.is_file():
                with path.open("rb") as stream:
                    elf = read_elf(stream, name=path)
                if elf is not None and elf.is_dynamic:
                    yield path, elf


def _unpack(dist: Path, target: Path) -> Path:
    """Unpack wheels into one folder as an installer does, execute bits included."""
    for wheel in sorted(dist.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                archive.extract(entry, target)
                (target / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
    return target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("packages")
    artifacts = _small(folder / "artifacts")
    built = _build(artifacts, folder / "out", jobs=2)
    return Site(artifacts=artifacts, built=built, packages=_unpack(built.dist, folder / "site-packages"))


def _members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _read(wheel: Path, member: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(member)


def _requires(wheel: Path) -> list[str]:
    (name,) = [name for name in _members(wheel) if name.endswith(".dist-info/METADATA")]
    lines = _read(wheel, name).decode().splitlines()
    return [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]


def _links(wheel: Path, module: str = "rocm_sdk_devel") -> dict[str, str | None]:
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(f"{module}/_devel.tar") as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        return {member.name: member.linkname if member.issym() else None for member in tar}


def test_all_packages_come_out_and_nothing_else(site: Site) -> None:
    assert site.built.made
    names = {file.distribution for file in site.built.packages.files}
    assert names == {
        *("rocm", "rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel", "rocm-profiler"),
        *(f"rocm-sdk-device-{target}" for target in _TARGETS),
    }
    assert sorted(path.name for path in site.built.dist.iterdir()) == [file.filename for file in site.built.packages.files]
    assert {path.name for path in site.built.dist.parent.iterdir()} <= {"dist", "packages.json", ".packages.lock"}
    for file in site.built.packages.files:
        path = site.built.dist / file.filename
        assert (digest.of_file(path), path.stat().st_size) == (file.sha256, file.size)
    report = check_wheels(sorted(site.built.dist.glob("*.whl")), expectations=None, say=lambda _line: None)
    assert [found for found in report.findings if found.severity == "error"] == []


def test_every_requirement_names_the_exact_version(site: Site) -> None:
    core, libraries = f"rocm-sdk-core=={_VERSION}", f"rocm-sdk-libraries=={_VERSION}"
    assert _requires(site.wheel("rocm-sdk-core")) == []
    assert _requires(site.wheel("rocm-sdk-libraries")) == [core]
    assert _requires(site.wheel("rocm-profiler")) == [core]
    assert _requires(site.wheel("rocm-sdk-device-gfx942")) == [libraries]
    assert _requires(site.wheel("rocm-sdk-devel")) == [core, libraries]


def test_every_package_bears_the_set(site: Site) -> None:
    set_id = site.built.packages.set_id
    for name in ("_rocm_sdk_core/_set.json", "_rocm_sdk_libraries/_set.json", "_rocm_profiler/_set.json"):
        document = json.loads((site.packages / name).read_bytes())
        assert (document["set_id"], document["version"]) == (set_id, _VERSION)
    device = json.loads((site.packages / "_rocm_sdk_libraries/.devel_links/gfx942.json").read_bytes())
    assert (device["set_id"], device["target"], device["distribution"]) == (set_id, "gfx942", "rocm-sdk-device-gfx942")
    ours = _members(site.wheel("rocm-sdk-device-gfx942"))
    assert {f"_rocm_sdk_libraries/{path}" for path in device["files"]} < ours
    data = (site.packages / "rocm_sdk/dist_info.json").read_bytes()
    description = json.loads(data)
    assert ("set_id" in description, description["form"]) == (False, "device")
    core = json.loads((site.packages / "_rocm_sdk_core/_set.json").read_bytes())
    assert core["rocm"] == digest.of_bytes(data)
    assert description["targets"] == {"linux": list(_TARGETS)}


def test_device_files_are_in_the_package_of_their_target_alone(site: Site) -> None:
    for target, other in (_TARGETS, _TARGETS[::-1]):
        members = _members(site.wheel(f"rocm-sdk-device-{target}"))
        assert any(target in name for name in members)
        assert not any(other in name for name in members)
    assert not any(target in name for target in _TARGETS for name in _members(site.wheel("rocm-sdk-libraries")))


def test_every_file_has_one_owner(site: Site) -> None:
    members = [name for wheel in site.built.dist.glob("*.whl") for name in _members(wheel)]
    assert sorted(members) == sorted(set(members))


def test_binaries_find_what_they_need_in_the_packages_and_nowhere_else(site: Site) -> None:
    names = {path.name for path in site.packages.rglob("*.so*")}
    seen = 0
    for path, elf in site.binaries():
        assert elf.runpath == ()
        places = []
        for entry in elf.run_path:
            assert entry.split("/")[0] == "$ORIGIN"
            places.append(Path(os.path.normpath(entry.replace("$ORIGIN", str(path.parent)))))
            assert site.packages in places[-1].parents
        for name in elf.needed:
            if name in names:
                seen += 1
                assert any((place / name).is_file() for place in places), f"{path} finds {name}"
    assert seen > 30


@pytest.mark.parametrize("library", ["librocblas.so.5", "libMIOpen.so.1", "librccl.so.1", "librocfft-kernels-gfx942.so"])
def test_libraries_load_with_those_of_other_packages(site: Site, library: str) -> None:
    (path,) = (site.packages / "_rocm_sdk_libraries").rglob(library)
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True, env={})
    loaded = {line.split()[-1] for line in done.stdout.splitlines() if "rocm" in line and ".so" in line}
    assert any("_rocm_sdk_core/lib/libamdhip64.so.7" in each for each in loaded)


def test_launchers_start_their_program_under_the_name_that_was_called(site: Site, tmp_path: Path) -> None:
    core = site.packages / "_rocm_sdk_core"
    launcher = core / "lib/llvm/bin/amdclang++"
    assert launcher.stat().st_size < 20_000
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=True, env={})
    assert done.stdout == f"clang-22 as {launcher}\n"
    moved = tmp_path / "elsewhere"
    shutil.copytree(core, moved)
    done = subprocess.run([moved / "bin/amdclang++"], capture_output=True, text=True, check=True, env={})
    assert done.stdout.startswith("clang-22 as ")


def test_the_archive_is_whole_and_told_of(site: Site) -> None:
    wheel = site.wheel("rocm-sdk-devel")
    record = json.loads(_read(wheel, "rocm_sdk_devel/devel.json"))
    data = _read(wheel, "rocm_sdk_devel/_devel.tar")
    assert record["sha256"] == digest.of_bytes(data)
    links = _links(wheel)
    assert record["entries"] == len(links)
    assert (record["set_id"], record["version"], record["archive"]) == (site.built.packages.set_id, _VERSION, "_devel.tar")
    for name, link in links.items():
        assert name.startswith("_rocm_sdk_devel/")
        if link is not None and "_rocm_sdk_" in link:
            assert (site.packages / name).parent.joinpath(link).resolve().is_relative_to(site.packages.resolve())
            assert Path(os.path.normpath(site.packages / name / ".." / link)).is_file()
    assert links["_rocm_sdk_devel/lib/libamdhip64.so"] == "libamdhip64.so.7"
    assert links["_rocm_sdk_devel/lib/libamdhip64.so.7"] == "../../_rocm_sdk_core/lib/libamdhip64.so.7"
    assert links["_rocm_sdk_devel/lib/librccl.so.1"] == "../../_rocm_sdk_libraries/lib/librccl.so.1"


def test_scripts_are_those_whose_program_is_there(site: Site) -> None:
    scripts = json.loads((site.packages / "rocm_sdk_core/scripts.json").read_bytes())
    assert scripts["hipcc"] == {"file": "bin/hipcc", "expand": True}
    assert scripts["rocminfo"] == {"file": "bin/rocminfo", "expand": False}
    assert "rocgdb" not in scripts
    core = site.packages / "_rocm_sdk_core"
    assert all(os.access(core / entry["file"], os.X_OK) for entry in scripts.values())
    info = site.packages / f"rocm_sdk_core-{_VERSION}.dist-info/entry_points.txt"
    for name in scripts:
        assert f"\n{name} = rocm_sdk_core._cli:" in info.read_text()


def _bytes(built: BuiltPackages) -> dict[str, str]:
    return {path.name: digest.of_file(path) for path in sorted(built.dist.iterdir())}


def test_the_same_artifacts_give_the_same_bytes_elsewhere(site: Site, tmp_path: Path) -> None:
    copy = tmp_path / "copied" / "artifacts"
    shutil.copytree(site.artifacts, copy, symlinks=True)
    for path in copy.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1e9, 1e9))
            path.chmod(0o700 if path.stat().st_mode & 0o111 else 0o400)
    before = os.umask(0o077)
    try:
        built = _build(copy, tmp_path / "out", jobs=1)
    finally:
        os.umask(before)
    assert _bytes(built) == _bytes(site.built)
    assert built.packages.set_id == site.built.packages.set_id


def test_the_artifacts_stay_as_they_are(tmp_path: Path) -> None:
    artifacts = _small(tmp_path / "artifacts")

    def state() -> list[tuple[str, int, int, int]]:
        rows = [(str(path), path.lstat()) for path in sorted([artifacts, *artifacts.rglob("*")])]
        return [(name, each.st_mode, each.st_mtime_ns, each.st_ino) for name, each in rows]

    before = state()
    _build(artifacts, tmp_path / "out")
    assert state() == before
    with pytest.raises(HipwrightError, match="where the artifacts are") as caught:
        _build(artifacts, artifacts / "out")
    assert caught.value.code.name == "bad-option-value"
    assert state() == before
