"""What a rule is, what it judges, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from build_tools.errors import HipwrightError
from build_tools.wheels.metadata import CoreMetadata, WheelFields, parse_metadata, parse_wheel_fields
from build_tools.wheels.name import WheelName, parse_wheel_name
from build_tools.wheels.record import RecordRow, parse_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from build_tools.checks.expectation import Expectation
    from build_tools.types import Severity
    from build_tools.wheels.contents import WheelContents

__all__ = ["Part", "Problem", "Rule", "SetRule", "Subject", "make_subject"]

Part = Literal["name", "RECORD", "METADATA", "WHEEL"]
"""The parts of a wheel that are parsed before the rules see it."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that a rule says about a wheel: what is wrong, at which member, and what to do about it.

    ``severity`` is given only where it is not the rule's own.
    """

    message: str
    member: str | None = None
    hint: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One wheel as the rules see it: its bytes' facts, and its parts parsed.

    A part that is missing or cannot be parsed is None, and ``unreadable`` says why; the rule that the part belongs to reports that,
    and every other rule leaves it alone. ``expectation`` is None when nobody planned the wheel.
    """

    wheel: WheelContents
    name: WheelName | None
    record: tuple[RecordRow, ...] | None
    metadata: CoreMetadata | None
    fields: WheelFields | None
    unreadable: dict[Part, str] = field(default_factory=dict)
    expectation: Expectation | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule.

    Parameters
    ----------
    name
        Its stable name, in kebab case.
    summary
        What it demands, in one sentence.
    judge
        Gives what is wrong with a wheel; it knows nothing but its argument.
    severity
        How bad a problem is when the problem does not say.
    planned
        Whether the rule compares with a plan, and so runs only where there is one.
    """

    name: str
    summary: str
    judge: Callable[[Subject], Iterable[Problem]]
    severity: Severity = "error"
    planned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SetRule:
    """A rule about wheels that belong together.

    ``judge`` gets all wheels and the plan by file name (None when nobody planned), and gives file names with what is wrong.
    """

    name: str
    summary: str
    judge: Callable[[Sequence[Subject], Mapping[str, Expectation] | None], Iterable[tuple[str, Problem]]]
    severity: Severity = "error"


def make_subject(wheel: WheelContents, expectation: Expectation | None = None) -> Subject:
    """Parse a wheel's parts for the rules."""
    unreadable: dict[Part, str] = {}

    def part(label: Part, parse: Callable[[bytes], T]) -> T | None:
        data = wheel.texts.get(label)
        if data is None:
            there = any(member.name == f"{folder}/{label}" for folder in wheel.dist_info for member in wheel.members)
            unreadable[label] = f"the wheel's {label} was not read" if there else f"the wheel has no {label}"
            return None
        try:
            return parse(data)
        except HipwrightError as error:
            unreadable[label] = error.message
            return None

    try:
        name = parse_wheel_name(wheel.filename)
    except HipwrightError as error:
        unreadable["name"] = error.message
        name = None
    return Subject(
        wheel=wheel,
        name=name,
        record=part("RECORD", parse_record),
        metadata=part("METADATA", parse_metadata),
        fields=part("WHEEL", parse_wheel_fields),
        unreadable=unreadable,
        expectation=expectation,
    )
