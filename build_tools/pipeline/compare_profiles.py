"""``compare_profiles``: what changed between two reports of ``profile``, and whether that is more than noise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError, Where
from build_tools.receipts.profile import ProfileReport
from build_tools.receipts.record import plain, read_record
from build_tools.testing.compare_profiles import BAD_CHANGES, compare_reports, conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.profile import ExampleDelta
    from build_tools.workplace import Workplace

__all__ = ["compare_profiles", "limit_of", "worse_than_base"]

_PERCENT: Final = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)\s*%?", re.ASCII)
_COLUMNS: Final = ("example", "verdict", "before s", "after s", "change", "noise", "memory MiB", "device MiB")
_REPORTS: Final = 2


def limit_of(text: str) -> float:
    """Return the part that a percentage says (``10%`` is 0.1).

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for another text.
    """
    found = _PERCENT.fullmatch(text.strip())
    if found is None:
        message = f"--fail-above takes a percentage such as 10%, not {text!r}"
        raise HipwrightError("bad-option-value", message, hint="say it like this: --fail-above 10%")
    return float(found[1]) / 100


def compare_profiles(workplace: Workplace) -> dict[str, Any]:
    """Compare the two reports that are named, the earlier one by ``--baseline`` or first.

    Returns
    -------
    dict
        ``examples`` with their deltas, ``conditions`` in which the reports differ, ``worse`` with the names of what is.

    Raises
    ------
    HipwrightError
        ``profile-worse`` with the document; ``bad-option-value`` for another number of reports; ``no-examples`` where nothing can be
        compared; ``bad-receipt``.
    """
    settings = workplace.settings
    paths = (*([Path(settings.baseline)] if settings.baseline is not None else []), *settings.paths)
    if len(paths) != _REPORTS:
        hint = "nox -s compare_profiles -- BASE NEW"
        raise HipwrightError("bad-option-value", f"two reports are compared, not {len(paths)}", hint=hint)
    limit = limit_of(settings.fail_above)
    base, new = (read_record(path, ProfileReport) for path in paths)
    deltas = compare_reports(base, new, limit=limit)
    worse = [one for one in deltas if one.change in BAD_CHANGES]
    differing = conditions(base, new)
    single = [one for one in deltas if one.duration_delta_percent is not None and one.noise_percent is None]
    notes = [*differing]
    if single:
        notes.append(f"noise is not known where there is one run on each side: {', '.join(one.example for one in single)}")
    workplace.console.table(
        f"{paths[1].name} against {paths[0].name}", _COLUMNS, [_row(one) for one in deltas], note="\n".join(notes)
    )
    document: dict[str, Any] = {
        "base": str(paths[0]),
        "new": str(paths[1]),
        "fail_above_percent": limit * 100,
        "conditions": list(differing),
        "examples": [plain(one) for one in deltas],
        "worse": [one.example for one in worse],
    }
    if not any(one.duration_delta_s is not None for one in deltas) and not worse:
        message = "the reports have no example that ran in both"
        raise HipwrightError("no-examples", message, where=Where(file=paths[1]), document=document)
    if worse:
        error = worse_than_base(worse, len(deltas), limit, where=Where(file=paths[1]))
        error.document = document
        raise error
    return document


def worse_than_base(worse: Sequence[ExampleDelta], of: int, limit: float, *, where: Where | None = None) -> HipwrightError:
    """Return the error for examples that got worse, of so many, by more than a part of the base."""
    message = f"{len(worse)} of {of} examples got worse by more than {limit * 100:g} %, or are gone; first {_sentence(worse[0])}"
    hint = "where the machine was busy, profile again with a larger --repeat; else --fail-above says what is still good"
    return HipwrightError("profile-worse", message, where=where, hint=hint)


def _sentence(one: ExampleDelta) -> str:
    if one.change == "missing":
        return f"{one.example}, which is not in the new report"
    if one.change == "broken":
        return f"{one.example}, which passed and is {one.new_status}"
    time = f"{one.duration_delta_percent:+.1f} %" if one.duration_delta_percent is not None else "no time"
    return f"{one.example}: {one.change} ({time}, memory {_signed(one.peak_memory_delta_mb) or 'unknown'} MiB)"


def _row(one: ExampleDelta) -> tuple[str, ...]:
    def seconds(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    return (
        one.example,
        one.change if one.change not in {"broken", "not run"} else f"{one.change}: {one.new_status}",
        seconds(one.base_duration_s),
        seconds(one.new_duration_s),
        "" if one.duration_delta_percent is None else f"{one.duration_delta_percent:+.1f} %",
        "" if one.noise_percent is None else f"{one.noise_percent:.1f} %",
        _signed(one.peak_memory_delta_mb),
        _signed(one.peak_device_memory_delta_mb),
    )


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}"
