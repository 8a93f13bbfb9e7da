"""Change single fields of a ``METADATA`` file and leave every other byte as it is.

A parser and a writer of mails would fold lines anew, lose the order of fields or re-encode the description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from build_tools.errors import HipwrightError
from build_tools.shown import shown
from build_tools.wheels.metadata import parse_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["edit_metadata"]

_BLANK: Final = (b"\n", b"\r\n")


def edit_metadata(data: bytes, *, version: str | None = None, requires: Mapping[str, str | None] | None = None) -> bytes:
    """Return a ``METADATA`` file with another version and other requirements.

    Parameters
    ----------
    data
        The file.
    version
        The version to state; None keeps the one that is there.
    requires
        For the name of a distribution the version specifier that each requirement on it is to have, ``==2.0``; None drops them.
        Extras and markers stay.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the file is malformed, or has no requirement on a name that is to be changed.
    """
    parse_metadata(data)
    wanted = {canonicalize_name(name): specifier for name, specifier in (requires or {}).items()}
    met: set[str] = set()
    out: list[bytes] = []
    lines = data.splitlines(keepends=True)
    fields, rest = _fields(lines)
    for field in fields:
        name, _, value = field.partition(b":")
        end = b"\r\n" if field.endswith(b"\r\n") else b"\n"
        match name.strip().lower():
            case b"version" if version is not None:
                out.append(b"Version: " + version.encode() + end)
            case b"requires-dist":
                requirement = _requirement(value)
                key = canonicalize_name(requirement.name)
                if key not in wanted:
                    out.append(field)
                    continue
                met.add(key)
                specifier = wanted[key]
                if specifier is not None:
                    out.append(b"Requires-Dist: " + _with_specifier(requirement, specifier).encode() + end)
            case _:
                out.append(field)
    absent = sorted(wanted.keys() - met)
    if absent:
        raise HipwrightError("bad-wheel", f"METADATA has no requirement on {', '.join(absent)} to be changed")
    edited = b"".join([*out, *lines[rest:]])
    parse_metadata(edited)
    return edited


def _fields(lines: list[bytes]) -> tuple[list[bytes], int]:
    """Return the fields before the description, each with the lines that go on with it, and the number of the first line after."""
    end = next((number for number, line in enumerate(lines) if line in _BLANK), len(lines))
    return list(_folded(lines[:end])), end


def _folded(lines: list[bytes]) -> Iterator[bytes]:
    field = b""
    for line in lines:
        if field and not line.startswith((b" ", b"\t")):
            yield field
            field = b""
        field += line
    if field:
        yield field


def _requirement(value: bytes) -> Requirement:
    text = " ".join(value.decode("utf-8", "replace").split())
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise HipwrightError("bad-wheel", f"METADATA has Requires-Dist: {shown(text)}: {error}") from None


def _with_specifier(requirement: Requirement, specifier: str) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f" ; {requirement.marker}" if requirement.marker is not None else ""
    text = f"{requirement.name}{extras}{specifier}{marker}"
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise HipwrightError("bad-wheel", f"{text!r} is no requirement: {error}") from None
