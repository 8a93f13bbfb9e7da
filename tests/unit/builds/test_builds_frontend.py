from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.builds import frontend
from build_tools.builds.frontend import build_wheel
from build_tools.builds.plan import BuildWishes
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.sources.git import Git
from build_tools.types import GfxTarget, Platform, Sha256
from tests.support.builds import COMMIT, DIGEST, environment, lock, project, sdk, tree
from tests.support.front_end import FRONT_END, NOTHING_NEEDED, ONE_WHEEL, PROJECT_BUILDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.config.project import Project
    from build_tools.receipts.values import BuiltWheels, EnvironmentRecord, SourceTree


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> EnvironmentRecord:
    """An environment whose build front end is the one above."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / ("python.exe" if sys.platform == "win32" else "python")
    package = next(folder.rglob("site-packages")) / "build"
    package.mkdir()
    (package / "__main__.py").write_text(FRONT_END)
    (package / "__init__.py").write_text(PROJECT_BUILDER)
    return environment(folder=str(folder), python=str(python))


class Desk:
    """One build with everything around it."""

    def __init__(self, folder: Path, record: EnvironmentRecord) -> None:
        self.folder = folder
        self.record = record
        self.tree = folder / "tree"
        self.tree.mkdir()
        (self.tree / "pyproject.toml").write_text(NOTHING_NEEDED)
        self.recipe = folder / "recipe"
        self.recipe.mkdir()
        self.output = folder / "output"
        self.log = folder / "logs" / "build.log"
        self.told_file = folder / "told.json"
        self.plans: list[tuple[BuildPlan, Compiler, Compiler | None]] = []
        hipcc = folder / "rocm" / "bin" / "hipcc"
        hipcc.parent.mkdir(parents=True)
        hipcc.write_text("#!/bin/sh\necho HIP version: 7.10.0\n")
        hipcc.chmod(0o755)

    def build(
        self,
        behaviour: str,
        *,
        toy: Project | None = None,
        path: str | None = None,
        targets: tuple[str, ...] = (),
        local: Sha256 | None = None,
        space: int = 1,
        wishes: BuildWishes | None = None,
        machine: dict[str, str] | None = None,
    ) -> BuiltWheels:
        (self.tree / "behaviour.py").write_text(behaviour)
        whole = {**os.environ, "ROCM_HOME": "/opt/rocm", "PIP_INDEX_URL": "x", **(machine or {})}
        base = base_environment(whole) | {"TOLD": str(self.told_file)}
        if path is not None:
            base["PATH"] = path
        runner = Runner(environment=base)
        return build_wheel(
            toy or project(),
            self.recipe,
            source=tree(folder=str(self.tree), local=local),
            sdk=sdk(record=self.record, root=str(self.folder / "rocm")),
            locked=lock(),
            folder=self.output,
            git=Git(runner=runner),
            runner=runner,
            platform=Platform.LINUX,
            jobs=None,
            log=self.log,
            targets=tuple(GfxTarget(name) for name in targets),
            space=space,
            wishes=wishes or BuildWishes(machine=whole),
            on_plan=lambda plan, compiler, hip: self.plans.append((plan, compiler, hip)),
        )

    @property
    def told(self) -> dict[str, object]:
        """What the front end was given."""
        told: dict[str, object] = json.loads(self.told_file.read_text())
        return told

    @property
    def left(self) -> list[str]:
        """All files below the output folder."""
        return sorted(path.relative_to(self.output).as_posix() for path in self.output.rglob("*"))


@pytest.fixture
def desk(tmp_path: Path, record: EnvironmentRecord, monkeypatch: pytest.MonkeyPatch) -> Desk:
    def copy(source: SourceTree, target: Path, *, git: Git) -> None:
        del git
        shutil.copytree(source.folder, target)

    monkeypatch.setattr(frontend, "materialise", copy)
    return Desk(tmp_path, record)


def failure(build: Callable[[], object], code: str) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        build()
    assert caught.value.code.name == code
    return caught.value


def test_a_build_gives_its_wheel_and_nothing_else(desk: Desk) -> None:
    built = desk.build(ONE_WHEEL)
    [wheel] = built.wheels
    assert desk.left == ["dist", f"dist/{wheel.filename}"]
    assert wheel.filename == "toy-1.2.0+rocm7.10.0-cp312-cp312-linux_x86_64.whl"
    assert (wheel.path, wheel.distribution, wheel.version) == (f"dist/{wheel.filename}", "toy", "1.2.0+rocm7.10.0")
    data = (desk.output / wheel.path).read_bytes()
    assert (wheel.size, wheel.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert (built.version, built.python_tag, built.upstream) == ("1.2.0+rocm7.10.0", "cp312", COMMIT)
    assert (built.targets, built.local) == (("gfx942", "gfx1201"), None)


def test_the_build_works_on_a_copy_in_its_own_folders(desk: Desk) -> None:
    (desk.tree / "x.cpp").write_text("")
    desk.build(ONE_WHEEL + "\n(tree / 'made').write_text('')")
    told = desk.told
    assert told["files"] == ["behaviour.py", "pyproject.toml", "x.cpp"]
    assert told["in cwd"] == []
    assert sorted(path.name for path in desk.tree.iterdir()) == ["behaviour.py", "pyproject.toml", "x.cpp"]
    env = told["env"]
    assert isinstance(env, dict)
    assert env["ROCM_HOME"] == str(desk.folder / "rocm")
    assert "PIP_INDEX_URL" not in env
    assert Path(env["HOME"]).is_relative_to(desk.output)
    assert env["PATH"].split(os.pathsep)[0] == str(Path(desk.record.python).parent)


def test_file_modes_do_not_depend_on_who_builds(desk: Desk) -> None:
    before = os.umask(0o077)
    try:
        desk.build(ONE_WHEEL)
    finally:
        os.umask(before)
    mode = next((desk.output / "dist").iterdir()).stat().st_mode & 0o777
    assert mode == 0o644


def test_chosen_targets_are_built_and_recorded(desk: Desk) -> None:
    toy = project(build={"variables": {"version": "TOY_VERSION", "targets": "TOY_ARCH"}})
    built = desk.build(ONE_WHEEL, toy=toy, targets=("gfx90a",))
    env = desk.told["env"]
    assert isinstance(env, dict)
    assert env["TOY_ARCH"] == "gfx90a"
    assert built.targets == ("gfx90a",)


def test_local_changes_are_recorded(desk: Desk) -> None:
    built = desk.build(ONE_WHEEL.replace("rocm7.10.0-", "rocm7.10.0.localabababab-"), local=DIGEST)
    assert (built.version, built.local) == ("1.2.0+rocm7.10.0.localabababab", DIGEST)


def test_a_wheel_of_another_version_than_planned_is_refused_where_it_is_built(desk: Desk) -> None:
    with pytest.raises(HipwrightError) as caught:
        desk.build(ONE_WHEEL, local=DIGEST)
    assert caught.value.code.name == "bad-version"
    assert "1.2.0+rocm7.10.0.localabababab was planned" in caught.value.message


def test_the_log_begins_with_what_the_build_was_given(desk: Desk) -> None:
    desk.build(ONE_WHEEL)
    text = desk.log.read_text()
    [(plan, compiler, hip)] = desk.plans
    assert hip is not None
    assert text.startswith(
        f"# version 1.2.0+rocm7.10.0\n# compiler {compiler.path}: {compiler.version}\n# HIP compiler {hip.path}: HIP version: 7.10.0\n"
    )
    assert plan.environment["SOURCE_DATE_EPOCH"] == "1700000000"
    assert "\n# SOURCE_DATE_EPOCH=1700000000\n" in text
    assert " -m build --wheel --no-isolation " in text


def test_hooks_prepare_the_copy(desk: Desk) -> None:
    (desk.recipe / "hooks.py").write_text(
        "def prepare_sources(tree, context):\n    (tree / 'init.py').write_text(context.version)\n"
    )
    desk.build(ONE_WHEEL)
    assert desk.told["files"] == ["behaviour.py", "init.py", "pyproject.toml"]
    assert not (desk.tree / "init.py").exists()


def test_a_build_that_fails_shows_its_first_error_and_leaves_nothing(desk: Desk) -> None:
    error = failure(lambda: desk.build("print('fine'); sys.exit('error: ROCM_HOME is not set')"), "build-failed")
    assert error.log == desk.log
    assert error.excerpt == "error: ROCM_HOME is not set"
    assert "toy" in error.message
    assert desk.left == []


def test_a_build_that_hangs_is_stopped(desk: Desk) -> None:
    toy = project()
    build = msgspec.structs.replace(toy.build, time_limit_minutes=1 / 120)
    hasty = msgspec.structs.replace(toy, build=build)
    error = failure(lambda: desk.build("import threading; threading.Event().wait(60)", toy=hasty), "command-timeout")
    assert "the build of toy" in error.message
    assert desk.left == []


def test_no_wheel_is_an_error(desk: Desk) -> None:
    error = failure(lambda: desk.build("pass"), "no-wheel")
    assert error.log == desk.log
    assert desk.left == []


def test_two_wheels_are_an_error_that_names_them(desk: Desk) -> None:
    other = ONE_WHEEL.replace("cp312-cp312", "cp311-cp311")
    error = failure(lambda: desk.build(f"{ONE_WHEEL}\n{other}"), "several-wheels")
    assert "cp311-cp311" in error.message
    assert "cp312-cp312" in error.message
    assert desk.left == []


def test_a_wheel_of_another_project_is_none(desk: Desk) -> None:
    error = failure(lambda: desk.build(ONE_WHEEL.replace("toy-", "other-")), "no-wheel")
    assert "other-1.2.0" in error.message


def test_what_is_named_like_no_wheel_is_refused(desk: Desk) -> None:
    failure(lambda: desk.build("(out / 'toy.whl').write_bytes(b'')"), "bad-wheel")


@pytest.mark.parametrize(
    ("making", "kind"),
    [
        ("os.mkfifo(out / name)", "no file"),
        ("(out / name).mkdir()", "a folder"),
        ("(tree / 'stray').write_bytes(b'x'); (out / name).symlink_to(tree / 'stray')", "a link"),
    ],
)
def test_what_is_named_like_a_wheel_and_is_no_file_is_refused_unread(desk: Desk, making: str, kind: str) -> None:
    error = failure(lambda: desk.build(f"name = 'toy-1.2.0+rocm7.10.0-cp312-cp312-linux_x86_64.whl'; {making}"), "bad-wheel")
    assert error.message.endswith(f"which is {kind}")
    assert error.log == desk.log


def test_what_a_build_leaves_running_ends_with_it(desk: Desk) -> None:
    started = desk.folder / "child.pid"
    code = "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    desk.build(f"{ONE_WHEEL}\n{code}\nPath({str(started)!r}).write_text(str(child.pid))")
    try:
        state = Path(f"/proc/{started.read_text()}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return
    # Where nobody takes leave of orphans, it is dead and still counted.
    assert state in {"Z", "X"}


def test_the_changes_that_are_in_what_it_is_built_with_mark_the_wheel(desk: Desk) -> None:
    wishes = BuildWishes(edited_before=(DIGEST,))
    marked = ONE_WHEEL.replace("7.10.0-", "7.10.0.localabababab-")
    built = desk.build(marked, wishes=wishes)
    assert (built.version, built.local) == ("1.2.0+rocm7.10.0.localabababab", DIGEST)


def test_secrets_stay_out_of_the_log(desk: Desk) -> None:
    desk.build(ONE_WHEEL, wishes=BuildWishes(overrides={"INDEX": "https://u:geheim@host.example/x"}))
    text = desk.log.read_text()
    assert "INDEX=https://" in text
    assert "geheim" not in text


def test_a_person_who_sets_the_version_is_told_that(desk: Desk) -> None:
    wishes = BuildWishes(overrides={"TOY_VERSION": "9.9"})
    error = failure(lambda: desk.build(ONE_WHEEL.replace("1.2.0+rocm7.10.0", "9.9"), wishes=wishes), "bad-version")
    assert "--build-env sets TOY_VERSION" in str(error.hint)


def test_no_compiler_is_told_before_anything_is_built(desk: Desk, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    failure(lambda: desk.build(ONE_WHEEL, path=str(empty)), "no-compiler")
    assert not desk.told_file.exists()
    assert desk.left == []


def test_a_person_who_leads_away_from_the_compiler_is_told_that(desk: Desk, tmp_path: Path) -> None:
    error = failure(lambda: desk.build(ONE_WHEEL, wishes=BuildWishes(overrides={"PATH": str(tmp_path)})), "no-compiler")
    assert "--build-env sets PATH" in str(error.hint)


def test_too_little_space_is_told_before_anything_is_built(desk: Desk) -> None:
    error = failure(lambda: desk.build(ONE_WHEEL, space=2**62), "disk-space")
    assert str(desk.output) in error.message
    assert not desk.told_file.exists()


def test_what_a_killed_build_left_is_not_used(desk: Desk) -> None:
    stale = desk.output / "scratch" / "out"
    stale.mkdir(parents=True)
    (stale / "toy-9-py3-none-any.whl").write_bytes(b"")
    assert [wheel.version for wheel in desk.build(ONE_WHEEL).wheels] == ["1.2.0+rocm7.10.0"]


def test_a_wheel_whose_metadata_say_another_version_than_its_name_is_refused(desk: Desk) -> None:
    error = failure(lambda: desk.build(ONE_WHEEL.replace("')", "', version='1.3.0')")), "bad-wheel")
    assert "1.3.0" in error.message


def test_generated_files_are_in_the_copy_and_in_the_wheel_though_the_build_leaves_them_out(desk: Desk) -> None:
    (desk.recipe / "hooks.py").write_text(
        "def generated_files(context):\n    return {'toy/_init.py': f'V = {context.version!r}\\n'.encode()}\n"
    )
    built = desk.build("assert (tree / 'toy' / '_init.py').read_text() == \"V = '1.2.0+rocm7.10.0'\\n\"\n" + ONE_WHEEL)
    with zipfile.ZipFile(desk.output / built.wheels[0].path) as archive:
        assert archive.read("toy/_init.py") == b"V = '1.2.0+rocm7.10.0'\n"
        assert b"toy/_init.py,sha256=" in archive.read("toy-1.2.0+rocm7.10.0.dist-info/RECORD")
    assert not (desk.tree / "toy").exists()
    assert "left out by the build, and put into the wheel: toy/_init.py" in desk.log.read_text()


def test_all_that_the_environment_lacks_is_told_before_the_build(desk: Desk) -> None:
    (desk.tree / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["absent-one>=2", "absent-two; python_version < \'3\'"]\n'
    )
    toy = project(
        build={"variables": {"version": "TOY_VERSION"}, "requires": ["absent-three"], "windows-requires": ["absent-four"]}
    )
    error = failure(lambda: desk.build(ONE_WHEEL, toy=toy), "unmet-requirement")
    assert "2 requirements" in error.message
    assert "absent-one>=2" in error.message
    assert "absent-three" in error.message
    assert not desk.told_file.exists()


def test_what_the_back_end_asks_for_counts_too(desk: Desk) -> None:
    (desk.tree / "asked.json").write_text('["asked-for>=1"]')
    error = failure(lambda: desk.build(ONE_WHEEL), "unmet-requirement")
    assert "the build back end of toy requires asked-for>=1, and it is not installed" in error.message


def test_a_build_begins_in_the_first_folder_that_has_a_build_file(desk: Desk) -> None:
    (desk.tree / "python").mkdir()
    (desk.tree / "python" / "pyproject.toml").write_text(NOTHING_NEEDED)
    (desk.tree / "python" / "behaviour.py").write_text(ONE_WHEEL)
    toy = project(build={"variables": {"version": "TOY_VERSION"}, "folders": ["absent", "python", "."]})
    desk.build("sys.exit('begun in the root')", toy=toy)
    assert desk.told["files"] == ["behaviour.py", "pyproject.toml"]


def test_sources_without_a_build_file_are_refused(desk: Desk) -> None:
    toy = project(build={"variables": {"version": "TOY_VERSION"}, "folders": ["absent"]})
    error = failure(lambda: desk.build(ONE_WHEEL, toy=toy), "bad-source-tree")
    assert "absent" in error.message


def test_the_hip_compiler_of_another_rocm_is_refused(desk: Desk, tmp_path: Path) -> None:
    stray = tmp_path / "opt" / "rocm" / "bin"
    stray.mkdir(parents=True)
    (stray / "hipcc").write_text("#!/bin/sh\n")
    (stray / "hipcc").chmod(0o755)
    said = {"PATH": f"{stray}{os.pathsep}{os.environ['PATH']}"}
    error = failure(lambda: desk.build(ONE_WHEEL, wishes=BuildWishes(overrides=said)), "mixed-stack")
    assert str(stray / "hipcc") in error.message
    # On the machine's own path it stands behind the SDK's.
    desk.build(ONE_WHEEL, path=said["PATH"])
    [(_, _, hip)] = desk.plans
    assert hip is not None
    assert hip.path == tmp_path / "rocm" / "bin" / "hipcc"


def test_nothing_of_a_hostile_environment_reaches_the_build(desk: Desk) -> None:
    hostile = {
        **dict.fromkeys(("HIP_PATH", "ROCM_PATH", "ROCM_HOME", "HIP_CLANG_PATH", "CMAKE_PREFIX_PATH"), "/opt/rocm"),
        "HIP_PLATFORM": "nvidia",
        "CC": "false",
        "CXX": "false",
        "CFLAGS": "-bad",
        "CXXFLAGS": "-bad",
        "LDFLAGS": "-bad",
        "PIP_INDEX_URL": "x",
        "PIP_REQUIRE_VIRTUALENV": "1",
        "UV_INDEX": "x",
        "PYTHONPATH": "/evil",
        "PYTHONHOME": "/evil",
        "TOY_VERSION": "9",
        "LD_PRELOAD": "",
        "GIT_DIR": "/evil",
        "MAKEFLAGS": "-j99",
        "SPACE": "a b",
    }
    desk.build(ONE_WHEEL, machine=hostile)
    env = desk.told["env"]
    assert isinstance(env, dict)
    assert {name: env[name] for name in hostile if env.get(name) == hostile[name]} == {}
    assert env["ROCM_PATH"] == str(desk.folder / "rocm")
    assert env["TOY_VERSION"] == "1.2.0+rocm7.10.0"
