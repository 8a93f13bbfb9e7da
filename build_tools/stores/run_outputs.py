"""Where things of one run lie in a store: ``{external_repo}{run_id}-{platform}/…``.

The layout is the one that ROCm's CI uses: packages of a kind and an artifact group have a folder with ``dist/``, ``simple/`` and a
flat ``index.html``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST, FLAT_PAGE, SIMPLE
from build_tools.stores.base import join_key, parse_key
from build_tools.types import Platform
from build_tools.value import Value

if TYPE_CHECKING:
    from build_tools.stores.base import Store
    from build_tools.types import ObjectKey

__all__ = ["MANIFEST", "IndexFolder", "RunOutputs", "SystemPackage", "run_of"]

MANIFEST: Final = "therock_manifest.json"
"""The name of a source manifest in run outputs."""

SystemPackage = Literal["deb", "rpm"]
"""What operating systems have packages in run outputs."""

_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_RUN: Final = re.compile(r"(?P<external>(?:[^/]+/)?)(?P<run>[^/]+)-(?P<platform>linux|windows)/")


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

    def page_key(self, relative: str) -> ObjectKey:
        """Return the store's key of a page, whose key relative to the index may end in ``/``."""
        return parse_key("/".join(part for part in (self.prefix, relative) if part), slash=True)

    def index_url(self, store: Store) -> str:
        """Return what installers take as ``--index-url``."""
        return store.url(f"{self.index_prefix}/")

    def find_links_url(self, store: Store) -> str:
        """Return what installers take as ``--find-links``."""
        return store.url(self.find_links_key)


class RunOutputs(Value, frozen=True, kw_only=True):
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
                raise HipwrightError(
                    "bad-option-value",
                    f"the external repository {self.external_repo!r} lacks its final /",
                    hint="write it as OWNER-NAME/",
                )

    @property
    def prefix(self) -> ObjectKey:
        """The run's folder; its artifacts lie right in it."""
        return parse_key(f"{self.external_repo}{self.run_id}-{self.platform}")

    @property
    def record(self) -> ObjectKey:
        """Where it is written down what kind of run it is."""
        return self._below("run.json")

    def artifact(self, filename: str) -> ObjectKey:
        """Return where a build artifact is, or the file beside it that has its SHA-256."""
        return self._below(_part(filename, "artifact"))

    def python(self, group: str | None = None) -> IndexFolder:
        """Return the folder of the ROCm Python packages of an artifact group; of the whole run without one."""
        return self._index("python", group)

    def python_prefix(self, group: str | None = None) -> str:
        """Return that folder's key."""
        return self.python(group).prefix

    def python_dist_prefix(self, group: str | None = None) -> ObjectKey:
        """Return where the files of the ROCm Python packages are."""
        return self.python(group).dist_prefix

    def python_index_prefix(self, group: str | None = None) -> ObjectKey:
        """Return where the PEP 503 pages of the ROCm Python packages are."""
        return self.python(group).index_prefix

    def python_index_url(self, store: Store, group: str | None = None) -> str:
        """Return what installers take as ``--index-url`` for the ROCm Python packages."""
        return self.python(group).index_url(store)

    def pytorch(self, group: str | None = None) -> IndexFolder:
        """Return the folder of the PyTorch packages of an artifact group; of the whole run without one."""
        return self._index("pytorch", group)

    def pytorch_prefix(self, group: str | None = None) -> str:
        """Return that folder's key."""
        return self.pytorch(group).prefix

    def pytorch_dist_prefix(self, group: str | None = None) -> ObjectKey:
        """Return where the files of the PyTorch packages are."""
        return self.pytorch(group).dist_prefix

    def pytorch_index_prefix(self, group: str | None = None) -> ObjectKey:
        """Return where the PEP 503 pages of the PyTorch packages are."""
        return self.pytorch(group).index_prefix

    def pytorch_index_url(self, store: Store, group: str | None = None) -> str:
        """Return what installers take as ``--index-url`` for the PyTorch packages."""
        return self.pytorch(group).index_url(store)

    def logs(self, name: str, family: str | None = None) -> ObjectKey:
        """Return the folder of the logs of an artifact group, or of a build stage, whose targets may have a folder each."""
        parts = [_part(name, "artifact group or stage")]
        if family is not None:
            parts.append(_part(family, "GPU family"))
        return self._below("logs", *parts)

    def packaging_logs(self, kind: SystemPackage) -> ObjectKey:
        """Return the folder of the logs of making packages of an operating system."""
        return self._below("logs", "packaging", _part(kind, "kind of package"))

    def manifest(self, group: str | None = None) -> ObjectKey:
        """Return the source manifest of an artifact group; of the whole run without one."""
        groups = () if group is None else (_part(group, "artifact group"),)
        return self._below("manifests", *groups, MANIFEST)

    def tarball(self, family: str, version: str) -> ObjectKey:
        """Return the archive of a whole ROCm for a family."""
        name = f"therock-dist-{self.platform}-{_part(family, 'GPU family')}-{_part(version, 'version')}.tar.gz"
        return self._below("tarballs", name)

    def packages(self, kind: SystemPackage) -> ObjectKey:
        """Return the folder of the packages of an operating system."""
        return self._below("packages", _part(kind, "kind of package"))

    def _index(self, kind: str, group: str | None) -> IndexFolder:
        return IndexFolder(self._below(kind, *(() if group is None else (_part(group, "artifact group"),))))

    def _below(self, *parts: str) -> ObjectKey:
        return join_key(self.prefix, *parts)


def run_of(key: str) -> RunOutputs | None:
    """Return the run that an object, or the folder of an index, is of, by its key; None when it is of none."""
    fits = _RUN.match(key)
    if fits is None:
        return None
    try:
        return RunOutputs(run_id=fits["run"], platform=Platform(fits["platform"]), external_repo=fits["external"])
    except HipwrightError:
        return None


def _part(text: str, what: str) -> str:
    if not _PART.fullmatch(text) or text.endswith("."):
        message = f"the {what} {text!r} is not one plain name: letters, digits, and . _ + - after the first"
        raise HipwrightError("bad-option-value", message, hint=f"name the {what} alone, without folders")
    return text
