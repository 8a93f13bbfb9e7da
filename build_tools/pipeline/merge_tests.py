"""``merge_tests``: one verdict of the results of all shards of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.config.project import project_names
from build_tools.errors import HipwrightError, Where
from build_tools.options.commands import PROJECT_COMMANDS
from build_tools.pipeline.suite_end import RESULT, finish
from build_tools.process import printable
from build_tools.receipts.record import read_record
from build_tools.receipts.suite import SuiteResult
from build_tools.testing.upstream.merge import merge, refuse_partial

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.workplace import Workplace

__all__ = ["merge_tests"]


def merge_tests(workplace: Workplace) -> dict[str, Any]:
    """Read the results of all shards, merge them, and end as an unsharded run does.

    Returns
    -------
    dict
        As :func:`build_tools.pipeline.suite_end.finish`.

    Raises
    ------
    HipwrightError
        ``no-report`` when a folder holds no result; ``shards-differ``; ``shard-missing``; as :func:`build_tools.pipeline.suite_end.finish`.
    """
    settings = workplace.settings
    if not settings.paths:
        hint = "name the results of all shards, or a folder that holds them"
        raise HipwrightError("bad-option-value", "merge_tests is given no results", hint=hint)
    result = merge([read_record(path, SuiteResult) for path in _results(settings.paths)])
    refuse_partial(result)
    known = project_names(workplace.external_builds)
    if result.project not in known:
        message = f"these are results of {result.project}, and there is no such project"
        raise HipwrightError("unknown-project", message, hint=f"projects: {', '.join(known)}")
    folder = settings.output_dir or workplace.work_dir / "suite" / result.project / result.configuration / "merged"

    def line(file: str, expression: str | None) -> str:
        session = PROJECT_COMMANDS["test_full"].session_of(result.project)
        chosen = [*(["-k", expression] if expression else []), "--test-config", result.configuration]
        return printable([*workplace.nox, "-s", session, "--", file, *chosen])

    return finish(result, folder, workplace, line=line)


def _results(paths: Sequence[Path]) -> list[Path]:
    """Return the result files that paths name or hold, each once."""
    found: list[Path] = []
    for path in paths:
        inside = [path] if path.is_file() else sorted(path.rglob(RESULT)) if path.is_dir() else []
        if not inside:
            message = f"there is no result of a shard in {path}"
            raise HipwrightError("no-report", message, where=Where(file=path), hint="a shard that left none did not report")
        found += inside
    return list(dict.fromkeys(one.resolve() for one in found))
