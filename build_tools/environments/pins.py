"""The hash-pinned requirement files: how each is made from ``pyproject.toml``, and whether it still says what that says.

A set is one file ``requirements/<name>.txt``. It is made by ``uv pip compile``, names no host, and holds for every system
and Python at once by environment markers, so pip and uv both install it anywhere.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from build_tools import digest
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from build_tools.types import Sha256

__all__ = [
    "SETS",
    "Pin",
    "PinSet",
    "check",
    "compile_arguments",
    "downloads",
    "drift",
    "file_of",
    "parse",
    "read",
    "wanted",
    "wheelhouse_key",
]

_HASH: Final = re.compile(r"--hash=(\S+)")
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PinSet:
    """One requirement file.

    Parameters
    ----------
    name
        The file's name without ``.txt``.
    group
        The dependency group (PEP 735) that it holds, if any.
    runtime
        Whether it holds hipwright's own dependencies too.
    python
        The oldest Python that it must serve.
    """

    name: str
    group: str | None = None
    runtime: bool = True
    python: str = "3.11"


SETS: Final = (
    PinSet(name="hipwright"),
    PinSet(name="tests", group="tests"),
    PinSet(name="lint", group="lint"),
    PinSet(name="types", group="types"),
    PinSet(name="pins", group="pins", runtime=False),
    PinSet(name="build-env", group="build-env", runtime=False, python="3.10"),
    PinSet(name="smoke-env", group="smoke-env", runtime=False, python="3.10"),
    PinSet(name="piprepo-env", group="piprepo-env", runtime=False, python="3.10"),
)
"""Every set, hipwright's own first: the others take their versions from it. Environments for targets start at Python 3.10."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One pinned package: ``name==version`` with its marker, the hashes it may have, and who needs it."""

    requirement: Requirement
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def name(self) -> NormalizedName:
        """The package's normalised name (PEP 503)."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str | None:
        """The one version, or nothing when the requirement is no ``==`` of one."""
        specifiers = list(self.requirement.specifier)
        exact = len(specifiers) == 1 and specifiers[0].operator == "==" and not specifiers[0].version.endswith(".*")
        return specifiers[0].version if exact else None


def file_of(pin_set: PinSet, clone: Path) -> Path:
    """Return where a set's file lies."""
    return clone / "requirements" / f"{pin_set.name}.txt"


def compile_arguments(pin_set: PinSet) -> list[str]:
    """Return the arguments for uv, run in the clone, that make a set's file; pins that still fit are kept."""
    arguments = ["pip", "compile", "--universal", "--python-version", pin_set.python, "--generate-hashes", "--quiet"]
    arguments += ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "nox -s pins"]
    if pin_set.runtime:
        arguments.append("pyproject.toml")
    if pin_set.group is not None:
        arguments += ["--group", f"pyproject.toml:{pin_set.group}"]
    if pin_set != SETS[0]:
        arguments += ["--constraints", f"requirements/{SETS[0].name}.txt"]
    return [*arguments, "--output-file", f"requirements/{pin_set.name}.txt"]


def wanted(project: Mapping[str, object], pin_set: PinSet) -> tuple[Requirement, ...]:
    """Return what ``pyproject.toml`` asks of a set, included groups (PEP 735) followed.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when a group is missing or holds something else than requirements and includes.
    """
    found: list[str] = []
    table = project.get("project")
    if pin_set.runtime and isinstance(table, dict):
        found += table["dependencies"]
    groups = project.get("dependency-groups")
    todo = [] if pin_set.group is None else [pin_set.group]
    for name in todo:
        entries = groups.get(name) if isinstance(groups, dict) else None
        if not isinstance(entries, list):
            raise HipwrightError("bad-data-file", f"there is no dependency group {name}", where=Where(file="pyproject.toml"))
        for entry in entries:
            if isinstance(entry, str):
                found.append(entry)
            elif entry["include-group"] not in todo:
                todo.append(entry["include-group"])
    return tuple(Requirement(text) for text in found)


def parse(text: str, *, name: str) -> tuple[Pin, ...]:
    """Read a requirement file as uv writes it.

    Raises
    ------
    HipwrightError
        ``bad-data-file``, with the line, for anything but pinned packages: an option, an index, a link, another file.
    """
    pins: list[Pin] = []
    lines = list(enumerate(text.splitlines(), start=1))
    while lines:
        number, line = lines.pop(0)
        if not line.strip() or line.startswith("#"):
            continue
        whole = line
        while whole.endswith("\\") and lines:
            whole = whole[:-1] + lines.pop(0)[1]
        notes = []
        while lines and lines[0][1].startswith(" "):
            notes.append(lines.pop(0)[1].strip().lstrip("#").strip())
        pins.append(_pin(whole, notes, Where(file=name, line=number)))
    return tuple(pins)


def _pin(line: str, notes: Iterable[str], where: Where) -> Pin:
    try:
        requirement = Requirement(_HASH.sub("", line).strip())
    except InvalidRequirement as error:
        raise HipwrightError("bad-data-file", f"not a pinned package: {line.strip()}", where=where) from error
    if requirement.url is not None:
        raise HipwrightError("bad-data-file", f"{requirement.name} is pinned to a place, not a version", where=where)
    words = " ".join(notes).removeprefix("via").replace(",", " ").split()
    return Pin(requirement=requirement, hashes=tuple(_HASH.findall(line)), via=tuple(words))


def read(pin_set: PinSet, clone: Path) -> tuple[Pin, ...]:
    """Read a set's file.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it cannot be read or is not what uv writes.
    """
    file = file_of(pin_set, clone)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        hint = "make it with `nox -s pins`"
        raise HipwrightError(
            "bad-data-file", f"cannot read {file}: {error.strerror}", where=Where(file=file), hint=hint
        ) from error
    return parse(text, name=str(file))


def drift(pins: Sequence[Pin], wishes: Iterable[Requirement]) -> list[str]:
    """Return what is wrong with a set, one sentence each: the pins against what ``pyproject.toml`` asks, without a network."""
    problems = [f"{pin.requirement} is not pinned to one version" for pin in pins if pin.version is None]
    problems += [f"{pin.name} has no sha256" for pin in pins if not pin.hashes or not all(map(_SHA256.fullmatch, pin.hashes))]
    names = {pin.name for pin in pins}
    listed = set()
    for wish in wishes:
        listed.add(canonicalize_name(wish.name))
        versions = [pin.version for pin in pins if pin.name == canonicalize_name(wish.name)]
        if not versions:
            problems.append(f"{wish} is asked for and not pinned")
        problems += [
            f"{wish} is asked for, and {version} is pinned"
            for version in versions
            if version is not None and not wish.specifier.contains(version, prereleases=True)
        ]
    problems += [
        f"{pin.name} is pinned, and nothing asks for it"
        for pin in pins
        if pin.name not in listed and not any(canonicalize_name(word) in names for word in pin.via)
    ]
    return problems


def downloads(pins: Iterable[Pin]) -> list[str]:
    """Return requirement files that, fetched one after the other, get every pinned package, whatever its marker says.

    A wheelhouse made so serves every interpreter and system. More than one file is needed where one package is pinned to
    different versions for different Pythons.
    """
    batches: list[dict[str, str]] = []
    for pin in pins:
        hashes = " ".join(f"--hash={value}" for value in pin.hashes)
        line = f"{pin.name}=={pin.version} {hashes}"
        if any(line in batch.values() for batch in batches):
            continue
        batch = next((batch for batch in batches if pin.name not in batch), None)
        if batch is None:
            batch = {}
            batches.append(batch)
        batch[pin.name] = line
    return ["\n".join(batch.values()) + "\n" for batch in batches]


def wheelhouse_key(clone: Path) -> Sha256:
    """Return the digest that names the wheelhouse of the packages that hipwright puts into environments that it makes."""
    return digest.of_value([digest.of_file(file_of(pin_set, clone)) for pin_set in SETS if pin_set.name.endswith("-env")])


def check(clone: Path) -> dict[str, list[str]]:
    """Return the problems of a clone's requirement files, by file name; files without any are left out.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when a file cannot be read or is not what uv writes.
    """
    project = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))
    own: dict[str, str | None] = {}
    problems: dict[str, list[str]] = {}
    for pin_set in SETS:
        pins = read(pin_set, clone)
        found = drift(pins, wanted(project, pin_set))
        if pin_set == SETS[0]:
            own = {pin.name: pin.version for pin in pins}
        found += [
            f"{pin.name} is {pin.version} here and {own[pin.name]} in {SETS[0].name}.txt"
            for pin in pins
            if pin.name in own and own[pin.name] != pin.version
        ]
        if found:
            problems[file_of(pin_set, clone).name] = found
    return problems
