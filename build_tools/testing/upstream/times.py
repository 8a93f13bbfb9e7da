"""How long tests took in earlier runs: kept as JSON, read to balance shards, and added to by each run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.files import write_bytes
from build_tools.receipts.record import read_record, to_json
from build_tools.receipts.suite import MeasuredTimes
from build_tools.testing.upstream.shards import Costs

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.suite import SuiteResult

__all__ = ["costs_from", "read_times", "with_measured", "write_times"]

_MEASURED: Final = frozenset({"passed", "failed"})
"""The outcomes whose time says something: what was skipped or cut short took no time of its own."""

_LONGEST: Final = 7 * 24 * 3600.0


def read_times(path: Path, project: str, *, needed: bool = False) -> MeasuredTimes:
    """Read measured times; no file is a project of which nothing was measured, unless one is needed.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the file is none of times, or of another project.
    """
    if not needed and not path.exists():
        return MeasuredTimes(project=project)
    times = read_record(path, MeasuredTimes, code="bad-data-file")
    if times.project != project:
        raise HipwrightError(
            "bad-data-file", f"{path} holds times of {times.project}, not of {project}", where=Where(file=path, key="project")
        )
    for table in (times.tests, times.files):
        for entries in table.values():
            for name, seconds in entries.items():
                if not 0 <= seconds < _LONGEST:
                    message = f"{path} says that {name} takes {seconds} s"
                    raise HipwrightError("bad-data-file", message, where=Where(file=path, key=name))
    return times


def costs_from(times: MeasuredTimes, configuration: str) -> Costs:
    """Return what is known of a configuration; what was measured in another one alone counts too, for want of better."""
    tests: dict[str, float] = {}
    files: dict[str, float] = {}
    for name in sorted(times.tests.keys() | times.files.keys(), key=lambda name: (name == configuration, name)):
        tests |= times.tests.get(name, {})
        files |= times.files.get(name, {})
    return Costs(tests=tests, files=files)


def with_measured(times: MeasuredTimes, result: SuiteResult) -> MeasuredTimes:
    """Return times with those of a result, the newer ones in place of the earlier ones."""
    measured = {name: test.seconds for name, test in result.tests.items() if test.outcome in _MEASURED and "::" in name}
    name = result.configuration
    tests = {**times.tests, name: {**times.tests.get(name, {}), **measured}}
    files = {**times.files, name: {**times.files.get(name, {}), **result.file_seconds}}
    return MeasuredTimes(project=times.project, tests=tests, files=files)


def write_times(path: Path, times: MeasuredTimes) -> None:
    """Write measured times."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, to_json(times))
