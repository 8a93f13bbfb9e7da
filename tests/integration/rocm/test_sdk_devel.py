"""The development files, expanded for real: whole or not at all, once, in any folder, and following what is installed later."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.rocm_environments import RocmEnvironment, make_environment
from tests.support.rocm_sets import OF_DEVICE, RocmSet, compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="no C compiler to make libraries with"),
    pytest.mark.skipif(sys.platform == "win32", reason="the set's programs are shell scripts"),
]

NAMESPACE = ("unshare", "--map-root-user", "--mount", "--")
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'

KILLED = """
import os, signal, rocm_sdk._links, rocm_sdk._devel
def make_all(self, links):
    os.kill(os.getpid(), signal.SIGKILL)
rocm_sdk._links.Linker.make_all = make_all
rocm_sdk._devel.devel_root()
"""
HOLDER = """
import sys, pathlib, rocm_sdk._lock
with rocm_sdk._lock.held(pathlib.Path(sys.argv[1]), on_wait=lambda: None):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return RocmSet(suffix=".tar.xz").write(tmp_path_factory.mktemp("rocm") / "dist")


@pytest.fixture
def environment(dist: Path, tmp_path: Path) -> RocmEnvironment:
    return make_environment(tmp_path, dist)


def names(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if not path.is_dir() and path.suffix != ".pyc"}


def leftovers(site: Path) -> list[str]:
    return [path.name for path in site.iterdir() if path.name.startswith(".")]


def test_files_are_shared_and_links_kept(environment: RocmEnvironment) -> None:
    tree = Path(environment.say("rocm-sdk", "path", "--root"))
    assert environment.say("rocm-sdk", "path", "--bin") == str(tree / "bin")
    assert environment.say("rocm-sdk", "path", "--cmake") == str(tree / "lib/cmake")
    runtime = environment.site / "_rocm_sdk_core"
    # A file of another package is the same file under the tree's name, so a program finds what lies beside it in the tree.
    for path in ("bin/hipcc", "lib/libamdhip64.so.7"):
        assert not (tree / path).is_symlink()
        assert (tree / path).samefile(runtime / path)
    assert (tree / "bin/amdclang").readlink() == Path("../lib/llvm/bin/clang-22")
    assert (tree / "lib/libamdhip64.so").readlink() == Path("libamdhip64.so.7")
    assert (tree / "lib64").readlink() == Path("lib")
    assert os.access(tree / "lib/llvm/bin/clang-22", os.X_OK)
    # The archive stays, so that a damaged tree can be mended.
    assert (environment.site / "rocm_sdk_devel/_devel.tar.xz").is_file()


def test_one_that_was_killed_is_made_again(environment: RocmEnvironment) -> None:
    assert environment.code(KILLED).returncode == -9
    assert not environment.tree.exists()
    assert leftovers(environment.site) == ["._rocm_sdk_devel.new"]
    environment.say("rocm-sdk", "path", "--root")
    assert leftovers(environment.site) == []
    assert environment.tested()[1]["suites"]["devel"]["status"] == "passed"


def test_a_tree_of_another_tool_or_another_build_is_replaced(environment: RocmEnvironment) -> None:
    (environment.tree / "old").mkdir(parents=True)
    (environment.tree / "old/file").write_text("of another build", encoding="utf-8")
    environment.say("rocm-sdk", "path", "--root")
    assert not (environment.tree / "old").exists()
    # It may have been somebody's work.
    assert (environment.site / "_rocm_sdk_devel.kept/old/file").read_text(encoding="utf-8") == "of another build"


@pytest.mark.parametrize("why", ["mark", "list", "version"])
def test_what_somebody_put_there_stays(why: str, environment: RocmEnvironment, tmp_path: Path) -> None:
    tree = Path(environment.say("rocm-sdk", "path", "--root"))
    (tree / "include/mine.h").write_text("mine", encoding="utf-8")
    (tree / "mine").symlink_to("include")
    before = names(tree)
    if why == "version":
        environment = RocmEnvironment(
            folder=environment.folder, installer="uv", dist=RocmSet(version="7.11.0").write(tmp_path / "next")
        )
        environment.install("--upgrade", "rocm[libraries,devel,device]")
        said = environment.run("rocm-sdk", "path", "--root").stderr
        kept = environment.site / "_rocm_sdk_devel.kept"
        assert str(kept) in said
        assert (kept / "include/mine.h").read_text(encoding="utf-8") == "mine"
        assert names(kept) == {"include/mine.h"}
        assert (kept / "mine").readlink() == Path("include")
        assert not (tree / "include/mine.h").exists()
        return
    (tree / ".rocm_sdk.json").unlink()
    if why == "list":
        (tree / ".rocm_sdk.files").unlink()
    said = environment.run("rocm-sdk", "path", "--root").stderr
    assert str(tree / "include/mine.h") in said
    assert (tree / "include/mine.h").read_text(encoding="utf-8") == "mine"
    assert (tree / "mine").readlink() == Path("include")
    assert names(tree) == before
    assert leftovers(environment.site) == []


def test_what_somebody_put_there_outlives_a_kill(environment: RocmEnvironment) -> None:
    tree = Path(environment.say("rocm-sdk", "path", "--root"))
    (tree / "mine").write_text("mine", encoding="utf-8")
    before = names(tree)
    tree.rename(environment.site / "._rocm_sdk_devel.old")
    environment.say("rocm-sdk", "path", "--root")
    assert (tree / "mine").read_text(encoding="utf-8") == "mine"
    assert names(tree) == before


def test_notes_of_the_tree_are_never_written_through_a_link(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist)
    hostile = RocmSet(suffix=".tar.xz", links={"__init__.py": "../_rocm_sdk_core/bin/rocminfo"}).archive()
    _put_archive(environment, hostile)
    program = environment.site / "_rocm_sdk_core/bin/rocminfo"
    before = program.read_bytes()
    environment.say("rocm-sdk", "path", "--root")
    assert program.read_bytes() == before
    for name in (".rocm_sdk.pending", ".rocm_sdk.files", ".rocm_sdk.json"):
        shutil.rmtree(environment.tree, ignore_errors=True)
        _put_archive(environment, RocmSet(suffix=".tar.xz", links={name: "../_rocm_sdk_core/bin/rocminfo"}).archive())
        failed = environment.run("rocm-sdk", "path", "--root")
        assert failed.returncode == 1
        assert "has a name that is kept for what is noted of the tree" in failed.stderr
        assert program.read_bytes() == before


def _put_archive(environment: RocmEnvironment, data: bytes) -> None:
    """Put another archive in the place of the package's, as its package would."""
    stated = environment.site / "rocm_sdk_devel/devel.json"
    fields = json.loads(stated.read_bytes()) | {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    # An installer may share the files' bytes with its cache.
    for path, content in ((stated, json.dumps(fields).encode()), (stated.with_name("_devel.tar.xz"), data)):
        path.unlink()
        path.write_bytes(content)


@pytest.mark.parametrize("path", ["include/hip/hip_runtime.h", "lib/static.a"])
def test_a_file_that_was_cut_short_is_told_and_mended(path: str, environment: RocmEnvironment) -> None:
    tree = Path(environment.say("rocm-sdk", "path", "--root"))
    whole = (tree / path).read_bytes()
    (tree / path).write_bytes(b"")
    status, document = environment.tested()
    assert status == 1
    assert f"{path} is not as it was expanded" in document["suites"]["devel"]["failed"][0]["reason"]
    environment.say("rocm-sdk", "init")
    assert (tree / path).read_bytes() == whole
    assert environment.tested()[0] == 0


def test_processes_expand_once_between_them(environment: RocmEnvironment) -> None:
    together = [environment.start("rocm-sdk", "init") for _ in range(3)]
    said = [child.communicate(timeout=120) for child in together]
    assert [child.returncode for child in together] == [0, 0, 0], said
    assert sum("expanding" in errors for _, errors in said) == 1


def test_a_process_waits_for_one_that_expands(environment: RocmEnvironment) -> None:
    lock = environment.site / "rocm_sdk_devel/.lock"
    holder = environment.start("python", "-I", "-c", HOLDER, str(lock))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    waiting = environment.start("rocm-sdk", "init")
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == f"waiting for another process that expands {environment.tree}\n"
    assert not environment.tree.exists()
    # A holder that is killed holds nothing.
    holder.kill()
    holder.communicate(timeout=60)
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert environment.tree.is_dir()


def test_device_packages_are_followed(dist: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, dist, "rocm[libraries,devel]")
    kernels = environment.tree / "lib/rocblas/library"
    environment.say("rocm-sdk", "path", "--root")
    assert not kernels.exists()
    # Links to what only a device package brings, and to nothing at all, are not there: an uninstaller would leave them behind.
    assert not os.path.lexists(environment.tree / "lib" / OF_DEVICE)
    assert not os.path.lexists(environment.tree / "lib/libgone.so")
    assert environment.tested()[0] == 0

    environment.install("rocm[device]==7.10.0")
    environment.say("rocm-sdk", "path", "--root")
    assert sorted(path.name for path in kernels.iterdir()) == ["kernels_gfx1201.kpack", "kernels_gfx942.kpack"]
    assert (environment.tree / "lib" / OF_DEVICE).samefile(environment.site / f"_rocm_sdk_libraries/lib/{OF_DEVICE}.1")

    # Reinstalling takes away what was put into the tree for it.
    environment.install("--reinstall-package", "rocm-sdk-device-gfx942", "rocm-sdk-device-gfx942")
    assert [path.name for path in kernels.iterdir()] == ["kernels_gfx1201.kpack"]
    environment.say("rocm-sdk", "path", "--root")
    assert environment.tested()[0] == 0

    # So does uninstalling; a link to what is gone goes with the next look.
    environment.uninstall("rocm-sdk-device-gfx942")
    assert [path.name for path in kernels.iterdir()] == ["kernels_gfx1201.kpack"]
    environment.say("rocm-sdk", "path", "--root")
    assert not os.path.lexists(environment.tree / "lib" / OF_DEVICE)
    assert environment.tested()[0] == 0


def test_files_of_a_device_package_that_went_otherwise_go_too(environment: RocmEnvironment) -> None:
    environment.say("rocm-sdk", "path", "--root")
    (environment.site / "_rocm_sdk_libraries/.devel_links/gfx942.json").unlink()
    environment.say("rocm-sdk", "path", "--root")
    assert sorted(path.name for path in (environment.tree / "lib/rocblas/library").iterdir()) == ["kernels_gfx1201.kpack"]


def test_what_is_damaged_is_told_and_mended(environment: RocmEnvironment) -> None:
    environment.say("rocm-sdk", "init", "--quiet")
    before = names(environment.tree)
    for lost in ("include/hip/hip_version.h", "bin/hipcc", "lib/librocblas.so", "lib/rocblas/library/kernels_gfx942.kpack"):
        (environment.tree / lost).unlink()
        if lost == "bin/hipcc":
            status, document = environment.tested()
            assert (status, document["suites"]["devel"]["status"]) == (1, "failed")
        assert environment.run("rocm-sdk", "init", "--quiet").stderr == ""
        assert names(environment.tree) == before
    assert environment.tested()[0] == 0


def test_the_archive_can_be_dropped_and_is_missed_only_for_mending(environment: RocmEnvironment) -> None:
    assert "removed their archive" in environment.say("rocm-sdk", "init", "--drop-archive")
    assert not (environment.site / "rocm_sdk_devel/_devel.tar.xz").exists()
    environment.say("rocm-sdk", "path", "--root")
    environment.say("rocm-sdk", "init")
    (environment.tree / "lib/static.a").unlink()
    failed = environment.run("rocm-sdk", "init")
    assert failed.returncode == 1
    assert 'pip install --force-reinstall --no-deps --no-cache-dir "rocm-sdk-devel==7.10.0"' in failed.stderr
    environment.install("--reinstall-package", "rocm-sdk-devel", "rocm-sdk-devel")
    environment.say("rocm-sdk", "init")
    assert (environment.tree / "lib/static.a").read_bytes() == b"static one"


def test_damaged_bytes_are_refused_and_nothing_is_left(environment: RocmEnvironment) -> None:
    archive = environment.site / "rocm_sdk_devel/_devel.tar.xz"
    data = RocmSet(suffix=".tar.xz", build="other").archive()
    archive.unlink()  # an installer may share the file's bytes with its cache
    archive.write_bytes(data)
    failed = environment.run("rocm-sdk", "path", "--root")
    assert failed.returncode == 1
    assert f"{archive} is damaged: its sha256 is " in failed.stderr
    assert not environment.tree.exists()
    assert leftovers(environment.site) == []


def test_the_record_that_an_installer_shares_is_not_written_in_place(environment: RocmEnvironment) -> None:
    (record,) = environment.site.glob("rocm_sdk_devel-*.dist-info/RECORD")
    shared = environment.folder.parent / "shared"
    os.link(record, shared)
    before = shared.read_bytes()
    environment.say("rocm-sdk", "init")
    assert shared.read_bytes() == before
    assert b"_rocm_sdk_devel/lib/static.a,," in record.read_bytes()


def test_read_only_packages_are_expanded_in_the_cache(environment: RocmEnvironment) -> None:
    """The folder of packages is another mount, too: nothing can be shared with it by hard links."""
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets no one make a read-only mount")
    cache = environment.folder.parent / "cache"
    command = [*NAMESPACE, "sh", "-c", READ_ONLY, "sh", str(environment.site), str(environment.folder / "bin/rocm-sdk")]

    def say(*arguments: str) -> str:
        told = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        return subprocess.run([*command, *arguments], env=told, capture_output=True, text=True, check=True).stdout.strip()

    root = Path(say("path", "--root"))
    assert root.is_relative_to(cache)
    assert not environment.tree.exists()
    # Programs ask where they lie, so they are copied; libraries are links that lead through the names beside the tree.
    assert not (root / "bin/hipcc").is_symlink()
    assert os.access(root / "bin/hipcc", os.X_OK)
    assert (root / "lib/libamdhip64.so.7").readlink() == Path("../../_rocm_sdk_core/lib/libamdhip64.so.7")
    assert (root / "lib/libamdhip64.so").samefile(environment.site / "_rocm_sdk_core/lib/libamdhip64.so.7")
    assert (root / "lib/rocblas/library/kernels_gfx942.kpack").read_bytes() == b"kernels one gfx942"
    assert say("path", "--root") == str(root)
    document = json.loads(say("test", "--json"))
    assert document["suites"]["devel"]["status"] == "passed"


def test_no_place_at_all_is_said(environment: RocmEnvironment) -> None:
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets no one make a read-only mount")
    root = environment.folder.parent
    command = [*NAMESPACE, "sh", "-c", READ_ONLY, "sh", str(root), str(environment.folder / "bin/rocm-sdk"), "init"]
    told = {**os.environ, "XDG_CACHE_HOME": str(root / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    failed = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "there is no place for the development files that can be written: " in failed.stderr
    assert "Traceback" not in failed.stderr
