"""What the base index offers: all its places together, each page read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.environments.listing import Listing, PackageSource

if TYPE_CHECKING:
    from packaging.utils import NormalizedName

    from build_tools.environments.candidate import Candidate
    from build_tools.environments.network import Network
    from build_tools.environments.settings import BaseIndex

__all__ = ["BaseListing", "base_listing"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseListing:
    """The base index that is being read; every place of it counts alike, as with pip.

    Parameters
    ----------
    source
        All places, for messages.
    network
        How addresses are read.
    places
        Each place on its own.
    """

    source: PackageSource
    network: Network
    places: tuple[Listing, ...]
    _known: dict[NormalizedName | str, tuple[Candidate, ...]] = field(default_factory=dict)

    def files(self, name: str) -> tuple[Candidate, ...]:
        """Return every file of a package that any place offers, each file name once, the first place's.

        Raises
        ------
        HipwrightError
            ``source-unreachable``: a place that cannot be read may hold the newest.
        """
        if name not in self._known:
            found: dict[str, Candidate] = {}
            for place in self.places:
                for candidate in place.files(name):
                    found.setdefault(candidate.link.filename, candidate)
            self._known[name] = tuple(found.values())
        return self._known[name]


def base_listing(base: BaseIndex) -> BaseListing:
    """Return the base index to be read."""
    network = base.network()
    indexes = () if base.no_index else (*((base.index_url,) if base.index_url else ()), *base.extra_index_urls)
    sources = [PackageSource(find_links=(place,), option_prefix="") for place in base.find_links]
    sources += [PackageSource(index_url=place, option_prefix="") for place in indexes]
    return BaseListing(
        source=PackageSource(find_links=(*base.find_links, *indexes), option_prefix=""),
        network=network,
        places=tuple(Listing(source=source, network=network) for source in sources),
    )
