"""Where things of one run lie in a store: ``{external_repo}{run_id}-{platform}/…``.

The layout is the one that ROCm's CI uses: packages of a kind and an artifact group have a folder with ``dist/``, ``simple/`` and a
flat ``index.html``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST, FLAT_PAGE, SIMPLE
from build_tools.stores.base import join_key, parse_key

if TYPE_CHECKING:
    from build_tools.stores.base import Store
    from build_tools.types import ObjectKey, Platform

__all__ = ["IndexFolder", "RunOutputs"]

_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """A folder of a store that holds files and an index of them; ``prefix`` has no final ``/`` and is empty for the whole store."""

    prefix: str

    def __post_init__(self) -> None:
        if self.prefix:
            parse_key(self.prefix)

    @property
    def dist_prefix(self) -> ObjectKey:
        """Where the files lie."""
        return join_key(self.prefix, DIST)

    @property
    def index_prefix(self) -> ObjectKey:
        """Where the PEP 503 pages lie."""
        return join_key(self.prefix, SIMPLE)

    @property
    def find_links_key(self) -> ObjectKey:
        """The flat page."""
        return join_key(self.prefix, FLAT_PAGE)

    def key(self, relative: str) -> ObjectKey:
        """Return the store's key of a key that is relative to the index."""
        return join_key(self.prefix, relative)

    def index_url(self, store: Store) -> str:
        """Return what installers take as ``--index-url``."""
        return store.url(f"{self.index_prefix}/")

    def find_links_url(self, store: Store) -> str:
        """Return what installers take as ``--find-links``."""
        return store.url(self.find_links_key)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutputs:
    """The outputs of one run.

    Parameters
    ----------
    run_id
        The run's name: a number on CI, any short name at a desk.
    platform
        What the run builds for.
    external_repo
        ``owner-repo/`` when a repository writes into a bucket that it shares with others, else empty.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when a name is not one plain part of a key.
    """

    run_id: str
    platform: Platform
    external_repo: str = ""

    def __post_init__(self) -> None:
        _part(self.run_id, "run id")
        if self.external_repo:
            _part(self.external_repo.removesuffix("/"), "external repository")
            if not self.external_repo.endswith("/"):
                raise HipwrightError("bad-option-value", f"the external repository {self.external_repo!r} lacks its final /")

    @property
    def prefix(self) -> ObjectKey:
        """The run's folder."""
        return parse_key(f"{self.external_repo}{self.run_id}-{self.platform}")

    def python(self, group: str) -> IndexFolder:
        """Return the folder of the ROCm Python packages of an artifact group."""
        return self._index("python", group)

    def pytorch(self, group: str) -> IndexFolder:
        """Return the folder of the PyTorch packages of an artifact group."""
        return self._index("pytorch", group)

    def _index(self, kind: str, group: str) -> IndexFolder:
        return IndexFolder(join_key(self.prefix, kind, _part(group, "artifact group")))


def _part(text: str, what: str) -> str:
    if not _PART.fullmatch(text) or text.endswith("."):
        message = f"the {what} {text!r} is not one plain name: letters, digits, and . _ + - after the first"
        raise HipwrightError("bad-option-value", message)
    return text
