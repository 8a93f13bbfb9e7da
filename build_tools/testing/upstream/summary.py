"""What came of a suite, for people: rows of tables, and a Markdown page with the lines that repeat what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.receipts.suite import BAD_OUTCOMES
from build_tools.testing.upstream.shards import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from build_tools.receipts.suite import SuiteResult
    from build_tools.testing.upstream.compare import Changes

__all__ = ["COUNT_COLUMNS", "FAILURE_COLUMNS", "count_rows", "failure_rows", "headline", "markdown", "reproduce_lines"]

COUNT_COLUMNS: Final = ("test file", "passed", "failed", "skipped", "skipped by us", "flaky", "seconds")
FAILURE_COLUMNS: Final = ("test", "how", "why")

_MOST_ROWS: Final = 100
_MOST_LINES: Final = 20
_LONGEST: Final = 100
_MOST_FILES: Final = 40


def headline(result: SuiteResult) -> str:
    """Return a result in one line."""
    counts = result.counts
    shards = "" if result.num_shards == 1 else f", shard {', '.join(map(str, result.shards))} of {result.num_shards}"
    if result.num_shards > 1 and result.whole:
        shards = f", all {result.num_shards} shards"
    numbers = f"{counts.passed} passed, {counts.failed + counts.errors} failed, {counts.skipped} skipped"
    return f"{result.project} {result.configuration} on {result.target}{shards}: {numbers}"


def count_rows(result: SuiteResult) -> list[tuple[str, ...]]:
    """Return a row for each test file, those with failures first, and one for all at the end."""
    by_file: dict[str, list[str]] = {}
    for name in result.tests:
        by_file.setdefault(file_of(name), []).append(name)
    rows = {file: _row(file, result, names) for file, names in by_file.items()}
    bad = [file for file in rows if rows[file][2] != "0"]
    shown = [*bad, *(file for file in rows if rows[file][2] == "0")][: max(_MOST_FILES, len(bad))]
    left = len(rows) - len(shown)
    more = [(f"and {left} more test files without a failure", *("" for _ in COUNT_COLUMNS[1:]))] if left else []
    return [*(rows[file] for file in shown), *more, _row("all", result, list(result.tests))]


def failure_rows(result: SuiteResult) -> list[tuple[str, str, str]]:
    """Return a row for each test that ended badly, as many as people read, and one for each problem of a test file."""
    bad = result.ended(*BAD_OUTCOMES)
    rows: list[tuple[str, str, str]] = [
        (name, test.outcome, _short(test.message)) for name, test in list(bad.items())[:_MOST_ROWS]
    ]
    if len(bad) > _MOST_ROWS:
        rows.append((f"and {len(bad) - _MOST_ROWS} more", "", "the report has all"))
    return [*rows, *((file, "problem", _short(why)) for file, why in result.problems.items())]


def reproduce_lines(result: SuiteResult, line: Callable[[str, str | None], str]) -> list[str]:
    """Return command lines that repeat the test files with failures, each with the names of what failed there.

    Parameters
    ----------
    result
        The result.
    line
        Returns the command for a test file and an expression for ``-k``, which is None for the whole file.
    """
    names: dict[str, list[str]] = {}
    for test in result.ended(*BAD_OUTCOMES):
        parts = test.partition("[")[0].split("::")
        names.setdefault(parts[0], []).extend(parts[-1:] if len(parts) > 1 else [])
    return [line(file, " or ".join(dict.fromkeys(found)) or None) for file, found in list(names.items())[:_MOST_LINES]]


def markdown(result: SuiteResult, changes: Changes | None, lines: Iterable[str]) -> str:
    """Return a result as a Markdown page.

    Parameters
    ----------
    result
        The result.
    changes
        What changed since the last result of its line; None when there is none.
    lines
        The commands of :func:`reproduce_lines`.
    """
    page = [f"## {_cell(headline(result))}", ""]
    if not result.code.same:
        page += [
            f"**The tests are of another version**: tests of {result.code.tests_commit}, the wheel is of {result.code.wheel_commit}.",
            "",
        ]
    if not result.whole:
        page += [f"This is shard {', '.join(map(str, result.shards))} of {result.num_shards}, and no verdict on the suite.", ""]
    if result.narrowed is not None:
        page += [f"Narrowed to `{result.narrowed}`: no verdict on the suite.", ""]
    page += _table(COUNT_COLUMNS, count_rows(result))
    if failures := failure_rows(result):
        page += ["### Failures", "", *_table(FAILURE_COLUMNS, failures)]
    if changes is not None:
        page += change_lines(changes)
    if result.findings:
        page += ["### Skip files", "", *_table(("where", "what"), [(one.where, one.message) for one in result.findings])]
    if result.files_left_out:
        page += ["### Test files that were left out", "", *_table(("test file", "why"), list(result.files_left_out.items()))]
    return "\n".join([*page, *commands(lines)])


def commands(lines: Iterable[str]) -> list[str]:
    """Return the part of a page that has the commands."""
    listed = list(lines)
    return ["### Repeat what failed", "", "```sh", *listed, "```", ""] if listed else []


def change_lines(changes: Changes) -> list[str]:
    """Return the part of a page that tells what changed since the last result."""
    groups = {
        "Newly failing": changes.failing,
        "Newly passing": changes.passing,
        "Newly skipped": changes.skipped,
        "No longer there": changes.gone,
    }
    page = ["### Since the last result", ""]
    if not changes:
        return [*page, "Nothing changed.", ""]
    for title, tests in groups.items():
        if tests:
            page += [f"**{title}: {len(tests)}**", "", *(f"- `{test}`" for test in tests[:_MOST_ROWS])]
            page += [f"- and {len(tests) - _MOST_ROWS} more"] if len(tests) > _MOST_ROWS else []
            page.append("")
    return page


def _row(title: str, result: SuiteResult, names: list[str]) -> tuple[str, ...]:
    tests = [result.tests[name] for name in names]
    how = [test.outcome for test in tests]
    flaky = sum(test.attempts > 1 and test.outcome == "passed" for test in tests)
    numbers = (
        how.count("passed"),
        sum(outcome in BAD_OUTCOMES for outcome in how),
        how.count("skipped"),
        how.count("skipped-by-us"),
        flaky,
    )
    return (title, *map(str, numbers), f"{sum(test.seconds for test in tests):.1f}")


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(columns)
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines, ""]


def _cell(text: str) -> str:
    plain = " ".join(text.split())
    return plain.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
