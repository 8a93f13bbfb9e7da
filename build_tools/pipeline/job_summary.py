"""What a job summary has of a chain beside its tables: the wheels with sizes, digests and cache hits, and how to repeat each stage at a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import humanize

from build_tools.console.events import Table
from build_tools.console.markdown import command_block
from build_tools.console.render import markdown_table
from build_tools.pipeline.report import repeat_line
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.values import CacheUse
    from build_tools.workplace import Workplace

__all__ = ["job_summary"]

_COLUMNS: Final = ("wheel", "version", "size", "sha256", "from the compiler cache", "built in", "this run")


def job_summary(chains: Sequence[Chain], workplace: Workplace) -> str:
    """Return the Markdown.

    Parameters
    ----------
    chains
        The chains, as far as they came.
    workplace
        The settings, for lines that repeat stages.
    """
    rows = [row for chain in chains if Stage.BUILD in chain.done for row in _wheel_rows(chain)]
    wheels = markdown_table(Table(title="Wheels", columns=_COLUMNS, rows=tuple(rows))) if rows else ""
    return wheels + command_block("Repeat a stage at a desk", _repeating(chains, workplace))


def _wheel_rows(chain: Chain) -> Iterable[tuple[str, ...]]:
    built, done = chain.built(), chain.done[Stage.BUILD]
    for wheel in built.wheels:
        size = humanize.naturalsize(wheel.size, binary=True)
        took = f"{done.receipt.seconds:.1f} s"
        yield wheel.filename, wheel.version, size, wheel.sha256, _cached(built.cache), took, done.state


def _cached(use: CacheUse | None) -> str:
    if use is None:
        return "none used"
    hits, misses = sum(use.hits.values()), sum(use.misses.values())
    return f"{hits} of {hits + misses} ({use.tool})"


def _repeating(chains: Sequence[Chain], workplace: Workplace) -> list[str]:
    lines = [
        repeat_line(stage, chain.project.name, workplace)
        for chain in chains
        for stage in (*chain.done, *((chain.failed[0],) if chain.failed else ()))
    ]
    return list(dict.fromkeys(lines))
