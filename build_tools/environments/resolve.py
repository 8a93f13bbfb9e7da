"""Lock owned packages: from requirements to exact files, with everything that they need of the same source.

Only owned names are followed. What an owned package needs beyond them comes from the base index later, with these files pinned.
The newest version that meets all requirements is taken, and nothing older when a part of it is missing: a source that lacks
parts is reported by the names of all of them, not worked around.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.config.owned import is_owned, is_rocm
from build_tools.environments.candidate import Candidate, version_key
from build_tools.environments.chosen import Chosen
from build_tools.environments.download import fetch_link
from build_tools.environments.interpreter import Interpreter, supported_tags
from build_tools.environments.listing import Listing, NotThereYet, PackageSource, bears_query
from build_tools.environments.requires import parse_requirement, parse_requires, read_requires
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.threads import Threads
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from packaging.tags import Tag

    from build_tools.environments.network import Network

__all__ = ["Offers", "choose_files", "lock_owned", "offered_extras"]

_ROUNDS: Final = 50
_SHOWN: Final = 5
_AT_ONCE: Final = 8
"""How many packages are looked at together: pages and side files are a round trip each, and files without either are read whole."""

_COMMAND: Final = "the command"
_MISSING: Final = "requirement-missing"


class Offers(Protocol):
    """Where files are chosen from; a :class:`Listing` is one."""

    @property
    def source(self) -> PackageSource:
        """The place, for messages and for what a lock says of it."""
        ...

    @property
    def network(self) -> Network:
        """How addresses are read."""
        ...

    def files(self, name: str) -> tuple[Candidate, ...]:
        """Return every file of a package that is offered."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wish:
    """A requirement with who has it."""

    requirement: Requirement
    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Solver:
    """Chooses files; those of ROCm come from ``rocm``, all others from ``listing``."""

    listing: Offers
    rocm: Offers
    interpreter: Interpreter
    cache: Path
    owns: Callable[[str], bool]
    prereleases: bool | None
    wheels_only: bool
    ranks: dict[Tag, int]
    chosen: dict[str, Chosen] = field(default_factory=dict)

    def solve(self, wishes: Sequence[_Wish]) -> dict[NormalizedName, Chosen]:
        """Choose files round by round until what they require of each other changes nothing any more."""
        known = list(wishes)
        for _ in range(_ROUNDS):
            picked: dict[NormalizedName, Chosen] = {}
            lacking: list[HipwrightError] = []
            extras: dict[NormalizedName, set[str]] = {}
            for wish in known:
                extras.setdefault(canonicalize_name(wish.requirement.name), set()).update(
                    canonicalize_name(extra) for extra in wish.requirement.extras
                )
            with Threads(_AT_ONCE) as pool:
                tried = pool.map(functools.partial(self._try, known=known), list(extras))
                for name, choice in zip(extras, tried, strict=True):
                    if isinstance(choice, HipwrightError):
                        lacking.append(choice)
                    else:
                        picked[name] = choice
            found = list(wishes)
            for name, chosen in picked.items():
                found += self._needs(chosen, extras[name])
            if _texts(found) == _texts(known):
                if lacking:
                    raise _all_of(lacking)
                return picked
            known = found
        names = ", ".join(sorted({wish.requirement.name for wish in known}))
        raise HipwrightError(_MISSING, f"no set of versions meets all requirements of {names}")

    def _try(self, name: NormalizedName, known: Sequence[_Wish]) -> Chosen | HipwrightError:
        """Choose a file, or return what is missing."""
        try:
            return self._choose(name, [wish for wish in known if canonicalize_name(wish.requirement.name) == name])
        except HipwrightError as error:
            if error.code.name != _MISSING:
                raise
            return error

    def _needs(self, chosen: Chosen, extras: set[str]) -> list[_Wish]:
        candidate = chosen.candidate
        unknown = sorted(extras - chosen.requires.extras)
        if unknown:
            offered = ", ".join(sorted(chosen.requires.extras)) or "none"
            message = f"{candidate.name} {candidate.version} has no extra {', '.join(unknown)}; it has: {offered}"
            raise HipwrightError(_MISSING, message)
        by = f"{candidate.name} {candidate.version}"
        return [
            _Wish(requirement=requirement, by=by)
            for requirement in chosen.requires.of(sorted(extras), self.interpreter.markers)
            if self.owns(requirement.name)
        ]

    def source_of(self, name: NormalizedName) -> Offers:
        """Return where a package comes from."""
        return self.rocm if is_rocm(name) else self.listing

    def _choose(self, name: NormalizedName, wishes: Sequence[_Wish]) -> Chosen:
        listing = self.source_of(name)
        offered = listing.files(name)
        source = listing.source.describe()
        asked = "; ".join(_sentence(wish) for wish in wishes)
        if not offered:
            raise _missing(f"{name} is not at {source} ({asked})", listing, wishes)
        fitting = [candidate for candidate in offered if self._fits(candidate)]
        if not fitting:
            kinds = ", ".join(sorted({candidate.link.filename for candidate in offered})[:_SHOWN])
            message = f"{name} is at {source}, but no file of it fits {self.interpreter.python_tag} on this machine: {kinds}"
            raise _missing(message, listing, wishes)
        versions = self._allowed({candidate.version for candidate in fitting}, wishes)
        kept = [candidate for candidate in fitting if candidate.version in versions and _available(candidate, wishes)]
        if not kept:
            newest = sorted({candidate.version for candidate in fitting}, key=version_key, reverse=True)
            listed = ", ".join(map(str, newest[:_SHOWN]))
            message = f"no version of {name} at {source} is what is asked for ({asked}); there: {listed}"
            raise _missing(message, listing, wishes)
        best = max(version_key(candidate.version) for candidate in kept)
        return self._read(min((one for one in kept if version_key(one.version) == best), key=self._preference), listing)

    def _allowed(self, versions: set[Version], wishes: Sequence[_Wish]) -> set[Version]:
        specifier = SpecifierSet()
        for wish in wishes:
            specifier &= wish.requirement.specifier
        return set(specifier.filter(versions, prereleases=self.prereleases))

    def _fits(self, candidate: Candidate) -> bool:
        if candidate.kind == "sdist" and self.wheels_only:
            return False
        if candidate.kind == "wheel" and not candidate.tags & self.ranks.keys():
            return False
        if candidate.link.requires_python is None:
            return True
        try:
            return SpecifierSet(candidate.link.requires_python).contains(self.interpreter.version, prereleases=True)
        except InvalidSpecifier:
            return True

    def _preference(self, candidate: Candidate) -> tuple[int, tuple[int, str], str]:
        """Return what the best of several files of one version is least in: wheels by tag, newest build first, then sdists."""
        rank = min((self.ranks[tag] for tag in candidate.tags if tag in self.ranks), default=len(self.ranks))
        number, text = candidate.build or (0, "")
        return rank, (-number, text), candidate.link.filename

    def _read(self, candidate: Candidate, listing: Offers) -> Chosen:
        """Read what a file requires: from its side file where there is one, else from the file itself."""
        if candidate.link.url in self.chosen:
            return self.chosen[candidate.link.url]
        link, network = candidate.link, listing.network
        side = network.read(f"{link.url}.metadata") if link.metadata and link.sha256 else None
        if side is not None:
            if link.metadata_sha256 not in {None, digest.of_bytes(side.body)}:
                message = f"the metadata side file of {link.filename} has other bytes than its page says"
                raise HipwrightError("hash-mismatch", message)
            chosen = Chosen(
                candidate=candidate,
                requires=parse_requires(side.body, name=link.filename),
                sha256=Sha256(link.sha256 or ""),
            )
        else:
            path, sha256 = fetch_link(link, cache=self.cache, network=network)
            chosen = Chosen(candidate=candidate, requires=read_requires(path), sha256=sha256)
        self.chosen[candidate.link.url] = chosen
        return chosen


def lock_owned(
    requirements: Iterable[str | Requirement],
    *,
    source: PackageSource,
    rocm: PackageSource | None = None,
    interpreter: Interpreter,
    network: Network,
    cache: Path,
    owns: Callable[[str], bool] = is_owned,
    prereleases: bool | None = None,
) -> tuple[LockedFile, ...]:
    """Return the exact files that requirements stand for, with all owned packages that those require, sorted by name.

    Parameters
    ----------
    requirements
        What is wanted, extras included, such as ``rocm[libraries,devel]==7.10.0``; every name counts as owned.
    source
        The only place that files come from.
    rocm
        The only place that the ROCm packages come from, where that is another one.
    interpreter
        The interpreter that they must fit.
    network
        How addresses are read.
    cache
        hipwright's cache folder, for files whose page states no hash or no metadata.
    owns
        Which names are followed.
    prereleases
        Whether pre-releases count: None takes them where nothing else is there or a requirement names one (PEP 440).

    Raises
    ------
    HipwrightError
        ``requirement-missing`` naming all packages that are missing, who asked for them and the source, a :class:`NotThereYet` when
        they may appear there; ``hash-mismatch``; ``source-unreachable``;
        ``bad-option-value`` for a source of the wrong kind; ``bad-wheel``; ``bad-data-file`` for what is no requirement.
    """
    return choose_files(
        requirements,
        offers=Listing(source=source, network=network),
        rocm=None if rocm is None else Listing(source=rocm, network=network),
        interpreter=interpreter,
        cache=cache,
        follows=owns,
        prereleases=prereleases,
    )


def choose_files(
    requirements: Iterable[str | Requirement],
    *,
    offers: Offers,
    rocm: Offers | None = None,
    interpreter: Interpreter,
    cache: Path,
    follows: Callable[[str], bool],
    prereleases: bool | None = None,
    wheels_only: bool = False,
    known: dict[str, Chosen] | None = None,
) -> tuple[LockedFile, ...]:
    """Return the exact files that requirements stand for; see :func:`lock_owned`.

    Parameters
    ----------
    requirements, interpreter, cache, prereleases
        As for :func:`lock_owned`; the interpreter need not be on this machine.
    offers, rocm
        Where files come from, and those of the ROCm packages where that is another place.
    follows
        Which names that are required on the way are followed; others are left out.
    wheels_only
        Whether source distributions do not count.
    known
        Files whose metadata was read before, by address; those that are read are added.
    """
    parsed = [parse_requirement(text) if isinstance(text, str) else text for text in requirements]
    names = {canonicalize_name(requirement.name) for requirement in parsed}
    solver = _Solver(
        listing=offers,
        rocm=offers if rocm is None else rocm,
        interpreter=interpreter,
        cache=cache,
        owns=lambda name: canonicalize_name(name) in names or follows(name),
        prereleases=prereleases,
        wheels_only=wheels_only,
        chosen={} if known is None else known,
        ranks={tag: rank for rank, tag in reversed(list(enumerate(supported_tags(interpreter))))},
    )
    picked = solver.solve([_Wish(requirement=requirement, by=_COMMAND) for requirement in parsed])
    return tuple(_locked(name, picked[name], solver.source_of(name).source) for name in sorted(picked))


def offered_extras(
    requirement: Requirement,
    *,
    source: PackageSource,
    interpreter: Interpreter,
    network: Network,
    cache: Path,
    prereleases: bool | None = None,
) -> tuple[Version, frozenset[str]]:
    """Return the version of a package that a requirement stands for, and the extras that it has, whatever else is at the source.

    Parameters are those of :func:`lock_owned`.

    Raises
    ------
    HipwrightError
        As :func:`lock_owned`, for this package alone.
    """
    listing = Listing(source=source, network=network)
    solver = _Solver(
        listing=listing,
        rocm=listing,
        interpreter=interpreter,
        cache=cache,
        owns=lambda _name: False,
        prereleases=prereleases,
        wheels_only=False,
        ranks={tag: rank for rank, tag in reversed(list(enumerate(supported_tags(interpreter))))},
    )
    bare = Requirement(f"{requirement.name}{requirement.specifier}")
    (chosen,) = solver.solve([_Wish(requirement=bare, by=_COMMAND)]).values()
    return chosen.candidate.version, chosen.requires.extras


def _locked(name: NormalizedName, chosen: Chosen, source: PackageSource) -> LockedFile:
    candidate = chosen.candidate
    link = candidate.link
    if bears_query(link.url):
        message = f"{source.describe()} lists {link.filename} at an address with a query, which may be a secret, and addresses are recorded"
        raise HipwrightError("source-unreachable", message, hint="fetch the files, and name their folder with --find-links DIR")
    return LockedFile(
        distribution=name,
        version=str(candidate.version),
        filename=link.filename,
        url=link.url if source.known_as is None else f"{source.known_as}{link.filename}",
        sha256=chosen.sha256,
    )


def _missing(message: str, listing: Offers, wishes: Sequence[_Wish]) -> HipwrightError:
    kind = NotThereYet if _may_appear(wishes) else HipwrightError
    return kind(_MISSING, message, hint=listing.source.way_out())


def _may_appear(wishes: Sequence[_Wish]) -> bool:
    """Return whether a version is thinkable that meets all wishes; two that ask for different exact versions are never met."""
    specifiers = [spec for wish in wishes for spec in wish.requirement.specifier]
    exact = {spec.version for spec in specifiers if spec.operator in {"==", "==="} and not spec.version.endswith(".*")}
    try:
        return all(spec.contains(Version(version), prereleases=True) for spec in specifiers for version in exact)
    except InvalidVersion:
        return len(exact) == 1


def _all_of(errors: Sequence[HipwrightError]) -> HipwrightError:
    """Return one error for all that is missing."""
    kind = NotThereYet if all(isinstance(error, NotThereYet) for error in errors) else HipwrightError
    return kind(_MISSING, "; ".join(error.message for error in errors), hint=errors[0].hint)


def _available(candidate: Candidate, wishes: Sequence[_Wish]) -> bool:
    """Return whether a file may be taken: a yanked one only where its exact version is asked for (PEP 592)."""
    if candidate.link.yanked is None:
        return True
    return any(
        spec.operator in {"==", "==="} and "*" not in spec.version for wish in wishes for spec in wish.requirement.specifier
    )


def _sentence(wish: _Wish) -> str:
    return f"{wish.by} asks for {wish.requirement}"


def _texts(wishes: Iterable[_Wish]) -> set[str]:
    return {f"{wish.by}: {wish.requirement}" for wish in wishes}
