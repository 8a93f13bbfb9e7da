"""What ``--help`` shows of a command: its options, those that every project has once, and its plain arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.options.resolve import command_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.options.commands import Command

__all__ = ["help_asked_for", "help_text"]

_ANY: Final = "<project>"
_HELP: Final = frozenset({"-h", "--help"})


def help_text(command: Command, projects: Sequence[str], prog: str, *, project: str | None = None) -> str:
    """Return a command's help.

    Parameters
    ----------
    command
        The command.
    projects
        The project names, which an option that every project has is spelled with.
    prog
        How a person calls the command, up to the options.
    project
        The project that the command is called for, when it is for one.
    """
    parser = command_parser(command, (project or _ANY,), prog)
    if any(option.per_project for option in command.options):
        what = f"{_ANY} is one of" if project is None else f"what stands here with {project} is there for each of"
        parser.epilog = f"{what} {', '.join(projects)}"
    return parser.format_help()


def help_asked_for(words: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the task that help is asked for in invoke's own arguments, None when none is or help of invoke itself is.

    invoke knows no plain arguments that may be left out, and has a line for each project's option.
    """
    own = list(words[: list(words).index("--")] if "--" in words else words)
    tied = [word.partition("=")[2] for word in own if word.startswith("--help=")]
    if not tied and not _HELP & set(own):
        return None
    return next((word for word in (*tied, *own) if word in names), None)
