from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from build_tools import digest
from build_tools.config.channels import load_channels
from build_tools.publish.gate import Circumstances, advice, refusals
from build_tools.publish.retest import failed, pass_after, retests
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.snapshot import IndexedFile
from build_tools.receipts.verdict import TestCounts, Verdict

NAME = "demo-1.0+rocm7.1-py3-none-any.whl"
SHA = digest.of_bytes(b"tested")
RELEASE = load_channels().find_channel("release")
GIVEN = Circumstances(release_type="release")
FILE = IndexedFile(
    project="demo",
    filename=NAME,
    key=f"dist/{NAME}",
    version="1.0+rocm7.1",
    sha256=SHA,
    size=6,
    uploaded="2026-01-02T03:04:05Z",
)
FAILED = Verdict(
    project="demo",
    wheels=(JudgedWheel(filename=NAME, sha256=SHA),),
    target="gfx942",
    outcome="failed",
    counts=TestCounts(passed=3, failed=1),
    report_sha256=digest.of_bytes(b"report"),
    python_version="3.12.1",
    platform="linux",
    started="2026-01-02T03:00:00Z",
)
PASSED = replace(FAILED, outcome="passed", counts=TestCounts(passed=4), started="2026-01-02T04:00:00Z")


def enters(*verdicts: Verdict) -> bool:
    return refusals([FILE], verdicts, channel=RELEASE, circumstances=GIVEN) == ()


def test_a_later_pass_of_the_same_tests_counts_and_the_failure_is_told() -> None:
    assert not enters(FAILED)
    assert "test these wheels again" in advice([FILE], [FAILED], channel=RELEASE, circumstances=GIVEN)
    for verdicts in ([FAILED, PASSED], [PASSED, FAILED]):
        assert enters(*verdicts)
        assert retests(verdicts, {SHA}) == (
            f"{NAME} failed its tests on gfx942 at 2026-01-02T03:00:00Z, and passed them at 2026-01-02T04:00:00Z",
        )
        assert retests(verdicts, {digest.of_bytes(b"other")}) == ()


def test_a_failure_after_the_pass_refuses() -> None:
    assert not enters(PASSED, replace(FAILED, started="2026-01-02T05:00:00Z"))
    assert enters(PASSED, replace(FAILED, started="2026-01-02T05:00:00Z"), replace(PASSED, started="2026-01-02T05:00:01Z"))


@pytest.mark.parametrize(
    "other",
    [
        {"target": "gfx1201"},
        {"platform": "windows"},
        {"python_version": "3.13.1"},
        {"suite": "upstream", "configuration": "default"},
        {"project": "other"},
        {"mismatch": "of another commit"},
        {"wheels": (JudgedWheel(filename=NAME, sha256=digest.of_bytes(b"other")),)},
        {"counts": TestCounts(passed=0, skipped=4)},
        {"counts": TestCounts(passed=3, errors=1)},
        {"started": FAILED.started},
        {"started": None},
        {"started": "some time"},
        {"started": "2026-01-02T03:30:00+01:00"},
    ],
)
def test_nothing_else_takes_a_failure_back(other: dict[str, Any]) -> None:
    verdicts = [FAILED, replace(PASSED, **other)]
    assert pass_after(FAILED, verdicts, SHA) is None
    assert not enters(*verdicts)
    assert retests(verdicts, {SHA}) == ()


def test_a_failure_without_a_time_stands() -> None:
    assert not enters(replace(FAILED, started=None), PASSED)


def test_another_bugfix_release_of_python_is_the_same_python() -> None:
    assert enters(FAILED, replace(PASSED, python_version="3.12.9"))


@pytest.mark.parametrize(
    ("shards", "of", "back"), [((1, 2, 3), 3, True), ((2,), 3, True), ((1, 3), 3, False), ((2,), 4, False), ((1,), 1, True)]
)
def test_a_shard_is_taken_back_by_what_has_its_tests(shards: tuple[int, ...], of: int, back: bool) -> None:  # noqa: FBT001
    failure = replace(FAILED, suite="upstream", configuration="default", shards=(2,), num_shards=3)
    passed = replace(PASSED, suite="upstream", configuration="default", shards=shards, num_shards=of)
    assert (pass_after(failure, [passed], SHA) is not None) is back


@pytest.mark.parametrize(
    ("verdict", "is_one"),
    [
        (FAILED, True),
        (PASSED, False),
        (replace(PASSED, counts=TestCounts(passed=1, errors=1)), True),
        (replace(PASSED, counts=TestCounts(passed=0)), True),
        (replace(PASSED, counts=TestCounts(passed=0), shards=(1,), num_shards=2), False),
    ],
)
def test_what_counts_as_a_failure(verdict: Verdict, is_one: bool) -> None:  # noqa: FBT001
    assert failed(verdict) is is_one
