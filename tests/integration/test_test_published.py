"""``test_<p> -- --packages``: wheels of somebody else's page, installed by hash and tested where they are installed."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin, Project, Version
from build_tools.config.wheel_demands import Wheel
from build_tools.console.events import GroupEnded
from build_tools.errors import HipwrightError
from build_tools.pipeline.test_published import test_published as run_test_published
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import read_verdicts
from build_tools.receipts.record import plain
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.packages import make_wheel
from tests.support.publishing import wheel_of
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

PROJECT = Project(
    schema=1,
    name="apex",
    summary="a stand-in",
    origin=EmbeddedOrigin(folder="sources"),
    version=Version(fixed="1.0"),
    sdk="none",
    wheel=Wheel(distribution="apex"),
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links to folders")


def desk(folder: Path, test: str, packages: tuple[str, ...] = ("apex==1.0",), page: str = "offered") -> Workplace:
    """Return a workplace of a clone with one project, and a folder or page that offers its wheel."""
    clone = folder / "clone"
    tests = clone / "external-builds" / "apex" / "smoke-tests"
    tests.mkdir(parents=True)
    (tests / "test_apex.py").write_text(test, encoding="utf-8")
    (clone / "requirements").symlink_to(CLONE / "requirements")
    place = workplace(folder, find_links=(str(folder / page),), packages=packages)
    return replace(place, clone=clone)


def test_named_packages_get_a_verdict_on_the_bytes_that_were_offered_beside_their_index(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "built", "apex", "1.0", mark="as offered")
    store = FolderStore(tmp_path / "store")
    publish_wheels([(wheel, wheel_of(wheel))], store=store, prefix="run", replace=False, say=lambda _line: None)
    source = (
        "import apex, pytest\ndef test_mark(): assert apex.MARK == 'as offered'\n@pytest.mark.gpu\ndef test_gpu(): assert 0\n"
    )
    place = desk(tmp_path, source, page="store/run/index.html")
    document = run_test_published([PROJECT], place)
    (kept,) = read_verdicts(store, IndexFolder("run"), [digest.of_file(wheel)])
    assert [plain(kept)] == document["verdicts"]
    (verdict,) = document["verdicts"]
    assert (verdict["outcome"], verdict["target"]) == ("passed", "cpu-only")
    assert list(verdict["wheels"]) == [{"filename": wheel.name, "sha256": digest.of_file(wheel)}]
    assert (verdict["counts"]["passed"], verdict["counts"]["not_run"]) == (1, 1)
    assert "apex==1.0" in verdict["packages"]
    (log,) = (place.work_dir / "logs" / "test" / "apex").glob("*.log")
    assert log.with_suffix(".verdict.json").is_file()
    assert log.with_suffix(".events.jsonl").is_file()
    # What a page says is held to the snapshot of its index before it is installed.
    snapshot = tmp_path / "store" / "run" / "snapshot.json"
    snapshot.write_text(snapshot.read_text(encoding="utf-8").replace(digest.of_file(wheel), "0" * 64), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        run_test_published([PROJECT], place)
    assert caught.value.code.name == "hash-mismatch"


def test_a_failure_is_raised_with_the_document_and_a_package_that_is_not_offered_is_named(tmp_path: Path) -> None:
    make_wheel(tmp_path / "offered", "apex", "1.0")
    make_wheel(tmp_path / "offered", "triton", "3.0")
    place = desk(tmp_path, "import apex\ndef test_bad(): assert apex.MARK == 'something else'\n")
    again = replace(place.resolved, settings=replace(place.resolved.settings, reruns=1))
    with pytest.raises(HipwrightError) as caught:
        run_test_published([PROJECT], replace(place, resolved=again))
    assert caught.value.code.name == "tests-failed"
    assert any("trying 1 failed test again, attempt 2" in line for line in memory_of(place).said)
    assert caught.value.document == {"verdicts": []}
    assert [event.well for event in memory_of(place).events if isinstance(event, GroupEnded)] == [False]
    for packages, code in ((("apex==2.0",), "requirement-missing"), (("triton==3.0",), "no-wheel")):
        settings = replace(place.resolved.settings, packages=packages)
        with pytest.raises(HipwrightError) as caught:
            run_test_published([PROJECT], replace(place, resolved=replace(place.resolved, settings=settings)))
        assert caught.value.code.name == code


def test_projects_are_tested_one_after_the_other_in_the_versions_that_are_named(tmp_path: Path) -> None:
    for name in ("apex", "triton"):
        for version in ("1.0", "2.0"):
            make_wheel(tmp_path / "offered", name, version, mark=version)
    place = desk(tmp_path, "import apex\ndef test_mark(): assert apex.MARK == '1.0'\n", packages=())
    for name, test in (("apex", None), ("triton", "import triton\ndef test_mark(): assert triton.MARK == '2.0'\n")):
        folder = place.external_builds / name
        (folder / "smoke-tests").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CLONE / "external-builds" / name / "project.toml", folder / "project.toml")
        if test is not None:
            (folder / "smoke-tests" / "test_it.py").write_text(test, encoding="utf-8")
    settings = replace(place.settings, wheel_version={"apex": "1.0"})
    place = replace(place, resolved=replace(place.resolved, settings=settings))
    triton = msgspec.structs.replace(PROJECT, name="triton", wheel=Wheel(distribution="triton"))
    document = run_test_published([PROJECT, triton], place)
    found = [
        (verdict["outcome"], [wheel["filename"].split("-")[:2] for wheel in verdict["wheels"]])
        for verdict in document["verdicts"]
    ]
    assert found == [("passed", [["apex", "1.0"]]), ("passed", [["triton", "2.0"]])]
