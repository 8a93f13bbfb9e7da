from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from build_tools.publish.transfer import Meter

if TYPE_CHECKING:
    from collections.abc import Iterator

MEBI = 1 << 20


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        # Too soon to say how fast it is; then 20 MiB in 2 seconds, with 30 to come; then all is there.
        ([(0.5, 10), (2.0, 10), (5.0, 30)], ["MiB", "MiB (10.0 MiB/s, 3 seconds left)", "MiB"]),
        # A file that is begun anew is taken back.
        ([(1.0, 30), (2.0, -30), (4.0, 40)], ["MiB (30.0 MiB/s, 1 second left)", "MiB", "MiB (10.0 MiB/s, 1 second left)"]),
    ],
)
def test_how_fast_it_goes_and_how_long_it_will_take_is_told(steps: list[tuple[float, int]], told: list[str]) -> None:
    seen: list[tuple[int, int, str]] = []

    def clock() -> Iterator[float]:
        yield 100.0
        for at, _ in steps:
            yield 100.0 + at

    times = clock()
    meter = Meter(
        what="uploading",
        total=50 * MEBI,
        progress=lambda _what, done, total, unit: seen.append((done, total, unit)),
        now=lambda: next(times),
    )
    for _, count in steps:
        meter.add(count * MEBI)
    assert [unit for _, _, unit in seen] == told
    assert {total for _, total, _ in seen} == {50}
    assert [done for done, _, _ in seen] == list(itertools.accumulate(count for _, count in steps))
