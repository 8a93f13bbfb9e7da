"""The lock: the exact inputs of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from build_tools.receipts.ids import CommitId, Sha256, TreeId
from build_tools.receipts.record import Record
from build_tools.urls import holds_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Lock", "LockedFile", "LockedPatches", "LockedProject", "LockedRocm", "LockedSources", "Requested", "SubmodulePin"]


RefName = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x20~^:?*\[\\\x7f+-][^\x00-\x20~^:?*\[\\\x7f]*(?!\n)$")]
"""A ref as git takes it; what begins an option or a refspec of another sort is none."""

Address = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]*(?!\n)$")]
"""Where something is fetched from: one line without control characters, and nothing that begins an option."""


def _refuse_secrets(addresses: Iterable[str | None]) -> None:
    """Refuse addresses with a user or password: what a lock names goes into receipts, indexes and logs."""
    if any(address is not None and holds_secret(address) for address in addresses):
        message = "an address has a user or password in it; take it out, and give it to git or pip on this machine"
        raise ValueError(message)


class SubmodulePin(Record, frozen=True, kw_only=True):
    """One submodule as its parent records it; ``path`` is relative to the root of the tree, nested ones included."""

    path: str
    url: Address
    commit: CommitId

    def __post_init__(self) -> None:
        """Refuse secrets."""
        _refuse_secrets([self.url])


class LockedSources(Record, frozen=True, kw_only=True):
    """The sources of one project: where they come from, which commit, and why that one.

    ``ref_is`` says what the origin has under that name.
    """

    origin: Address
    ref: RefName
    ref_is: Literal["branch", "tag", "commit"] | None = None
    reason: str
    commit: CommitId
    tree: TreeId
    base_version: str
    submodules: tuple[SubmodulePin, ...] = ()
    sdist_sha256: Sha256 | None = None

    def __post_init__(self) -> None:
        """Refuse secrets."""
        _refuse_secrets([self.origin])

    @property
    def full_ref(self) -> str | None:
        """The full name of the branch or tag at the origin, None for a commit's id."""
        kind = {"branch": "heads", "tag": "tags"}.get(self.ref_is or "")
        return None if kind is None else f"refs/{kind}/{self.ref}"


class LockedPatches(Record, frozen=True, kw_only=True):
    """The patch line that the ref found and the digest of its series; ``line`` is None for a declared state of no patches.

    ``submodules`` are all submodules once the base patches are applied: other ones than recorded where a patch moves a pin.
    """

    line: str | None
    reason: str
    digest: Sha256
    submodules: tuple[SubmodulePin, ...] = ()


class LockedFile(Record, frozen=True, kw_only=True):
    """One package file: its name in the index, where it is fetched from, and its bytes."""

    distribution: str
    version: str
    filename: str
    url: Address
    sha256: Sha256

    def __post_init__(self) -> None:
        """Refuse secrets."""
        _refuse_secrets([self.url])


class LockedRocm(Record, frozen=True, kw_only=True):
    """The ROCm packages: the source as it was named, the version, and every owned file.

    ``folder`` is the root of a ROCm of the machine that was named to stand for packages: there are no files then, and ``state`` is the
    digest of what the folder said of itself.
    """

    source: str
    version: str
    files: tuple[LockedFile, ...]
    folder: str | None = None
    state: Sha256 | None = None

    def __post_init__(self) -> None:
        """Refuse secrets."""
        _refuse_secrets([self.source])


class Requested(Record, frozen=True, kw_only=True):
    """What was asked for when a project was locked, by option; None and empty where nobody asked. Addresses bear no secrets.

    ``commit`` is the exact commit that a source manifest named, beside the branch in ``ref``. ``submodule_url`` are ``PATH=URL``.
    ``artifact_group`` is the one of the ROCm packages of the run ``rocm_run_id``.
    """

    ref: str | None = None
    commit: CommitId | None = None
    origin: str | None = None
    submodule_url: tuple[str, ...] = ()
    line: str | None = None
    rocm_find_links: tuple[str, ...] = ()
    rocm_index_url: str | None = None
    rocm_run_id: str | None = None
    artifact_group: str | None = None
    rocm_path: str | None = None
    rocm_version: str | None = None
    release_type: str | None = None
    find_links: tuple[str, ...] = ()
    index_url: str | None = None

    def __post_init__(self) -> None:
        """Refuse secrets."""
        _refuse_secrets([self.origin, self.rocm_index_url, self.index_url])
        _refuse_secrets([*self.submodule_url, *self.rocm_find_links, *self.find_links])


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

    MADE_BY: ClassVar[str | None] = "nox -s lock"

    schema: Literal[1] = 1
    projects: dict[str, LockedProject] = {}

    def __post_init__(self) -> None:
        """Refuse an entry that stands under another name than its own: two projects would be taken for each other."""
        for name, entry in self.projects.items():
            if entry.name != name:
                message = f"the entry {name!r} is one of the project {entry.name!r}"
                raise ValueError(message)
