"""The table at the end of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from build_tools.console.events import Table
from build_tools.pipeline.report import document, show_report
from build_tools.types import Stage
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path


def test_a_long_reason_is_cut_in_the_table_and_whole_in_the_document(tmp_path: Path) -> None:
    why = "changed: " + ", ".join(f"part {number} ({'a' * 12}… → {'b' * 12}…)" for number in range(9))
    done = SimpleNamespace(seconds=1.0, state="run", why=why, path=tmp_path, receipt=SimpleNamespace(digest="x"))
    chain: Any = SimpleNamespace(
        project=SimpleNamespace(name="toy"), python=None, done={Stage.LOCK: done}, would_run={Stage.CHECKOUT: "short"}
    )
    place = workplace(tmp_path, dry_run=True)
    show_report([chain], place)
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    cells = [row[-1] for row in table.rows]
    assert len(cells[0]) <= 80
    assert cells[0].endswith("…")
    assert why.startswith(cells[0][:-1])
    assert cells[1] == "short"
    assert document([chain])["stages"][0]["why"] == why
