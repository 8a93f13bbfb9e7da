"""Lists of examples to profile, as files say them, and the exceptions by which an example says that an asset is not there."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where

__all__ = ["Example", "ExampleList", "missing_asset_names", "read_examples"]

_FILE: Final = Path(__file__).parent / "data" / "missing_assets.toml"
_LIST: Final = "@"


class Example(Table, frozen=True, kw_only=True):
    """One example: its script, what it is given, and what it needs.

    ``assets`` are files without which it is skipped. Scripts and assets are relative to the folder in which the examples run.
    ``time_limit_s`` are the seconds of one run; those of the command when not given.
    """

    script: NonEmpty
    arguments: tuple[str, ...] = ()
    assets: tuple[NonEmpty, ...] = ()
    time_limit_s: Annotated[int, msgspec.Meta(ge=1)] | None = None

    @property
    def name(self) -> str:
        """The example as a person would type it; reports are compared by it."""
        return shlex.join((self.script, *self.arguments))


class ExampleList(Table, frozen=True, kw_only=True):
    """A list of examples in TOML."""

    schema: Literal[1]
    example: tuple[Example, ...] = ()


class _MissingAssets(Table, frozen=True, kw_only=True):
    schema: Literal[1]
    exceptions: tuple[NonEmpty, ...]


@functools.cache
def missing_asset_names() -> tuple[str, ...]:
    """Return the whole names of exceptions that say that an asset is not there."""
    return load_toml(_FILE, _MissingAssets).exceptions


def read_examples(path: Path) -> tuple[Example, ...]:
    """Read a list of examples: TOML by its ending, else a text with an example a line, ``#`` beginning a comment.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the file is missing or wrong; ``no-examples`` when it names none.
    """
    as_table = path.suffix == ".toml"
    found = load_toml(path, ExampleList).example if as_table else _lines(path)
    if not found:
        hint = "give each a table: [[example]] with its script" if as_table else "one script a line"
        raise HipwrightError("no-examples", f"{path} names no example", where=Where(file=path), hint=hint)
    return found


def _lines(path: Path) -> tuple[Example, ...]:
    hint = "name a text file with one script a line, or a list whose name ends in .toml"
    try:
        # Editors on Windows begin a file with a mark.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise HipwrightError("bad-data-file", f"there is no list of examples {path}", where=Where(file=path), hint=hint) from None
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise HipwrightError("bad-data-file", message, where=Where(file=path), hint=hint) from error
    except UnicodeDecodeError as error:
        raise HipwrightError("bad-data-file", f"{path} is no text (UTF-8)", where=Where(file=path), hint=hint) from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            message, where = f"{line!r} cannot be read: {error}", Where(file=path, line=number)
            raise HipwrightError("bad-data-file", message, where=where, hint="close what is opened with quotes") from error
        if words and (not words[0] or words[0].startswith(_LIST)):
            message = f"{line!r} names {'no script' if not words[0] else 'another list, and a list names scripts alone'}"
            where = Where(file=path, line=number)
            raise HipwrightError("bad-data-file", message, where=where, hint="name a script, perhaps with arguments behind it")
        if words:
            found.append(Example(script=words[0], arguments=tuple(words[1:])))
    return tuple(found)
