from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from build_tools.console.events import Console, Renderer
from build_tools.console.render import GitHubRenderer, TerminalRenderer
from build_tools.errors import HipwrightError, Where


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def renderer(kind: str, err: io.StringIO) -> Renderer:
    if kind == "GitHub":
        return GitHubRenderer(out=io.StringIO(), err=err, summary=None)
    return TerminalRenderer(out=io.StringIO(), err=err)


@pytest.mark.parametrize("kind", ["plain", "GitHub"])
def test_a_log_has_few_lines_of_progress(kind: str) -> None:
    for total, told in ((3, []), (7, ["7 of 7"]), (41, ["11 of 41", "21 of 41", "31 of 41", "41 of 41"])):
        err = io.StringIO()
        console = Console(renderer=renderer(kind, err))
        for done in range(1, total + 1):
            console.progress("submodules read", done, total)
        assert [line.strip() for line in err.getvalue().splitlines()] == [f"submodules read: {line}" for line in told]


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
    assert err.getvalue().splitlines() == [
        "::error title=record%3A a%2Cb::x.whl: 100%25%0A: :error::***",
        "::notice title=size::small",
    ]
    people = io.StringIO()
    Console(renderer=TerminalRenderer(out=people, err=people)).annotate("error", "record", "x.whl")
    assert not people.getvalue()
