"""The patch lines of a project: which one a ref finds, by one rule of ``project.toml``, and which folders and rules miss each other."""

from __future__ import annotations

import difflib
import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.files import is_device
from build_tools.patches.layout import NAME, is_patch_file
from build_tools.process import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from build_tools.config.project import Line, Project

__all__ = [
    "LineFaults",
    "checked_line",
    "faults_of_lines",
    "find_line",
    "is_line_name",
    "lines_on_disk",
    "no_such_line",
    "refs_of_line",
    "rule_of",
    "rules_of_line",
]

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+-]*[A-Za-z0-9_+-])?")


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFaults:
    """What does not fit together: folders below ``patches`` that no rule names, lines of rules that are not there, stray files."""

    unused: tuple[str, ...]
    missing: tuple[str, ...]
    stray: tuple[str, ...]

    def told(self, project: str) -> tuple[str, ...]:
        """Return it as sentences."""
        return (
            *(f"{project}: no rule of project.toml names patches/{line}" for line in self.unused),
            *(f"{project}: a rule of project.toml names patches/{line}, which has no series" for line in self.missing),
            *(f"{project}: patches/{file} is in no line" for file in self.stray),
        )


def is_line_name(name: str) -> bool:
    """Return whether a line can be called so: it is a folder, on every system, and part of a command line.

    >>> is_line_name("2.9"), is_line_name("2.9."), is_line_name("../2.9"), is_line_name("nul")
    (True, False, False, False)
    """
    return _NAME.fullmatch(name) is not None and not is_device(name)


def checked_line(line: str, folder: Path) -> str:
    """Return the name of a line that a command is to write, when it can be called so; ``folder`` is the project's.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when no folder can be called so everywhere, or another line differs in capital and small letters alone.
    """
    if not is_line_name(line):
        message = f"{line!r} is no name for a patch line: it is a folder's, on every system"
        hint = "use letters, digits, dots, hyphens, underscores, such as --line 2.9"
        raise HipwrightError("bad-option-value", message, hint=hint)
    place = folder / "patches"
    for other in sorted(entry.name for entry in place.iterdir()) if place.is_dir() else ():
        if other != line and other.casefold() == line.casefold():
            message = f"the line {line} and the line {other} are one folder on disks that do not tell cases apart"
            raise HipwrightError(
                "bad-option-value", message, where=Where(file=place / other), hint=f"name it {other}, or otherwise"
            )
    return line


def find_line(project: Project, ref: str, *, folder: Path, asked: str | None = None) -> tuple[str | None, str]:
    """Return the patch line of a ref, None for a declared state of no patches, and the reason.

    Parameters
    ----------
    project
        The project with its rules.
    ref
        The ref as the lock has it.
    folder
        The project's folder.
    asked
        The line that ``--line`` names, which counts before the rules.

    Raises
    ------
    HipwrightError
        ``no-line`` when no rule matches, and when the line that is asked for is not there.
    """
    if asked is not None:
        if asked not in lines_on_disk(folder):
            raise no_such_line(project.name, asked, folder=folder)
        return asked, f"asked for by --line, patches/{asked}"
    rule = rule_of(project, ref)
    if rule is not None:
        what = f"{ref} is named by the rule" if rule.ref == ref else f"{ref} matches the rule"
        why = f": {rule.why}" if rule.why else ""
        where = f"patches/{rule.line}" if rule.line is not None else "no patches"
        return rule.line, f"{what} {rule.ref!r}, {where}{why}"
    rules = ", ".join(f"{rule.ref!r} → {rule.line or 'no patches'}" for rule in project.lines) or "none"
    held = ", ".join(lines_on_disk(folder)) or "none"
    message = f"no rule of {project.name} gives a patch line for {ref!r}; its rules: {rules}; lines on disk: {held}"
    task = printable(["invoke", "new-series", "--projects", project.name, "--for-ref", ref])
    hint = f"add a rule for a line: {task} --line NAME; or say that it needs no patches: {task} 'why it needs none'"
    raise HipwrightError("no-line", message, where=Where(file=folder / "project.toml", key="lines"), hint=hint)


def rule_of(project: Project, ref: str) -> Line | None:
    """Return the rule for a ref: one that names it exactly counts before patterns; of patterns, the first that matches."""
    exact = [rule for rule in project.lines if rule.ref == ref]
    return next(iter(exact + [rule for rule in project.lines if fnmatch.fnmatchcase(ref, rule.ref)]), None)


def rules_of_line(project: Project, line: str | None) -> tuple[str, ...]:
    """Return the refs and patterns whose rules name a line, or with None those that are declared to need no patches."""
    return tuple(rule.ref for rule in project.lines if rule.line == line)


def refs_of_line(project: Project, line: str, refs: Iterable[str]) -> list[str]:
    """Return those of an origin's refs that find a line, by their short names, in the order in which they are given."""
    found = ((ref, rule_of(project, ref)) for ref in refs)
    return [ref for ref, rule in found if rule is not None and rule.line == line]


def lines_on_disk(folder: Path) -> tuple[str, ...]:
    """Return the lines that a project has a series for, sorted; ``folder`` is the project's."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"patches/*/{NAME}")))


def no_such_line(project: str, line: str, *, folder: Path) -> HipwrightError:
    """Return the error for a line that has no series, with those near it."""
    held = lines_on_disk(folder)
    near = difflib.get_close_matches(line, held, n=3)
    message = f"{project} has no patch line {line!r}; it has {', '.join(held) or 'none'}"
    begin = f"to begin it: {printable(['invoke', 'new-series', '--projects', project, '--line', line])}"
    hint = f"did you mean {' or '.join(near)}? {begin}" if near else begin
    return HipwrightError("no-line", message, where=Where(file=folder / "patches"), hint=hint)


def faults_of_lines(project: Project, folder: Path) -> LineFaults:
    """Return what of a project's rules and folders does not fit together; ``folder`` is the project's."""
    place = folder / "patches"
    held = lines_on_disk(folder)
    named = {rule.line for rule in project.lines if rule.line is not None}
    found = sorted(place.iterdir()) if place.is_dir() else []
    folders = [entry.name for entry in found if entry.is_dir()]
    return LineFaults(
        unused=tuple(name for name in folders if name not in named),
        missing=tuple(sorted(named - set(held))),
        stray=tuple(entry.name for entry in found if not entry.is_dir() and is_patch_file(entry.name)),
    )
