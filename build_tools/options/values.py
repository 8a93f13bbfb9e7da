"""From a text that somebody gave for an option to the option's value."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement

from build_tools.errors import HipwrightError
from build_tools.types import Stage
from build_tools.urls import is_unclear
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.options.option import Option

__all__ = ["STAGE_OPTIONS", "Given", "absolute", "close_to", "value_of"]

STAGE_OPTIONS: Final = frozenset({"from", "until", "force"})
"""Options whose words are stages."""

_URL: Final = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HALF_URL: Final = re.compile(r"(?P<scheme>https?|file|s3):(?!//)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_SCP: Final = re.compile(r"^[\w.-]+@[\w.-]+:")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORT: Final = 12
_SHOWN: Final = 40
_LARGEST: Final = 2**31 - 1
"""What programs that are given such a number, git with its depth among them, take at the most."""
_ON: Final = frozenset({"1", "yes", "on", "true"})
_OFF: Final = frozenset({"0", "no", "off", "false"})


class Given(Value, frozen=True, kw_only=True):
    """One text that somebody gave for an option, the words for its origin, and the folder it is relative to."""

    text: str
    origin: str
    base: Path

    def __post_init__(self) -> None:
        """Refuse an address whose password nothing could hide, before anything tells of it."""
        if is_unclear(self.text):
            message = f"{self.origin} is an address in which a user or password holds what ends it"
            hint = "write such a character as its code: %2F for a slash, %20 for a space, %3F for a question mark, %23 for a hash sign"
            raise HipwrightError("bad-option-value", message, hint=hint)


def close_to(word: str, known: Sequence[str], what: str) -> str | None:
    """Return a hint that names the words near a wrong one, or all of a short list."""
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.55)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if 0 < len(known) <= _SHORT:
        return f"{what}: {', '.join(sorted(known))}"
    return None


def value_of(option: Option, given: list[Given]) -> Any:  # noqa: ANN401 - the field's own type
    """Return the value that texts stand for, as the option's kind says.

    Raises
    ------
    HipwrightError
        ``bad-option-value``; ``unknown-stage``.
    """
    first = given[0]
    match option.kind:
        case "names":
            return _names(option, given)
        case "requirements":
            return _requirements(given)
        case "locations" | "patterns" | "assignments":
            return _each(option, given)
        case _:
            return _one(option, first)


def _each(option: Option, given: list[Given]) -> Any:  # noqa: ANN401 - the field's own type
    if option.kind == "locations":
        return tuple(_location(entry) for entry in given)
    if option.kind == "patterns":
        return tuple(_pattern(entry) for entry in given)
    return dict(_assignment(entry) for entry in given)


def _one(option: Option, given: Given) -> Any:  # noqa: ANN401 - the field's own type
    match option.kind:
        case "flag":
            return _is_on(given) != option.negative
        case "flag-or-text":
            return given.text.lower() in _ON if given.text.lower() in _ON | _OFF else _text(option, given)
        case "integer":
            return _integer(given)
        case "path":
            return absolute(given)
        case "location":
            return given.text if given.text in option.words else _place(option, given)
        case _:
            return _text(option, given)


def _is_on(given: Given) -> bool:
    if given.text in _ON:
        return True
    if given.text in _OFF:
        return False
    raise HipwrightError("bad-option-value", f"{given.origin} takes yes or no, not {given.text!r}")


def _names(option: Option, given: list[Given]) -> tuple[str, ...]:
    words = [(word.strip(), entry) for entry in given for word in entry.text.split(",") if word.strip()]
    if not words:
        raise HipwrightError("bad-option-value", f"{given[0].origin} names nothing")
    if option.choices:
        return tuple(Stage(_choice(option, replace(entry, text=word))) for word, entry in words)
    if option.name != "python":
        return tuple(word for word, _entry in words)
    # An interpreter may be named by its path, which is relative to where it was given.
    return tuple(str(absolute(replace(entry, text=word))) if {"/", "\\"} & set(word) else word for word, entry in words)


def _requirements(given: list[Given]) -> tuple[str, ...]:
    """Return requirements that are parted by blanks, as a shell hands several over in one text."""
    words = tuple(word for entry in given for word in entry.text.split())
    if not words:
        raise HipwrightError("bad-option-value", f"{given[0].origin} names nothing")
    for word in words:
        try:
            Requirement(word)
        except InvalidRequirement as error:
            message = f"{given[0].origin}: {word!r} is no requirement: {str(error).splitlines()[0]}"
            raise HipwrightError("bad-option-value", message) from error
    return words


def _pattern(given: Given) -> str:
    try:
        re.compile(given.text)
    except re.error as error:
        raise HipwrightError("bad-option-value", f"{given.origin} is no regular expression: {error}") from error
    if not given.text:
        raise HipwrightError("bad-option-value", f"{given.origin} is empty")
    return given.text


def _assignment(given: Given) -> tuple[str, str]:
    name, equals, value = given.text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        message = f"{given.origin} takes NAME=VALUE, not {given.text[:_SHOWN]!r}"
        raise HipwrightError("bad-option-value", message)
    if set(value) & set("\0\r\n"):
        raise HipwrightError("bad-option-value", f"{given.origin}: the value of {name} has more than one line")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise HipwrightError("bad-option-value", f"{given.origin}: the value of {name} is no UTF-8: {value[:_SHOWN]!a}") from None
    return name, value


def _text(option: Option, given: Given) -> str:
    if not given.text:
        raise HipwrightError("bad-option-value", f"{given.origin} is empty")
    if option.kind != "choice":
        return given.text
    chosen = _choice(option, given)
    return Stage(chosen) if option.name in STAGE_OPTIONS else chosen


def _choice(option: Option, given: Given) -> str:
    word = given.text
    if word not in option.choices:
        code = "unknown-stage" if option.name in STAGE_OPTIONS else "bad-option-value"
        hint = close_to(word, option.choices, "it takes") or f"it takes {', '.join(option.choices)}"
        raise HipwrightError(code, f"{given.origin} does not take {word!r}", hint=hint)
    return word


def _integer(given: Given) -> int:
    # The length is judged first: Python refuses to read thousands of digits.
    if not re.fullmatch(r"0*[0-9]{1,10}", given.text) or not 1 <= int(given.text) <= _LARGEST:
        message = f"{given.origin} takes a whole number from 1 to {_LARGEST}, not {given.text[:_SHOWN]!r}"
        raise HipwrightError("bad-option-value", message)
    return int(given.text)


def absolute(given: Given) -> Path:
    """Return a path from the folder that it is relative to.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it is empty or no UTF-8.
    """
    if not given.text.strip():
        raise HipwrightError("bad-option-value", f"{given.origin} is empty; a path is needed")
    try:
        given.text.encode()
    except UnicodeEncodeError:
        raise HipwrightError("bad-option-value", f"{given.origin} is a path that is no UTF-8: {given.text!r}") from None
    # Lexical, so that a link in the person's own path stays as it was typed.
    return Path(*(given.base / Path(given.text).expanduser()).parts)


def _place(option: Option, given: Given) -> str:
    if not given.text.strip() and option.name.endswith("index-url"):
        # Today's set-up script takes an empty index for "no index at all".
        hint = "leave it out: what no named source has comes from the base index, and from none with PIP_NO_INDEX=1"
        raise HipwrightError("bad-option-value", f"{given.origin} is empty; an address or a folder is needed", hint=hint)
    return _location(given)


def _location(given: Given) -> str:
    if _URL.match(given.text) or _SCP.match(given.text):
        return given.text
    if (half := _HALF_URL.fullmatch(given.text)) is not None:
        # A folder of such a name would take what was meant for a server. `file:/folder` is an address too (RFC 8089).
        scheme = half["scheme"].lower()
        if scheme == "file" and half["rest"].startswith("/"):
            return f"file://{half['rest']}"
        message = f"{given.origin} begins with {scheme}: and is no address"
        raise HipwrightError("bad-option-value", message, hint=f"write {scheme}://…, or ./{scheme}:… when a folder is meant")
    return str(absolute(given))
