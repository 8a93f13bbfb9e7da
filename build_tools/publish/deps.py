"""The deps index: what the owned packages require beside them, from the base index, for each Python and platform that is served.

For every pair the newest versions that meet all requirements are chosen, wheels alone, and followed to what they require; an owned name
that something requires is left out, because it comes from its own index. The index only grows: what was published there stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.config.owned import is_owned
from build_tools.environments.interpreter import Interpreter, parse_wanted
from build_tools.environments.requires import parse_requirement
from build_tools.environments.resolve import choose_files
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename
from build_tools.stores.run_outputs import IndexFolder
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from packaging.requirements import Requirement

    from build_tools.config.deps_index import DepsPlatform
    from build_tools.environments.resolve import Offers
    from build_tools.receipts.lock import LockedFile
    from build_tools.receipts.snapshot import Snapshot

__all__ = ["DEPS_INDEX", "DepsPlan", "Served", "choose_deps", "plan_deps", "served"]

DEPS_INDEX: Final = IndexFolder("python-deps")
"""Where it lies in a store."""

_NOWHERE: Final = Path("no interpreter of this machine")

_LEGACY: Final = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""The names that platform tags had before PEP 600, by the minor version of their C library."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A Python and a platform that an index serves; ``interpreter`` stands for every one of them, and is on no disk."""

    python: str
    platform: Platform
    interpreter: Interpreter

    def __str__(self) -> str:
        return f"Python {self.python} on {self.platform}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DepsPlan:
    """What an update does: files that are to be added, and those that are there already."""

    added: tuple[LockedFile, ...]
    kept: tuple[LockedFile, ...]


def served(python: str, platform: DepsPlatform) -> Served:
    """Return what markers and tags see in a Python on a platform.

    A version without its last part stands for all of them, so markers see the first: what only later ones do not need is there too.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for what is no version.
    """
    wanted = parse_wanted(python)
    if wanted is None:
        message = f"the deps index is made for versions of Python, and {python!r} is none"
        raise HipwrightError("bad-option-value", message, hint="say --python 3.12")
    tag = f"cp{wanted.major}{wanted.minor}{'t' if wanted.threaded else ''}"
    version = f"{wanted.major}.{wanted.minor}.{wanted.patch or 0}"
    linux = platform.name is Platform.LINUX
    interpreter = Interpreter(
        path=_NOWHERE,
        version=version,
        python_tag=tag,
        platforms=_platform_tags(platform),
        markers={
            "implementation_name": "cpython",
            "implementation_version": version,
            "os_name": "posix" if linux else "nt",
            "platform_machine": platform.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux" if linux else "Windows",
            "platform_version": "",
            "python_full_version": version,
            "python_version": f"{wanted.major}.{wanted.minor}",
            "sys_platform": "linux" if linux else "win32",
        },
    )
    return Served(python=str(wanted), platform=platform.name, interpreter=interpreter)


def choose_deps(
    requirements: Sequence[str],
    targets: Sequence[Served],
    *,
    offers: Offers,
    cache: Path,
    say: Callable[[str], None],
) -> tuple[LockedFile, ...]:
    """Return the wheels that meet requirements on every Python and platform, each once, by file name.

    Parameters
    ----------
    requirements
        What is wanted, none of it owned.
    targets
        The Pythons and platforms.
    offers
        The base index.
    cache
        hipwright's cache folder.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` for a requirement on an owned name; ``requirement-missing`` naming all that no wheel meets;
        ``hash-mismatch`` when two places offer other bytes under one name; ``source-unreachable``.
    """
    parsed = _parsed(requirements)
    chosen: dict[str, LockedFile] = {}
    missing: dict[str, list[str]] = {}
    for target in targets:
        say(f"choosing for {target}")
        try:
            files = choose_files(
                parsed,
                offers=offers,
                interpreter=target.interpreter,
                cache=cache,
                follows=lambda name: not is_owned(name),
                wheels_only=True,
            )
        except HipwrightError as error:
            if error.code.name != "requirement-missing":
                raise
            missing.setdefault(error.message, []).append(str(target))
            continue
        for file in files:
            before = chosen.setdefault(file.filename, file)
            if before.sha256 != file.sha256:
                message = f"the base index offers {file.filename} with two contents: {before.sha256} and {file.sha256}"
                raise HipwrightError(
                    "hash-mismatch", message, hint="find out which of the two is right, and name only the index that has it"
                )
    if missing:
        rows = [f"for {', '.join(pairs)}: {message}" for message, pairs in missing.items()]
        hint = "bound the package so that a version with wheels is taken, or serve fewer Pythons, in the data of the deps index"
        raise HipwrightError("requirement-missing", "\n".join(rows), hint=hint)
    return tuple(chosen[name] for name in sorted(chosen))


def plan_deps(chosen: Iterable[LockedFile], there: Snapshot) -> DepsPlan:
    """Compare what was chosen with what the index holds.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` when the index holds an owned name; ``name-taken`` when a file of it has other bytes now.
    """
    _refuse_owned((file.project for file in there.files), what="the deps index")
    rows = by_filename(there)
    files = list(chosen)
    taken = [file.filename for file in files if file.filename in rows and rows[file.filename].sha256 != file.sha256]
    if taken:
        message = f"the base index has other bytes than the deps index under {', '.join(taken)}"
        raise HipwrightError("name-taken", message, hint="find out who changed them: a published file never changes")
    return DepsPlan(
        added=tuple(file for file in files if file.filename not in rows),
        kept=tuple(file for file in files if file.filename in rows),
    )


def _refuse_owned(names: Iterable[str], *, what: str) -> None:
    """Refuse owned names; ``what`` is where they are, for the message.

    Raises
    ------
    HipwrightError
        ``owned-name-leak``.
    """
    owned = sorted({canonicalize_name(name) for name in names if is_owned(name)})
    if owned:
        message = f"{', '.join(owned)} in {what}: owned names come from their own index, and are never in this one"
        raise HipwrightError("owned-name-leak", message, hint="take them out; the list of owned names says which these are")


def _parsed(requirements: Iterable[str]) -> tuple[Requirement, ...]:
    parsed = tuple(parse_requirement(text) for text in requirements)
    places = sorted(str(requirement) for requirement in parsed if requirement.url is not None)
    if places:
        message = f"{', '.join(places)}: the deps index takes names and versions, no places"
        raise HipwrightError("bad-option-value", message, hint="name it with a version: NAME==VERSION")
    _refuse_owned((requirement.name for requirement in parsed), what="the requirements of the deps index")
    return parsed


def _platform_tags(platform: DepsPlatform) -> tuple[str, ...]:
    """Return the platform tags that are served, best first (PEP 600)."""
    if platform.glibc is None:
        return (f"win_{platform.machine.lower()}",)
    newest = int(platform.glibc.partition(".")[2])
    tags = []
    for minor in range(newest, min(_LEGACY) - 1, -1):
        tags.append(f"manylinux_2_{minor}_{platform.machine}")
        if minor in _LEGACY:
            tags.append(f"{_LEGACY[minor]}_{platform.machine}")
    return (*tags, f"linux_{platform.machine}")
