"""Hipify on real trees: pristine files in, one commit per module out, nothing lost and nothing half-done."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.hipify.account import read_notes
from build_tools.hipify.record import read_tree_record
from build_tools.hipify.run import hipify, hipify_digest
from build_tools.patches.apply import apply_base_patches, apply_hipified_patches
from build_tools.patches.series import load_series, lock_patches
from build_tools.sources.checkout import bringer_of, checkout
from build_tools.sources.mirror import WHOLE
from build_tools.sources.origin import open_origin
from build_tools.sources.resolve import resolve_sources
from build_tools.types import Platform
from tests.support import source_trees
from tests.support.source_trees import HIPIFY, ODD_NAMES, Person, Yard, git, head, make_patch, raw, snapshot, status, write

if TYPE_CHECKING:
    from collections.abc import Mapping

LIB = "third party/lib"
EXTERNAL_BUILDS = Path(__file__).parents[2] / "external-builds"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def lib(yard: Yard) -> Person:
    return yard.person("lib")


@pytest.fixture
def origin(yard: Yard, lib: Person) -> Person:
    origin = yard.person("toy")
    lib.commit({"l.cu": "cuda l\n", ".gitignore": "hip\n"})
    files = {"version.txt": "1.0\n", "a.cu": "cuda a\n", ".gitignore": "hip\n*.log\n", "tools/hip.py": HIPIFY}
    origin.commit(files | dict.fromkeys(ODD_NAMES, "cuda odd\n"))
    origin.submodule(lib, LIB)
    return origin


def run(yard: Yard, tree: Path, *, platform: Platform = Platform.LINUX, tool: Mapping[str, object] | None = None) -> None:
    yard.hipify(tree, yard.hipifier(platform=platform, tool=tool))


def plain_run(origin: Person, target: Path) -> dict[str, bytes]:
    """Return what the tool makes of a plain recursive clone."""
    git(target.parent, "clone", "--quiet", "--recurse-submodules", origin.folder, target)
    subprocess.run([sys.executable, "tools/hip.py"], cwd=target, check=True)
    return snapshot(target)


def refs(folder: Path) -> dict[str, str]:
    lines = git(folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/hipwright/").splitlines()
    return {line.split(" ")[0]: line.split(" ")[1] for line in lines}


def test_the_result_is_a_commit_in_every_module_hidden_files_too(yard: Yard, tree: Path, origin: Person, tmp_path: Path) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    upstream = {module: head(tree / module) for module in (".", LIB)}
    run(yard, tree)
    assert snapshot(tree) == plain_run(origin, tmp_path / "clone")
    assert status(tree) == b""
    for module, commit in upstream.items():
        now = head(tree / module)
        assert refs(tree / module) == {"upstream": commit, "base": commit, "hipified": now, "finished": now}
        assert git(tree / module, "rev-parse", "HEAD~1") == commit
        date = git(tree / module, "show", "-s", "--format=%ct", commit)
        assert (
            git(tree / module, "log", "-1", "--format=%ae %ce %at %ct")
            == f"hipwright@localhost hipwright@localhost {date} {date}"
        )
        assert git(tree / module, "log", "-1", "--format=%(trailers:key=Hipwright-Phase,valueonly)").strip() == "hipified"
    assert "hip/l.hip" in git(tree / LIB, "ls-files")
    assert yard.read(locked, tree).local is None
    assert any("hipify in the root: 12 files added, 1 changed" in line for line in yard.said), yard.said
    assert list((yard.place / "scratch").iterdir()) == []


def test_two_checkouts_get_the_same_commits_and_a_second_run_changes_nothing(yard: Yard, origin: Person) -> None:
    trees = [yard.place / "one" / "toy", yard.place / "much longer é\n" / "toy"]
    for tree in trees:
        yard.checkout(yard.lock(origin), tree)
        run(yard, tree)
    first, second = ([head(tree / module) for module in (".", LIB)] for tree in trees)
    assert first == second
    before = {path: path.lstat().st_mtime_ns for path in trees[0].rglob("*") if ".git" not in path.parts}
    run(yard, trees[0])
    assert [head(trees[0] / module) for module in (".", LIB)] == first
    assert {path: path.lstat().st_mtime_ns for path in trees[0].rglob("*") if ".git" not in path.parts} == before


def test_hipify_starts_from_the_base_patches_and_its_result_is_what_hipified_patches_change(
    yard: Yard, tree: Path, origin: Person
) -> None:
    yard.checkout(yard.lock(origin), tree)
    yard.series({f"{LIB}/base/1.patch": make_patch(tree / LIB, {"l.cu": "cuda patched\n"})})
    yard.patches("base", tree)
    run(yard, tree)
    assert (tree / LIB / "hip" / "l.hip").read_text() == "hip patched\n"
    patch = make_patch(tree / LIB, {"hip/l.hip": "hip again\n"})
    yard.series(
        {f"{LIB}/base/1.patch": (yard.folder / f"patches/1/{LIB}/base/1.patch").read_bytes(), f"{LIB}/hipified/1.patch": patch}
    )
    yard.patches("hipified", tree)
    assert (tree / LIB / "hip" / "l.hip").read_text() == "hip again\n"
    assert status(tree) == b""
    markers = refs(tree / LIB)
    assert len(set(markers.values())) == 4
    run(yard, tree)
    yard.patches("base", tree)
    assert refs(tree / LIB) == markers


FAILING = HIPIFY + "\nprint('half way'); raise SystemExit('error: no translation for cudaNew')\n"
HANGING = HIPIFY + "\nimport time\ntime.sleep(600)\n"


def test_a_tool_that_fails_leaves_the_tree_as_it_was(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({"tools/hip.py": FAILING})
    yard.checkout(yard.lock(origin), tree)
    before = (snapshot(tree), refs(tree), refs(tree / LIB))
    for _ in range(2):
        with pytest.raises(HipwrightError, match=r"tools/hip\.py ended with status 1") as caught:
            run(yard, tree)
        assert caught.value.code.name == "hipify-failed"
        assert caught.value.log == yard.log
        assert "no translation for cudaNew" in str(caught.value.excerpt)
        assert (snapshot(tree), refs(tree), refs(tree / LIB)) == before
        assert status(tree) == b""
    assert list((yard.place / "scratch").iterdir()) == []
    yard.checkout(yard.lock(origin, origin.commit({"tools/hip.py": HIPIFY})), tree)
    run(yard, tree)
    assert (tree / "hip" / "a.hip").read_text() == "hip a\n"


REPOSITORY = """
import subprocess
subprocess.run(["git", "init", "--quiet", "made"], check=True)
open("made/file", "w").close()
"""
COMMITTED = """
subprocess.run(["git", "-C", "made", "add", "file"], check=True)
author = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
subprocess.run(["git", "-C", "made", *author, "commit", "--quiet", "-m", "x"], check=True)
"""


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (REPOSITORY, "made/.git"),
        (REPOSITORY + COMMITTED, "made/.git"),
        ("import os\nos.mkdir('.GIT')\nopen('.GIT/x', 'w').close()", ".GIT"),
        (f"open('{LIB}/hip/.git', 'w').close()", f"{LIB}/hip/.git"),
        ("import os\nos.remove('.gitmodules')", "removed .gitmodules"),
        ("open('.gitmodules', 'a').write('# x')", "changed .gitmodules"),
        (f"open('{LIB}/.gitmodules', 'w').close()", f"made {LIB}: .gitmodules"),
        (f"import shutil\nshutil.rmtree('{LIB}')", f"the folder of {LIB}"),
        (f"import os\nos.rename('{LIB}', 'moved')", f"the folder of {LIB}"),
        ("import os\nos.rename('third party', 'moved')\nos.symlink('moved', 'third party')", f"the folder of {LIB}"),
        (f"import shutil\nshutil.rmtree('{LIB}/.git')", f"removed {LIB}: .git/HEAD"),
        ("import shutil\nshutil.rmtree('.git')", "removed .git/HEAD"),
        ("open('.git/config', 'a').write('[core]\\n\\tsparseCheckout = true\\n')", "changed .git/config"),
    ],
)
def test_a_tool_that_changes_which_modules_there_are_is_refused(
    yard: Yard, tree: Path, origin: Person, more: str, named: str
) -> None:
    """What it left would lose files, or be commits that no origin has."""
    origin.commit({"tools/hip.py": f"{HIPIFY}\n{more}\n"})
    yard.checkout(yard.lock(origin), tree)
    before = (snapshot(tree), refs(tree), refs(tree / LIB))
    with pytest.raises(HipwrightError) as caught:
        run(yard, tree)
    assert caught.value.code.name == "hipify-failed"
    assert named in caught.value.message
    assert caught.value.log == yard.log
    assert (snapshot(tree), refs(tree), refs(tree / LIB)) == before
    assert status(tree) == b""
    assert not list((yard.cache / "hipify").glob("*/record.json"))
    assert list((yard.place / "scratch").iterdir()) == []


@pytest.mark.parametrize("removed", [False, True])
def test_a_submodule_that_is_not_checked_out_stays_recorded(yard: Yard, tree: Path, origin: Person, *, removed: bool) -> None:
    more = f"import os\nos.rmdir('{LIB}')\n" if removed else ""
    text = (origin.folder / ".gitmodules").read_text(encoding="utf-8")
    origin.commit({".gitmodules": f"{text}\tupdate = none\n", "tools/hip.py": f"{HIPIFY}\n{more}"})
    yard.checkout(yard.lock(origin), tree)
    if not removed:
        run(yard, tree)
        assert git(tree, "ls-tree", "HEAD~1", LIB) == git(tree, "ls-tree", "HEAD", LIB)
        return
    with pytest.raises(HipwrightError, match=f"the submodule {LIB}") as caught:
        run(yard, tree)
    assert caught.value.code.name == "hipify-failed"


def test_a_long_output_is_kept_by_its_ends(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({"tools/hip.py": f"{HIPIFY}\nprint('first', 'x' * 3_000_000, 'last', flush=True)\n"})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    (kept,) = (yard.cache / "hipify").glob("*/hipify.log")
    said = kept.read_text(encoding="utf-8")
    assert len(said) < 2_200_000
    assert "first xxx" in said
    assert "xxx last" in said
    assert "bytes are left out here" in said
    assert len(yard.log.read_bytes()) > 3_000_000


def test_a_tool_that_runs_past_its_time_is_stopped(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin.commit({"tools/hip.py": HANGING})
    yard.checkout(yard.lock(origin), tree)
    monkeypatch.setattr("build_tools.hipify.run._SECONDS", 0.02)
    with pytest.raises(HipwrightError, match="time limit") as caught:
        run(yard, tree)
    assert caught.value.code.name == "command-timeout"
    assert status(tree) == b""


KILLED = """
import sys
from pathlib import Path
from tests.support.source_trees import Yard
Yard(Path(sys.argv[1])).hipify(Path(sys.argv[2]))
"""


def test_a_run_that_is_killed_in_the_middle_never_looks_finished(yard: Yard, tree: Path, origin: Person, tmp_path: Path) -> None:
    began, gate = tmp_path / "began", tmp_path / "gate"
    for pipe in (began, gate):
        os.mkfifo(pipe)
    done = tmp_path / "done"
    block = f"import os\nif not os.path.exists({str(done)!r}):\n    open({str(began)!r}, 'w').close()\n    open({str(gate)!r}).read()\n"
    # Half of the work is done when it stops.
    origin.commit({"tools/hip.py": f"open('a.cu', 'a').write('half')\n{block}{HIPIFY}"})
    yard.checkout(yard.lock(origin), tree)
    before = (snapshot(tree), refs(tree))
    environment = {**os.environ, "PYTHONPATH": str(EXTERNAL_BUILDS.parent)}
    with subprocess.Popen([sys.executable, "-c", KILLED, yard.place, tree], env=environment) as process:
        began.read_bytes()
        process.kill()
    assert (snapshot(tree), refs(tree)) == before
    assert read_tree_record(tree) is None
    assert not list((yard.cache / "hipify").glob("*/record.json"))
    assert len(list((yard.place / "scratch").iterdir())) == 1
    done.touch()
    run(yard, tree)
    assert (tree / "a.cu").read_text() == "cuda a\nhalf"
    assert (tree / "hip" / "a.hip").read_text() == "hip a\nhalf"
    assert status(tree) == b""
    assert list((yard.place / "scratch").iterdir()) == []


LEFT_BEHIND = """
import os, subprocess, sys, time
code = "import time; open('began', 'w').close(); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not os.path.exists("began"):
    time.sleep(0.01)
os.remove("began")
open("made.txt", "w").write("made")
"""


def test_what_a_tool_leaves_running_writes_nothing_into_the_result(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin.commit({"tools/hip.py": LEFT_BEHIND})
    yard.checkout(yard.lock(origin), tree)
    seen: list[bool] = []

    def note(notes: Path) -> object:
        seen.append(running(yard.place / "scratch"))
        return read_notes(notes)

    monkeypatch.setattr("build_tools.hipify.run.read_notes", note)
    run(yard, tree)
    assert seen == [False]
    assert (tree / "made.txt").read_text() == "made"
    assert status(tree) == b""


def running(folder: Path) -> bool:
    """Return whether a process works below a folder."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                return True
    return False


def test_a_copy_that_a_killed_run_left_goes_although_a_kept_result_is_taken(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    other = yard.place / "src" / "other"
    yard.checkout(yard.lock(origin), other)
    name = yard.hipifier().name
    left = [yard.place / "scratch" / f"{name}.partial-1" / "tree" / "a.cu", yard.place / "scratch" / "theirs.partial-1" / "x"]
    for path in left:
        write(path.parent, {path.name: "half\n"})
    run(yard, other)
    assert "its result is taken from" in "\n".join(yard.said)
    assert [path.name for path in (yard.place / "scratch").iterdir()] == ["theirs.partial-1"]


def test_a_tool_that_was_killed_is_told_with_the_signal(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({"tools/hip.py": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"})
    yard.checkout(yard.lock(origin), tree)
    with pytest.raises(HipwrightError, match=r"tools/hip\.py was ended by the signal SIGKILL") as caught:
        run(yard, tree)
    assert caught.value.code.name == "hipify-failed"
    assert "memory" in str(caught.value.hint)


def test_a_tree_without_the_script_is_named(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({}, remove=("tools/hip.py",))
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    with pytest.raises(HipwrightError, match=r"no tools/hip\.py") as caught:
        run(yard, tree)
    assert caught.value.code.name == "bad-source-tree"
    with pytest.raises(HipwrightError, match=r"no tools/hip\.py") as caught:
        hipify_digest(yard.project(), locked=locked, cache=yard.cache, git=yard.git)
    assert caught.value.code.name == "bad-source-tree"


def test_a_project_without_hipify_keeps_its_files(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    project = yard.project(hipify=None)
    hipify(tree, None, git=yard.git, say=yard.said.append)
    assert refs(tree) == dict.fromkeys(("base", "finished", "hipified", "upstream"), head(origin.folder))
    assert not (tree / "hip").exists()
    assert hipify_digest(project, locked=yard.lock(origin), cache=yard.cache, git=yard.git) is None


def test_a_tool_that_changes_nothing_makes_no_commit(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({"tools/hip.py": "from pathlib import Path\nPath('a.cu').touch()\n"})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    assert refs(tree) == dict.fromkeys(("base", "finished", "hipified", "upstream"), head(origin.folder))


def test_files_that_git_would_store_as_they_were_make_no_commit(yard: Yard, tree: Path, origin: Person) -> None:
    """Status shows such files as changed, and there is nothing to commit: the staged content decides, not the status."""
    tool = "from pathlib import Path\nPath('a.cu').write_bytes(Path('a.cu').read_bytes().replace(b'\\n', b'\\r\\n'))\n"
    origin.commit({"tools/hip.py": tool, ".gitattributes": "*.cu text\n"})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    assert set(refs(tree).values()) == {head(origin.folder)}
    assert status(tree) == b""


def test_what_a_tool_removes_is_removed_in_nested_submodules_too_and_every_module_is_clean(
    yard: Yard, tree: Path, lib: Person, origin: Person
) -> None:
    deep = yard.person("deep")
    deep.commit({"vendor/x.cu": "cuda x\n", "kept.txt": "k\n"})
    lib.submodule(deep, "de ep")
    git(origin.folder / LIB, "pull", "--quiet", "origin", "main")
    tool = f"import shutil\nshutil.rmtree('{LIB}/de ep/vendor')\n"
    origin.commit({"tools/hip.py": tool})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    assert not (tree / LIB / "de ep" / "vendor").exists()
    for module in (".", LIB, f"{LIB}/de ep"):
        assert status(tree / module) == b""
        assert git(tree / module, "log", "-1", "--format=%(trailers:key=Hipwright-Phase,valueonly)").strip() == "hipified"
    changed = git(tree / LIB, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()
    assert changed == ["de ep"]
    record = read_tree_record(tree)
    assert record is not None
    removed = {module.path: module.removed for module in record.record.modules}
    assert removed == {".": (), LIB: (), f"{LIB}/de ep": ("vendor/x.cu",)}


def test_a_second_run_of_the_tool_finds_nothing_of_the_first(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    before = (snapshot(tree), refs(tree))
    yard.hipify(tree, again=True)
    assert (snapshot(tree), refs(tree)) == before
    assert list(tree.rglob("hip/hip")) == []


def test_the_record_names_what_was_read_added_and_changed_and_who_did_it(yard: Yard, tree: Path, origin: Person) -> None:
    tool = HIPIFY + "\nfrom torch.utils.hipify import version\n"
    engine = {"torch/__init__.py": "", "torch/utils/hipify/version.py": "__version__ = '2.0.0'\n"}
    origin.commit({"tools/hip.py": "import sys\nsys.path.insert(0, '.')\n" + tool, **engine})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    found = read_tree_record(tree)
    assert found is not None
    record = found.record
    assert (record.generation, record.python) == ("2.0.0", platform.python_version())
    root, lib = record.modules
    assert root.path == "."
    own = {"a.cu", "new\nline.cu", "bytes-\\xff\\xfe.cu", "version.txt", "tools/hip.py", "torch/utils/hipify/version.py"}
    assert own <= set(root.read)
    assert not any(name.startswith("hip/") or ".git" in name for name in root.read)
    assert (lib.read, lib.added, lib.changed, lib.removed) == (("l.cu",), ("hip/l.hip",), (), ())
    assert root.changed == ("version.txt",)
    assert "hip/a.hip" in root.added
    assert root.removed == ()


def test_the_log_says_with_what_the_tool_ran_what_it_said_and_what_came_of_it(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit({"tools/hip.py": "import sys\nprint('includes:', sys.argv[1:])\n" + HIPIFY})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree, tool={"script": "tools/hip.py", "arguments": ["--include", "a b"]})
    log = yard.log.read_text()
    assert "tools/hip.py --include 'a b'" in log
    assert "includes: ['--include', 'a b']" in log
    assert f"hipify in {LIB}: 1 file added, 0 changed" in log


def test_byte_code_that_a_tool_leaves_is_no_result(yard: Yard, tree: Path, origin: Person) -> None:
    tool = (
        "import py_compile\nfor name in ('tools/hip.py',):\n    py_compile.compile(name)\n    py_compile.compile(name, 'a.pyc')\n"
    )
    origin.commit({"tools/hip.py": tool})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    assert head(tree) == head(origin.folder)


def test_the_tool_runs_in_utf_8_mode_without_the_machines_python_settings(yard: Yard, tree: Path, origin: Person) -> None:
    origin.commit(
        {"tools/hip.py": "import os, sys\nopen('out.txt', 'w').write(f'é {sys.flags.utf8_mode} {sys.dont_write_bytecode}')\n"}
    )
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree)
    assert (tree / "out.txt").read_text(encoding="utf-8") == "é 1 True"


def test_the_tool_runs_in_its_module_with_its_arguments(yard: Yard, tree: Path, lib: Person, origin: Person) -> None:
    tool = "import sys\nfrom pathlib import Path\nPath('out.txt').write_text(f'{sys.argv[1:]} {Path.cwd().name}')\n"
    lib.commit({"t.py": tool})
    git(origin.folder / LIB, "pull", "--quiet", "origin", "main")
    origin.commit({})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree, tool={"script": "t.py", "module": LIB, "arguments": ["a b"]})
    assert (tree / LIB / "out.txt").read_text() == "['a b'] lib"
    assert status(tree) == b""


def test_line_ends_that_the_tool_converted_on_windows_are_taken_back(yard: Yard, tree: Path, origin: Person) -> None:
    tool = "from pathlib import Path\nPath('new.hip').write_bytes(b'a\\r\\nb\\r\\n')\nPath('kept.txt').write_bytes(b'x\\r\\nz\\r\\n')\n"
    origin.commit({"tools/hip.py": tool, "kept.txt": "x\r\ny\r\n"})
    yard.checkout(yard.lock(origin), tree)
    run(yard, tree, platform=Platform.WINDOWS)
    assert raw(tree, "show", "HEAD:new.hip") == b"a\nb\n"
    assert raw(tree, "show", "HEAD:kept.txt") == b"x\r\nz\r\n"
    assert status(tree) == b""


def test_work_in_the_tree_stops_hipify_only_when_it_would_be_lost(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    write(tree, {"a.cu": "my edit\n"})
    with pytest.raises(HipwrightError) as caught:
        run(yard, tree)
    assert caught.value.code.name == "unsaved-work"
    assert (tree / "a.cu").read_text() == "my edit\n"
    git(tree, "checkout", "--quiet", "--", "a.cu")
    run(yard, tree)
    write(tree, {"hip/a.hip": "my edit\n"})
    run(yard, tree)
    assert (tree / "hip/a.hip").read_text() == "my edit\n"


def test_the_digest_follows_script_engine_and_arguments_and_nothing_else(yard: Yard, origin: Person) -> None:
    def digest(**changes: object) -> str | None:
        return hipify_digest(yard.project(**changes), locked=yard.lock(origin), cache=yard.cache, git=yard.git)

    first = digest()
    origin.commit({"a.cu": "other\n"})
    assert digest() == first
    engine = (origin.commit({"torch/utils/hipify/x.py": "1\n"}), digest())[1]
    script = (origin.commit({"tools/hip.py": HIPIFY + "\n"}), digest())[1]
    arguments = digest(hipify={"script": "tools/hip.py", "arguments": ["-v"]})
    assert len({first, engine, script, arguments}) == 4


HOSTILE = """
[user]
    useConfigOnly = true
    signingKey = nobody
[commit]
    gpgSign = true
[core]
    autocrlf = true
    hooksPath = {hooks}
    quotePath = true
    excludesFile = {ignore}
    attributesFile = {attributes}
    fsmonitor = {hooks}/fsmonitor
[diff]
    noprefix = true
    mnemonicPrefix = true
    context = 0
[format]
    attach = true
[am]
    threeWay = true
    keepcr = false
[apply]
    whitespace = error
[status]
    showUntrackedFiles = no
    relativePaths = true
[submodule]
    recurse = true
[protocol "file"]
    allow = never
[fetch]
    prune = true
[url "file:///nowhere/"]
    insteadOf = /
[safe]
    directory = ""
"""


def sample(place: Path, clones: list[str]) -> list[list[str]]:
    """Run the four stages on the bundled sample and return commits and files of each checkout."""
    yard = Yard(place)
    project = load_project(EXTERNAL_BUILDS, "sample")  # type: ignore[arg-type]
    folder = EXTERNAL_BUILDS / "sample"
    origin = open_origin(project, folder=folder, url=None, sdist=None, cache=yard.cache, git=yard.git, say=yard.said.append)
    locked = resolve_sources(project, origin=origin, ref=None, reason="r", cache=yard.cache, say=yard.said.append)
    series = load_series(folder, lock_patches(project, locked.ref, folder=folder).line)
    heads = []
    for name in clones:
        tree = place / name
        checkout(locked, tree=tree, cache=yard.cache, git=origin.git, say=yard.said.append)
        bringer = bringer_of(locked, tree=tree, cache=yard.cache, git=origin.git, history=WHOLE, say=yard.said.append)
        apply_base_patches(
            series,
            locked=locked,
            after_base=locked.submodules,
            bringer=bringer,
            tree=tree,
            platform=Platform.LINUX,
            git=origin.git,
            log=yard.log,
            say=yard.said.append,
        )
        assert status(tree) == b""
        assert project.hipify is not None
        tool = replace(yard.hipifier(f".{name}-hipify"), tool=project.hipify)
        hipify(tree, tool, git=origin.git, say=yard.said.append)
        assert status(tree) == b""
        apply_hipified_patches(series, tree=tree, platform=Platform.LINUX, git=origin.git, log=yard.log, say=yard.said.append)
        assert status(tree) == b""
        files = hashlib.sha256(repr(snapshot(tree)).encode()).hexdigest()
        heads.append([head(tree), head(tree / "third_party" / "greeter"), files, *refs(tree).values()])
    return heads


def test_the_sample_gets_the_same_commits_on_every_checkout_whatever_the_persons_git_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sample(tmp_path / "calm", ["one", "two é"])
    assert first == second
    hooks, home = tmp_path / "hooks", tmp_path / "home"
    names = (
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "applypatch-msg",
        "post-index-change",
        "reference-transaction",
        "fsmonitor",
    )
    write(hooks, dict.fromkeys(names, f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n"))
    for name in names:
        (hooks / name).chmod(0o755)
    write(home, {"ignore": "*.hip\n*.txt\nhip\n", "attributes": "* text eol=crlf ident\n"})
    config = HOSTILE.format(hooks=hooks, ignore=home / "ignore", attributes=home / "attributes")
    write(home, {".gitconfig": config, ".config/git/ignore": "*\n", ".config/git/attributes": "* text eol=crlf\n"})
    write(home / "template", {"hooks/post-checkout": "#!/bin/sh\nexit 1\n", "info/exclude": "*\n"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    hostile = {
        "GIT_TEMPLATE_DIR": str(home / "template"),
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
        "GIT_COMMITTER_NAME": "Nobody",
        "GIT_DIR": str(home),
        "GIT_INDEX_FILE": str(home / "index"),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_OBJECT_DIRECTORY": str(home),
        "TZ": "Asia/Kathmandu",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    calm = source_trees.identity()
    monkeypatch.setattr(source_trees, "identity", lambda: {name: value for name, value in calm.items() if name not in hostile})
    assert sample(tmp_path / "hostile", ["one"]) == [first]
    assert not (tmp_path / "ran").exists()


def test_settings_of_the_tree_itself_change_nothing(yard: Yard, origin: Person) -> None:
    trees = [yard.place / name / "toy" for name in ("plain", "set")]
    for tree in trees:
        yard.checkout(yard.lock(origin), tree)
    hooks = yard.place / "hooks"
    names = ("pre-commit", "post-checkout", "applypatch-msg", "reference-transaction", "fsmonitor")
    write(hooks, dict.fromkeys(names, f"#!/bin/sh\ntouch '{yard.place}/ran'\nexit 1\n"))
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    for module in (trees[1], trees[1] / LIB):
        for key, value in (
            ("core.hooksPath", str(hooks)),
            ("commit.gpgSign", "true"),
            ("core.autocrlf", "true"),
            ("core.eol", "crlf"),
            ("am.threeWay", "true"),
            ("diff.noprefix", "true"),
            ("status.showUntrackedFiles", "no"),
            ("submodule.recurse", "true"),
            ("core.excludesFile", str(yard.place / "ignore")),
            ("core.attributesFile", str(yard.place / "attributes")),
            ("core.fsmonitor", str(hooks / "fsmonitor")),
            ("core.safecrlf", "true"),
            ("protocol.file.allow", "never"),
            ("protocol.version", "0"),
            ("fetch.recurseSubmodules", "true"),
            ("i18n.commitEncoding", "iso-8859-1"),
            ("i18n.logOutputEncoding", "utf-16"),
            ("diff.orderFile", str(yard.place / "missing")),
            ("log.showSignature", "true"),
        ):
            git(module, "config", key, value)
    write(yard.place, {"ignore": "*.hip\n", "attributes": "* text eol=crlf\n"})
    git(trees[1], "-c", "core.hooksPath=/dev/null", "replace", "HEAD:a.cu", "HEAD:version.txt")
    yard.series({f"{LIB}/base/1.patch": make_patch(trees[0] / LIB, {"l.cu": "cuda patched\n"})})
    for tree in trees:
        yard.patches("base", tree)
        run(yard, tree)
    assert [head(trees[0]), head(trees[0] / LIB)] == [head(trees[1]), head(trees[1] / LIB)]
    assert snapshot(trees[0]) == snapshot(trees[1])
    write(origin.folder / LIB, {"new": "new\n"})
    git(origin.folder / LIB, "add", "new")
    git(origin.folder / LIB, "commit", "--quiet", "-m", "new")
    git(origin.folder / LIB, "push", "--quiet", "origin", "HEAD:refs/heads/new")
    origin.commit({".gitattributes": "*.cfg text\n*.bat text\n", "x.cfg": "a\nb\n", "y.bat": "a\nb\n"})
    for tree in trees:
        yard.checkout(yard.lock(origin), tree)
    assert snapshot(trees[0]) == snapshot(trees[1])
    assert not (yard.place / "ran").exists()
    for tree in trees:
        write(tree, {"y.bat": "a\r\nb\r\nc\r\n"})
    locals_ = [yard.read(yard.lock(origin), tree).local for tree in trees]
    assert locals_[0] == locals_[1]
    assert locals_[0] is not None
    write(trees[1], {"untracked.hip": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(yard.lock(origin, origin.commit({"b": "b"})), trees[1])
    assert "untracked untracked.hip" in str(caught.value.excerpt)
    shutil.rmtree(trees[0])
