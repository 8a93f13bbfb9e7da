"""Rule ``binary-tags``: the extension modules inside are for the Python and the system that the tags name.

The tag is often computed apart from the build, and a loose pattern takes the free-threaded build for the other one. Python loads an
extension module by its suffix, so that decides first; then the processor that a binary is for, and the Python that it imports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import binaries_of, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.wheels.binary_probe import Binary
    from build_tools.wheels.name import WheelName

__all__ = ["RULE"]

_LINUX: Final = re.compile(r"\.cpython-(?P<version>3\d+t?)d?-(?P<machine>.+)-linux-\w+\.so$")
_WINDOWS: Final = re.compile(r"\.cp(?P<version>3\d+t?)-(?P<platform>win\w+)\.pyd$")
_STABLE: Final = re.compile(r"\.abi3\.(?:so|pyd)$")
_BINARY: Final = re.compile(r"\.(?:so|pyd)$")
_PYTHON: Final = re.compile(r"python(?P<version>3\d+t?)\.dll", re.IGNORECASE)
_OF_WINDOWS: Final = {"amd64": "win_amd64", "x86": "win32", "arm64": "win_arm64"}


def _judge(subject: Subject) -> Iterator[Problem]:
    name = subject.name
    if name is None:
        return  # the rule `file-name` says so
    binaries = [member.name for member in subject.wheel.members if _BINARY.search(member.name)]
    for member in binaries:
        if fault := _misfit(member, name):
            yield Problem(message=fault, member=member)
    for member, binary in binaries_of(subject).items():
        for fault in _inside(binary, name):
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


def _inside(binary: Binary, name: WheelName) -> Iterator[str]:
    """Compare what a binary says of itself with the tags."""
    platforms = [platform for platform in name.platform.split(".") if platform != "any"]
    if binary.elf is not None and platforms and not any("linux" in p and p.endswith(f"_{binary.elf.machine}") for p in platforms):
        yield f"it is a binary for {binary.elf.machine} Linux, and the platform tag is {name.platform}"
    if binary.pe is None:
        return
    if platforms and _OF_WINDOWS[binary.pe.machine] not in platforms:
        yield f"it is a binary for {_OF_WINDOWS[binary.pe.machine]}, and the platform tag is {name.platform}"
    for library in (*binary.pe.imports, *binary.pe.delay_imports):
        if (found := _PYTHON.fullmatch(library)) is not None and f"cp{found['version']}" not in name.abi.split("."):
            yield f"it imports {library}, and the ABI tag is {name.abi}"


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
    why="A wheel for the free-threaded Python that has the other one's modules, or one for another system, installs and does not import.",
    mend="Build it with the Python that the tags name; take the tags from that interpreter.",
    judge=_judge,
    probe=probe_binaries,
)
