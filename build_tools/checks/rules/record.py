"""Rule ``record``: ``RECORD`` lists every file once, with its true hash and size, and nothing else.

pip installs a wheel with an unlisted file, or with a file of other bytes than listed, without a word; other installers refuse it, and
an uninstall leaves files behind. Folder entries are not listed; neither are ``RECORD``'s own hash and its signatures.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.record import STRONG_HASHES, UNRECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from build_tools.wheels.archive import Member
    from build_tools.wheels.record import RecordRow

__all__ = ["RULE"]

_HINT: Final = "whatever changed the wheel after its build must write RECORD anew"


def _judge(subject: Subject) -> Iterator[Problem]:
    if len(subject.wheel.dist_info) != 1:
        return  # the rule `identity` says so
    folder = subject.wheel.dist_info[0]
    own = f"{folder}/RECORD"
    if subject.record is None:
        yield Problem(message=subject.unreadable["RECORD"], member=own, hint=_HINT)
        return
    unlisted = {f"{folder}/{name}" for name in UNRECORDED}
    hashes = zip(subject.wheel.members, subject.wheel.hashes, strict=True)
    files = {member.name: (member, value) for member, value in hashes if not member.is_folder}
    listed = collections.Counter(row.path for row in subject.record)
    yield from _coverage(listed, files.keys() - unlisted - {own})
    for row in subject.record:
        if row.path not in files:
            yield Problem(message=f"RECORD line {row.line} lists it, and it is not in the wheel", member=row.path, hint=_HINT)
        elif row.path == own:
            yield from _own_row(row)
        elif row.path in unlisted:
            yield Problem(message="RECORD lists its own signature", member=row.path, hint=_HINT)
        else:
            yield from _compare(row, *files[row.path])
    if own not in listed:
        yield Problem(message="RECORD does not list itself", member=own, hint=_HINT, severity="warning")


def _coverage(counts: Mapping[str, int], names: set[str]) -> Iterator[Problem]:
    for name in names - counts.keys():
        yield Problem(message="RECORD does not list it", member=name, hint=_HINT)
    for path, count in counts.items():
        if count > 1:
            yield Problem(message=f"RECORD lists it {count} times", member=path, hint=_HINT)


def _own_row(row: RecordRow) -> Iterator[Problem]:
    if row.algorithm or row.size is not None:
        yield Problem(message="RECORD states a hash or a size of itself, which cannot be true", member=row.path, hint=_HINT)


def _compare(row: RecordRow, member: Member, actual: str) -> Iterator[Problem]:
    if not row.algorithm:
        yield Problem(message=f"RECORD line {row.line} has no hash", member=row.path, hint=_HINT)
    elif row.algorithm not in STRONG_HASHES:
        message = f"RECORD line {row.line} has a hash by {row.algorithm}; SHA-256 or better is right"
        yield Problem(message=message, member=row.path, hint=_HINT)
    elif actual and f"{row.algorithm}={row.value}" != actual:
        message = f"RECORD says {row.algorithm}={row.value}, the content is {actual}"
        yield Problem(message=message, member=row.path, hint=_HINT)
    if row.size is None:
        yield Problem(message=f"RECORD line {row.line} has no size", member=row.path, hint=_HINT, severity="warning")
    elif row.size != member.size:
        yield Problem(message=f"RECORD says {row.size} bytes, and there are {member.size}", member=row.path, hint=_HINT)


RULE: Final = Rule(
    name="record",
    summary="RECORD lists every file once with its true SHA-256 (or better) and size, and lists nothing that is not there.",
    why="pip installs a wheel whose RECORD lacks files, and removes too little later; other installers refuse it.",
    mend="Whatever changes a wheel after its build must write RECORD anew; `hipwright` does, `zip` does not.",
    judge=_judge,
)
