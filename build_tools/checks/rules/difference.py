"""Rule ``difference``: against the last accepted wheel of its line, nothing vanished, and nothing grew beyond its budget.

A changed packaging rule drops data files, and the build ends well; only who compares sees it.
"""

from __future__ import annotations

import collections
import fnmatch
import re
from typing import TYPE_CHECKING, Final

import humanize

from build_tools.checks.name_tree import NameTree
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.counted import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["RULE", "comparable"]

_TOP: Final = re.compile(r"^(?P<name>[^/-]+)-[^/]+\.(?P<kind>dist-info|data)/")
_SUFFIX: Final = re.compile(r"\.(?:cpython-3\d+t?-[^./]+|cp3\d+t?-win\w+|abi3)\.(?P<kind>so|pyd)$")
_NOTABLE: Final = 1 << 20
"""Bytes that a smaller member, and the whole, may change by as they like."""

_SOME: Final = 5


def comparable(name: str) -> str:
    """Return a member's name without what differs between versions and Pythons alone.

    >>> comparable("torch-2.9.1.dist-info/METADATA"), comparable("torch/_C.cpython-311-x86_64-linux-gnu.so")
    ('torch.dist-info/METADATA', 'torch/_C.so')
    """
    # Most names have neither, and to look for that is much quicker.
    if "-" in name and (".dist-info/" in name or ".data/" in name):
        name = _TOP.sub(r"\g<name>.\g<kind>/", name)
    return _SUFFIX.sub(r".\g<kind>", name) if name.endswith((".so", ".pyd")) else name


def _judge(subject: Subject) -> Iterator[Problem]:
    if subject.demands is None or subject.demands.baseline is None:
        return
    check = subject.demands.check
    before = {comparable(name): size for name, size in subject.demands.baseline.items() if not name.endswith("/")}
    members = {comparable(member.name): member.size for member in subject.wheel.members if not member.is_folder}
    gone = [name for name in before if name not in members and not _allowed(name, check.may_vanish)]
    yield from _vanished(gone, members)
    fresh = [name for name in members if name not in before]
    if fresh:
        yield Problem(message=f"{counted(len(fresh), 'member')} more than the baseline: {_few(fresh)}", severity="note")
    yield from _sizes(before, members, check.growth_limit)
    total, was = sum(members.values()), sum(before.values())
    if total - was >= _NOTABLE and total > was * (100 + check.growth_limit) / 100:
        yield Problem(
            message=f"unpacked it has {_size(total)}, the baseline {_size(was)}: {_percent(total, was)}, and {check.growth_limit} % are allowed",
            hint="see the largest changes with --json; what is meant needs another check.growth-limit",
        )


def _vanished(gone: list[str], members: Mapping[str, int]) -> Iterator[Problem]:
    """Tell of a folder that is gone once, of other members each."""
    if not gone:
        return
    there = NameTree()
    for name in members:
        there.add(name)
    by_place: dict[str, list[str]] = collections.defaultdict(list)
    for name in gone:
        lost = there.highest_missing(name)
        by_place[f"{lost}/" if lost is not None else name].append(name)
    for place, names in by_place.items():
        what = (
            f"the baseline has the folder, with {counted(len(names), 'member')}" if place.endswith("/") else "the baseline has it"
        )
        yield Problem(message=f"{what}; the wheel has not", member=place, hint="what is meant belongs into check.may-vanish")


def _sizes(before: Mapping[str, int], members: Mapping[str, int], limit: int) -> Iterator[Problem]:
    for name, size in members.items():
        was = before.get(name)
        if was is None or size == was:
            continue
        if not size:
            yield Problem(message=f"it is empty; the baseline has {_size(was)}", member=name)
        elif max(size, was) >= _NOTABLE and (size > was * (100 + limit) / 100 or size < was / 2):
            yield Problem(
                message=f"it has {_size(size)}, the baseline {_size(was)}: {_percent(size, was)}", member=name, severity="warning"
            )


def _allowed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, comparable(pattern)) for pattern in patterns)


def _percent(size: int, was: int) -> str:
    return f"{(size - was) / was * 100:+.0f} %" if was else "from nothing"


def _size(number: int) -> str:
    return humanize.naturalsize(number, binary=True)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    return f"{', '.join(sorted(names)[:_SOME])}{more}"


def _unable(subject: Subject) -> str | None:
    known = subject.demands is not None and subject.demands.baseline is not None
    return None if known else "there is no earlier wheel to compare with; --baseline names one"


RULE: Final = Rule(
    name="difference",
    summary="No member of the last accepted wheel of the line is missing or empty, and the whole has not grown beyond its budget.",
    why="A packaging rule or build backend that changed drops data files and ends well. Users find out, from a message about a missing "
    "file, on the path of code that needs it.",
    mend="Put back what is missing. What is gone on purpose is named in `check.may-vanish`; a larger budget is `check.growth-limit`, "
    "in percent.",
    judge=_judge,
    unable=_unable,
    keys=(
        "growth-limit = 10  # percent above the baseline, of the whole; 10 when it is not said",
        'may-vanish = ["demo/old/*"]  # members that a later wheel need not have',
    ),
)
