"""A receipt is what one machine hands to the next: with it a fresh work dir goes on, without sources."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

AFTER_BUILD = {"lock": "received", "build": "received", "check": "run", "publish": "run", "test": "run", "promote": "run"}


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """A build that another machine made."""

    desk: Desk
    built: Ran

    @property
    def receipt(self) -> Path:
        return self.built.receipt_path("build")


@pytest.fixture(scope="module")
def elsewhere(desk: Desk) -> Elsewhere:
    there = desk.with_work("elsewhere")
    return Elsewhere(desk=there, built=there.nox("build_tiny_project", "--json").well())


def pipeline(desk: Desk, receipt: str | Path, *words: str) -> Ran:
    return desk.nox("pipeline", "--projects", "tiny-project", "--from-receipt", receipt, *words, "--json")


def test_a_fresh_work_dir_goes_on_from_a_file(elsewhere: Elsewhere) -> None:
    here = elsewhere.desk.with_work("from-file")
    ran = pipeline(here, elsewhere.receipt).well()
    assert ran.states == AFTER_BUILD
    assert ran.wheel.is_relative_to(here.work)
    assert ran.wheel.read_bytes() == elsewhere.built.wheel.read_bytes()
    for never in ("src", "provision", "lock.json"):
        assert not (here.work / never).exists()
    assert list((here.work / "store" / "channels" / "rehearsal" / "dist").glob("*.whl"))
    again = pipeline(here, elsewhere.receipt).well()
    assert again.states == {**dict.fromkeys(AFTER_BUILD, "skipped"), "lock": "received", "build": "received"}


def test_a_fresh_work_dir_goes_on_from_an_address(elsewhere: Elsewhere) -> None:
    with serving(elsewhere.desk.work) as url:
        address = url + elsewhere.receipt.relative_to(elsewhere.desk.work).as_posix()
        ran = pipeline(elsewhere.desk.with_work("from-address"), address, "--until", "publish").well()
        missing = pipeline(elsewhere.desk.with_work("from-nowhere"), f"{url}build/none/receipt.json")
    assert ran.states == {stage: AFTER_BUILD[stage] for stage in ("lock", "build", "check", "publish")}
    assert ran.wheel.read_bytes() == elsewhere.built.wheel.read_bytes()
    assert f"there is no receipt at {url}build/none/receipt.json" in missing.failed("bad-receipt")["message"]


def test_a_folder_of_receipts_stands_for_what_lies_in_it_and_published_wheels_stay_where_they_are(
    elsewhere: Elsewhere, tmp_path: Path
) -> None:
    there = elsewhere.desk
    published = there.nox("upload_tiny_project", "--json").well()
    handed = tmp_path / "receipts"
    for stage in ("lock", "build", "check", "publish"):
        shutil.copytree(there.work / stage, handed / stage, ignore=shutil.ignore_patterns("*.whl"))
    here = there.with_work("from-folder")
    ran = here.nox("test_wheels", "--projects", "tiny-project", "--from-receipt", handed, "--json").well()
    assert ran.states == {**dict.fromkeys(("lock", "build", "check", "publish"), "received"), "test": "run"}
    (index,) = published.document["indexes"]
    assert [one["index-url"] for one in ran.document["indexes"]] == [index["index-url"]]
    assert not list(here.work.rglob("*.whl"))
    # What was not published has to be among what is handed over.
    shutil.rmtree(handed / "publish")
    error = pipeline(there.with_work("without"), handed, "--until", "publish").failed("output-changed")
    assert "is not there" in error["message"]
    error = here.nox("check_sample", "--from-receipt", handed, "--json").failed("bad-receipt")
    assert "there is no receipt of sample in" in error["message"]


def test_damaged_output_is_refused(elsewhere: Elsewhere, tmp_path: Path) -> None:
    copied = tmp_path / "work"
    shutil.copytree(elsewhere.desk.work, copied, ignore=shutil.ignore_patterns("envs", "src"))
    receipt = copied / elsewhere.receipt.relative_to(elsewhere.desk.work)
    wheel = copied / elsewhere.built.wheel.relative_to(elsewhere.desk.work)
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    here = elsewhere.desk.with_work("damaged")
    error = pipeline(here, receipt).failed("output-changed")
    assert f"{wheel} has other bytes" in error["message"]
    wheel.unlink()
    error = pipeline(here, receipt).failed("output-changed")
    assert f"{wheel} is not there" in error["message"]
    assert not list(here.work.rglob("*.whl"))


def test_a_receipt_of_sources_does_not_travel(elsewhere: Elsewhere) -> None:
    receipt = elsewhere.built.receipt_path("hipified-patches")
    error = pipeline(elsewhere.desk.with_work("sources"), receipt).failed("bad-receipt")
    assert error["message"] == (
        "a receipt of the hipified-patches stage does not travel: its result is a folder of the machine that made it"
    )
    assert "lock" in error["hint"]


def test_a_receipt_for_another_project_is_refused(elsewhere: Elsewhere) -> None:
    here = elsewhere.desk.with_work("other-project")
    error = here.nox("check_sample", "--from-receipt", elsewhere.receipt, "--json").failed("bad-receipt")
    assert "a receipt of tiny-project was handed over, and this command is not about it" in error["message"]


def test_a_lock_s_receipt_locks(elsewhere: Elsewhere) -> None:
    here = elsewhere.desk.with_work("from-lock")
    receipt = elsewhere.built.receipt_path("lock")
    ran = here.nox("checkout_tiny_project", "--from-receipt", receipt, "--json").well()
    assert (ran.states["lock"], ran.states["checkout"]) == ("received", "run")
    assert ran.receipt("lock")["digest"] == elsewhere.built.receipt("lock")["digest"]


def test_a_receipt_in_its_own_place_is_proved_as_well(desk: Desk) -> None:
    here = desk.with_work("own-place")
    built = here.nox("build_tiny_project", "--json").well()
    receipt = built.receipt_path("build")
    assert pipeline(here, receipt, "--until", "check").well().states["build"] == "received"
    built.wheel.write_bytes(built.wheel.read_bytes() + b"x")
    assert built.wheel.name in pipeline(here, receipt, "--until", "check").failed("output-changed")["message"]
    built.wheel.unlink()
    assert built.wheel.name in pipeline(here, receipt, "--until", "check").failed("output-changed")["message"]


def test_a_receipt_for_another_interpreter_is_refused_before_any_work(elsewhere: Elsewhere, tmp_path: Path) -> None:
    copied = tmp_path / "work"
    shutil.copytree(elsewhere.desk.work, copied, ignore=shutil.ignore_patterns("envs", "src"))
    receipt = copied / elsewhere.receipt.relative_to(elsewhere.desk.work)
    text = receipt.read_text(encoding="utf-8")
    own = f"cp3{sys.version_info.minor}"
    assert f'"python": "{own}"' in text
    receipt.write_text(text.replace(f'"python": "{own}"', '"python": "cp399"'), encoding="utf-8")
    here = elsewhere.desk.with_work("another-interpreter")
    error = pipeline(here, receipt).failed("bad-receipt")
    assert "cp399" in error["message"]
    assert own in error["message"]
    assert "--python" in error["hint"]
    assert not (here.work / "check").exists()


def test_a_failing_run_still_tells_what_its_stages_did(elsewhere: Elsewhere) -> None:
    here = elsewhere.desk.with_work("failing")
    ran = pipeline(here, elsewhere.receipt, "--channel", "release")
    ran.failed("promotion-refused")
    assert ran.states == {stage: state for stage, state in AFTER_BUILD.items() if stage != "promote"}
