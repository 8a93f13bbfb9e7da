"""How two profiles of the same examples differ, told apart from what the runs of one profile differ by among themselves."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

from build_tools.receipts.profile import ExampleDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.receipts.profile import Change, ExampleProfile, ExampleRun, ProfileReport

__all__ = ["BAD_CHANGES", "compare_example", "compare_reports", "conditions"]

BAD_CHANGES: Final = frozenset({"slower", "larger", "slower and larger", "missing", "broken"})
"""What makes a comparison fail: an example that is gone counts, as nobody knows what became of it."""

_RAN: Final = "passed"
_LEAST_GROWTH: Final = 8.0
"""MiB that a peak may grow by, whatever part of it they are: interpreters and allocators differ by as much from run to run."""

_PEAKS: Final[Mapping[str, Callable[[ExampleProfile], float | None]]] = {
    "the peak of memory": lambda example: example.peak_memory_mb,
    "the peak of device memory": lambda example: example.peak_device_memory_mb,
}


def compare_reports(base: ProfileReport, new: ProfileReport, *, limit: float) -> tuple[ExampleDelta, ...]:
    """Return how every example of two reports differs, in the order of the new one; those that are only in the base come last.

    Parameters
    ----------
    base, new
        The reports.
    limit
        How much slower or larger an example may be, as a part of the base.
    """
    earlier = {example.name: example for example in base.examples}
    later = {example.name for example in new.examples}
    deltas = [compare_example(earlier.get(example.name), example, limit=limit) for example in new.examples]
    gone = [example for example in base.examples if example.name not in later]
    deltas += [ExampleDelta(example=example.name, change="missing", base_status=example.status) for example in gone]
    return tuple(deltas)


def compare_example(base: ExampleProfile | None, new: ExampleProfile, *, limit: float) -> ExampleDelta:
    """Return how an example differs from the base.

    It is slower, or larger, when its median is above the base's by more than ``limit`` and each of its runs is above each of the base's:
    where the runs of both sides overlap, the difference is noise.
    """
    if base is None:
        return ExampleDelta(example=new.name, change="new", new_status=new.status, new_duration_s=new.duration_s)
    if _RAN not in {base.status, new.status}:
        return ExampleDelta(example=new.name, change="not run", base_status=base.status, new_status=new.status)
    if base.status != new.status:
        return ExampleDelta(
            example=new.name,
            change="broken" if base.status == _RAN else "mended",
            base_status=base.status,
            new_status=new.status,
            base_duration_s=base.duration_s,
            new_duration_s=new.duration_s,
        )
    time = _Pair(base, new, lambda run: run.duration_s)
    host = _Pair(base, new, lambda run: run.peak_memory_mb)
    device = _Pair(base, new, lambda run: run.peak_device_memory_mb)
    return ExampleDelta(
        example=new.name,
        change=_change(time, (host, device), limit),
        base_status=base.status,
        new_status=new.status,
        base_duration_s=base.duration_s,
        new_duration_s=new.duration_s,
        duration_delta_s=time.delta,
        duration_delta_percent=time.percent,
        noise_percent=time.noise,
        peak_memory_delta_mb=host.delta,
        peak_device_memory_delta_mb=device.delta,
    )


def conditions(base: ProfileReport, new: ProfileReport) -> tuple[str, ...]:
    """Return in what else than the code under test two reports differ: a sentence each."""
    pairs = [
        ("platform", base.platform, new.platform),
        ("Python", base.python, new.python),
        ("GPUs", ", ".join(base.gpus) or "none", ", ".join(new.gpus) or "none"),
        ("torch", _framework(base), _framework(new)),
    ]
    told = [f"{what}: {before} then, {after} now" for what, before, after in pairs if before != after]
    later = {example.name: example for example in new.examples if example.status == _RAN}
    for what, of in _PEAKS.items():
        names = [one.name for one in base.examples if of(one) is not None and one.name in later and of(later[one.name]) is None]
        if names:
            told.append(f"{what} was known then and is not now, so it was not compared: {', '.join(names)}")
    return tuple(told)


def _change(time: _Pair, memory: Sequence[_Pair], limit: float) -> Change:
    slower = time.above(limit)
    larger = any(pair.above(limit) and (pair.delta or 0.0) > _LEAST_GROWTH for pair in memory)
    if slower and larger:
        return "slower and larger"
    if slower:
        return "slower"
    if larger:
        return "larger"
    if time.below(limit):
        return "better"
    return "noise" if time.beyond(limit) else "same"


class _Pair:
    """A quantity of one example on both sides; what is not known of one side is nothing to compare."""

    def __init__(self, base: ExampleProfile, new: ExampleProfile, of: Callable[[ExampleRun], float | None]) -> None:
        self._base, self._new = _known(base.runs, of), _known(new.runs, of)

    @property
    def delta(self) -> float | None:
        """The difference of the medians; None when a side has none."""
        return _middle(self._new) - _middle(self._base) if self._base and self._new else None

    @property
    def percent(self) -> float | None:
        """The difference in percent of the base; None when that is nothing."""
        delta = self.delta
        return None if delta is None or _middle(self._base) <= 0 else delta / _middle(self._base) * 100

    @property
    def noise(self) -> float | None:
        """How far the runs of one side lie apart at the most, in percent of the base; None where each side has one run."""
        if not self._base or not self._new or max(len(self._base), len(self._new)) == 1 or _middle(self._base) <= 0:
            return None
        return max(self._base[-1] - self._base[0], self._new[-1] - self._new[0]) / _middle(self._base) * 100

    def beyond(self, limit: float) -> bool:
        """Say whether the medians differ by more than a part of the base."""
        return self.percent is not None and abs(self.percent) > limit * 100

    def above(self, limit: float) -> bool:
        """Say whether the new side is above the base by more than the limit, and by more than noise."""
        return self.beyond(limit) and (self.delta or 0.0) > 0 and self._new[0] > self._base[-1]

    def below(self, limit: float) -> bool:
        """Say whether the new side is below the base by more than the limit, and by more than noise."""
        return self.beyond(limit) and (self.delta or 0.0) < 0 and self._new[-1] < self._base[0]


def _known(runs: Sequence[ExampleRun], of: Callable[[ExampleRun], float | None]) -> list[float]:
    values = [value for run in runs if (value := of(run)) is not None]
    return sorted(values) if len(values) == len(runs) else []


def _middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def _framework(report: ProfileReport) -> str:
    found = next((example.framework for example in report.examples if example.framework is not None), None)
    return "none" if found is None else f"{found.torch} on {', '.join(found.devices) or 'no device'}"
