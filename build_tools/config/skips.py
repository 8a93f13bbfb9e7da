"""Skip files: which tests of a suite are not run, where, and why; TOML files in a project's ``skip-tests`` folder.

An entry names tests exactly, by a pattern that says that it is one, or by whole test files. It says why, where that is told, and may say
until when. Nothing is skipped by a part of its name.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from datetime import date  # noqa: TC003 - msgspec reads it
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools.config.fields import NonEmpty, PlatformName, Table
from build_tools.config.load import line_of, parse_toml, read_toml
from build_tools.config.targets import offers
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.verdict import CPU_ONLY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.config.suite import Suite

__all__ = ["Place", "Skip", "SkipFile", "SkipRow", "knows_line", "load_skips"]

Link = Annotated[str, msgspec.Meta(pattern=r"^https://\S+(?!\n)$")]
VersionLine = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+(?!\n)$")]

_ANY: Final = re.compile(r"[*?]")


class Skip(Table, frozen=True, kw_only=True):
    """One entry: tests, where it holds, and why.

    ``tests`` are exact ids, as pytest has them from the tests' folder on. ``patterns`` are ids in which ``*`` stands for anything and
    ``?`` for one character, brackets for themselves. ``files`` are test files that are not even loaded. What is not narrowed down by
    ``platforms``, ``targets``, ``lines`` (``"2.13"``) and ``configurations`` holds everywhere. From the day ``expires`` on it no longer
    holds, and is told.
    """

    tests: tuple[NonEmpty, ...] = ()
    patterns: tuple[NonEmpty, ...] = ()
    files: tuple[NonEmpty, ...] = ()
    reason: NonEmpty
    link: Link
    platforms: tuple[PlatformName, ...] = ()
    targets: tuple[NonEmpty, ...] = ()
    lines: tuple[VersionLine, ...] = ()
    configurations: tuple[NonEmpty, ...] = ()
    expires: date | None = None


class SkipFile(Table, frozen=True, kw_only=True):
    """One file of skips."""

    schema: Literal[1]
    skip: tuple[Skip, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a suite is run: what entries are narrowed down by. ``targets`` are the GPUs' or ``cpu-only``."""

    platform: str
    targets: tuple[str, ...]
    line: str
    configuration: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipRow:
    """An entry with the file and line where it stands."""

    skip: Skip
    file: Path
    line: int | None

    @property
    def where(self) -> Where:
        """The place, for messages."""
        return Where(file=self.file, line=self.line)

    def holds(self, place: Place, today: date) -> bool:
        """Say whether the entry holds at a place on a day."""
        return self.speaks_of(place) and not self.expired(today)

    def expired(self, today: date) -> bool:
        """Say whether its day has come."""
        return self.skip.expires is not None and today >= self.skip.expires

    def speaks_of(self, place: Place) -> bool:
        """Say whether a place is one of those that the entry is narrowed down to."""
        skip = self.skip
        return (
            (not skip.platforms or place.platform in skip.platforms)
            and (not skip.targets or any(_takes(name, place.targets) for name in skip.targets))
            and (not skip.lines or place.line in skip.lines)
            and (not skip.configurations or place.configuration in skip.configurations)
        )


def load_skips(folder: Path, suite: Suite, *, knows: Callable[[str], bool] = lambda _line: True) -> tuple[SkipRow, ...]:
    """Read all skip files of a folder.

    Parameters
    ----------
    folder
        The project's folder of skip files.
    suite
        The suite whose tests they speak of.
    knows
        Says whether the project has a version line; see :func:`knows_line`.

    Raises
    ------
    HipwrightError
        ``bad-data-file``, with file and line: no skip file is there (a suite without skips has one that says so), a file does not fit the
        model, an entry names nothing, names a test twice, or is narrowed down to a target, line or configuration that does not exist.
    """
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        hint = "a suite that skips nothing has a file with the one line `schema = 1`"
        raise HipwrightError("bad-data-file", f"there is no skip file in {folder}", where=Where(file=folder), hint=hint)
    rows: list[SkipRow] = []
    first: dict[tuple[object, ...], SkipRow] = {}
    for path in paths:
        text, _ = read_toml(path)
        for number, skip in enumerate(parse_toml(text, path, SkipFile).skip):
            row = SkipRow(skip=skip, file=path, line=line_of(text, ["skip", number, "reason"]))
            for key, message in _wrong(skip, suite, knows):
                line = line_of(text, ["skip", number, key]) or row.line
                raise HipwrightError("bad-data-file", message, where=Where(file=path, line=line, key=f"skip.{number}.{key}"))
            for name in (*skip.tests, *skip.patterns, *skip.files):
                scope = (name, skip.platforms, skip.targets, skip.lines, skip.configurations)
                other = first.setdefault(scope, row)
                if other is not row or (*skip.tests, *skip.patterns, *skip.files).count(name) > 1:
                    message = f"{name} is skipped twice for the same places, first at {other.where}"
                    raise HipwrightError("bad-data-file", message, where=row.where)
            rows.append(row)
    return tuple(rows)


def knows_line(project: Project, line: str) -> bool:
    """Say whether a rule of a project's ``lines``, other than the one for all that no other names, speaks of a release.

    A project without forms of release branches, or without such rules, knows every line.

    Parameters
    ----------
    project
        The project.
    line
        A version line, such as ``2.13``.
    """
    rules = [rule.ref for rule in project.lines if rule.ref != "*"]
    if project.refs.release is None or not rules:
        return True
    ref = project.refs.release.replace("{version}", line)
    return any(fnmatch.fnmatchcase(ref, rule) for rule in rules)


def _wrong(skip: Skip, suite: Suite, knows: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the keys of an entry whose values mean nothing, each with what is wrong."""
    if not (skip.tests or skip.patterns or skip.files):
        yield "reason", "the entry names no tests: give tests, patterns or files"
    yield from (("tests", wrong) for test in skip.tests if (wrong := _wrong_test(test)))
    yield from (("patterns", wrong) for pattern in skip.patterns if (wrong := _wrong_pattern(pattern)))
    yield from (
        ("files", f"{file!r} is no test file, relative to the tests' folder")
        for file in skip.files
        if "::" in file or _ANY.search(file) or not file.endswith(".py")
    )
    yield from (("targets", wrong) for target in skip.targets if (wrong := _wrong_target(target)))
    for name in (name for name in skip.configurations if name not in suite.configurations):
        yield "configurations", f"the suite has no configuration {name!r}; it has {', '.join(suite.configurations)}"
    for line in (line for line in skip.lines if not knows(line)):
        yield "lines", f"the project has no version line {line!r}: no rule of its `lines` speaks of that release"


def _wrong_test(test: str) -> str | None:
    if "::" not in test:
        return f"{test!r} is no id of a test, which is FILE::NAME or FILE::CLASS::NAME; a whole file goes into `files`"
    if _ANY.search(test.partition("[")[0]):
        return f"{test!r} has a wildcard, and ids are exact: patterns go into `patterns`"
    return None


def _wrong_pattern(pattern: str) -> str | None:
    if not _ANY.search(pattern):
        return f"{pattern!r} has no wildcard: exact ids go into `tests`"
    if "::" not in pattern:
        return f"{pattern!r} has no '::' that parts the test file from the test: a whole file goes into `files`"
    return f"{pattern!r} would skip everything" if not pattern.strip("*?:/") else None


def _wrong_target(target: str) -> str | None:
    try:
        _takes(target, ())
    except HipwrightError as error:
        return f"{error.message}, and it is not {CPU_ONLY!r}"
    return None


def _takes(name: str, targets: Iterable[str]) -> bool:
    """Say whether one of some targets is the named one or of the named family."""
    if name == CPU_ONLY:
        return CPU_ONLY in targets
    return bool(offers(name, [target for target in targets if target != CPU_ONLY]))
