"""Rule ``expected``: the wheel is the one that was planned: project, version, Python, system, and the bytes that the build recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.errors import HipwrightError
from build_tools.types import Platform
from build_tools.wheels.name import same_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.checks.expectation import Expectation
    from build_tools.wheels.name import WheelName

__all__ = ["RULE"]

_PYTHON: Final = re.compile(r"cp(?P<major>3)(?P<minor>\d+)t?")
_SYSTEMS: Final = {
    Platform.LINUX: re.compile(r"any|linux_\w+|manylinux\w+|musllinux\w+"),
    Platform.WINDOWS: re.compile(r"any|win\w+"),
}


def _judge(subject: Subject) -> Iterator[Problem]:
    plan, name = subject.expectation, subject.name
    if plan is None:
        return
    if plan.sha256 is not None and plan.sha256 != subject.wheel.sha256:
        message = f"the build recorded sha256 {plan.sha256}, the file has {subject.wheel.sha256}"
        yield Problem(message=message, hint="build it again: something changed the file since")
    if name is None:
        return  # the rule `file-name` says so
    if canonicalize_name(plan.distribution) != name.project:
        yield Problem(message=f"the project is {name.project}; planned was {canonicalize_name(plan.distribution)}")
    if not same_version(name.version, plan.version):
        yield Problem(message=f"the version is {name.version}; planned was {plan.version}")
    yield from _tags(plan, name)


def _tags(plan: Expectation, name: WheelName) -> Iterator[Problem]:
    fitting = [platform for platform in name.platform.split(".") if _SYSTEMS[plan.platform].fullmatch(platform)]
    if not fitting:
        yield Problem(message=f"the platform tag is {name.platform}; planned was {plan.platform}")
        return
    if not name.tags & _supported(plan.python_tag, fitting):
        tags = f"{name.python}-{name.abi}"
        yield Problem(message=f"the Python and ABI tags are {tags}, which {plan.python_tag} cannot install")


def _supported(python_tag: str, platforms: list[str]) -> frozenset[Tag]:
    """Return every tag that an interpreter takes on these platforms; ``packaging`` knows the rules (PEP 425, PEP 703)."""
    found = _PYTHON.fullmatch(python_tag)
    if found is None:
        raise HipwrightError("internal", f"{python_tag!r} is no interpreter's tag, such as cp311 or cp313t")
    version = (int(found["major"]), int(found["minor"]))
    interpreter = python_tag.removesuffix("t")
    real = [platform for platform in platforms if platform != "any"]
    return frozenset(
        {
            *cpython_tags(version, abis=[python_tag], platforms=real),
            *compatible_tags(version, interpreter=interpreter, platforms=real),
        }
    )


RULE: Final = Rule(
    name="expected",
    summary="The wheel is the planned one: project, version, Python, system, and the bytes that the build recorded.",
    why="A wheel of another version, or other bytes than were built, would be published under the plan's name.",
    mend="Build it again.",
    judge=_judge,
    planned=True,
)
