"""Whether what a chain built can be installed: from it, the wheels that were built before it, the locked packages and the base index.

Nothing is installed, and no package is fetched where an index or an environment of the chain has its metadata.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from build_tools import digest
from build_tools.config.channels import load_channels
from build_tools.config.owned import is_owned, is_rocm
from build_tools.environments.base_listing import base_listing
from build_tools.environments.candidate import Candidate, candidate_of
from build_tools.environments.chosen import Chosen
from build_tools.environments.download import download
from build_tools.environments.installed import site_packages
from build_tools.environments.listing import PackageSource
from build_tools.environments.network import Network, path_of
from build_tools.environments.page import Link
from build_tools.environments.requires import Requires, parse_requires, read_requires
from build_tools.errors import HipwrightError
from build_tools.pipeline.wheel_set import unmet_of
from build_tools.types import Sha256, Stage
from build_tools.wheels.limits import read_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from build_tools.checks.demands import Unmet
    from build_tools.environments.base_listing import BaseListing
    from build_tools.environments.settings import BaseIndex
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.lock import LockedFile
    from build_tools.workplace import Workplace

__all__ = ["Resolution", "must_resolve", "resolve_chain", "set_parts"]

_SILENT_SECONDS: Final = 10.0
"""So long a server may be silent where nobody has asked that the set resolves: a person without a network does not wait for one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """Why wheels cannot be installed, by file name; or why nobody can tell; and whether the base index was asked."""

    unmet: Mapping[str, tuple[Unmet, ...]] = field(default_factory=dict)
    unasked: str | None = None
    base_asked: bool = False


@dataclass(kw_only=True, slots=True)
class _Offers:
    """The locked packages, and of what nobody owns what the base index has, which is asked when the first such package is needed."""

    locked: Mapping[NormalizedName, tuple[Candidate, ...]]
    base: Callable[[], BaseListing]
    asked: BaseListing | None = None

    @property
    def source(self) -> PackageSource:
        """The base index, for messages; nothing before it was asked."""
        return self.asked.source if self.asked is not None else PackageSource(option_prefix="")

    @property
    def network(self) -> Network:
        """How addresses are read; files on this disk need no settings."""
        return self.asked.network if self.asked is not None else Network()

    def files(self, name: str) -> tuple[Candidate, ...]:
        """Return every file of a package that an install may take."""
        wanted = canonicalize_name(name)
        if wanted in self.locked or is_owned(wanted):
            return self.locked.get(wanted, ())
        if self.asked is None:
            self.asked = self.base()
        return self.asked.files(wanted)


def must_resolve(place: Workplace) -> bool:
    """Tell whether a check fails where the base index cannot be asked: for release types whose files nobody may replace later."""
    release_type = place.settings.release_type
    return release_type is not None and not load_channels().may_supersede(release_type)


def set_parts(chain: Chain) -> dict[str, str]:
    """Return what decides whether a set was resolved already: the files, where the others come from, and whether that must be asked."""
    locked = sorted([file.filename, file.sha256] for file in chain.locked().packages)
    before = sorted([wheel.filename, wheel.sha256] for wheel in chain.built().against)
    return {
        "set": digest.of_value([locked, before]),
        "base index settings": chain.workplace.settings_identity,
        "must resolve": "yes" if must_resolve(chain.workplace) else "no",
    }


def resolve_chain(chain: Chain) -> Resolution:
    """Resolve the wheels of a chain as an installer would, for the Python and the system that they are for.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` when the base index or a locked package cannot be read and the release type wants the set resolved;
        ``hash-mismatch``;
        ``bad-wheel`` for a locked package without metadata.
    """
    place = chain.workplace
    setting = chain.project.check.rules.get("resolves")
    if setting is not None and setting.severity == "off":
        return Resolution()
    known: dict[str, Chosen] = {}
    locked = _locked(chain, known)
    if lacking := sorted(name for name, files in locked.items() if any(file.link.url not in known for file in files)):
        message = f"the locked packages are not at hand: {', '.join(lacking)}"
        if must_resolve(place):
            raise HipwrightError("source-unreachable", message, hint=_hint(place))
        return Resolution(unasked=message)
    offers = _Offers(locked=locked, base=lambda: _base(place))
    beside = [build.path for build in chain.before]
    try:
        unmet = unmet_of(chain.wheel_paths(), offers, cache=place.cache, beside=beside, known=known)
    except HipwrightError as error:
        if error.code.name != "source-unreachable":
            raise
        if must_resolve(place):
            raise HipwrightError(error.code.name, error.message, where=error.where, hint=_hint(place)) from error
        return Resolution(unasked=f"the base index cannot be asked: {error.message}; --force check asks again", base_asked=True)
    return Resolution(unmet=unmet, base_asked=offers.asked is not None)


def _hint(place: Workplace) -> str:
    return f"a set for {place.settings.release_type} must resolve before it is published; try again when all of it can be read"


def _base(place: Workplace) -> BaseListing:
    """Return the base index to be read.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` when pip's settings name no place.
    """
    base = _base_of(place)
    if base.no_index and not base.find_links:
        raise HipwrightError(
            "source-unreachable",
            "the settings of pip name no index and no folder",
            hint="name one with --index-url, or --find-links",
        )
    place.console.say("resolving with the base index")
    return base_listing(base)


def _base_of(place: Workplace) -> BaseIndex:
    return place.base if must_resolve(place) else replace(place.base, timeout=min(place.base.timeout, _SILENT_SECONDS))


def _locked(chain: Chain, known: dict[str, Chosen]) -> dict[NormalizedName, tuple[Candidate, ...]]:
    """Return the locked files that an install would have, by name, and note what those require whose metadata is at hand."""
    entries = [chain.locked(), *(build.lock for build in chain.before)]
    made = {canonicalize_name(build.distribution) for build in chain.before}
    bundled = [chain.built().bundled, *(build.built.bundled for build in chain.before)]
    files = {
        file.filename: file for entry in entries for file in entry.packages if canonicalize_name(file.distribution) not in made
    }
    if any(bundled):
        files = {name: file for name, file in files.items() if not is_rocm(file.distribution)}
    metadata = _installed(chain)
    reader = _Reader(place=chain.workplace)
    found: dict[NormalizedName, tuple[Candidate, ...]] = {}
    for file in files.values():
        candidate = candidate_of(Link(filename=file.filename, url=file.url, sha256=file.sha256))
        if candidate is None:
            continue
        found[candidate.name] = (*found.get(candidate.name, ()), candidate)
        if (text := metadata.get((candidate.name, str(candidate.version)))) is not None:
            known[file.url] = _chosen(candidate, parse_requires(text, name=file.filename))
        elif (requires := reader.required_by(file)) is not None:
            known[file.url] = _chosen(candidate, requires)
    rocm = chain.locked().rocm
    if rocm is not None and rocm.folder is not None and not any(bundled):
        stand_in = _stand_in(chain.project.rocm.requirement, rocm.version, chain.built().pins)
        found[stand_in.candidate.name] = (stand_in.candidate,)
        known[stand_in.candidate.link.url] = stand_in
    return found


def _chosen(candidate: Candidate, requires: Requires) -> Chosen:
    return Chosen(candidate=candidate, requires=requires, sha256=Sha256(candidate.link.sha256 or ""))


def _installed(chain: Chain) -> dict[tuple[NormalizedName, str], bytes]:
    """Return the metadata of the packages in the environment of the build, by name and version; nothing without that environment."""
    if Stage.PROVISION not in chain.done:
        return {}
    try:
        packages = site_packages(Path(chain.sdk().environment.folder), chain.workplace.platform)
    except HipwrightError:
        return {}
    found: dict[tuple[NormalizedName, str], bytes] = {}
    for each in importlib.metadata.distributions(path=[str(packages)]):
        text, name = each.read_text("METADATA"), each.metadata["Name"]
        if text and name:
            with contextlib.suppress(HipwrightError):  # a version that no index has
                found[canonicalize_name(name), str(read_version(each.version))] = text.encode()
    return found


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Reads what locked files require. Where nobody demands that the set resolves, the first server that cannot be read ends the asking."""

    place: Workplace
    silent: bool = False

    def required_by(self, file: LockedFile) -> Requires | None:
        """Return what a file requires: by itself where it lies on this disk, by the side file that its index has (PEP 658) elsewhere.

        Without either it is fetched where the set must be resolved, and nobody knows where that is not so.

        Raises
        ------
        HipwrightError
            ``source-unreachable`` and ``hash-mismatch`` where the set must be resolved; ``bad-wheel``.
        """
        local = path_of(file.url)
        if local is not None:
            return read_requires(local) if local.is_file() else None
        if self.silent:
            return None
        wanted = must_resolve(self.place)
        network = _base_of(self.place).network()
        try:
            side = (network if wanted else replace(network, retries=0)).read(f"{file.url}.metadata")
        except HipwrightError:
            if wanted:
                raise
            self.silent = True
            return None
        if side is not None:
            # Some servers answer whatever they are asked for with a page of their own.
            with contextlib.suppress(HipwrightError):
                return parse_requires(side.body, name=file.filename)
        return (
            read_requires(download(file, cache=self.place.cache, network=network, say=self.place.console.say)) if wanted else None
        )


def _stand_in(name: str, version: str, pins: Iterable[str]) -> Chosen:
    """Return what stands for the packages of a ROCm of the machine: they lie elsewhere, and the wheel pins them by that version."""
    wanted = canonicalize_name(name)
    extras = {
        canonicalize_name(extra)
        for pin in map(Requirement, pins)
        if canonicalize_name(pin.name) == wanted
        for extra in pin.extras
    }
    filename = f"{wanted.replace('-', '_')}-{read_version(version)}-py3-none-any.whl"
    candidate = candidate_of(Link(filename=filename, url=Path(filename).absolute().as_uri()))
    assert candidate is not None  # noqa: S101 - the name was made to be read
    return _chosen(candidate, Requires(requirements=(), extras=frozenset(extras)))
