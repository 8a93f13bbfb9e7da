"""Lock owned packages: from requirements to exact files, with everything that they need of the same source.

Only owned names are followed. What an owned package needs beyond them comes from the base index later, with these files pinned.
The newest version that meets all requirements is taken, and nothing older when a part of it is missing: a source that lacks
a part is reported by the part's name, not worked around.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from build_tools import digest
from build_tools.config.owned import is_owned
from build_tools.environments.candidate import Candidate, version_key
from build_tools.environments.download import fetch_link
from build_tools.environments.interpreter import Interpreter, supported_tags
from build_tools.environments.listing import Listing, PackageSource
from build_tools.environments.requires import Requires, parse_requirement, parse_requires, read_requires
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from packaging.requirements import Requirement
    from packaging.tags import Tag
    from packaging.version import Version

    from build_tools.environments.network import Network

__all__ = ["lock_owned"]

_ROUNDS: Final = 50
_SHOWN: Final = 5
_COMMAND: Final = "the command"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wish:
    """A requirement with who has it."""

    requirement: Requirement
    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chosen:
    """A file that was chosen, what it requires, and the SHA-256 of its bytes."""

    candidate: Candidate
    requires: Requires
    sha256: Sha256


@dataclass(frozen=True, kw_only=True, slots=True)
class _Solver:
    listing: Listing
    interpreter: Interpreter
    cache: Path
    owns: Callable[[str], bool]
    prereleases: bool | None
    ranks: dict[Tag, int]
    chosen: dict[str, _Chosen] = field(default_factory=dict)

    def solve(self, wishes: Sequence[_Wish]) -> dict[NormalizedName, _Chosen]:
        """Choose files round by round until what they require of each other changes nothing any more."""
        known = list(wishes)
        for _ in range(_ROUNDS):
            picked: dict[NormalizedName, _Chosen] = {}
            extras: dict[NormalizedName, set[str]] = {}
            for wish in known:
                extras.setdefault(canonicalize_name(wish.requirement.name), set()).update(
                    canonicalize_name(extra) for extra in wish.requirement.extras
                )
            for name in extras:
                picked[name] = self._choose(name, [wish for wish in known if canonicalize_name(wish.requirement.name) == name])
            found = list(wishes)
            for name, chosen in picked.items():
                found += self._needs(chosen, extras[name])
            if _texts(found) == _texts(known):
                return picked
            known = found
        names = ", ".join(sorted({wish.requirement.name for wish in known}))
        raise HipwrightError("requirement-missing", f"no set of versions meets all requirements of {names}")

    def _needs(self, chosen: _Chosen, extras: set[str]) -> list[_Wish]:
        candidate = chosen.candidate
        unknown = sorted(extras - chosen.requires.extras)
        if unknown:
            offered = ", ".join(sorted(chosen.requires.extras)) or "none"
            message = f"{candidate.name} {candidate.version} has no extra {', '.join(unknown)}; it has: {offered}"
            raise HipwrightError("requirement-missing", message)
        by = f"{candidate.name} {candidate.version}"
        return [
            _Wish(requirement=requirement, by=by)
            for requirement in chosen.requires.of(sorted(extras), self.interpreter.markers)
            if self.owns(requirement.name)
        ]

    def _choose(self, name: NormalizedName, wishes: Sequence[_Wish]) -> _Chosen:
        offered = self.listing.files(name)
        source = self.listing.source.describe()
        asked = "; ".join(_sentence(wish) for wish in wishes)
        if not offered:
            message = f"{name} is not at {source} ({asked})"
            raise HipwrightError("requirement-missing", message, hint=self._hint())
        fitting = [candidate for candidate in offered if self._fits(candidate)]
        if not fitting:
            kinds = ", ".join(sorted({candidate.link.filename for candidate in offered})[:_SHOWN])
            message = f"{name} is at {source}, but no file of it fits {self.interpreter.python_tag} on this machine: {kinds}"
            raise HipwrightError("requirement-missing", message, hint=self._hint())
        versions = self._allowed({candidate.version for candidate in fitting}, wishes)
        kept = [candidate for candidate in fitting if candidate.version in versions and _available(candidate, wishes)]
        if not kept:
            newest = sorted({candidate.version for candidate in fitting}, key=version_key, reverse=True)
            listed = ", ".join(map(str, newest[:_SHOWN]))
            message = f"no version of {name} at {source} is what is asked for ({asked}); there: {listed}"
            raise HipwrightError("requirement-missing", message, hint=self._hint())
        best = max(version_key(candidate.version) for candidate in kept)
        return self._read(min((one for one in kept if version_key(one.version) == best), key=self._preference))

    def _allowed(self, versions: set[Version], wishes: Sequence[_Wish]) -> set[Version]:
        specifier = SpecifierSet()
        for wish in wishes:
            specifier &= wish.requirement.specifier
        return set(specifier.filter(versions, prereleases=self.prereleases))

    def _fits(self, candidate: Candidate) -> bool:
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

    def _read(self, candidate: Candidate) -> _Chosen:
        """Read what a file requires: from its side file where there is one, else from the file itself."""
        if candidate.link.url in self.chosen:
            return self.chosen[candidate.link.url]
        link, network = candidate.link, self.listing.network
        side = network.read(f"{link.url}.metadata") if link.metadata and link.sha256 else None
        if side is not None:
            if link.metadata_sha256 not in {None, digest.of_bytes(side.body)}:
                message = f"the metadata side file of {link.filename} has other bytes than its page says"
                raise HipwrightError("hash-mismatch", message)
            chosen = _Chosen(
                candidate=candidate,
                requires=parse_requires(side.body, name=link.filename),
                sha256=Sha256(link.sha256 or ""),
            )
        else:
            path, sha256 = fetch_link(link, cache=self.cache, network=network)
            chosen = _Chosen(candidate=candidate, requires=read_requires(path), sha256=sha256)
        self.chosen[candidate.link.url] = chosen
        return chosen

    def _hint(self) -> str:
        prefix = self.listing.source.option_prefix
        return f"name a source that has it with {prefix}find-links or {prefix}index-url"


def lock_owned(
    requirements: Iterable[str | Requirement],
    *,
    source: PackageSource,
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
        ``requirement-missing`` naming the package, who asked for it and the source; ``hash-mismatch``; ``source-unreachable``;
        ``bad-option-value`` for a source of the wrong kind; ``bad-wheel``; ``bad-data-file`` for what is no requirement.
    """
    parsed = [parse_requirement(text) if isinstance(text, str) else text for text in requirements]
    names = {canonicalize_name(requirement.name) for requirement in parsed}
    solver = _Solver(
        listing=Listing(source=source, network=network),
        interpreter=interpreter,
        cache=cache,
        owns=lambda name: canonicalize_name(name) in names or owns(name),
        prereleases=prereleases,
        ranks={tag: rank for rank, tag in reversed(list(enumerate(supported_tags(interpreter))))},
    )
    picked = solver.solve([_Wish(requirement=requirement, by=_COMMAND) for requirement in parsed])
    return tuple(_locked(name, picked[name], source) for name in sorted(picked))


def _locked(name: NormalizedName, chosen: _Chosen, source: PackageSource) -> LockedFile:
    candidate = chosen.candidate
    link = candidate.link
    return LockedFile(
        distribution=name,
        version=str(candidate.version),
        filename=link.filename,
        url=link.url if source.known_as is None else f"{source.known_as}{link.filename}",
        sha256=chosen.sha256,
    )


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
