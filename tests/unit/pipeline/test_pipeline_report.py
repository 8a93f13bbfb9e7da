"""The table at the end of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from build_tools.console.events import Table
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.report import document, show_report
from build_tools.types import Stage
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace


def chain_of(name: str, place: Workplace, **fields: Any) -> Chain:  # noqa: ANN401 - of any field
    project: Any = SimpleNamespace(name=name)
    return Chain(project=project, workplace=place, targets=(), **fields)


def test_a_long_reason_is_cut_in_the_table_and_whole_in_the_document(tmp_path: Path) -> None:
    why = "changed: " + ", ".join(f"part {number} ({'a' * 12}… → {'b' * 12}…)" for number in range(9))
    done = SimpleNamespace(seconds=1.0, state="run", why=why, path=tmp_path, receipt=SimpleNamespace(digest="x"))
    place = workplace(tmp_path, dry_run=True)
    chain = chain_of("toy", place, done={Stage.LOCK: done}, would_run={Stage.CHECKOUT: "short"})
    show_report([chain], place)
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    cells = [row[-1] for row in table.rows]
    assert len(cells[0]) <= 80
    assert cells[0].endswith("…")
    assert why.startswith(cells[0][:-1])
    assert cells[1] == "short"
    assert document([chain])["stages"][0]["why"] == why


def test_what_was_developed_has_a_row_and_the_line_that_goes_on_with_it(tmp_path: Path) -> None:
    done = SimpleNamespace(seconds=1.0, state="skipped", why="nothing changed")
    place = workplace(tmp_path, develop=True)
    developed = {"installed": True, "seconds": 7.5, "activate": ". /there/bin/activate"}
    chain = chain_of("sample", place, done={Stage.HIPIFIED_PATCHES: done}, developed=developed)
    show_report([chain], place)
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert table.rows[-1][:4] == ("develop", "sample", "7.50 s", "run")
    lines = table.note.splitlines()
    assert "environment: . /there/bin/activate" in lines
    (again,) = [line for line in lines if line.startswith("after edits: ")]
    assert "-s build_sample -- " in again
    assert "--develop" in again
    assert not any(line.startswith("repeat ") for line in lines)
