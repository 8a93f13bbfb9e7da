"""torchaudio and torchvision as torch's tree pins them, checked out by the commands that a person types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.patches.series import load_series
from tests.support.real_runs import CLONE, Ran, nox
from tests.support.source_trees import git, identity

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("real"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-companions")]

COMPANIONS = {
    "pytorch-audio": ("torchaudio", "release/2.6", "2.6.0a0"),
    "pytorch-vision": ("torchvision", "release/0.21", "0.21.0"),
}
PATCHES = {
    "pytorch-audio": [],
    "pytorch-vision": ["Do without pkg_resources, which setuptools 82 no longer has"],
}
"""What lies on top of the pinned commit on Linux."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """An origin of torch whose release branch pins the companions, and what was locked by it."""

    folder: Path
    torch: Path
    commits: dict[str, str]
    ran: Ran

    def tree(self, name: str) -> Path:
        return self.folder / "work" / "src" / name

    def command(self, session: str, *words: str) -> Ran:
        where = ("--work-dir", self.folder / "work", "--cache-dir", self.folder / "cache")
        ran = nox(session, *words, *where, cwd=self.folder)
        assert ran.status == 0, ran.talk
        return ran


def with_file(repository: Path, branch: str, path: str, text: str) -> str:
    """Add a commit with one more file to a branch of a bare repository."""
    index = {**identity(), "GIT_INDEX_FILE": str(repository / "index-of-test")}
    git(repository, "read-tree", branch, env=index)
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=repository, env=index, input=text.encode(), capture_output=True, check=True
    ).stdout.decode()
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob.strip()},{path}", env=index)
    commit = git(repository, "commit-tree", git(repository, "write-tree", env=index), "-p", branch, "-m", f"Add {path}")
    git(repository, "update-ref", f"refs/heads/{branch}", commit)
    return commit


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Place:
    folder = tmp_path_factory.mktemp("companions")
    torch = folder / "pytorch.git"
    git(folder, "clone", "--quiet", "--bare", "--shared", inputs["pytorch-origin"], torch)
    commits, rows = {}, ["# pins of this release"]
    for name, (row, branch, _) in COMPANIONS.items():
        origin = inputs[f"{row}-origin"]
        commits[name] = git(origin, "rev-parse", branch)
        rows += [f"{system}|pytorch|{row}|{branch}|{commits[name]}|{origin}" for system in ("ubuntu", "centos")]
    with_file(torch, "release/2.6", "related_commits", "\r\n".join([*rows, ""]))
    where = ("--work-dir", folder / "work", "--cache-dir", folder / "cache")
    asked = ("--projects", ",".join(COMPANIONS), "--pytorch-origin", torch, "--pytorch-ref", "release/2.6", "--pins", "require")
    ran = nox("lock", *asked, *where, cwd=folder)
    assert ran.status == 0, ran.talk
    return Place(folder=folder, torch=torch, commits=commits, ran=ran)


@pytest.mark.parametrize("name", COMPANIONS)
def test_the_pin_of_torchs_tree_is_locked_with_its_reason(place: Place, name: str) -> None:
    row, branch, version = COMPANIONS[name]
    sources: dict[str, Any] = place.ran.document["lock"]["projects"][name]["sources"]
    assert (sources["ref"], sources["commit"], sources["base_version"]) == (branch, place.commits[name], version)
    assert "related_commits" in sources["reason"]
    assert row in sources["reason"]


@pytest.mark.parametrize("name", COMPANIONS)
def test_the_pinned_tree_is_checked_out_with_the_patches_of_its_line(place: Place, name: str) -> None:
    row = COMPANIONS[name][0]
    ran = place.command(f"checkout_{name.replace('-', '_')}")
    assert set(ran.states().values()) <= {"run", "skipped"}
    tree = place.tree(name)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    assert git(tree, "rev-parse", "refs/hipwright/upstream", env=env) == place.commits[name]
    assert git(tree, "log", "--format=%s", f"{place.commits[name]}..HEAD", env=env).splitlines() == PATCHES[name]
    assert git(tree, "status", "--porcelain", "--ignored", env=env) == ""
    assert any(path.is_file() for path in tree.glob(f"**/{row}/__init__.py"))
    assert (tree / "setup.py").is_file()


STAND_INS = {
    "pkg_resources.py": "raise ModuleNotFoundError('setuptools 82 has none')\n",
    "setuptools/__init__.py": """\
import json
class Extension: ...
def find_packages(**_words): return []
def setup(**words): print(json.dumps({"version": words["version"], "requires": words["install_requires"]}))
""",
    "setuptools/command/__init__.py": "",
    "setuptools/command/build_ext.py": """\
class build_ext:
    build_temp, debug, parallel = "build", False, None
    def get_ext_fullpath(self, name): return f"lib/{name}"
""",
    "distutils/__init__.py": "",
    "distutils/spawn.py": "",
    "distutils/sysconfig.py": "def get_python_inc(): return 'include'\n",
    "distutils/command/__init__.py": "",
    "distutils/command/clean.py": "class clean: ...\n",
    "torch/__init__.py": """\
from types import SimpleNamespace as Names
__config__ = Names(parallel_info=lambda: "")
backends = Names(cuda=Names(is_built=lambda: True), mps=Names(is_available=lambda: False))
cuda = Names(is_available=lambda: False)
version = Names(hip=None)
""",
    "torch/utils/__init__.py": "cmake_prefix_path = 'cmake'\n",
    "torch/utils/cpp_extension.py": """\
CUDA_HOME = ROCM_HOME = None
class BuildExtension:
    with_options = staticmethod(lambda **_words: None)
class CppExtension:
    def __init__(self, *_words, **_named): ...
CUDAExtension = CppExtension
""",
}
"""Stand-ins for what the build scripts import; none of them is what is looked at here."""


@pytest.fixture
def stand_ins(tmp_path: Path) -> dict[str, str]:
    """An environment in which build scripts find the stand-ins."""
    folder = tmp_path / "stand-ins"
    for name, text in STAND_INS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder), "SETUPTOOLS_USE_DISTUTILS": "stdlib"}


def test_torchvision_is_set_up_by_a_setuptools_without_pkg_resources(
    place: Place, tmp_path: Path, stand_ins: dict[str, str]
) -> None:
    place.command("checkout_pytorch_vision")
    copy = tmp_path / "tree"
    git(tmp_path, "clone", "--quiet", "--shared", place.tree("pytorch-vision"), copy)
    tools = tmp_path / "bin"
    tools.mkdir()
    libpng = tools / "libpng-config"
    libpng.write_text("#!/bin/sh\n[ $1 = --version ] && echo 1.6.39 || echo -I/usr/include/libpng\n", encoding="utf-8")
    libpng.chmod(0o755)
    environment = {**stand_ins, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "TORCHVISION_USE_FFMPEG": "0"}
    command = [sys.executable, "-B", "setup.py", "--version"]
    ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Building torchvision with PNG support" in ran.stdout
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["version"].startswith("0.21.0")
    assert any(entry.startswith("pillow ") for entry in said["requires"])

    git(copy, "checkout", "--quiet", place.commits["pytorch-vision"])
    ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: setuptools 82 has none" in ran.stderr, "without the patch it cannot be built"


CONFIGURE = """\
import json, platform, subprocess, sys
platform.system = lambda: "Windows"
calls = []
subprocess.check_call = lambda command, **_words: calls.append(command)
sys.path.insert(0, ".")
from tools.setup_helpers.extension import CMakeBuild
from types import SimpleNamespace
CMakeBuild().build_extension(SimpleNamespace(name="torchaudio.lib.libtorchaudio"))
print(json.dumps([word for word in calls[0] if "_COMPILER=" in word]))
"""


def test_torchaudio_is_built_on_windows_with_the_compilers_that_were_named(
    place: Place, tmp_path: Path, stand_ins: dict[str, str]
) -> None:
    place.command("checkout_pytorch_audio")
    copy = tmp_path / "tree"
    git(tmp_path, "clone", "--quiet", "--shared", place.tree("pytorch-audio"), copy)
    (patch,) = load_series(CLONE / "external-builds" / "pytorch-audio", "2.6").patches
    assert patch.entry.platforms == ("windows",)

    def compilers(**names: str) -> list[str]:
        environment = {key: value for key, value in stand_ins.items() if key not in {"CC", "CXX"}} | names
        command = [sys.executable, "-B", "-c", CONFIGURE]
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        found = json.loads(ran.stdout.splitlines()[-1])
        assert isinstance(found, list)
        return [word.split("=")[1] for word in found]

    named = {"CC": "C:/rocm/lib/llvm/bin/clang-cl.exe", "CXX": "clang-cl"}
    assert compilers(**named) == ["cl", "cl"], "on Linux the tree has none of it"
    git(copy, "apply", "--index", patch.file)
    assert compilers(**named) == list(named.values())
    assert compilers() == ["cl", "cl"]
