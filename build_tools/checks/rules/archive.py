"""Rule ``archive``: a wheel is one whole zip archive that every reader reads the same way.

pip trusts the central directory, uv the local headers, a package index compares the two: a wheel in which they differ, or with bytes
outside its members, installs here and fails there. ``wheel tags`` before 0.48 wrote such wheels above 4 GiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    for fault in subject.wheel.faults:
        yield Problem(message=fault.message, member=fault.member, hint="build or download the wheel again")


RULE: Final = Rule(
    name="archive",
    summary="The archive is whole: directory and local headers agree, every content inflates to its stated size and CRC, no byte lies outside.",
    why="Installers differ in what they trust: pip the central directory, uv the local headers. A wheel in which they differ installs here, fails there, or is refused by an index.",
    mend="Pack it again with a tool that writes zip64 headers right, or download it again.",
    judge=_judge,
)
