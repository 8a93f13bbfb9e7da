"""Results of shards put together: one result when each shard has reported, and no more than that claims."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from build_tools.errors import HipwrightError
from build_tools.receipts.verdict import CPU_ONLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.suite import SuiteResult

__all__ = ["merge", "refuse_partial"]

_SAME = ("project", "line", "configuration", "plan", "num_shards", "planned", "narrowed", "wheels", "platform", "code", "local")


def merge(results: Sequence[SuiteResult]) -> SuiteResult:
    """Return results of shards as one; a shard that is still missing is for :func:`refuse_partial`.

    Parameters
    ----------
    results
        One or more results, in any order.

    Raises
    ------
    HipwrightError
        ``no-report`` for no result at all; ``shards-differ`` when they are of different plans, two speak of one shard, or two of one test.
    """
    if not results:
        raise HipwrightError("no-report", "there is no result of a shard", hint="name folders that hold result.json of shards")
    ordered = sorted(results, key=lambda result: result.shards)
    first = ordered[0]
    tests = dict(first.tests)
    for other in ordered[1:]:
        for key in _SAME:
            if getattr(other, key) != getattr(first, key):
                raise _difference(first, other, key)
        tests |= other.tests
    shards = sorted(shard for result in ordered for shard in result.shards)
    twice = sorted({shard for shard in shards if shards.count(shard) > 1})
    if twice:
        message = f"there are two results of shard {', '.join(map(str, twice))} of {first.num_shards}"
        raise HipwrightError("shards-differ", message, hint="name each shard's result once")
    if len(tests) != sum(len(result.tests) for result in ordered):
        double = next(name for name, times in Counter(name for result in ordered for name in result.tests).items() if times > 1)
        raise HipwrightError("shards-differ", f"two shards speak of one test, {double}")
    # A shard may have no test of the GPU; the plan is of one sort of machine all the same.
    targets = sorted({result.target for result in ordered} - {CPU_ONLY})
    if len(targets) > 1:
        message = f"the shards ran on different targets: {', '.join(targets)}"
        raise HipwrightError("shards-differ", message, hint="run all shards of a verdict on machines of one kind")
    return msgspec.structs.replace(
        first,
        shards=tuple(shards),
        target=targets[0] if targets else CPU_ONLY,
        tests=tests,
        devices=tuple(dict.fromkeys(device for result in ordered for device in result.devices)),
        environment=first.environment if len({result.environment for result in ordered}) == 1 else None,
        imported=any(result.imported for result in ordered),
        seconds=round(sum(result.seconds for result in ordered), 3),
        started=min(result.started for result in ordered),
        file_seconds={name: max(result.file_seconds.get(name, 0.0) for result in ordered) for name in _names(ordered)},
        findings=tuple({finding: None for result in ordered for finding in result.findings}),
        problems={name: why for result in ordered for name, why in result.problems.items()},
        files_left_out={name: why for result in ordered for name, why in result.files_left_out.items()},
    )


def refuse_partial(result: SuiteResult) -> None:
    """Refuse a result that lacks a shard, or tests that its plan has.

    Raises
    ------
    HipwrightError
        ``shard-missing``; ``truncated-report`` when all shards are there and tests of the plan are not.
    """
    if not result.whole:
        missing = [shard for shard in range(1, result.num_shards + 1) if shard not in result.shards]
        named = ", ".join(map(str, missing))
        message = (
            f"shard {named} of {result.num_shards} has not reported: {len(result.tests)} of {result.planned} tests have a result"
        )
        hint = f"run it with --shard {missing[0]} --num-shards {result.num_shards}, then merge again"
        raise HipwrightError("shard-missing", message, hint=hint)
    if len(result.tests) != result.planned:
        message = f"all {result.num_shards} shards have reported, and {len(result.tests)} of {result.planned} tests have a result"
        raise HipwrightError("truncated-report", message)


def _names(results: Sequence[SuiteResult]) -> list[str]:
    return sorted({name for result in results for name in result.file_seconds})


def _difference(first: SuiteResult, other: SuiteResult, key: str) -> HipwrightError:
    numbers = f"shard {', '.join(map(str, first.shards))} and shard {', '.join(map(str, other.shards))}"
    if key == "plan":
        message = f"{numbers} were cut from different plans: they had other tests, times or skips"
        return HipwrightError("shards-differ", message, hint="give all shards the same --times file and the same sources")
    values = " and ".join(repr(getattr(one, key)) if key not in {"wheels", "code"} else "another one" for one in (first, other))
    return HipwrightError("shards-differ", f"{numbers} differ in {key.replace('_', ' ')}: {values}")
