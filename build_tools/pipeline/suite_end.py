"""The end of a suite: what it leaves, what people see of it, and whether it counts as a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools import digest
from build_tools.environments.listing import PackageSource
from build_tools.errors import HipwrightError, Where
from build_tools.files import make_folder, write_bytes, write_text
from build_tools.pipeline.verdict_keeping import keep_beside_source, keep_verdict
from build_tools.process import printable
from build_tools.receipts.record import plain, read_record, to_json
from build_tools.receipts.suite import BAD_OUTCOMES, SuiteResult
from build_tools.receipts.verdict import Verdict
from build_tools.testing.junit import parse_report
from build_tools.testing.upstream.compare import compare
from build_tools.testing.upstream.junit import junit_report
from build_tools.testing.upstream.merge import refuse_partial
from build_tools.testing.upstream.summary import (
    COUNT_COLUMNS,
    FAILURE_COLUMNS,
    change_lines,
    commands,
    count_rows,
    failure_rows,
    headline,
    markdown,
    reproduce_lines,
)
from build_tools.testing.upstream.times import read_times, with_measured, write_times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.config.skips import Place
    from build_tools.testing.upstream.compare import Changes
    from build_tools.workplace import Workplace

__all__ = ["FILES", "PAPERS", "RESULT", "finish", "last_result", "times_path"]

RESULT: Final = "result.json"
"""The name of a result in its output folder."""

PAPERS: Final = ("report.xml", "summary.md", "times.json", "verdict.json")
"""What lies beside a result."""

FILES: Final = "files"
"""The folder with what each test file's processes left."""

_MOST_NAMED: Final = 5


def times_path(project: str, workplace: Workplace) -> Path:
    """Return where measured times of a project are kept."""
    return workplace.work_dir / "suite" / project / "times.json"


def last_result(project: str, place: Place, workplace: Workplace) -> SuiteResult | None:
    """Return the last result of the whole suite at a place, None without one."""
    for target in place.targets:
        path = _last_path(project, (place.line, place.configuration, place.platform, target), workplace)
        if path.is_file():
            return read_record(path, SuiteResult)
    return None


def finish(result: SuiteResult, folder: Path, workplace: Workplace, *, line: Callable[[str, str | None], str]) -> dict[str, Any]:
    """Write what a suite leaves, show it, and raise unless it counts as a pass.

    A result of the whole suite becomes a verdict, the last result of its line, and what shards are cut by from then on; that of some
    shards becomes a verdict that says so, and can only stand in the way of a promotion.

    Parameters
    ----------
    result
        What came of the suite or of a shard.
    folder
        The output folder.
    workplace
        Where and with what.
    line
        Returns the command that repeats a test file, with an expression for ``-k`` or None.

    Returns
    -------
    dict
        Under ``suite``: counts, failures, changes, findings, and where everything lies.

    Raises
    ------
    HipwrightError
        ``tests-failed``; ``truncated-report`` when a process ended badly after its last test; ``no-tests`` when no test passed;
        ``wheel-not-tested``; ``skip-findings``. All have the document.
    """
    console = workplace.console
    before = _before(result, workplace)
    changes = compare(before, result) if before is not None else None
    lines = reproduce_lines(result, line)
    report = junit_report(result)
    # Whoever reads it later reads it as strictly.
    parse_report(report, name=folder / "report.xml")
    make_folder(folder, option="--output-dir")
    write_bytes(folder / "report.xml", report)
    write_text(folder / "summary.md", markdown(result, changes, lines))
    times = read_times(times_path(result.project, workplace), result.project)
    write_times(folder / "times.json", with_measured(times, result))
    verdict = _verdict(result, report) if result.narrowed is None else None
    kept: tuple[str, ...] = ()
    if verdict is not None:
        write_bytes(folder / "verdict.json", to_json(verdict))
        kept = _kept(verdict, result, folder, workplace)
    # The result comes last: a folder that has one has all.
    write_bytes(folder / RESULT, to_json(result))
    if result.whole:
        write_times(times_path(result.project, workplace), with_measured(times, result))
        if result.narrowed is None:
            last = _last_path(result.project, _place_of(result), workplace)
            last.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(last, to_json(result))
    _show(result, changes, lines, folder, workplace)
    console.summarise("\n".join([*(change_lines(changes) if changes is not None else ()), *commands(lines), ""]))
    document = {"suite": {**_document(result, changes, lines, folder, verdict), "kept": list(kept)}}
    _raise_for(result, folder, document)
    return document


def _before(result: SuiteResult, workplace: Workplace) -> SuiteResult | None:
    """Return the result to compare with: the one that is named, or the last one of the line."""
    named = workplace.settings.compare_with
    if named is not None:
        return read_record(named, SuiteResult)
    path = _last_path(result.project, _place_of(result), workplace)
    return read_record(path, SuiteResult) if path.is_file() else None


def _last_path(project: str, place: tuple[str, str, str, str], workplace: Workplace) -> Path:
    """Return where the last result is kept; ``place`` is version line, configuration, platform and target."""
    return workplace.work_dir / "suite" / project / "last" / f"{'-'.join(place).replace(':', '.')}.json"


def _place_of(result: SuiteResult) -> tuple[str, str, str, str]:
    return result.line, result.configuration, result.platform, result.target


def _verdict(result: SuiteResult, report: bytes) -> Verdict:
    if result.whole:
        refuse_partial(result)
    return Verdict(
        project=result.project,
        wheels=result.wheels,
        target=result.target,
        outcome="passed" if result.passed else "failed",
        counts=result.counts,
        report_sha256=digest.of_bytes(report),
        python_version=result.python_version,
        platform=result.platform,
        local=result.local,
        packages=result.packages,
        suite="upstream",
        devices=result.devices,
        environment=result.environment,
        flaky=result.flaky,
        mismatch=None if result.code.same else result.code.tests_commit,
        configuration=result.configuration,
        shards=result.shards,
        num_shards=result.num_shards,
        started=result.started,
        seconds=result.seconds,
    )


def _kept(verdict: Verdict, result: SuiteResult, folder: Path, workplace: Workplace) -> tuple[str, ...]:
    """Put a verdict beside the index that the wheel came from, where that can be written, and return where that is."""
    if result.index is not None:
        again = printable([*workplace.nox, "-s", "merge_tests", "--", str(folder)])
        hint = f"{again} puts it there from a machine that may"
        return (result.index.find_links_url,) if keep_verdict(verdict, result.index, workplace, hint=hint) else ()
    return keep_beside_source(verdict, PackageSource(find_links=result.pages), workplace)


def _show(result: SuiteResult, changes: Changes | None, lines: list[str], folder: Path, workplace: Workplace) -> None:
    console = workplace.console
    note = f"result: {folder / RESULT}\nreport: {folder / 'report.xml'}"
    if not result.whole:
        note += f"\nshard {', '.join(map(str, result.shards))} of {result.num_shards}: merge_tests makes a verdict of all of them"
    console.table(headline(result), COUNT_COLUMNS, count_rows(result), note=note)
    if failures := failure_rows(result):
        console.table("Failures", FAILURE_COLUMNS, failures, note="\n".join(["repeat them:", *lines]) if lines else "")
    if changes:
        groups = {
            "newly failing": changes.failing,
            "newly passing": changes.passing,
            "newly skipped": changes.skipped,
            "no longer there": changes.gone,
        }
        rows = [(what, test) for what, tests in groups.items() for test in tests[:_MOST_NAMED]]
        counts = ", ".join(f"{len(tests)} {what}" for what, tests in groups.items() if tests)
        console.table("Since the last result", ("what", "test"), rows, note=counts)
    for finding in result.findings:
        console.annotate("error", "skip files", f"{finding.where}: {finding.message}")
    if result.findings:
        console.table("Skip files", ("where", "what"), [(finding.where, finding.message) for finding in result.findings])


def _document(
    result: SuiteResult, changes: Changes | None, lines: list[str], folder: Path, verdict: Verdict | None
) -> dict[str, Any]:
    ended = {how: list(result.ended(how)) for how in ("failed", "error", "crashed", "timed-out", "not-run")}
    return {
        "project": result.project,
        "configuration": result.configuration,
        "line": result.line,
        "target": result.target,
        "shards": list(result.shards),
        "num_shards": result.num_shards,
        "planned": result.planned,
        "narrowed": result.narrowed,
        "same_version": result.code.same,
        "counts": plain(result.counts),
        "skipped_by_us": len(result.ended("skipped-by-us")),
        "flaky": [plain(one) for one in result.flaky],
        "failures": {how: names for how, names in ended.items() if names},
        "problems": result.problems,
        "changes": None
        if changes is None
        else {
            "newly_failing": list(changes.failing),
            "newly_passing": list(changes.passing),
            "newly_skipped": list(changes.skipped),
            "gone": list(changes.gone),
        },
        "findings": [plain(finding) for finding in result.findings],
        "repeat": lines,
        "result": str(folder / RESULT),
        "report": str(folder / "report.xml"),
        "summary": str(folder / "summary.md"),
        "times": str(folder / "times.json"),
        "verdict": str(folder / "verdict.json") if verdict is not None else None,
    }


def _raise_for(result: SuiteResult, folder: Path, document: dict[str, Any]) -> None:
    bad = result.ended(*BAD_OUTCOMES)
    where = Where(file=folder / "report.xml")
    if bad:
        listed = [f"{name}: {test.message}" for name, test in list(bad.items())[:_MOST_NAMED]]
        listed += [f"and {len(bad) - _MOST_NAMED} more"] if len(bad) > _MOST_NAMED else []
        message = f"{len(bad)} of {len(result.tests)} tests of {result.project} failed, first {next(iter(bad))}"
        raise HipwrightError("tests-failed", message, where=where, excerpt="\n".join(listed), document=document)
    for file, problem in result.problems.items():
        message = f"the tests in {file} passed, and their process cannot be trusted: {problem}"
        raise HipwrightError("truncated-report", message, where=where, document=document)
    if result.whole and not result.ended("passed"):
        message = f"no test passed: all {len(result.tests)} were skipped"
        raise HipwrightError("no-tests", message, where=where, document=document)
    if result.whole and not result.imported:
        message = f"tests of {result.project} passed, and none of their processes had imported the wheel under test"
        raise HipwrightError("wheel-not-tested", message, where=where, document=document)
    if result.findings:
        first = result.findings[0]
        more = f"; and {len(result.findings) - 1} more" if len(result.findings) > 1 else ""
        message = f"no test failed, and the skip files are not as they should be: {first.message}{more}"
        raise HipwrightError("skip-findings", message, hint=f"mend {first.where}", document=document)
