"""The base of all recorded values, and their one way to and from JSON."""

from __future__ import annotations

import contextlib
import typing
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec

from build_tools.errors import HipwrightError, Where
from build_tools.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Record", "from_json", "newer_schema", "plain", "read_record", "to_json"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded value: immutable, no unknown keys; ``MADE_BY`` is the command that writes one, of those that people name."""

    MADE_BY: ClassVar[str | None] = None


R = TypeVar("R")

_LIMIT: Final = 256 << 20
"""No record is larger, in bytes; what is would fill the memory before anybody could say that it is none."""


class _Head(msgspec.Struct):
    """The one key of a record that every edition of hipwright understands."""

    schema: int | None = None


def to_json(value: Record) -> bytes:
    """Return a record as JSON for people and programs: sorted keys, two spaces, one final newline; equal records give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def plain(value: object) -> Any:  # noqa: ANN401 - plain JSON data has no narrower type
    """Return records as plain JSON data."""
    return msgspec.to_builtins(value, str_keys=True)


def from_json(data: bytes, model: type[R], *, name: Path | str, code: str = "bad-receipt") -> R:
    """Read a record from JSON.

    A record that has a schema number must state it: without that, ``{}`` would be a record in which nothing is.

    Raises
    ------
    HipwrightError
        ``code`` when the bytes are no JSON, are of another schema, or do not fit the model.
    """
    known = _schemas(model)
    with _told(name, code, model):
        if known:
            stated = msgspec.json.decode(data, type=_Head, strict=True).schema
            if stated is None:
                message = f"{name} is not what it should be: it states no schema"
                raise HipwrightError(code, message, where=Where(file=name), hint=_again(model))
            if stated not in known:
                reads = " and ".join(map(str, known))
                message = f"{name} has schema {stated}, this hipwright reads {reads}"
                newer = "update hipwright, git pull, or " if stated > max(known) else ""
                raise HipwrightError(code, message, where=Where(file=name), hint=f"{newer}{_again(model)}")
        return msgspec.json.decode(data, type=model, strict=True)


def newer_schema(data: bytes, model: type[Any]) -> int | None:
    """Return the schema number of bytes that a later hipwright wrote for a model; None for all others, damaged ones included."""
    known = _schemas(model)
    try:
        stated = msgspec.json.decode(data, type=_Head, strict=True).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return stated if known and stated is not None and stated > max(known) else None


def read_record(path: Path, model: type[R], *, code: str = "bad-receipt") -> R:
    """Read a record from a file.

    Raises
    ------
    HipwrightError
        ``code`` when the file cannot be read, is no regular file, is larger than any record, or does not fit the model.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(_LIMIT + 1)
    except OSError as error:
        hint = f"see whether it is the file that is meant, or {_again(model)}"
        raise HipwrightError(code, f"cannot read {path}: {error.strerror}", where=Where(file=path), hint=hint) from error
    if len(data) > _LIMIT:
        message = f"{path} is larger than {_LIMIT >> 20} MiB, which no record is"
        raise HipwrightError(code, message, where=Where(file=path), hint=_again(model))
    return from_json(data, model, name=path, code=code)


def _schemas(model: type[Any]) -> tuple[int, ...]:
    """Return the schema numbers that a model takes; none for a model without one."""
    if not issubclass(model, msgspec.Struct):
        return ()
    return next((typing.get_args(one.type) for one in msgspec.structs.fields(model) if one.name == "schema"), ())


def _again(model: type[Any]) -> str:
    """Return what to do about a file that is no record of a kind."""
    command = getattr(model, "MADE_BY", None)
    return "bring back a whole one, or make it again" + (f": {command}" if command is not None else " where it came from")


@contextlib.contextmanager
def _told(name: Path | str, code: str, model: type[Any]) -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        cut = "truncated" in str(error)
        what = "it is cut off: it was not written or copied to its end" if cut else str(error)
        message = f"{name} is not what it should be: {what}"
        raise HipwrightError(code, message, where=Where(file=name), hint=_again(model)) from error
