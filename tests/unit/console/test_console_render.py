from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from msgspec.structs import replace

from build_tools.console.events import Console, Table
from build_tools.console.pace import Pace
from build_tools.console.render import GitHubRenderer, TerminalRenderer, markdown_table, plain_table
from build_tools.console.select import console_for
from build_tools.errors import HipwrightError, Where
from tests.support.workplaces import CLONE

if TYPE_CHECKING:
    from collections.abc import Iterable


def failure() -> HipwrightError:
    error = HipwrightError(
        "build-failed",
        "the build ended with status 1\nand 100% more",
        where=Where(file="a,b:c.toml", line=3),
        hint="nox -s doctor",
        log=Path("x.log"),
        excerpt="a.cpp:1: error: [no] such",
    )
    error.reproduce = "nox -s build_sample"
    return error


def talk(console: Console) -> None:
    with console.group("build [sample]"):
        console.say("said [bold]this[/bold]")
        console.warn("watch 100%\nout")
        console.line("::error::from a program")
    console.table("Stages", ("stage", "what"), [("build", "[red]x|y")], note="go on")
    console.fail(failure())
    console.close()


def test_people_get_talk_on_stderr_and_tables_on_stdout() -> None:
    out, err = io.StringIO(), io.StringIO()
    talk(Console(renderer=TerminalRenderer(out=out, err=err)))
    assert out.getvalue() == "Stages\nstage  what\nbuild  [red]x|y\ngo on\n"
    said = err.getvalue()
    assert "build [sample] ..." in said
    assert "said [bold]this[/bold]" in said
    assert "warning: watch 100%" in said
    assert "build [sample]: done in" in said
    assert "error[build-failed]: the build ended with status 1" in said
    for part in (
        "where: a,b:c.toml:3",
        "a.cpp:1: error: [no] such",
        "log: x.log",
        "hint: nox -s doctor",
        "alone: nox -s build_sample",
    ):
        assert part in said


def test_a_json_run_leaves_stdout_alone() -> None:
    for renderer in (
        TerminalRenderer(out=(out := io.StringIO()), err=io.StringIO(), quiet_tables=True),
        GitHubRenderer(out=out, err=io.StringIO(), summary=None, quiet_tables=True),
    ):
        talk(Console(renderer=renderer))
        assert out.getvalue() == ""


def test_github_gets_groups_annotations_and_a_summary(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    summary = tmp_path / "summary.md"
    talk(Console(renderer=GitHubRenderer(out=out, err=err, summary=summary)))
    lines = err.getvalue().splitlines()
    assert "::group::build [sample]" in lines
    assert "::endgroup::" in lines
    assert "::warning::watch 100%25%0Aout" in lines
    assert "::error file=a%2Cb%3Ac.toml,line=3::build-failed: the build ended with status 1%0Aand 100%25 more" in lines
    # A program cannot give commands to the runner.
    assert not any(line.startswith("::error::from") for line in lines)
    text = summary.read_text(encoding="utf-8")
    assert "| build | [red]x\\|y |" in text
    assert "error[build-failed]" in text


def commands_in(text: str) -> list[str]:
    """Return the lines that GitHub's runner acts on; it splits at both ends of lines, and trims blanks."""
    return [line for line in re.split(r"[\r\n]+", text) if line.strip().startswith("::") or "##[" in line]


TRICKS = [
    "::error::x", "   ::error::x", "\t\u00a0\u3000::error::x", "fine\r::error::x", "fine\n \n  ::stop-commands::x", ":::error::x",
    "so ##[error]x", "####[error]x", "##[[x",
]  # fmt: skip


@pytest.mark.parametrize("text", TRICKS)
def test_nothing_in_a_text_is_a_command_to_github(tmp_path: Path, text: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(renderer=GitHubRenderer(out=out, err=err, summary=tmp_path / "summary.md"))
    with console.group(text):
        console.say(text)
        console.warn(text)
        console.line(text)
        console.table(text, ("what",), [(text,)], note=text)
    error = HipwrightError("build-failed", text, where=Where(file=text, key=text), hint=text, excerpt=text)
    error.reproduce = text
    console.fail(error)
    own = commands_in(err.getvalue())
    assert [line.split("::")[1].split(" ")[0] for line in own] == ["group", "warning", "endgroup", "error"]
    assert not any("##[" in line for line in own)
    assert commands_in(out.getvalue()) == []


def test_what_is_no_command_stays_as_it_is() -> None:
    err = io.StringIO()
    console = Console(renderer=GitHubRenderer(out=io.StringIO(), err=err, summary=None))
    for text in ("a std::vector", "## heading", "[x] ::", "c: :d"):
        console.say(text)
        console.line(text)
    assert err.getvalue().split("\n")[::2] == ["a std::vector", "## heading", "[x] ::", "c: :d", ""]
    assert "  a std::vector" in err.getvalue()


def test_everything_that_is_shown_is_masked() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(
        renderer=TerminalRenderer(out=out, err=err), mask=lambda text: text.replace("hush", "***").replace("dir", "***")
    )
    with console.group("hush"):
        console.say("hush")
        console.warn("hush")
        console.line("hush")
    console.table("hush", ("what",), [("hush",)], note="hush")
    error = HipwrightError(
        "build-failed", "hush", where=Where(file="hush", module="hush", key="hush"), hint="hush", excerpt="hush"
    )
    error.reproduce = "hush"
    console.fail(error)
    assert "hush" not in out.getvalue() + err.getvalue()
    assert err.getvalue().count("***") == 11


def test_what_goes_to_no_terminal_is_said_without_rich_and_as_it_is() -> None:
    """Its import costs more time than many a command takes."""
    program = """
import sys
from build_tools.console.select import console_for
console = console_for({}, json=True)
with console.group("build"):
    console.say("said :x: [bold]this[/bold]\tand that")
console.table("Stages", ("stage",), [("build",)])
console.close()
print([name for name in sys.modules if name.partition(".")[0] == "rich"])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=CLONE, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert "said :x: [bold]this[/bold]\tand that\n" in done.stderr


@pytest.mark.parametrize(("machine", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"TTY_COMPATIBLE": "1"}, True)])
def test_colours_are_shown_to_no_terminal_when_they_are_asked_for(
    machine: dict[str, str], *, coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in machine.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm")
    console_for(machine, json=False).warn("watch")
    assert ("\x1b[33m" in capsys.readouterr().err) == coloured


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def renderer(kind: str, err: io.StringIO) -> TerminalRenderer | GitHubRenderer:
    if kind == "GitHub":
        return GitHubRenderer(out=io.StringIO(), err=err, summary=None)
    return TerminalRenderer(out=io.StringIO(), err=err)


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def _told(kind: str, steps: Iterable[tuple[float, int, int]]) -> list[str]:
    """Return what a log has of steps, each so many seconds after the one before."""
    err, clock = io.StringIO(), Clock()
    shown = renderer(kind, err)
    shown.pace = Pace(now=clock)
    console = Console(renderer=shown)
    for seconds, done, total in steps:
        clock.seconds += seconds
        console.progress("read", done, total)
    return [line.strip().removeprefix("read: ") for line in err.getvalue().splitlines()]


_QUICK: Final = 0.001


@pytest.mark.parametrize("kind", ["plain", "GitHub"])
@pytest.mark.parametrize(
    ("seconds", "total", "told"),
    [
        (_QUICK, 3, []),
        (_QUICK, 7, ["7 of 7"]),
        (_QUICK, 41, ["1 of 41", "41 of 41"]),
        (12.0, 4, ["2 of 4", "3 of 4", "4 of 4"]),
        (100.0, 3, ["1 of 3", "2 of 3", "3 of 3"]),
        (1.0, 40, [*(f"{done} of 40" for done in range(1, 40, 5)), "40 of 40"]),
        (2.0, 60, ["1 of 60", *(f"{done} of 60" for done in range(6, 61, 6))]),
    ],
)
def test_a_log_tells_where_work_begins_now_and_then_and_where_it_ends(
    kind: str, seconds: float, total: int, told: list[str]
) -> None:
    assert _told(kind, [(seconds, done, total) for done in range(1, total + 1)]) == told


def test_a_log_of_hours_has_a_line_each_half_minute() -> None:
    seconds = 0.7
    found = [int(line.split()[0]) * seconds for line in _told("plain", [(seconds, done, 20_000) for done in range(1, 20_001)])]
    gaps = [after - before for before, after in itertools.pairwise(found)]
    assert 400 < len(gaps) < 600
    assert max(gaps) <= 31


def test_work_that_begins_again_is_another_work() -> None:
    steps = [(_QUICK, done, 30) for done in range(1, 31)]
    assert _told("plain", steps + steps) == ["1 of 30", "30 of 30"] * 2


def test_what_nobody_knows_the_end_of_is_told_by_the_clock_alone() -> None:
    assert _told("plain", [(1.0, done, 0) for done in range(1, 70)]) == ["30 so far", "60 so far"]


def test_a_program_that_counts_nothing_is_heard_of_once_a_minute() -> None:
    err, clock = io.StringIO(), Clock()
    console = Console(renderer=TerminalRenderer(out=io.StringIO(), err=err, pace=Pace(now=clock)))
    for number in range(150):
        clock.seconds += 1
        console.line(f"cc -c {number}.c {'x' * 500}")
    console.say("done")
    first, second, last = err.getvalue().splitlines()
    assert (first[:11].strip(), second[:13].strip(), last) == ("cc -c 59.", "cc -c 119.c", "done")
    assert len(first) < 220
    clock.seconds += 59
    console.line("cc -c more.c")
    assert "more.c" not in err.getvalue()


def test_a_terminal_has_progress_on_its_live_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    err = Terminal()
    console = Console(renderer=TerminalRenderer(out=io.StringIO(), err=err))
    shown: list[str] = []
    with console.group("lock"):
        status = console.renderer._status  # type: ignore[attr-defined]
        monkeypatch.setattr(status, "update", shown.append)
        for done in range(1, 42):
            console.progress("submodules read", done, 41)
    assert len(shown) == 41
    assert "submodules read: 12 of 41" in shown[11]
    assert "submodules read" not in err.getvalue()


def test_a_failed_group_says_so() -> None:
    err = io.StringIO()
    console = Console(renderer=TerminalRenderer(out=io.StringIO(), err=err))
    with pytest.raises(ZeroDivisionError), console.group("check"):
        _ = 1 // 0
    assert "check: failed in" in err.getvalue()


def test_a_finding_is_pinned_to_a_run_of_github_and_says_nothing_twice_elsewhere() -> None:
    err = io.StringIO()
    console = Console(
        renderer=GitHubRenderer(out=io.StringIO(), err=err, summary=None), mask=lambda text: text.replace("s3cret", "***")
    )
    console.annotate("error", "record: a,b", "x.whl: 100%\n::error::s3cret")
    console.annotate("note", "size", "small")
    console.annotate("error", "rule", "odd", file="a,b.yml", line=3)
    assert err.getvalue().splitlines() == [
        "::error title=record%3A a%2Cb::x.whl: 100%25%0A: :error::***",
        "::notice title=size::small",
        "::error file=a%2Cb.yml,line=3,title=rule::odd",
    ]
    people = io.StringIO()
    Console(renderer=TerminalRenderer(out=people, err=people)).annotate("error", "record", "x.whl")
    assert not people.getvalue()


def test_a_table_of_no_rows_is_its_title_and_note_for_people_and_on_github() -> None:
    empty = Table(title="Index", columns=("rule", "where"), rows=(), note="it is whole")
    assert plain_table(empty, None) == "Index\nit is whole\n"
    assert "rule" not in markdown_table(empty)
    assert "it is whole" in markdown_table(empty)
    assert "| rule | where |" in markdown_table(replace(empty, rows=(("a", "b"),)))


def test_a_title_is_not_folded_to_a_table_of_no_rows() -> None:
    title = "Rolled back to e89ce815ca9c [not markup]"
    assert plain_table(Table(title=title, columns=("what", "file"), rows=()), 80).splitlines() == [title]
    (first, second, *_) = plain_table(Table(title="a b c d e f", columns=("x",), rows=(("y",),)), 6).splitlines()
    assert (first, second) == ("a b c", "d e f")
