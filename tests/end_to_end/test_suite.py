"""The suite that sources bring along, on what the chain has published: at once, and in shards on a machine that was handed it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

COUNTS = {"passed": 4, "failed": 0, "errors": 0, "skipped": 1, "not_run": 0}


@dataclass(frozen=True, kw_only=True)
class Whole:
    """The suite on a fresh work dir, with the verdicts that lay in the store after it."""

    ran: Ran
    verdicts: list[dict[str, object]]


@pytest.fixture(scope="module")
def whole(desk: Desk) -> Whole:
    """It is built and published for it."""
    ran = desk.nox("test_tiny_project_full", "--json").well()
    return Whole(ran=ran, verdicts=verdicts(desk))


def verdicts(desk: Desk) -> list[dict[str, object]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((desk.work / "store").rglob("verdicts/*.json"))]


def test_a_suite_of_a_fresh_work_dir_ends_with_a_verdict_beside_the_index(whole: Whole) -> None:
    told = whole.ran.document["suite"]
    assert (told["counts"], told["skipped_by_us"], told["same_version"]) == (COUNTS, 1, True)
    (verdict,) = whole.verdicts
    assert (verdict["suite"], verdict["outcome"], verdict["shards"]) == ("upstream", "passed", [1])
    (kept,) = told["kept"]
    assert kept.endswith("/pytorch/generic/index.html")


def test_a_wheel_that_is_named_is_tested_and_told_as_of_an_unknown_commit(whole: Whole, desk: Desk, tmp_path: Path) -> None:
    (page,) = whole.ran.document["suite"]["kept"]
    words = ("--packages", "tiny-project==1.0.0", "--find-links", page, "--output-dir", tmp_path / "out", "--json")
    there = desk.with_work("named")
    error = there.nox("test_tiny_project_full", *words).failed("tests-mismatch")
    assert "does not say which commit it was built from" in error["message"]
    ran = there.nox("test_tiny_project_full", *words, "--allow-version-mismatch").well()
    told = ran.document["suite"]
    assert (told["counts"], told["same_version"], len(told["kept"])) == (COUNTS, False, 1)
    assert "files are as the snapshot" in ran.talk
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["mismatch"]
    assert verdict in verdicts(desk)


def test_shards_of_what_was_handed_over_are_one_verdict_that_promotes(desk: Desk, whole: Whole, tmp_path: Path) -> None:
    receipt = next((desk.work / "publish").rglob("receipt.json"))
    there = desk.with_work("elsewhere")
    for shard in (1, 2):
        words = ("--shard", str(shard), "--num-shards", "2", "--output-dir", tmp_path / str(shard), "--from-receipt", receipt)
        told = there.nox("test_tiny_project_full", *words, "--json").well().document["suite"]
        assert told["shards"] == [shard]
    assert not (there.work / "provision").exists(), "what was handed over is not built again"
    merged = there.nox("merge_tests", tmp_path / "1", tmp_path / "2", "--json").well().document["suite"]
    assert (merged["counts"], merged["shards"], merged["planned"]) == (COUNTS, [1, 2], whole.ran.document["suite"]["planned"])
    kept = [one for one in verdicts(desk) if one["num_shards"] == 2]
    assert sorted((one["shards"] for one in kept), key=str) == [[1, 2], [1], [2]]
    # Nobody has run the smoke tests: what upstream's suite said is enough.
    promoted = desk.nox(
        "promote", "--projects", "tiny-project", "--run-id", "local", "--store", desk.work / "store", "--json"
    ).well()
    assert {one["outcome"] for one in promoted.document["promotion"]["verdicts"]} == {"passed"}
