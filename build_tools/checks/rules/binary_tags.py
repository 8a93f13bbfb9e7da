"""Rule ``binary-tags``: the extension modules inside are for the Python and the system that the tags name.

The tag is often computed apart from the build, and a loose pattern takes the free-threaded build for the other one. Names decide here:
Python loads an extension module by its suffix.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.wheels.name import WheelName

__all__ = ["RULE"]

_LINUX: Final = re.compile(r"\.cpython-(?P<version>3\d+t?)d?-(?P<machine>.+)-linux-\w+\.so$")
_WINDOWS: Final = re.compile(r"\.cp(?P<version>3\d+t?)-(?P<platform>win\w+)\.pyd$")
_STABLE: Final = re.compile(r"\.abi3\.(?:so|pyd)$")
_BINARY: Final = re.compile(r"\.(?:so|pyd)$")


def _judge(subject: Subject) -> Iterator[Problem]:
    name = subject.name
    if name is None:
        return  # the rule `file-name` says so
    binaries = [member.name for member in subject.wheel.members if _BINARY.search(member.name)]
    for member in binaries:
        if fault := _misfit(member, name):
            yield Problem(message=fault, member=member)
    if not binaries:
        return
    if "any" in name.platform.split("."):
        yield Problem(message="the platform tag is any, and binaries are in the wheel", member=binaries[0])
    if subject.fields is not None and subject.fields.root_is_purelib:
        message = "WHEEL has Root-Is-Purelib: true, and binaries are in the wheel"
        yield Problem(message=message, member=binaries[0], severity="warning")


def _misfit(member: str, name: WheelName) -> str | None:
    if found := _LINUX.search(member):
        platforms = [p for p in name.platform.split(".") if "linux" in p and p.endswith(f"_{_machine(found['machine'])}")]
        return _wrong_python(found["version"], name) or _wrong_platform(f"{found['machine']} Linux", platforms, name)
    if found := _WINDOWS.search(member):
        platforms = [p for p in name.platform.split(".") if p == found["platform"]]
        return _wrong_python(found["version"], name) or _wrong_platform(found["platform"], platforms, name)
    if _STABLE.search(member) and all(abi.startswith("cp") and abi.endswith("t") for abi in name.abi.split(".")):
        return f"a module for the stable ABI does not load in a free-threaded Python, and the ABI tag is {name.abi}"
    return None


def _machine(spelled: str) -> str:
    """Return a machine as platform tags spell it; suffixes have the compiler's spelling."""
    return {"i386": "i686", "arm": "armv7l", "powerpc64le": "ppc64le"}.get(spelled, spelled)


def _wrong_python(version: str, name: WheelName) -> str | None:
    """Say what is wrong when no tag lets the module's Python take the wheel (``311``, or ``313t`` for free-threaded)."""
    if f"cp{version}" in name.abi.split("."):
        return None
    return f"the module is for cp{version}, and the ABI tag is {name.abi}"


def _wrong_platform(module: str, fitting: list[str], name: WheelName) -> str | None:
    return None if fitting else f"the module is for {module}, and the platform tag is {name.platform}"


RULE: Final = Rule(
    name="binary-tags",
    summary="Extension modules are for the Python, free-threaded or not, and for the system that the tags name.",
    judge=_judge,
)
