"""The option model as invoke tasks: invoke shows the flags and their help; our own parser judges what was typed."""

from __future__ import annotations

import inspect
import keyword
from typing import TYPE_CHECKING, Any

from invoke.tasks import Task

from build_tools.options.option import flags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from invoke.context import Context

    from build_tools.options.commands import Command

__all__ = ["task_for", "typed_for"]


def task_for(command: Command, projects: Sequence[str], run: Callable[[list[str]], None]) -> Task[Any]:
    """Return the invoke task of a command.

    Parameters
    ----------
    command
        The command.
    projects
        The project names, for options that every project has.
    run
        Called with the arguments as a command line would have them.
    """
    parameters = [inspect.Parameter("_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    flags: dict[str, str] = {}
    helps: dict[str, str] = {}
    lists: list[str] = []
    for option in command.options:
        for flag in flags_of(option, projects):
            name = flag[2:].replace("-", "_")
            if keyword.iskeyword(name):
                # invoke takes the underscore off again.
                name += "_"
            flags[name] = flag
            helps[name] = option.help
            default: Any = False if option.is_flag else [] if option.repeatable else None
            if option.repeatable:
                lists.append(name)
            parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))

    def body(_context: Context, **values: Any) -> None:  # noqa: ANN401 - as invoke parsed them
        run(_as_typed({flags[name]: value for name, value in values.items()}))

    body.__doc__ = command.summary
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Task(body, name=command.name, help=helps, iterable=lists, auto_shortflags=False)


def _as_typed(values: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for flag, value in values.items():
        if value is True:
            words.append(flag)
        elif isinstance(value, list):
            words += [f"{flag}={text}" for text in value]
        elif value not in {None, False}:
            words.append(f"{flag}={value}")
    return words


def typed_for(words: Sequence[str], names: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the first task in invoke's own arguments and what was typed for it, None when there is none or help is asked for.

    invoke refuses an unknown option with a bare sentence and status 1, so ``tasks.py`` asks here before invoke does.
    """
    if {"-h", "--help", "--complete"} & set(words):
        return None
    for number, word in enumerate(words):
        if word in names:
            rest = list(words[number + 1 :])
            ends = [place for place, later in enumerate(rest) if later in names or later == "--"]
            return word, rest[: ends[0]] if ends else rest
    return None
