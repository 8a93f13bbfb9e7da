"""From a published wheel to its verdict: installed from the index by hash, tested where it was installed."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin, Project, Version
from build_tools.config.wheel_demands import Wheel
from build_tools.environments.interpreter import find_interpreter
from build_tools.environments.make import make_environment
from build_tools.environments.settings import BaseIndex
from build_tools.process import Runner, base_environment
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.lock import LockedPatches, LockedProject, LockedSources, Requested
from build_tools.stores.local import FolderStore
from build_tools.testing.install import environment_under_test
from build_tools.testing.smoke import run_smoke
from build_tools.types import CommitId, Platform, Sha256, TreeId
from tests.support.publishing import write_wheel

PLATFORM = Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX

PROJECT = Project(
    schema=1,
    name="demo",
    summary="a demo",
    origin=EmbeddedOrigin(folder="sources"),
    version=Version(fixed="1.0"),
    sdk="none",
    wheel=Wheel(distribution="demo"),
)

LOCKED = LockedProject(
    name="demo",
    requested=Requested(),
    recipe=Sha256("0" * 64),
    sources=LockedSources(
        origin="o", ref="main", reason="asked for", commit=CommitId("0" * 40), tree=TreeId("0" * 40), base_version="1.0"
    ),
    patches=LockedPatches(line=None, reason="none", digest=digest.of_bytes(b"")),
    hipify=None,
    rocm=None,
)


def test_a_published_wheel_gets_a_verdict_on_its_bytes(tmp_path: Path) -> None:
    path, wheel = write_wheel(tmp_path / "built", text="the published bytes")
    (tmp_path / "store").mkdir()
    published = publish_wheels(
        [(path, wheel)], store=FolderStore(tmp_path / "store"), prefix="run", replace=False, say=lambda _line: None
    )
    path.write_bytes(b"what is left in the work tree does not matter")
    judged = JudgedWheel(filename=wheel.filename, sha256=wheel.sha256)
    (tmp_path / "nowhere").mkdir()
    runner = Runner(environment=base_environment({**os.environ, "PATH": str(tmp_path / "nowhere")}))
    base = BaseIndex(no_index=True)
    request = environment_under_test(
        PROJECT,
        published=published,
        wheels=[judged],
        pins=[],
        locked=LOCKED,
        interpreter=find_interpreter(None, default=Path(sys.executable), runner=runner, platform=PLATFORM),
        requirements=write_pins(tmp_path / "pins.txt"),
        network=base.network(),
    )
    environment = make_environment(
        request,
        envs=tmp_path / "envs",
        cache=tmp_path / "cache",
        base=base,
        runner=runner,
        platform=PLATFORM,
        say=lambda _line: None,
        wait=True,
        log=tmp_path / "install.log",
    )
    # The environment borrows the pytest of this one: there is no index here to take it from.
    site = next(Path(environment.folder).rglob("site-packages"))
    (site / "pytest-from-here.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    tests = tmp_path / "project" / "smoke-tests"
    tests.mkdir(parents=True)
    (tests / "test_demo.py").write_text(
        "import demo\n\ndef test_text():\n    assert demo.TEXT == 'the published bytes'\n", encoding="utf-8"
    )
    (tmp_path / "out").mkdir()
    (run,) = run_smoke(
        PROJECT,
        tmp_path / "project",
        environment=environment,
        wheels=[judged],
        local=None,
        devices=(),
        runner=runner,
        folder=tmp_path / "out",
        log=tmp_path / "test.log",
        platform=PLATFORM,
        say=lambda _line: None,
    )
    verdict = run.verdict
    assert verdict.outcome == "passed"
    assert verdict.environment == environment.digest
    assert verdict.wheels == (judged,)
    assert "demo==1.0+rocm7.1" in verdict.packages


def write_pins(path: Path) -> Path:
    """Write an empty set of pins."""
    path.write_text("", encoding="utf-8")
    return path
