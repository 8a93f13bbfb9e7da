"""hipwright's invoke tasks: each is rendered from the option model and calls build_tools, which does the work."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

from invoke.collection import Collection
from invoke.exceptions import Exit

from build_tools.commands import Call, execute, refuse_bad_arguments
from build_tools.config.project import project_names
from build_tools.options.commands import COMMANDS, Command
from build_tools.options.helping import help_asked_for
from build_tools.options.invoke import task_for, typed_for
from build_tools.options.unknown import refuse_unknown_tasks

CLONE = Path(__file__).resolve().parent
TASKS = {command.name: command for command in COMMANDS.values() if command.front == "invoke"}


def _run(command: Command, arguments: list[str]) -> None:
    call = Call(command=command, clone=CLONE, typed_in=Path.cwd(), machine=dict(os.environ), arguments=arguments)
    ending = execute(call)
    if ending.status:
        raise Exit(code=ending.status)


def _collect() -> Collection:
    tasks = Collection()
    projects = project_names(CLONE / "external-builds")
    for command in TASKS.values():
        tasks.add_task(task_for(command, projects, functools.partial(_run, command)))
    return tasks


ns = _collect()

if Path(sys.argv[0]).name in {"invoke", "inv", "invoke.exe", "inv.exe", "__main__.py"}:
    complaint = refuse_unknown_tasks(sys.argv[1:], tuple(TASKS))
    if complaint:
        sys.stderr.write(f"{complaint}\n")
        sys.exit(2)
    helped = help_asked_for(sys.argv[1:], tuple(TASKS))
    if helped is not None:
        _run(TASKS[helped], ["--help"])
        sys.exit()
    typed = typed_for(sys.argv[1:], tuple(TASKS))
    if typed is not None:
        call = Call(command=TASKS[typed[0]], clone=CLONE, typed_in=Path.cwd(), machine=dict(os.environ), arguments=typed[1])
        if call.command.paths or call.command.words:
            # invoke knows no plain arguments that may be left out.
            sys.exit(execute(call).status)
        refuse_bad_arguments(call)
