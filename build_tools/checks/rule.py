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

    from build_tools.checks.demands import Demands
    from build_tools.checks.expectation import Expectation
    from build_tools.types import Severity
    from build_tools.wheels.contents import WheelContents
    from build_tools.wheels.probe import Probe

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
    and every other rule leaves it alone. ``expectation`` is None when nobody planned the wheel, ``demands`` when it is of no project of
    ours.
    """

    wheel: WheelContents
    name: WheelName | None
    record: tuple[RecordRow, ...] | None
    metadata: CoreMetadata | None
    fields: WheelFields | None
    unreadable: dict[Part, str] = field(default_factory=dict)
    expectation: Expectation | None = None
    demands: Demands | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule.

    Parameters
    ----------
    name
        Its stable name, in kebab case.
    summary
        What it demands, in one sentence.
    why
        What goes wrong for people when a wheel breaks it, for its page.
    mend
        What to do about a finding, for its page.
    judge
        Gives what is wrong with a wheel; it knows nothing but its argument.
    severity
        How bad a problem is when the problem does not say.
    planned
        Whether the rule compares with a plan, and so runs only where there is one.
    unable
        Gives why the rule cannot judge a wheel, None when it can; the report says it.
    probe
        Makes, for a wheel's file name and what is demanded of it, what looks at contents for the rule while the wheel is read. Rules that
        give one and the same function share what it makes. None when the rule needs none.
    keys
        The keys of a project's ``[check]`` that the rule goes by, as lines of TOML with a value for example and what it means.
    """

    name: str
    summary: str
    judge: Callable[[Subject], Iterable[Problem]]
    severity: Severity = "error"
    planned: bool = False
    why: str = ""
    mend: str = ""
    unable: Callable[[Subject], str | None] = lambda _subject: None
    probe: Callable[[str, Demands | None], Probe | None] | None = None
    keys: tuple[str, ...] = ()

    def cannot(self, subject: Subject) -> str | None:
        """Return why the rule cannot judge a wheel, None when it can."""
        if self.planned and subject.expectation is None:
            return "nobody planned the wheel"
        return self.unable(subject)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetRule:
    """A rule about wheels that belong together.

    ``judge`` gets all wheels and the plan by file name (None when nobody planned), and gives file names with what is wrong. ``unable``
    gets one of them and all, and gives what of that one the rule cannot judge; the rest it does judge.
    """

    name: str
    summary: str
    judge: Callable[[Sequence[Subject], Mapping[str, Expectation] | None], Iterable[tuple[str, Problem]]]
    severity: Severity = "error"
    why: str = ""
    mend: str = ""
    unable: Callable[[Subject, Sequence[Subject]], str | None] = lambda _subject, _subjects: None


def make_subject(wheel: WheelContents, expectation: Expectation | None = None, demands: Demands | None = None) -> Subject:
    """Parse a wheel's parts for the rules."""
    unreadable: dict[Part, str] = {}

    def part(label: Part, parse: Callable[[bytes], T]) -> T | None:
        data = wheel.texts.get(label)
        if data is None:
            wanted = {f"{folder}/{label}" for folder in wheel.dist_info}
            there = any(member.name in wanted for member in wheel.members)
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
        demands=demands,
    )
