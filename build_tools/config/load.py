"""Read a TOML file into a strict model; an unknown key or a wrong type is an error that names file and line."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from build_tools.config.allowed import allowed_values
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["line_of", "load_toml", "parse_toml", "read_toml"]

M = TypeVar("M")

_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN_KEY = re.compile(r"unknown field `(?P<key>[^`]+)`")
_SYNTAX_LINE = re.compile(r"\(at line (?P<line>\d+), column \d+\)")
_STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def load_toml(path: Path, model: type[M]) -> M:
    """Read a TOML file into ``model``.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the file is missing, is not UTF-8 or TOML, or does not fit the model.
    """
    text, data = read_toml(path)
    return _convert(data, text, path, model)


def parse_toml(text: str, path: Path, model: type[M]) -> M:
    """Parse TOML text into ``model``; ``path`` is named in errors.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` with the line of the key that is wrong.
    """
    return _convert(_parse(text, path), text, path, model)


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return a TOML file's text and its data.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the file is missing, or is not UTF-8 or TOML.
    """
    try:
        # Editors on Windows begin a file with a mark.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        msg = f"there is no file {path.name} in {path.parent}"
        raise HipwrightError("bad-data-file", msg, where=Where(file=path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-data-file", f"cannot read {path}: {error}", where=Where(file=path)) from error
    return text, _parse(text, path)


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _SYNTAX_LINE.search(str(error))
        line = int(found["line"]) if found else None
        raise HipwrightError("bad-data-file", f"not TOML: {error}", where=Where(file=path, line=line)) from error


def _convert(data: dict[str, Any], text: str, path: Path, model: type[M]) -> M:
    try:
        return msgspec.convert(data, model, strict=True)
    except msgspec.ValidationError as error:
        message = str(error)
        found = _PATH.search(message)
        steps = _steps(found["path"]) if found else []
        unknown = _UNKNOWN_KEY.search(message)
        if unknown:
            steps.append(unknown["key"])
        if found and found["path"].endswith("[...]"):
            steps += _guilty_entry(data, steps, model, message)
        key = ".".join(str(step) for step in steps) or None
        where = Where(file=path, line=line_of(text, steps), key=key)
        hint = _near(unknown, model)
        if key is not None and message.startswith("Expected `object`"):
            hint = f"it is a table of its own: [{key}]"
        values = allowed_values(model, steps) if message.startswith("Invalid enum value") else ()
        if values:
            newer = "; a newer hipwright may read it: git pull" if steps == ["schema"] else ""
            hint = f"it takes: {', '.join(values)}{newer}"
        raise HipwrightError("bad-data-file", _PATH.sub("", message), where=where, hint=hint) from error


def _near(unknown: re.Match[str] | None, model: type[Any]) -> str | None:
    """Return the keys of a model that are near an unknown one."""
    if unknown is None:
        return None
    schema = msgspec.json.schema(model)
    known = {key for table in schema.get("$defs", {}).values() for key in table.get("properties", {})}
    near = difflib.get_close_matches(unknown["key"], sorted(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else None


def _guilty_entry(data: dict[str, Any], steps: list[str | int], model: type[M], message: str) -> list[str | int]:
    """Return the key of a free table whose value is wrong: the one without which the complaint is another, or none."""
    table: Any = data
    for step in steps:
        table = table[step]
    for key in list(table) if isinstance(table, dict) else ():
        kept = table.pop(key)
        try:
            msgspec.convert(data, model, strict=True)
        except msgspec.ValidationError as error:
            without = str(error)
        else:
            without = ""
        table[key] = kept
        if without != message:
            return [key]
    return []


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    for found in _STEP.finditer(path):
        if found["key"] is not None:
            steps.append(found["key"])
        elif found["index"] != "...":
            steps.append(int(found["index"]))
    return steps


def line_of(text: str, steps: list[str | int]) -> int | None:
    """Return the line on which the key that ``steps`` lead to is written, as near as it can be told.

    TOML readers keep no positions, so the table headers and keys are looked up in the text in the order in which they nest.
    """
    lines = text.splitlines()
    table: list[str] = []
    counts: dict[str, int] = {}
    best: int | None = None
    best_depth = 0
    wanted = [step for step in steps if isinstance(step, str)]
    index = next((step for step in steps if isinstance(step, int)), None)
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        header = re.match(r"^(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$", line)
        if header:
            table = _split_key(header[2])
            if header[1] == "[[":
                counts[".".join(table)] = counts.get(".".join(table), -1) + 1
            full = table
        else:
            key = re.match(r"""^((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""", line)
            if not key:
                continue
            full = table + _split_key(key[1])
        if index is not None and table and ".".join(table) in counts and counts[".".join(table)] != index:
            continue
        depth = 0
        while depth < min(len(full), len(wanted)) and full[depth] == wanted[depth]:
            depth += 1
        if depth == len(full) and depth > best_depth:
            best, best_depth = number, depth
    return best


def _split_key(key: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""", key)]
