"""Whether a wheel is sound: what is asked of each before it may be published, whoever made it and whatever is in it.

The rules of the format judge, as in a check, but neither by a project's settings nor by what one system alone cannot have. What costs time
is to inflate: a small wheel is read whole, and of a large one its frame is judged and the list that it has of its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import make_subject
from build_tools.checks.rules import archive, identity, names, record
from build_tools.errors import HipwrightError, Where
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.wheels.contents import read_outline
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from build_tools.checks.rule import Problem, Subject
    from build_tools.types import Sha256
    from build_tools.wheels.contents import WheelContents

__all__ = ["READ_WHOLE", "read_sound"]

READ_WHOLE: Final = 32 << 20
"""Bytes, unpacked, up to which a wheel is read whole: a tenth of a second of one processor."""

_JUDGES: Final[tuple[Callable[[Subject], Iterable[Problem]], ...]] = (
    archive.RULE.judge,
    names.faults_anywhere,
    identity.RULE.judge,
    record.RULE.judge,
)


def read_sound(path: Path, *, sha256: Sha256, whole: bool = False) -> WheelContents:
    """Return what was read of a wheel that is sound.

    Parameters
    ----------
    path
        The wheel.
    sha256
        The digest of its bytes.
    whole
        Whether all its contents are read, however large it is.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` naming the first fault and its member: the file name is no wheel's, the
        archive is damaged, or not the same for every reader, a name leads out of the place where wheels are installed or is there twice,
        file name, ``.dist-info``, ``METADATA`` and ``WHEEL`` disagree, ``RECORD`` lists something else than is there.
    """
    parse_wheel_name(path.name)
    contents = read_outline(path, sha256=sha256, most=None if whole else READ_WHOLE)
    subject = make_subject(contents)
    told = (problem for judge in _JUDGES for problem in sorted(judge(subject), key=lambda one: (one.member or "", one.message)))
    found = [problem for problem in told if problem.severity in {None, "error"}]
    if not found:
        return contents
    first = found[0]
    member = None if first.member is None else shown(first.member)
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    said = f"{path.name}: {member}: {shown(first.message)}" if member is not None else f"{path.name}: {shown(first.message)}"
    line = printable(["nox", "-s", "check_wheels", "--", path])
    hint = f"build it or fetch it again; all that is wrong with it: {line}"
    raise HipwrightError("bad-wheel", f"{said}{more}", where=Where(file=path, member=member), hint=hint)
