from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.builds import frontend
from build_tools.builds.frontend import build_wheel
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.sources.git import Git
from build_tools.types import GfxTarget, Platform, Sha256
from tests.support.builds import COMMIT, DIGEST, environment, lock, project, sdk, tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.config.project import Project
    from build_tools.receipts.values import BuiltWheels, EnvironmentRecord, SourceTree

FRONT_END = """
# Stands for the build front end: does what the tree's behaviour.py says.
import json, os, sys
from pathlib import Path

tree = Path(sys.argv[-1])
out = Path(sys.argv[sys.argv.index("--outdir") + 1])
told = {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "files": sorted(os.listdir(tree)), "path": sys.path}
told["in cwd"] = os.listdir()
Path(os.environ["TOLD"]).write_text(json.dumps(told))
exec((tree / "behaviour.py").read_text())
"""
ONE_WHEEL = "(out / 'toy-1.2.0+rocm7.10.0-cp312-cp312-linux_x86_64.whl').write_bytes(b'a wheel')"


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
    return environment(folder=str(folder), python=str(python))


class Desk:
    """One build with everything around it."""

    def __init__(self, folder: Path, record: EnvironmentRecord) -> None:
        self.folder = folder
        self.record = record
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.recipe = folder / "recipe"
        self.recipe.mkdir()
        self.output = folder / "output"
        self.log = folder / "logs" / "build.log"
        self.told_file = folder / "told.json"
        self.plans: list[tuple[BuildPlan, Compiler]] = []

    def build(
        self,
        behaviour: str,
        *,
        toy: Project | None = None,
        path: str | None = None,
        targets: tuple[str, ...] = (),
        local: Sha256 | None = None,
        space: int = 1,
    ) -> BuiltWheels:
        (self.tree / "behaviour.py").write_text(behaviour)
        machine = {**os.environ, "ROCM_HOME": "/opt/rocm", "PIP_INDEX_URL": "x"}
        base = base_environment(machine) | {"TOLD": str(self.told_file)}
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
            on_plan=lambda plan, compiler: self.plans.append((plan, compiler)),
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
    assert wheel.size == len(b"a wheel")
    assert wheel.sha256 == hashlib.sha256(b"a wheel").hexdigest()
    assert (built.version, built.python_tag, built.upstream) == ("1.2.0+rocm7.10.0", "cp312", COMMIT)
    assert (built.targets, built.local) == (("gfx942", "gfx1201"), None)


def test_the_build_works_on_a_copy_in_its_own_folders(desk: Desk) -> None:
    (desk.tree / "x.cpp").write_text("")
    desk.build(ONE_WHEEL + "\n(tree / 'made').write_text('')")
    told = desk.told
    assert told["files"] == ["behaviour.py", "x.cpp"]
    assert told["in cwd"] == []
    assert sorted(path.name for path in desk.tree.iterdir()) == ["behaviour.py", "x.cpp"]
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
    [(plan, compiler)] = desk.plans
    assert text.startswith(f"# version 1.2.0+rocm7.10.0\n# compiler {compiler.path}: {compiler.version}\n")
    assert plan.environment["SOURCE_DATE_EPOCH"] == "1700000000"
    assert "\n# SOURCE_DATE_EPOCH=1700000000\n" in text
    assert " -m build --wheel --no-isolation " in text


def test_hooks_prepare_the_copy(desk: Desk) -> None:
    (desk.recipe / "hooks.py").write_text(
        "def prepare_sources(tree, context):\n    (tree / 'init.py').write_text(context.version)\n"
    )
    desk.build(ONE_WHEEL)
    assert desk.told["files"] == ["behaviour.py", "init.py"]
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


def test_no_compiler_is_told_before_anything_is_built(desk: Desk, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    failure(lambda: desk.build(ONE_WHEEL, path=str(empty)), "no-compiler")
    assert not desk.told_file.exists()
    assert desk.left == []


def test_too_little_space_is_told_before_anything_is_built(desk: Desk) -> None:
    error = failure(lambda: desk.build(ONE_WHEEL, space=2**62), "disk-space")
    assert str(desk.output) in error.message
    assert not desk.told_file.exists()


def test_what_a_killed_build_left_is_not_used(desk: Desk) -> None:
    stale = desk.output / "scratch" / "out"
    stale.mkdir(parents=True)
    (stale / "toy-9-py3-none-any.whl").write_bytes(b"")
    assert [wheel.version for wheel in desk.build(ONE_WHEEL).wheels] == ["1.2.0+rocm7.10.0"]
