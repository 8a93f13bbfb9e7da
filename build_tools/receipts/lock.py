"""The lock: the exact inputs of a run."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.record import Record
from build_tools.types import CommitId, Sha256, TreeId

__all__ = ["Lock", "LockedFile", "LockedPatches", "LockedProject", "LockedRocm", "LockedSources", "Requested", "SubmodulePin"]


class SubmodulePin(Record, frozen=True, kw_only=True):
    """One submodule as its parent records it; ``path`` is relative to the root of the tree, nested ones included."""

    path: str
    url: str
    commit: CommitId


class LockedSources(Record, frozen=True, kw_only=True):
    """The sources of one project: where they come from, which commit, and why that one."""

    origin: str
    ref: str
    reason: str
    commit: CommitId
    tree: TreeId
    base_version: str
    submodules: tuple[SubmodulePin, ...] = ()
    sdist_sha256: Sha256 | None = None


class LockedPatches(Record, frozen=True, kw_only=True):
    """The patch line that the ref found and the digest of its series; ``line`` is None for a declared state of no patches."""

    line: str | None
    reason: str
    digest: Sha256


class LockedFile(Record, frozen=True, kw_only=True):
    """One package file: its name in the index, where it is fetched from, and its bytes."""

    distribution: str
    version: str
    filename: str
    url: str
    sha256: Sha256


class LockedRocm(Record, frozen=True, kw_only=True):
    """The ROCm packages: the source as it was named, the version, and every owned file."""

    source: str
    version: str
    files: tuple[LockedFile, ...]


class Requested(Record, frozen=True, kw_only=True):
    """What was asked for when a project was locked, by option; None and empty where nobody asked. Addresses bear no secrets."""

    ref: str | None = None
    origin: str | None = None
    rocm_find_links: tuple[str, ...] = ()
    rocm_index_url: str | None = None
    rocm_version: str | None = None
    release_type: str | None = None
    find_links: tuple[str, ...] = ()
    index_url: str | None = None


class LockedProject(Record, frozen=True, kw_only=True):
    """The exact inputs of one project.

    ``requested`` is what a later option may contradict, and what locking anew starts from. ``recipe`` is the digest of what locking
    read of ``project.toml``: a lock of another recipe says nothing of this one.
    """

    name: str
    requested: Requested
    recipe: Sha256
    sources: LockedSources
    patches: LockedPatches
    hipify: Sha256 | None
    rocm: LockedRocm | None
    owned: tuple[LockedFile, ...] = ()

    @property
    def packages(self) -> tuple[LockedFile, ...]:
        """All owned package files: those of ROCm, then the others."""
        return (*(self.rocm.files if self.rocm else ()), *self.owned)


class Lock(Record, frozen=True, kw_only=True):
    """The exact inputs of a run, by project name."""

    schema: Literal[1] = 1
    projects: dict[str, LockedProject] = {}
