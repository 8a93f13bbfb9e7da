"""The suites of tests that sources bring along: which part is run, against what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - the fields are read at run time
from typing import Final

from build_tools.options.declare import declare, declared

__all__ = ["SUITE_OPTIONS", "SuiteOptions"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SuiteOptions:
    """The suites of tests that sources bring along: which part is run, against what."""

    test_config: str = declare(
        "default", "text", "how", "Configuration of the suite, one of the project's recipe.", metavar="NAME"
    )
    shard: int | None = declare(None, "integer", "how", "Which shard of the suite to run, the first is 1.", metavar="I")
    num_shards: int | None = declare(None, "integer", "how", "How many shards the suite is cut into.", metavar="N")
    keyword: str | None = declare(
        None,
        "text",
        "how",
        "Only tests whose names fit this expression, as pytest takes it.",
        metavar="EXPR",
        other_flags=("-k",),
    )
    collect_only: bool = declare(False, "flag", "how", "Say which tests there are, and run none.")
    failed_first: bool = declare(False, "flag", "how", "Run the tests first that failed the last time.")
    allow_version_mismatch: bool = declare(
        False, "flag", "how", "Run tests of another commit than the wheel's; the result says so."
    )
    times: Path | None = declare(
        None, "path", "how", "How long tests took, to cut shards by; what earlier runs measured when not given.", metavar="FILE"
    )
    compare_with: Path | None = declare(
        None, "path", "how", "Earlier result to compare with; the last one of the line when not given.", metavar="FILE"
    )


SUITE_OPTIONS: Final = tuple(option.name for option in declared(SuiteOptions))
"""Their names: what a session that runs a suite takes beside what others take."""
