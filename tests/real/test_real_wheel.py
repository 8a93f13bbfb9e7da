"""The real torch wheel goes through check, publish, index, install, import and smoke tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from build_tools import digest
from build_tools.checks.registry import FORMAT
from build_tools.checks.run import check_wheels, raise_for
from build_tools.config.project import load_project
from build_tools.environments.interpreter import find_interpreter
from build_tools.environments.listing import PackageSource
from build_tools.environments.make import EnvironmentRequest, make_environment
from build_tools.environments.resolve import lock_owned
from build_tools.environments.settings import read_base_index
from build_tools.process import Runner, base_environment
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.values import EnvironmentRecord, WheelFile
from build_tools.receipts.verdict import CPU_ONLY
from build_tools.stores.open import open_store
from build_tools.testing.smoke import run_smoke
from build_tools.types import Platform, ProjectName
from tests.support.real_runs import CLONE, find_links

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-wheel")]

PLATFORM = Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX


def runner() -> Runner:
    return Runner(environment=base_environment(os.environ))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("torch")


@pytest.fixture(scope="module")
def wheel(inputs: dict[str, Path]) -> WheelFile:
    path = inputs["torch-wheel"]
    return WheelFile(
        path=str(path),
        filename=path.name,
        distribution="torch",
        version="2.13.0+cpu",
        sha256=digest.of_file(path),
        size=path.stat().st_size,
    )


@pytest.fixture(scope="module")
def published(place: Path, wheel: WheelFile) -> PackageSource:
    """The wheel in a folder store, as an index."""
    said: list[str] = []
    index = publish_wheels(
        [(Path(wheel.path), wheel)],
        store=open_store(str(place / "store"), base=place),
        prefix="torch",
        replace=False,
        say=said.append,
    )
    assert [file.sha256 for file in index.files] == [wheel.sha256]
    again = publish_wheels(
        [(Path(wheel.path), wheel)],
        store=open_store(str(place / "store"), base=place),
        prefix="torch",
        replace=False,
        say=said.append,
    )
    assert again == index
    return PackageSource(index_url=index.index_url)


@pytest.fixture(scope="module")
def installed(place: Path, inputs: dict[str, Path], published: PackageSource) -> EnvironmentRecord:
    """An environment with the wheel out of that index, and with the pinned pytest."""
    machine = {**os.environ, "PIP_FIND_LINKS": find_links([inputs["torch-requirements"]])}
    base = read_base_index(machine, runner())
    interpreter = find_interpreter("3.11", default=Path(sys.executable), runner=runner(), platform=PLATFORM)
    owned = lock_owned(
        ("torch==2.13.0",), source=published, interpreter=interpreter, network=base.network(), cache=place / "cache"
    )
    assert [file.filename for file in owned] == [inputs["torch-wheel"].name]
    return make_environment(
        EnvironmentRequest(interpreter=interpreter, owned=owned, pins=CLONE / "requirements" / "smoke-env.txt"),
        envs=place / "envs",
        cache=place / "cache",
        base=base,
        runner=runner(),
        platform=PLATFORM,
        say=lambda _line: None,
        wait=True,
        log=place / "install.log",
    )


def test_it_passes_the_rules_about_wheels_as_such(wheel: WheelFile) -> None:
    report = check_wheels([Path(wheel.path)], expectations=None, say=lambda _line: None, only=FORMAT)
    raise_for(report)
    assert [judged.sha256 for judged in report.wheels] == [wheel.sha256]
    assert "record" in " ".join(report.rules)


def test_it_is_imported_from_the_environment_and_from_nowhere_else(installed: EnvironmentRecord, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the current folder was imported')", encoding="utf-8")
    code = "import json, torch; print(json.dumps([torch.__version__, torch.__file__, float(torch.ones(3).sum())]))"
    ended = subprocess.run(
        [installed.python, "-I", "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env={}
    )
    version, file, total = json.loads(ended.stdout)
    assert version == "2.13.0+cpu"
    assert Path(file).is_relative_to(installed.folder)
    assert total == 3.0


def test_every_package_says_where_it_came_from(installed: EnvironmentRecord, wheel: WheelFile) -> None:
    packages = {package.name: package for package in installed.packages}
    assert packages["torch"].sha256 == wheel.sha256
    assert packages["torch"].source != packages["sympy"].source


def test_its_smoke_tests_reach_a_verdict_on_its_bytes(installed: EnvironmentRecord, wheel: WheelFile, place: Path) -> None:
    project = load_project(CLONE / "external-builds", ProjectName("pytorch"))
    report = check_wheels([Path(wheel.path)], expectations=None, say=lambda _line: None)
    (folder := place / "smoke").mkdir()
    (run,) = run_smoke(
        project,
        CLONE / "external-builds" / "pytorch",
        environment=installed,
        wheels=report.wheels,
        local=None,
        devices=(),
        runner=runner(),
        folder=folder,
        log=place / "smoke.log",
        platform=PLATFORM,
        say=lambda _line: None,
    )
    verdict = run.verdict
    assert verdict.outcome == "passed"
    assert verdict.target == CPU_ONLY
    assert verdict.counts.passed >= 5
    assert [judged.sha256 for judged in verdict.wheels] == [wheel.sha256]


@pytest.mark.real("real")
def test_the_large_wheel_passes_the_rules_too(inputs: dict[str, Path]) -> None:
    report = check_wheels([inputs["torch-wheel-large"]], expectations=None, say=lambda _line: None, only=FORMAT)
    raise_for(report)


@pytest.mark.real("real")
@pytest.mark.parametrize("key", ["torchvision-wheel", "torchaudio-wheel", "triton-wheel"])
def test_the_companions_pass_the_rules(inputs: dict[str, Path], key: str) -> None:
    raise_for(check_wheels([inputs[key]], expectations=None, say=lambda _line: None, only=FORMAT))
