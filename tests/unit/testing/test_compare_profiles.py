"""Two profiles compared: change, noise, and what is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.compare_profiles import compare_profiles, limit_of
from build_tools.receipts.profile import ExampleProfile, ExampleRun, ExampleStatus, ProfileReport
from build_tools.receipts.record import to_json
from build_tools.testing.compare_profiles import compare_example, compare_reports, conditions
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path


def example(
    name: str, *times: float, memory: float | None = 100.0, device: float | None = None, status: ExampleStatus = "passed"
) -> ExampleProfile:
    """Return an example whose runs took these times, in ascending order."""
    runs = tuple(ExampleRun(duration_s=time, peak_memory_mb=memory, peak_device_memory_mb=device) for time in times)
    return ExampleProfile(name=name, status=status, duration_s=times[len(times) // 2] if times else None, runs=runs)


def report(*examples: ExampleProfile, **more: Any) -> ProfileReport:  # noqa: ANN401 - as the report has them
    known: dict[str, Any] = {"platform": "linux", "python": "3.12.4", "environment": "/e", "started": "2026-01-01T00:00:00Z"}
    known |= {"warm_up": True, "repeat": 3, "time_limit_s": 60.0, **more}
    return ProfileReport(examples=examples, **known)


@pytest.mark.parametrize(
    ("base", "new", "change"),
    [
        ((1.0, 1.01, 1.02), (1.0, 1.01, 1.02), "same"),
        ((1.0, 1.01, 1.02), (1.2, 1.21, 1.22), "slower"),
        ((1.0, 1.01, 1.02), (0.8, 0.81, 0.82), "better"),
        ((0.9, 1.0, 1.5), (1.2, 1.3, 1.4), "noise"),
        ((1.0,), (1.2,), "slower"),
        ((1.0, 1.01, 1.02), (1.05, 1.06, 1.07), "same"),
    ],
)
def test_a_change_is_one_when_no_runs_overlap(base: tuple[float, ...], new: tuple[float, ...], change: str) -> None:
    delta = compare_example(example("a", *base), example("a", *new), limit=0.1)
    assert delta.change == change
    assert delta.duration_delta_s == pytest.approx(new[len(new) // 2] - base[len(base) // 2])
    assert (delta.noise_percent is None) is (len(base) == 1)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [((100.0, None), (120.0, None), "larger"), ((20.0, None), (26.0, None), "same"), ((100.0, 500.0), (100.0, 900.0), "larger")],
)
def test_memory_counts_too(before: tuple[float, float | None], after: tuple[float, float | None], change: str) -> None:
    base = example("a", 1.0, 1.0, memory=before[0], device=before[1])
    new = example("a", 1.0, 1.0, memory=after[0], device=after[1])
    delta = compare_example(base, new, limit=0.1)
    assert delta.change == change
    assert delta.peak_memory_delta_mb == after[0] - before[0]
    assert delta.peak_device_memory_delta_mb == (None if after[1] is None else after[1] - (before[1] or 0))


def test_what_one_side_does_not_know_is_not_compared() -> None:
    delta = compare_example(example("a", 1.0, device=5.0), example("a", 1.0, device=None), limit=0.1)
    assert (delta.change, delta.peak_device_memory_delta_mb) == ("same", None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"duration_s": 1.0', '"duration_s": -1.0', "> 0"),
        ('"duration_s": 1.0', '"duration_s": 0', "> 0"),
        ('"duration_s": 1.0', '"duration_s": 1e300', "< 1000000000"),
        ('"duration_s": 1.0', '"duration_s": NaN', "malformed"),
        ('"peak_memory_mb": 100.0', '"peak_memory_mb": -5', ">= 0"),
        ('"duration_s": 1.0', '"duration_s": null', ""),
        ('"name": "b"', '"name": "a"', "has examples twice: a"),
        ('"status": "failed"', '"status": "passed"', "'b' passed, and has no run"),
    ],
)
def test_figures_that_cannot_be_are_never_compared(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = to_json(report(example("a", 1.0, 1.0, 1.0), example("b", status="failed"))).decode()
    assert old in text
    paths = (tmp_path / "base.json", tmp_path / "new.json")
    paths[0].write_text(text, encoding="utf-8")
    paths[1].write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        compare_profiles(workplace(tmp_path, paths=paths))
    assert caught.value.code.name == "bad-receipt"
    assert said in caught.value.message
    assert "nox -s profile" in (caught.value.hint or "")


def test_a_peak_that_is_known_no_longer_is_told() -> None:
    def one(memory: float | None) -> ExampleProfile:
        return msgspec.structs.replace(example("a", 1.0, memory=memory), peak_memory_mb=memory)

    (note,) = conditions(report(one(100.0)), report(one(None)))
    assert note == "the peak of memory was known then and is not now, so it was not compared: a"
    assert conditions(report(one(None)), report(one(100.0))) == ()


def test_slower_and_larger_are_told_together() -> None:
    assert compare_example(example("a", 1.0), example("a", 2.0, memory=200.0), limit=0.1).change == "slower and larger"


def test_examples_that_are_new_gone_broken_and_mended() -> None:
    base = report(
        example("gone", 1.0), example("breaks", 1.0), example("mends", 1.0, status="crashed"), example("never", status="skipped")
    )
    new = report(
        example("new", 1.0), example("breaks", 1.0, status="skipped"), example("mends", 1.0), example("never", status="failed")
    )
    found = {delta.example: delta.change for delta in compare_reports(base, new, limit=0.1)}
    assert found == {"new": "new", "breaks": "broken", "mends": "mended", "never": "not run", "gone": "missing"}


def test_other_conditions_are_told() -> None:
    assert conditions(report(), report()) == ()
    assert conditions(report(), report(python="3.13.1", gpus=("gfx942",))) == (
        "Python: 3.12.4 then, 3.13.1 now",
        "GPUs: none then, gfx942 now",
    )


@pytest.mark.parametrize(("text", "limit"), [("10%", 0.1), ("0", 0.0), ("2.5 %", 0.025)])
def test_limits_are_percentages(text: str, limit: float) -> None:
    assert limit_of(text) == pytest.approx(limit)


@pytest.mark.parametrize("text", ["", "-5%", "ten", "10%%", "nan"])
def test_other_limits_are_refused(text: str) -> None:
    with pytest.raises(HipwrightError, match="--fail-above"):
        limit_of(text)


def compared(folder: Path, base: ProfileReport, new: ProfileReport, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - as the options are
    paths = (folder / "base.json", folder / "new.json")
    for path, one in zip(paths, (base, new), strict=True):
        path.write_bytes(to_json(one))
    return compare_profiles(workplace(folder, paths=paths, **settings))


def test_what_got_worse_fails_by_name(tmp_path: Path) -> None:
    base, new = report(example("a", 1.0), example("b", 1.0)), report(example("a", 1.0), example("b", 1.4))
    with pytest.raises(HipwrightError) as caught:
        compared(tmp_path, base, new)
    assert caught.value.code.name == "profile-worse"
    assert "first b: slower (+40.0 %" in caught.value.message
    assert caught.value.document is not None
    assert caught.value.document["worse"] == ["b"]
    assert compared(tmp_path, base, new, fail_above="50%")["worse"] == []


def test_an_example_that_is_gone_fails(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="not in the new report"):
        compared(tmp_path, report(example("a", 1.0), example("b", 1.0)), report(example("a", 1.0)))


def test_reports_with_nothing_in_common_prove_nothing(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        compared(tmp_path, report(), report(example("a", 1.0)))
    assert caught.value.code.name == "no-examples"


def test_the_base_may_be_named_by_its_option(tmp_path: Path) -> None:
    base, new = report(example("a", 1.0)), report(example("a", 1.4))
    with pytest.raises(HipwrightError, match="first a: slower"):
        compared(tmp_path, base, new)
    place = workplace(tmp_path, baseline=str(tmp_path / "new.json"), paths=(tmp_path / "base.json",))
    assert compare_profiles(place)["examples"][0]["change"] == "better"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_reports_are_needed(tmp_path: Path, count: int) -> None:
    with pytest.raises(HipwrightError, match="two reports"):
        compare_profiles(workplace(tmp_path, paths=(tmp_path / "a",) * count))


def test_a_file_that_is_no_report_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"schema": 9}')
    with pytest.raises(HipwrightError) as caught:
        compare_profiles(workplace(tmp_path, paths=(tmp_path / "a", tmp_path / "a")))
    assert caught.value.code.name == "bad-receipt"
