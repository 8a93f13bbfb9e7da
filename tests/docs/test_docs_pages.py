"""What the pages name is there: files, headings, sessions, tasks, options."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from build_tools.config.project import project_names
from build_tools.options.command_line import development_sessions, fault_of_line
from tests.support.pages import anchors, broken_links, find_pages, linked_pages, shown_commands, stray_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_links_lead_somewhere(clone: Path) -> None:
    pages = find_pages(clone)
    assert clone / "docs" / "index.md" in pages
    assert [problem for page in pages for problem in broken_links(page, clone)] == []


def test_every_row_of_a_table_is_below_its_head(clone: Path) -> None:
    assert [row for page in find_pages(clone) for row in stray_rows(page)] == []


def test_every_page_below_docs_can_be_reached_from_the_index(clone: Path) -> None:
    reached = linked_pages(clone / "docs" / "index.md")
    assert sorted(set((clone / "docs").rglob("*.md")) - reached) == []


def test_commands_that_pages_show_are_ones_that_we_have(clone: Path) -> None:
    others = development_sessions((clone / "noxfile.py").read_text(encoding="utf-8"))
    assert {"lint", "tests", "docs", "pins"} <= others
    shown = [command for page in find_pages(clone) for command in shown_commands(page)]
    assert shown
    wrong = [
        f"{command}: {problem}"
        for command in shown
        if (
            problem := fault_of_line(command.words, projects=project_names(clone / "external-builds"), others=others, clone=clone)
        )
    ]
    assert wrong == []


def test_the_picture_of_the_house_names_every_room_on_its_floor(clone: Path) -> None:
    text = (clone / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", text, re.MULTILINE)
    drawn = {int(floor): set(re.findall(r"`(\w+)`", rooms)) for floor, rooms in rows}
    layers = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0][
        "layers"
    ]
    declared = {len(layers) - 1 - number: set(re.findall(r"\w+", layer)) for number, layer in enumerate(layers)}
    assert drawn == declared


PAGE = """\
# A page

## Set-up: `nox` first

## Twice

## Twice

Run `nox -s pipeline` or `nox -s build_<p>`, see [there](other.md#twice-1), [none](gone.md), [bad](other.md#thrice),
[up](../../x.md), [web](https://example.org/x) and ![picture](missing.png).

```sh
$ nox -s checkout_sample -- --sample-ref nightly \\
    --explain   # a remark
ls
```

    python3 noxw.py invoke show-config --json

```python
nox = 1
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "other.md").write_text(PAGE, encoding="utf-8")
    (docs / "page.md").write_text(PAGE, encoding="utf-8")
    return docs / "page.md"


def test_broken_links_are_named_with_their_line(page: Path, tmp_path: Path) -> None:
    problems = [problem.removeprefix(str(page)) for problem in broken_links(page, tmp_path)]
    assert problems == [
        ":9: gone.md leads nowhere",
        ":9: other.md#thrice names no heading",
        ":9: ../../x.md leads out of the clone",
        ":9: missing.png leads nowhere",
    ]


def test_a_row_that_a_blank_line_parts_from_its_table_is_told(page: Path) -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    page.write_text(f"{table}\n    | code |\n", encoding="utf-8")
    assert stray_rows(page) == []
    page.write_text(f"{table}\n| 3 | 4 |\n", encoding="utf-8")
    assert stray_rows(page) == [f"{page}:5: | 3 | 4 |"]


def test_anchors_are_those_of_the_web_view(page: Path) -> None:
    assert anchors(page) == {"a-page", "set-up-nox-first", "twice", "twice-1"}


def test_command_lines_are_found_in_blocks_and_sentences(page: Path) -> None:
    assert [(command.line, *command.words) for command in shown_commands(page)] == [
        (9, "nox", "-s", "pipeline"),
        (13, "nox", "-s", "checkout_sample", "--", "--sample-ref", "nightly", "--explain"),
        (18, "python3", "noxw.py", "invoke", "show-config", "--json"),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nox", None),
        ("nox -l", None),
        ("nox -s lint tests", None),
        ("nox -s pipeline -- --projects sample --until build", None),
        ("uvx nox -s build_big_one -- --big-one-ref main", None),
        ("python3 noxw.py invoke show-config", None),
        ("invoke --list", None),
        ("nox -s biuld_sample", "no session biuld_sample"),
        ("nox -s pipeline -- --unitl build", "no option --unitl"),
        ("nox -s pipeline -- --until biuld", "'biuld'"),
        ("nox -s lock -- --jobs 2", "does not take --jobs"),
        ("nox -s show-config", "no session show-config"),
        ("invoke pipeline", "no task pipeline"),
        ("nox pipeline", "pipeline stands where nox takes none"),
        ("nox -s", "names no session"),
        ("nox --verbos -s lint", "--verbos"),
    ],
    ids=str,
)
def test_wrong_command_lines_are_told(line: str, problem: str | None, tmp_path: Path) -> None:
    found = fault_of_line(line.split(), projects=["sample", "big-one"], others={"lint", "tests"}, clone=tmp_path)
    assert (found is None) if problem is None else (found is not None and problem in found), found
