"""Commands as invoke tasks: every option is a flag there by its own name, whatever Python thinks of that as a word."""

from __future__ import annotations

import pytest
from invoke.collection import Collection
from invoke.parser import Parser

from build_tools.options.commands import COMMANDS, Command
from build_tools.options.invoke import task_for
from build_tools.options.option import flags_of

INVOKE = [command for command in COMMANDS.values() if command.front == "invoke"]


@pytest.mark.parametrize("command", INVOKE, ids=lambda command: command.name)
def test_invoke_takes_every_flag_of_a_command(command: Command) -> None:
    ran: list[list[str]] = []
    task = task_for(command, ("toy",), ran.append)
    switches = [option for option in command.options if option.kind == "flag"]
    words = [flag for option in switches for flag in flags_of(option, ("toy",))]
    tasks = Collection(task)
    (parsed,) = Parser(contexts=tasks.to_contexts()).parse_argv([command.name, *words])
    task.body(None, **parsed.as_kwargs)
    assert sorted(ran[0]) == sorted(words)
