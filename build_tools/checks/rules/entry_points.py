"""Rule ``entry-points``: ``entry_points.txt`` can be read, and its scripts are names of files and of objects.

The format is that of the entry points specification: an INI file in UTF-8, ``name = module:object`` in groups. Installers write one
program for each console and GUI script, and stop in the middle where they cannot read the file.
"""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.types import Severity

__all__ = ["RULE"]

_FILE: Final = "entry_points.txt"
_SCRIPTS: Final = ("console_scripts", "gui_scripts")
_DOTTED: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_OBJECT: Final = re.compile(rf"{_DOTTED}(?:\s*:\s*{_DOTTED})?\s*(?:\[[\w\s,.-]*\])?")
_SCRIPT: Final = re.compile(rf"{_DOTTED}\s*:\s*{_DOTTED}\s*(?:\[[\w\s,.-]*\])?")
_FILE_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\\]+")
_NO_DEFAULT: Final = "\0"
_TOLD: Final = 80


class _Parser(configparser.ConfigParser):
    """Reads the file as the specification has it: ``=`` alone ends a name, whose case counts, and nothing is put into values."""

    def __init__(self) -> None:
        super().__init__(delimiters=("=",), interpolation=None, default_section=_NO_DEFAULT)

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _judge(subject: Subject) -> Iterator[Problem]:
    data = subject.wheel.texts.get(_FILE)
    if data is None:
        return
    member = f"{subject.wheel.dist_info[0]}/{_FILE}"
    parser = _Parser()
    try:
        parser.read_string(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        yield Problem(message=f"it is not UTF-8: byte {error.start}", member=member)
        return
    except (configparser.Error, ValueError) as error:
        yield Problem(message=f"it cannot be read: {' '.join(str(error).split())}", member=member)
        return
    for group in parser.sections():
        for name, value in parser.items(group):
            for fault, severity in _faults(group, name, value):
                yield Problem(message=f"[{group}] {name[:_TOLD]}: {fault}", member=member, severity=severity)


def _faults(group: str, name: str, value: str) -> Iterator[tuple[str, Severity | None]]:
    if group not in _SCRIPTS:
        if not _OBJECT.fullmatch(value):
            yield f"{value[:_TOLD]!r} names no object", "warning"
        return
    if not _FILE_NAME.fullmatch(name) or name in {".", ".."}:
        yield "a program of that name would lie elsewhere than the programs of Python", None
    if not _SCRIPT.fullmatch(value):
        yield f"{value[:_TOLD]!r} is no module:object to be called", None


RULE: Final = Rule(
    name="entry-points",
    summary="entry_points.txt can be read, and each script in it has the name of a file and names an object.",
    why="Installers write a program for each script, after the files; one that cannot read the file leaves half an install behind.",
    mend="Correct `project.scripts` and `project.entry-points` of the project, or what its build generates.",
    judge=_judge,
)
