"""Whether wheels can be installed from themselves and the places that are named: resolved as an installer would, for each Python they are for."""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from packaging.specifiers import SpecifierSet

from build_tools.checks.demands import Unmet
from build_tools.config.deps_index import DepsPlatform
from build_tools.environments.candidate import Candidate, candidate_of
from build_tools.environments.chosen import Chosen
from build_tools.environments.network import path_of
from build_tools.environments.page import Link
from build_tools.environments.requires import parse_requires
from build_tools.environments.resolve import choose_files
from build_tools.errors import HipwrightError
from build_tools.publish.deps import served
from build_tools.types import Platform, Sha256
from build_tools.wheels.contents import read_dist_info
from build_tools.wheels.limits import read_version
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.listing import PackageSource
    from build_tools.environments.network import Network
    from build_tools.environments.resolve import Offers
    from build_tools.wheels.name import WheelName

__all__ = ["unmet_of"]

_CPYTHON: Final = re.compile(r"cp3(?P<minor>[0-9]{1,3})")
_GLIBC: Final = re.compile(r"manylinux_2_(?P<minor>[0-9]{1,3})_")
_NEWEST_GLIBC: Final = 99
"""Of a wheel whose tag promises no system it is known only that the machine takes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Offers:
    """The wheels of the set, and of every other package what the places have."""

    listing: Offers
    own: tuple[Candidate, ...]

    @property
    def source(self) -> PackageSource:
        """The places."""
        return self.listing.source

    @property
    def network(self) -> Network:
        """How addresses are read."""
        return self.listing.network

    def files(self, name: str) -> tuple[Candidate, ...]:
        """Return every file of a package; of one that the set has, its own alone."""
        own = tuple(candidate for candidate in self.own if candidate.name == name)
        return own or tuple(_with_python(candidate) for candidate in self.listing.files(name))


def _with_python(candidate: Candidate) -> Candidate:
    """Return a wheel with the Pythons that it wants: pages state them, folders do not."""
    path = path_of(candidate.link.url)
    if path is None or candidate.kind != "wheel" or candidate.link.requires_python is not None:
        return candidate
    try:
        return _wanting(candidate, parse_metadata(read_dist_info(path, "METADATA")).requires_python)
    except HipwrightError:
        return candidate  # who chooses it reads it, and says what is wrong


def _wanting(candidate: Candidate, requires_python: str | None) -> Candidate:
    return replace(candidate, link=replace(candidate.link, requires_python=requires_python))


def unmet_of(
    wheels: Sequence[Path],
    listing: Offers,
    *,
    cache: Path,
    beside: Sequence[Path] = (),
    known: dict[str, Chosen] | None = None,
) -> dict[str, tuple[Unmet, ...]]:
    """Return for each wheel why it cannot be installed from the set and the places; nothing where it can, and where it cannot be read.

    Parameters
    ----------
    wheels
        The wheels that are judged.
    listing
        What the places have.
    cache
        hipwright's cache folder: of packages whose page has no metadata the files themselves are read.
    beside
        Further wheels of the set, which are judged elsewhere.
    known
        As for :func:`build_tools.environments.resolve.choose_files`.

    Raises
    ------
    HipwrightError
        ``source-unreachable``, ``hash-mismatch``, ``bad-option-value`` of the places.
    """
    known = {} if known is None else known
    read = {wheel: _metadata_of(wheel) for wheel in (*wheels, *beside)}
    offers = _Offers(listing=listing, own=tuple(_own(read, known)))
    names = {wheel: _name_of(wheel) for wheel in read}
    minors = {minor for name in names.values() if name is not None for minor in _minors(name)}
    found: dict[str, tuple[Unmet, ...]] = {}
    for wheel in wheels:
        name, metadata = names[wheel], read[wheel]
        if name is None or metadata is None:
            continue  # the rules `file-name` and `metadata` say so
        fields = parse_metadata(metadata)
        machines = list(_interpreters(name, minors, fields.requires_python))
        if not machines:
            continue
        exact = f"==={read_version(name.version)}"
        wanted = [(True, f"{name.project}{exact}")]
        if fields.extras:
            wanted.append((False, f"{name.project}[{','.join(fields.extras)}]{exact}"))
        found[wheel.name] = tuple(_unmet(wanted, machines, offers, cache, known))
    return found


def _metadata_of(wheel: Path) -> bytes | None:
    try:
        metadata = read_dist_info(wheel, "METADATA")
        parse_metadata(metadata)
    except HipwrightError:
        return None
    return metadata


def _own(read: Mapping[Path, bytes | None], known: dict[str, Chosen]) -> Iterator[Candidate]:
    """Give the wheels of the set; what they require is known then, so that nobody reads or hashes them again."""
    for wheel, metadata in read.items():
        candidate = candidate_of(Link(filename=wheel.name, url=wheel.absolute().as_uri()))
        if candidate is None:
            continue
        if metadata is not None:
            candidate = _wanting(candidate, parse_metadata(metadata).requires_python)
            with contextlib.suppress(HipwrightError):
                # Who chooses it reads it again, and says what is wrong.
                requires = parse_requires(metadata, name=wheel.name)
                known[candidate.link.url] = Chosen(candidate=candidate, requires=requires, sha256=Sha256(""))
        yield candidate


def _unmet(
    wanted: Iterable[tuple[bool, str]],
    interpreters: Iterable[tuple[str, Interpreter]],
    offers: _Offers,
    cache: Path,
    known: dict[str, Chosen],
) -> Iterator[Unmet]:
    for machine, interpreter in interpreters:
        for always, requirement in wanted:
            try:
                choose_files(
                    [requirement], offers=offers, interpreter=interpreter, cache=cache, follows=lambda _name: True, known=known
                )
            except HipwrightError as error:
                if error.code.name not in {"requirement-missing", "bad-wheel"}:
                    raise
                yield Unmet(text=f"{machine}: {error.message}", always=always)
                break


def _interpreters(name: WheelName, minors: set[int], requires_python: str | None) -> Iterator[tuple[str, Interpreter]]:
    """Give the machines that a wheel is for: of one that any Python takes, those of the set, or this one, which it wants."""
    platforms = name.platform.split(".")
    wanted = SpecifierSet(requires_python or "")
    taken = {minor for minor in minors or {sys.version_info.minor} if wanted.contains(f"3.{minor}.0", prereleases=True)}
    for minor in sorted(_minors(name) or taken):
        threaded = "t" if name.abi.endswith("t") else ""
        for platform in _platforms(platforms):
            one = served(f"3.{minor}{threaded}", platform)
            yield str(one), one.interpreter


def _platforms(tags: Sequence[str]) -> Iterator[DepsPlatform]:
    if any(tag == "any" or ("linux" in tag and tag.endswith("_x86_64")) for tag in tags):
        promised = [int(match["minor"]) for tag in tags if (match := _GLIBC.match(tag)) is not None]
        glibc = f"2.{min(promised, default=_NEWEST_GLIBC)}"
        yield DepsPlatform(name=Platform.LINUX, machine="x86_64", glibc=glibc)
    if "win_amd64" in tags:
        yield DepsPlatform(name=Platform.WINDOWS, machine="AMD64")


def _minors(name: WheelName) -> set[int]:
    return {int(match["minor"]) for tag in name.python.split(".") if (match := _CPYTHON.fullmatch(tag)) is not None}


def _name_of(wheel: Path) -> WheelName | None:
    try:
        return parse_wheel_name(wheel.name)
    except HipwrightError:
        return None  # the rule `file-name` says so
