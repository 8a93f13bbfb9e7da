"""Several hundred of PyTorch's own tests run against the real torch wheel, all at once and in three shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from build_tools.receipts.record import read_record
from build_tools.receipts.suite import SuiteResult
from build_tools.testing.junit import read_report
from tests.support.real_runs import Ran, nox

# The tree of 2.6 is the newest that is to be had, and the wheel is of 2.13: both are named in each result.
pytestmark = [pytest.mark.real("real"), pytest.mark.timeout(1800), pytest.mark.xdist_group("real-suite")]

FILES = ("test_shape_ops", "test_type_promotion", "test_torch.py")
KNOWN = {
    "test_shape_ops.py::TestShapeOpsCPU::test_rot90_cpu": "failed",
    "test_torch.py": "error",
    "test_type_promotion.py::TestTypePromotionCPU::test_cat_out_different_dtypes_cpu": "failed",
}
"""What the tests of 2.6 expect of 2.6 and 2.13 does otherwise, and the file that imports what 2.13 no longer has."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("suite")


def run(place: Path, inputs: dict[str, Path], *words: str | Path) -> Ran:
    wheel = inputs["torch-wheel"]
    return nox(
        "test_pytorch_full",
        *("--work-dir", place / "work", "--cache-dir", place / "cache", "--no-hipify", *words),
        *("--pytorch-origin", inputs["pytorch-origin"], "--pytorch-ref", "release/2.6"),
        *("--packages", "torch==2.13.0+cpu", "--find-links", wheel.parent),
        cwd=place,
        links=[inputs["torch-requirements"], inputs["torch-suite-requirements"]],
    )


def ends(document: dict[str, Any]) -> dict[str, str]:
    """Return how each test of a run ended, by its id."""
    result = read_record(Path(document["suite"]["result"]), SuiteResult)
    return {name: test.outcome for name, test in result.tests.items()}


@pytest.fixture(scope="module")
def whole(place: Path, inputs: dict[str, Path]) -> Ran:
    """All of these files in one shard."""
    return run(place, inputs, *FILES, "--allow-version-mismatch", "--output-dir", place / "whole")


def test_tests_of_another_version_stop(place: Path, inputs: dict[str, Path]) -> None:
    ran = run(place, inputs, *FILES)
    assert ran.status == 1
    assert ran.document["error"]["code"] == "tests-mismatch"


def test_what_is_known_to_fail_fails_and_nothing_else(whole: Ran) -> None:
    assert whole.document["error"]["code"] == "tests-failed", whole.talk
    found = ends(whole.document)
    assert {name: how for name, how in found.items() if how not in {"passed", "skipped"}} == KNOWN
    assert list(found.values()).count("passed") == 515
    assert whole.document["suite"]["same_version"] is False
    assert whole.document["suite"]["verdict"] is None


def test_three_shards_are_together_what_one_is(place: Path, inputs: dict[str, Path], whole: Ran) -> None:
    # A file of its own: what one shard measures must not move what the next one gets.
    times = place / "times.json"
    times.write_bytes((place / "whole" / "times.json").read_bytes())
    shards = [
        run(
            place,
            inputs,
            *FILES,
            *("--allow-version-mismatch", "--shard", str(number), "--num-shards", "3", "--times", times),
            *("--output-dir", place / f"shard-{number}"),
        )
        for number in (1, 2, 3)
    ]
    parts = [ends(shard.document) for shard in shards]
    assert all(parts)
    merged = nox(
        "merge_tests",
        *(place / f"shard-{number}" for number in (1, 2, 3)),
        *("--work-dir", place / "work", "--output-dir", place / "merged"),
        cwd=place,
    )
    union = ends(merged.document)
    assert sum(map(len, parts)) == len(union)
    assert union == ends(whole.document)
    assert len(read_report(place / "merged" / "report.xml").cases) == len(union)
    assert merged.document["error"]["code"] == "tests-failed"
