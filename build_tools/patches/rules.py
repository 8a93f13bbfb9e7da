"""Rules that find a patch line, put into ``project.toml`` where they count; no other byte of the file changes."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import tomlkit

from build_tools.config.load import parse_toml
from build_tools.config.project import Line, Project
from build_tools.config.tables import Cut, TextTable, cut_tables
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["replaced_rule", "with_rule_for", "with_rules"]

_TABLE: Final = "lines"
_WILD: Final = frozenset("*?[")


def with_rules(path: Path, rules: Iterable[Line]) -> bytes:
    """Return what ``project.toml`` is to hold so that it has some more rules; one that it has already is not said twice.

    A rule comes behind the others of its line, and before every pattern that would take its refs first. A ref that its own rule declared
    to need no patches, and that is to have a line, gets it there; the reason goes, for it was that of the state before.

    Parameters
    ----------
    path
        The file.
    rules
        The rules.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when a rule for the same ref says another line; ``bad-data-file`` when the file cannot be read as one, or has
        its rules in one value.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-data-file", f"cannot read {path}: {error}", where=Where(file=path)) from error
    for rule in rules:
        text = _with_rule(text, path, rule)
    return text.encode()


def with_rule_for(path: Path, ref: str, line: str, *, instead_of: str | None) -> bytes:
    """Return what ``project.toml`` is to hold so that a ref finds a line.

    A rule that names the ref exactly, and says ``instead_of`` or no patches, says the line then; its reason goes, for it was that of the
    state before.

    Parameters
    ----------
    path
        The file.
    ref
        The ref.
    line
        The line that it is to find.
    instead_of
        The line that it may have found until then.

    Raises
    ------
    HipwrightError
        As :func:`with_rules`.
    """
    text = with_rules(path, []).decode()
    rules = parse_toml(text, path, Project).lines
    number = next((number for number, rule in enumerate(rules) if rule.ref == ref), None)
    if number is None or rules[number].line not in {None, instead_of} or rules[number].line == line:
        return with_rules(path, [Line(ref=ref, line=line)])
    return _replaced(text, path, number, Line(ref=ref, line=line)).encode()


def replaced_rule(rules: Iterable[Line], rule: Line) -> str:
    """Return the sentence that tells which rule for the same ref another one takes the place of; nothing when there is none.

    >>> replaced_rule([Line(ref="nightly", why="all is upstream")], Line(ref="nightly", line="2.9"))
    'the rule for nightly said no patches; its reason goes with it: all is upstream'
    """
    old = next((one for one in rules if one.ref == rule.ref), None)
    if old is None or old.line == rule.line:
        return ""
    return f"the rule for {old.ref} said {_said(old)}{f'; its reason goes with it: {old.why}' if old.why else ''}"


def _replaced(text: str, path: Path, number: int, rule: Line) -> str:
    """Return a text with another rule in the place of one; ``number`` counts among the rules."""
    cut = cut_tables(text)
    tables, place = list(cut.tables), cut.places(_TABLE)[number]
    # Behind it come lines that belong to what follows.
    rest = tables[place].body[len(tables[place].body.rstrip()) :].removeprefix(cut.newline)
    tables[place] = replace(tables[place], body=_lines(rule, cut.newline) + rest)
    changed = replace(cut, tables=tuple(tables)).text
    parse_toml(changed, path, Project)
    return changed


def _with_rule(text: str, path: Path, rule: Line) -> str:
    known = parse_toml(text, path, Project).lines
    cut = cut_tables(text)
    places = cut.places(_TABLE)
    if len(places) != len(known):
        hint = "write each as a table of its own, which begins with the line [[lines]]"
        raise HipwrightError("bad-data-file", f"{path} has its rules in one value", where=Where(file=path, key=_TABLE), hint=hint)
    for number, other in enumerate(known):
        if other.ref != rule.ref:
            continue
        if other.line == rule.line:
            return text
        if other.line is None and not _WILD & set(rule.ref):
            return _replaced(text, path, number, rule)
        message = f"{path} has a rule for {rule.ref} already, which says {_said(other)}"
        hint = f"change that rule by hand when it is to say {_said(rule)}, and its reason with it"
        raise HipwrightError("bad-option-value", message, where=Where(file=path, key=_TABLE), hint=hint)
    number = _number(known, rule)
    place = places[number] if number < len(places) else places[-1] + 1 if places else _behind_refs(cut)
    changed = cut.insert(place, TextTable(name=_TABLE, lead=cut.newline, body=_lines(rule, cut.newline))).text
    parse_toml(changed, path, Project)
    return changed


def _number(known: tuple[Line, ...], rule: Line) -> int:
    """Return where among the rules a further one goes."""
    shadowing = next((number for number, other in enumerate(known) if fnmatch.fnmatchcase(rule.ref, other.ref)), len(known))
    last = max((number + 1 for number, other in enumerate(known) if other.line == rule.line and number < shadowing), default=None)
    return shadowing if last is None else last


def _behind_refs(cut: Cut) -> int:
    """Return the place of a first rule: where recipes have their rules."""
    before = [place for name in ("origin", "refs", "pins") for place in cut.places(name)]
    return max(before, default=-1) + 1


def _lines(rule: Line, newline: str) -> str:
    rows = [f"[[{_TABLE}]]", f"ref = {tomlkit.string(rule.ref).as_string()}"]
    rows += [f"line = {tomlkit.string(rule.line).as_string()}"] if rule.line is not None else []
    rows += [f"why = {tomlkit.string(rule.why).as_string()}"] if rule.why else []
    return "".join(f"{row}{newline}" for row in rows)


def _said(rule: Line) -> str:
    return rule.line if rule.line is not None else "no patches"
