"""From what was typed, the environment and ``hipwright.toml`` to :class:`Settings`, each value with its origin."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from build_tools.config.load import read_toml
from build_tools.errors import HipwrightError, Where
from build_tools.options.model import OPTIONS, THE_ONE, Settings
from build_tools.options.option import GROUPS, flags_of
from build_tools.options.values import Given, absolute, close_to, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.options.commands import Command
    from build_tools.options.option import Option

__all__ = ["Resolved", "command_parser", "resolve"]

_PATHS = "paths"
_WORDS = "words"
_PLAIN = frozenset({_PATHS, _WORDS})
_FOR_TESTS = "HIPWRIGHT_TEST_"
_PLACES = re.compile(r"\s+(?=[A-Za-z][A-Za-z0-9+.-]*://)")
"""What parts the places in one variable: blanks before an address, since a folder's name may have some."""
_BY_GITHUB = "GITHUB_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """Settings, and for each field that was given where the value came from (per-project ones as ``field.project``)."""

    settings: Settings
    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, field_name: str) -> str:
        """Return where a field's value came from, ``default`` when nobody gave one."""
        return self.origins.get(field_name, "default")


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises our own error instead of ending the process."""

    known: tuple[str, ...] = ()

    def error(self, message: str) -> NoReturn:
        raise HipwrightError("bad-option-value", message, hint=f"see {self.prog} --help")


def command_parser(command: Command, projects: Sequence[str], prog: str) -> argparse.ArgumentParser:
    """Return the argument parser of a command; every value stays a text, given once or several times."""
    parser = _Parser(prog=prog, description=command.summary, allow_abbrev=False, add_help=True)
    known: list[str] = []
    for group, title in GROUPS.items():
        section = parser.add_argument_group(title)
        for option in command.options:
            if option.group != group:
                continue
            for flag, project in flags_of(option, projects).items():
                known.append(flag)
                target = f"{option.name}\0{project or ''}"
                const = dict(option.short_for).get(flag, "1" if option.kind == "flag" else None)
                if const is not None:
                    text = option.help if option.kind == "flag" else f"The same as {option.flag} {const}."
                    section.add_argument(flag, dest=target, action="append_const", const=const, help=text)
                    continue
                if option.kind == "flag-or-text":
                    section.add_argument(
                        flag, dest=target, action="append", nargs="?", const="1", metavar=option.metavar, help=option.help
                    )
                    continue
                text = option.help if project is None else option.help.replace("the project", project)
                section.add_argument(flag, dest=target, action="append", metavar=option.metavar or "VALUE", help=text)
    if command.plain is not None:
        metavar, text = command.plain
        parser.add_argument(_WORDS if command.words else _PATHS, nargs="*", metavar=metavar, help=text)
    parser.known = tuple(known)
    return parser


def resolve(
    command: Command,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    typed_in: Path,
    clone: Path,
    projects: Sequence[str],
    prog: str | None = None,
) -> Resolved:
    """Resolve a command's options: command line before environment before ``hipwright.toml`` before defaults.

    Parameters
    ----------
    command
        The command whose options count.
    arguments
        What was typed after ``--``.
    environment
        The machine's environment.
    typed_in
        The folder that paths on the command line and in the environment are relative to.
    clone
        The folder of ``hipwright.toml``, which the default work dir is relative to.
    projects
        All project names.

    Raises
    ------
    HipwrightError
        ``unknown-option``, ``bad-option-value``, ``option-conflict``, ``unknown-project`` or ``bad-data-file``.
    """
    given: dict[str, list[Given]] = {}
    levels = (
        _from_arguments(command, arguments, projects, typed_in, prog or f"nox -s {command.name} --"),
        _from_environment(command, environment, projects, typed_in),
        _from_file(command, clone / "hipwright.toml", projects),
    )
    for level in levels:
        _refuse_conflicts(level)
        for target, texts in level.items():
            if target not in given and not _overruled(target, given):
                given[target] = texts
    values: dict[str, Any] = {"work_dir": clone / ".work"}
    if command.paths:
        values["paths"] = tuple(absolute(path) for path in given.pop(_PATHS, ()))
    if command.words:
        values["words"] = tuple(word.text for word in given.pop(_WORDS, ()))
    origins: dict[str, str] = {}
    for target, texts in given.items():
        name, project = target.split("\0")
        option = OPTIONS[name]
        value = value_of(option, texts)
        key = option.field_name
        if option.per_project:
            values.setdefault(key, {})[project] = value
            key = f"{key}.{project}"
        else:
            values[key] = value
        origins[key] = texts[0].origin
    for name in values.get("projects", ()):
        if name not in projects:
            hint = close_to(name, projects, "projects")
            raise HipwrightError("unknown-project", f"there is no project {name!r}", hint=hint)
    return Resolved(settings=Settings(**values), origins=origins)


def _name(target: str) -> str:
    """Return the option that a target (option name, NUL, project) speaks of."""
    return target.partition("\0")[0]


def _overruled(target: str, given: Mapping[str, object]) -> bool:
    """Whether a higher level already said the same thing by another option."""
    says = OPTIONS[_name(target)].says if target not in _PLAIN else None
    return says is not None and any(other not in _PLAIN and OPTIONS[_name(other)].says == says for other in given)


def _from_arguments(
    command: Command, arguments: Sequence[str], projects: Sequence[str], base: Path, prog: str
) -> dict[str, list[Given]]:
    parser = command_parser(command, projects, prog)
    namespace, rest = parser.parse_known_intermixed_args(list(arguments))
    if rest:
        _refuse_unknown(rest[0], command, parser)
    found: dict[str, list[Given]] = {}
    for target, texts in vars(namespace).items():
        if texts and not all(isinstance(text, str) for text in texts):
            # argparse takes "--" out of an option's value and leaves nothing of it.
            raise HipwrightError("bad-option-value", f"--{_name(target)} does not take '--'")
        if texts and target in _PLAIN:
            found[target] = [Given(text=text, origin="command line", base=base) for text in texts]
        elif texts:
            flag = next(iter(flags_of(OPTIONS[_name(target)], [target.split("\0")[1]])))
            found[target] = [Given(text=text, origin=f"command line {flag}", base=base) for text in texts]
            _refuse_repeated(target, found[target], flag)
    return found


def _refuse_unknown(word: str, command: Command, parser: argparse.ArgumentParser) -> NoReturn:
    flag = word.split("=", maxsplit=1)[0]
    known = parser.known if isinstance(parser, _Parser) else ()
    if not flag.startswith("-"):
        raise HipwrightError(
            "unknown-option", f"{command.name} takes options only, not {word!r}", hint=f"see {parser.prog} --help"
        )
    if any(flag in flags_of(option, ()) for option in OPTIONS.values()):
        message = f"{command.name} does not take {flag}"
        raise HipwrightError("unknown-option", message, hint=f"see {parser.prog} --help")
    hint = close_to(flag, known, "options") or f"see {parser.prog} --help"
    raise HipwrightError("unknown-option", f"there is no option {flag}", hint=hint)


def _refuse_repeated(target: str, texts: list[Given], flag: str) -> None:
    option = OPTIONS[_name(target)]
    if not option.repeatable and option.kind != "flag" and len({text.text for text in texts}) > 1:
        values = " and ".join(repr(text.text) for text in texts)
        raise HipwrightError("option-conflict", f"{flag} is given twice, as {values}")


def _from_environment(
    command: Command, environment: Mapping[str, str], projects: Sequence[str], base: Path
) -> dict[str, list[Given]]:
    _refuse_unknown_names(environment, projects)
    found: dict[str, list[Given]] = {}
    for option in command.options:
        one = _the_one(option, environment)
        for project in projects if option.per_project else ("",):
            own = (option.environment_of(project), *([option.environment_of(THE_ONE)] if project == one else []))
            names = [name for name in (*own, *option.other_environment) if environment.get(name)]
            if set(own) & set(names):
                # What GitHub's runner says of every job was not chosen by anybody: it gives way to what was.
                names = [name for name in names if not name.startswith(_BY_GITHUB)]
            texts = {_as_given(option, name, environment[name]) for name in names}
            if len(texts) > 1:
                message = f"{' and '.join(names)} say different things in the environment"
                raise HipwrightError("option-conflict", message, hint=f"unset one of {', '.join(names)}")
            if names:
                origin = f"environment {names[0]}"
                pieces = _PLACES.split(texts.pop()) if option.kind == "locations" else [texts.pop()]
                found[f"{option.name}\0{project}"] = [Given(text=piece, origin=origin, base=base) for piece in pieces]
    return found


def _the_one(option: Option, environment: Mapping[str, str]) -> str | None:
    """Return the project that HIPWRIGHT_PROJECT_DIR and its like speak of; None where this option has no such name here."""
    name, projects = option.environment_of(THE_ONE), OPTIONS["projects"].environment
    if not option.per_project or not environment.get(name):
        return None
    one = environment.get(projects, "").strip()
    if not one or "," in one:
        message = f"{name} speaks of the one project that {projects} names, and that names {one or 'none'}"
        raise HipwrightError("bad-option-value", message, hint=f"set {projects}, or take the name with the project's in it")
    return one


def _as_given(option: Option, name: str, text: str) -> str:
    """Return an environment text in the form that the command line has: systems of today separate lists by semicolons or spaces."""
    if option.kind == "names" and name in option.other_environment:
        return re.sub(r"[;,\s]+", ",", text.strip())
    return text.lower() if option.is_flag else text


def _refuse_unknown_names(environment: Mapping[str, str], projects: Sequence[str]) -> None:
    """Refuse a name that begins like ours and is none: a misspelt one would say nothing."""
    known = {
        option.environment_of(project)
        for option in OPTIONS.values()
        for project in ((*projects, THE_ONE) if option.per_project else ("",))
    }
    for name in environment:
        if name.startswith("HIPWRIGHT_") and name not in known and not name.startswith(_FOR_TESTS):
            hint = close_to(name, sorted(known), "names") or "invoke show-config shows the options"
            raise HipwrightError("unknown-option", f"the environment has {name}, which names no option", hint=hint)


def _from_file(command: Command, path: Path, projects: Sequence[str]) -> dict[str, list[Given]]:
    if not path.is_file():
        return {}
    text, data = read_toml(path)
    taken = {option.name for option in command.options}
    found: dict[str, list[Given]] = {}
    known: dict[str, tuple[Option, str]] = {}
    for option in OPTIONS.values():
        if option.per_project:
            known |= {f"{project}-{option.name}": (option, project) for project in projects}
        else:
            known[option.flag[2:]] = (option, "")
    for key, value in data.items():
        line = next((n for n, row in enumerate(text.splitlines(), 1) if row.split("=")[0].strip().strip('"') == key), None)
        where = Where(file=path, line=line, key=key)
        if key not in known:
            hint = close_to(key, list(known), "options")
            raise HipwrightError("bad-data-file", f"there is no option {key!r}", where=where, hint=hint)
        option, project = known[key]
        values = value if isinstance(value, list) else [value]
        switch = isinstance(value, bool)
        wrong = (switch and not option.is_flag) or (not switch and option.kind == "flag")
        wrong = wrong or not all(isinstance(entry, str | int) for entry in values)
        if wrong or (isinstance(value, list) and not option.repeatable):
            message = f"{key} takes {'true or false' if option.kind == 'flag' else option.kind}, not {value!r}"
            raise HipwrightError("bad-data-file", message, where=where)
        if option.name not in taken:
            continue
        origin = f"hipwright.toml:{line}" if line else "hipwright.toml"
        texts = [
            Given(text=str(entry).lower() if isinstance(entry, bool) else str(entry), origin=origin, base=path.parent)
            for entry in values
        ]
        found[f"{option.name}\0{project}"] = texts
    return found


def _refuse_conflicts(level: Mapping[str, list[Given]]) -> None:
    by_meaning: dict[str, list[str]] = {}
    for target in level:
        option = OPTIONS.get(_name(target))
        if option is not None and option.says:
            by_meaning.setdefault(option.says, []).append(option.flag)
    for meaning, flags in by_meaning.items():
        if len(flags) > 1:
            message = f"{' and '.join(sorted(flags))} both say {meaning}"
            raise HipwrightError("option-conflict", message, hint="give one of them")
