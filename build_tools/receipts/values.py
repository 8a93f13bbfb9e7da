"""What the stages hand on: source tree, SDK, built wheels."""

from __future__ import annotations

from build_tools.receipts.ids import CommitId, Sha256, TreeId
from build_tools.receipts.record import Record

__all__ = [
    "BuiltAgainst",
    "BuiltWheels",
    "CacheUse",
    "EnvironmentRecord",
    "FlagValue",
    "InstalledPackage",
    "LocalChanges",
    "ModuleState",
    "Sdk",
    "SourceTree",
    "WheelFile",
]


class ModuleState(Record, frozen=True, kw_only=True):
    """One repository of a source tree: its markers, and the tree that its work folder holds now.

    ``path`` is ``.`` for the root. ``content`` is the tree of the work folder as it stands, edits and untracked files included;
    it equals the tree of ``expected`` when nobody changed anything since the last stage.
    """

    path: str
    upstream: CommitId
    base: CommitId
    hipified: CommitId
    expected: CommitId
    content: TreeId


class LocalChanges(Record, frozen=True, kw_only=True):
    """A person's commits and edits on top of what the stages made: one line each for people, and their digest."""

    digest: Sha256
    lines: tuple[str, ...]


class SourceTree(Record, frozen=True, kw_only=True):
    """A source tree, ready to build; ``folder`` is absolute.

    ``store`` is the folder of the repositories that stand in for those of a tree of the person's own, which nothing is written to.
    """

    project: str
    folder: str
    upstream: CommitId
    upstream_date: int
    base_version: str
    modules: tuple[ModuleState, ...]
    local: LocalChanges | None = None
    store: str | None = None


class InstalledPackage(Record, frozen=True, kw_only=True):
    """One distribution in an environment; ``source`` says where it came from (an owned source's URL or ``base index``)."""

    name: str
    version: str
    source: str
    sha256: Sha256 | None = None


class EnvironmentRecord(Record, frozen=True, kw_only=True):
    """An environment: its folder, its interpreter, and what was installed."""

    folder: str
    digest: Sha256
    python: str
    python_version: str
    python_tag: str
    packages: tuple[InstalledPackage, ...]


class FlagValue(Record, frozen=True, kw_only=True):
    """What a package said of itself when it was imported: the name of the flag, and the value that its project demands."""

    name: str
    value: bool | int | str


class Sdk(Record, frozen=True, kw_only=True):
    """The environment that a build runs in, with the ROCm packages in it when the project needs them.

    ``root``, ``bin`` and ``cmake`` are absolute folders as ``rocm_sdk path`` says; None without ROCm. ``family`` is the GPU family whose
    packages are meant, where they are made for families. ``flags`` are those of the wheels that were built before.
    """

    environment: EnvironmentRecord
    version: str | None = None
    root: str | None = None
    bin: str | None = None
    cmake: str | None = None
    targets: tuple[str, ...] = ()
    family: str | None = None
    flags: tuple[FlagValue, ...] = ()


class WheelFile(Record, frozen=True, kw_only=True):
    """A wheel: its file name, bytes and the parsed name; ``path`` is relative to the receipt that names it."""

    path: str
    filename: str
    distribution: str
    version: str
    sha256: Sha256
    size: int


class BuiltAgainst(Record, frozen=True, kw_only=True):
    """A wheel of another project that a build had in its environment."""

    project: str
    distribution: str
    version: str
    filename: str
    sha256: Sha256


class CacheUse(Record, frozen=True, kw_only=True):
    """What a compiler cache did for one build: counts by language. ``held`` says whether it had anything before."""

    tool: str
    hits: dict[str, int] = {}
    misses: dict[str, int] = {}
    errors: int = 0
    held: bool = False


class BuiltWheels(Record, frozen=True, kw_only=True):
    """What a build made, and what it was meant to be.

    ``pins`` are the requirements that the wheel's metadata must state exactly. ``local`` is the digest of a person's changes.
    ``against`` are the wheels that were built before it and that it was built with. ``objects`` is how many objects were compiled, None
    when the build did not tell. ``reproducible`` says whether a second build made the same bytes, None when none was made. ``bundled`` is
    the version of ROCm that the wheel holds.
    """

    project: str
    version: str
    upstream: CommitId
    python_tag: str
    wheels: tuple[WheelFile, ...]
    pins: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    local: Sha256 | None = None
    against: tuple[BuiltAgainst, ...] = ()
    cache: CacheUse | None = None
    objects: int | None = None
    reproducible: bool | None = None
    bundled: str | None = None
