"""What a command's help shows, and of which words it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.options.commands import COMMANDS
from build_tools.options.helping import help_asked_for, help_text
from build_tools.reference import reference_pages

if TYPE_CHECKING:
    from build_tools.options.commands import Command

PROJECTS = ("toy", "toy-box")


def shown(name: str) -> str:
    return " ".join(help_text(COMMANDS[name], PROJECTS, f"invoke {name}").split())


@pytest.mark.parametrize("command", [command for command in COMMANDS.values() if command.plain], ids=lambda one: one.name)
def test_plain_arguments_are_in_the_usage_and_explained(command: Command) -> None:
    metavar, text = command.plain or ("", "")
    assert f"[{metavar} ...]" in shown(command.name)
    assert f"{metavar} {text}" in shown(command.name)
    (page,) = (page for name, page in reference_pages().items() if name.endswith("commands.md"))
    assert f"Takes `{metavar}` ({text}), `" in page


def test_an_option_that_every_project_has_is_shown_once() -> None:
    text = shown("rebase-patches")
    assert text.count("--<project>-origin URL Where <project>'s sources") == 1
    assert "--toy" not in text
    assert text.endswith("<project> is one of toy, toy-box")
    assert "<project>" not in shown("drop-patch")


def test_every_value_has_a_form() -> None:
    assert "--projects P1,P2" in shown("new-series")
    assert "--for-ref REF" in shown("new-series")


@pytest.mark.parametrize(
    ("words", "task"),
    [
        (["drop-patch", "--help"], "drop-patch"),
        (["--help", "drop-patch"], "drop-patch"),
        (["--help=drop-patch"], "drop-patch"),
        (["-h", "drop-patch"], "drop-patch"),
        (["drop-patch", "0001-a", "-h"], "drop-patch"),
        (["--help"], None),
        (["drop-patch"], None),
        (["drop-patch", "--", "--help"], None),
        (["--help", "drop"], None),
    ],
)
def test_the_task_is_found_wherever_help_is_asked_for(words: list[str], task: str | None) -> None:
    assert help_asked_for(words, ("new-series", "drop-patch")) == task
