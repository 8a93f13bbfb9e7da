"""Which collected tests the skip files speak of, and what is wrong with the files themselves."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.receipts.suite import SkipFinding
from build_tools.testing.upstream.shards import file_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from datetime import date

    from build_tools.config.skips import Place, SkipRow

__all__ = ["Skipped", "applied", "files_left_out", "findings", "pattern_of"]

_WILD: Final = re.compile(r"([*?])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Why a test or test file is skipped, and where that is told."""

    reason: str
    link: str


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern of test ids: ``*`` is anything, ``?`` one character, and all else stands for itself, brackets too.

    >>> bool(pattern_of("a.py::T::test_x[*-1]").fullmatch("a.py::T::test_x[cpu-1]"))
    True
    >>> bool(pattern_of("a.py::T::test_x[*-1]").fullmatch("a.py::T::test_xc"))
    False
    """
    stands = {"*": ".*", "?": "."}
    return re.compile("".join(stands.get(part, re.escape(part)) for part in _WILD.split(text)), re.DOTALL)


def files_left_out(rows: Iterable[SkipRow], place: Place, today: date) -> dict[str, Skipped]:
    """Return the test files that are not loaded at a place on a day, by path."""
    return {
        file: Skipped(reason=row.skip.reason, link=row.skip.link)
        for row in rows
        if row.holds(place, today)
        for file in row.skip.files
    }


def applied(rows: Iterable[SkipRow], tests: Collection[str], place: Place, today: date) -> dict[str, Skipped]:
    """Return the tests that are skipped at a place on a day, by id; where entries overlap, the first one's reason counts.

    Parameters
    ----------
    rows
        All entries.
    tests
        The collected ids.
    place
        Where the suite is run.
    today
        The day, in UTC.
    """
    known = set(tests)
    found: dict[str, Skipped] = {}
    for row in rows:
        if not row.holds(place, today):
            continue
        for test in _matches(row, tests, known):
            found.setdefault(test, Skipped(reason=row.skip.reason, link=row.skip.link))
    return found


def findings(
    rows: Iterable[SkipRow],
    tests: Collection[str],
    place: Place,
    today: date,
    *,
    tree: Collection[str],
    loaded: Collection[str],
) -> tuple[SkipFinding, ...]:
    """Return what is wrong with entries that speak of a place: tests that are not there, and entries whose day has come.

    What an entry says of a file that was not loaded is not judged: nobody has seen that file's tests.

    Parameters
    ----------
    rows, tests, place, today
        As for :func:`applied`.
    tree
        All test files of the sources, whatever configuration they belong to.
    loaded
        Those whose tests are all among ``tests``.
    """
    known, there, seen = set(tests), set(tree), set(loaded)
    found: list[SkipFinding] = []
    for row in rows:
        if not row.speaks_of(place):
            continue
        messages = [*_missing_tests(row, known, there, seen), *_missing_matches(row, tests, there, seen)]
        messages += [f"there is no test file {file}" for file in row.skip.files if file not in there]
        found += [SkipFinding(kind="no-match", where=str(row.where), message=message) for message in messages]
        if row.expired(today):
            names = (*row.skip.tests, *row.skip.patterns, *row.skip.files)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            message = f"the skip of {names[0]}{more} has expired on {row.skip.expires}, and is no longer applied: {row.skip.link}"
            found.append(SkipFinding(kind="expired", where=str(row.where), message=message))
    return tuple(found)


def _missing_tests(row: SkipRow, known: set[str], there: set[str], seen: set[str]) -> list[str]:
    messages = []
    for test in row.skip.tests:
        if file_of(test) not in there:
            messages.append(f"there is no test file {file_of(test)}, of which {test} is to be one")
        elif file_of(test) in seen and test not in known:
            near = difflib.get_close_matches(test, [name for name in known if file_of(name) == file_of(test)], n=1, cutoff=0.8)
            messages.append(f"there is no test {test}" + (f"; did you mean {near[0]}?" if near else ""))
    return messages


def _missing_matches(row: SkipRow, tests: Collection[str], there: set[str], seen: set[str]) -> list[str]:
    messages = []
    for pattern in row.skip.patterns:
        of_file = pattern_of(file_of(pattern))
        files = {file for file in there if of_file.fullmatch(file)}
        if not files:
            messages.append(f"there is no test file that fits {pattern}")
        elif files <= seen and not any(map(pattern_of(pattern).fullmatch, tests)):
            messages.append(f"there is no test that fits {pattern}")
    return messages


def _matches(row: SkipRow, tests: Collection[str], known: set[str]) -> Iterator[str]:
    yield from (test for test in row.skip.tests if test in known)
    for pattern in row.skip.patterns:
        yield from filter(pattern_of(pattern).fullmatch, tests)
