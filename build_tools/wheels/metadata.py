"""A wheel's ``METADATA`` and ``WHEEL`` files, parsed into what the rest of hipwright asks of them.

``METADATA`` is read by ``packaging.metadata`` (core metadata specification, PEP 566 to PEP 753), ``WHEEL`` as PEP 427 has it.
"""

from __future__ import annotations

import email.parser
import email.policy
from typing import TYPE_CHECKING, Final

from packaging.metadata import InvalidMetadata, Metadata, parse_email
from packaging.utils import NormalizedName, canonicalize_name

from build_tools.errors import HipwrightError
from build_tools.shown import shown
from build_tools.value import Value
from build_tools.wheels.limits import MOST_TAGS, absurd_number, read_tags

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.tags import Tag
    from packaging.version import Version

__all__ = ["CoreMetadata", "WheelFields", "parse_metadata", "parse_wheel_fields", "render_wheel_fields"]


class CoreMetadata(Value, frozen=True, kw_only=True):
    """What ``METADATA`` says: the name and version, what it requires, and of which Python.

    ``oddities`` are faults in fields that no installer goes by, such as one that the stated metadata version does not have.
    """

    name: str
    version: Version
    requires_dist: tuple[Requirement, ...]
    requires_python: str | None
    extras: tuple[str, ...]
    oddities: tuple[str, ...] = ()

    @property
    def project(self) -> NormalizedName:
        """The normalised name (PEP 503)."""
        return canonicalize_name(self.name)


class WheelFields(Value, frozen=True, kw_only=True):
    """What ``WHEEL`` says: the format's version, who made the wheel, whether it is pure, its tags and its build tag."""

    wheel_version: str
    generator: str
    root_is_purelib: bool
    tags: frozenset[Tag]
    build: str = ""


def parse_metadata(data: bytes) -> CoreMetadata:
    """Read a ``METADATA`` file.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` naming every fault, when a field that installers go by is missing, is there twice, or is malformed.
    """
    oddities: tuple[str, ...] = ()
    _refuse_absurd_numbers(data)
    try:
        parsed = Metadata.from_email(data, validate=True)
    except ExceptionGroup as group:
        faults = _faults(group)
        oddities = tuple(sorted({f"{field}: {sentence}" for field, sentence in faults}))
        if any(field in _ESSENTIAL for field, _ in faults) or "metadata_version" not in parse_email(data)[0]:
            raise HipwrightError("bad-wheel", f"METADATA is malformed: {shown('; '.join(oddities))}") from None
        parsed = Metadata.from_email(data, validate=False)
    return CoreMetadata(
        name=parsed.name,
        version=parsed.version,
        requires_dist=tuple(parsed.requires_dist or ()),
        requires_python=str(parsed.requires_python) if parsed.requires_python is not None else None,
        extras=tuple(parsed.provides_extra or ()),
        oddities=oddities,
    )


def parse_wheel_fields(data: bytes) -> WheelFields:
    """Read a ``WHEEL`` file.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` naming the field: one of ``Wheel-Version``, ``Root-Is-Purelib`` and ``Tag`` is missing, is there twice (``Tag``
        may be), or cannot be read.
    """
    try:
        message = email.parser.Parser(policy=email.policy.compat32).parsestr(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise HipwrightError("bad-wheel", f"WHEEL is not UTF-8: byte {error.start}") from None

    def one(field: str, *, needed: bool) -> str:
        values = [str(value).strip() for value in message.get_all(field, [])]
        if len(values) > 1 or (needed and not values):
            raise HipwrightError("bad-wheel", f"WHEEL has {len(values)} fields {field}; one is right")
        return values[0] if values else ""

    pure = one("Root-Is-Purelib", needed=True).lower()
    if pure not in _BOOLEANS:
        raise HipwrightError("bad-wheel", f"WHEEL has Root-Is-Purelib: {shown(pure)}; true or false is right")
    spelled = [str(value).strip() for value in message.get_all("Tag", [])]
    if not spelled:
        raise HipwrightError("bad-wheel", "WHEEL has no field Tag")
    tags: set[Tag] = set()
    for text in spelled:
        try:
            tags |= read_tags(text)
        except ValueError as error:
            fault = f"WHEEL has Tag: {shown(text[:_TOLD])}, which is no tag: {shown(str(error)[:_TOLD])}"
            raise HipwrightError("bad-wheel", fault) from None
        if len(tags) > MOST_TAGS:
            raise HipwrightError("bad-wheel", f"WHEEL states more than {MOST_TAGS} tags")
    return WheelFields(
        wheel_version=one("Wheel-Version", needed=True),
        generator=one("Generator", needed=False),
        root_is_purelib=_BOOLEANS[pure],
        tags=frozenset(tags),
        build=one("Build", needed=False),
    )


def render_wheel_fields(fields: WheelFields) -> bytes:
    """Return fields as the bytes of a ``WHEEL`` file, tags sorted."""
    lines = [
        f"Wheel-Version: {fields.wheel_version}",
        f"Generator: {fields.generator}",
        f"Root-Is-Purelib: {str(fields.root_is_purelib).lower()}",
        *sorted(f"Tag: {tag}" for tag in fields.tags),
        *([f"Build: {fields.build}"] if fields.build else []),
    ]
    return ("\n".join(lines) + "\n").encode()


_TOLD: Final = 80

_BOOLEANS: Final = {"true": True, "false": False}


_ESSENTIAL: Final = frozenset({"name", "version", "requires-dist", "requires-python", "provides-extra", "dynamic"})


def _refuse_absurd_numbers(data: bytes) -> None:
    """Refuse fields that are read as versions and have a number that no reader of versions takes; a description may have any."""
    raw, _ = parse_email(data)
    for field in ("metadata_version", "version", "requires_python"):
        if (fault := absurd_number(str(raw.get(field, "")))) is not None:
            raise HipwrightError("bad-wheel", f"METADATA is malformed: {field.replace('_', '-')}: {fault}")
    for text in raw.get("requires_dist", []):
        if (fault := absurd_number(text)) is not None:
            raise HipwrightError("bad-wheel", f"METADATA is malformed: requires-dist: {shown(text[:_TOLD])}…: {fault}")


def _faults(group: ExceptionGroup[Exception]) -> list[tuple[str, str]]:
    """Return each fault as the field that it is about and a sentence; a fault without a field is counted as the name's."""
    return [
        (error.field if isinstance(error, InvalidMetadata) else "name", " ".join(str(error).split()))
        for error in group.exceptions
    ]
