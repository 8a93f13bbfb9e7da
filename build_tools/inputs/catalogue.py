"""``inputs.toml``: which real inputs there are, the pinned files they are made of, and where those come from."""

from __future__ import annotations

import datetime as dt
import enum
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where

__all__ = [
    "Branch",
    "Catalogue",
    "CollectionInput",
    "DebianFile",
    "DebianPackage",
    "FileInput",
    "FolderInput",
    "Input",
    "PackagesInput",
    "PinnedFile",
    "RepositoryInput",
    "SdistFile",
    "Tier",
    "WheelFile",
    "branches_of",
    "files_of",
    "inputs_of",
    "known_inputs",
    "load_inputs",
]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One table of the file: keys in kebab case, none unknown."""


class Tier(enum.StrEnum):
    """How much of the real input: what every run uses, or all of it."""

    CI = "ci"
    REAL = "real"


FileName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Sha256Text = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(gt=0)]


class DebianFile(Table, frozen=True, kw_only=True):
    """One file of a source package in a suite of Debian: the upstream sources (``tar``) or Debian's own part (``diff``)."""

    file: FileName
    sha256: Sha256Text
    size: Size
    suite: str
    package: str
    version: str
    part: Literal["tar", "diff"]

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"source package {self.package} {self.version} of Debian {self.suite}"


class DebianPackage(Table, frozen=True, kw_only=True):
    """One binary package in a suite of Debian; ``file`` is its name in the archive, which has no epoch in it."""

    file: FileName
    sha256: Sha256Text
    size: Size
    suite: str
    package: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"package {self.package} {self.version} of Debian {self.suite}"


class WheelFile(Table, frozen=True, kw_only=True):
    """A wheel of the machine's package index, or else of ``fallback_index``; the name says all that pip has to be asked."""

    file: FileName
    sha256: Sha256Text
    size: Size
    fallback_index: str | None = None

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return "the package index of this machine's pip settings"


class SdistFile(Table, frozen=True, kw_only=True):
    """A source distribution of the machine's package index."""

    file: FileName
    sha256: Sha256Text
    size: Size
    name: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return "the package index of this machine's pip settings"


PinnedFile = DebianFile | DebianPackage | WheelFile | SdistFile


class FileInput(Table, frozen=True, kw_only=True, tag="file", tag_field="kind"):
    """An input that is one file."""

    key: str
    tier: Tier
    file: str


class FolderInput(Table, frozen=True, kw_only=True, tag="folder", tag_field="kind"):
    """An input that is an unpacked archive, or ``folder`` in it; a single top folder of the archive is left out."""

    key: str
    tier: Tier
    file: str
    folder: str = ""


class CollectionInput(Table, frozen=True, kw_only=True, tag="collection", tag_field="kind"):
    """An input that is a folder of files."""

    key: str
    tier: Tier
    files: tuple[str, ...]


class PackagesInput(Table, frozen=True, kw_only=True, tag="packages", tag_field="kind"):
    """An input that is the unpacked files of binary packages, in one folder."""

    key: str
    tier: Tier
    files: tuple[str, ...]


class Branch(Table, frozen=True, kw_only=True):
    """A branch of a repository: one commit, at a fixed date, that holds an unpacked archive."""

    name: str
    file: str
    date: dt.datetime
    tier: Tier = Tier.CI


class RepositoryInput(Table, frozen=True, kw_only=True, tag="repository", tag_field="kind"):
    """An input that is a bare git repository made of archives."""

    key: str
    tier: Tier
    branch: tuple[Branch, ...]


Input = FileInput | FolderInput | CollectionInput | PackagesInput | RepositoryInput


class Catalogue(Table, frozen=True, kw_only=True):
    """The whole file."""

    schema: Literal[1]
    debian: tuple[DebianFile, ...] = ()
    deb: tuple[DebianPackage, ...] = ()
    wheel: tuple[WheelFile, ...] = ()
    sdist: tuple[SdistFile, ...] = ()
    input: tuple[Input, ...]

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """All pinned files."""
        return (*self.debian, *self.deb, *self.wheel, *self.sdist)

    def pinned(self, file: str) -> PinnedFile:
        """Return the pinned file of a name."""
        return next(pinned for pinned in self.files if pinned.file == file)


def load_inputs(path: Path) -> Catalogue:
    """Read a catalogue.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it does not fit the model, names a file that it does not pin, or says something twice.
    """
    catalogue = load_toml(path, Catalogue)
    files = [pinned.file for pinned in catalogue.files]
    keys = [entry.key for entry in catalogue.input]
    for names in (files, keys):
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise HipwrightError("bad-data-file", f"{name!r} is there twice", where=Where(file=path))
    for entry in catalogue.input:
        for file in files_of(entry, Tier.REAL):
            if file not in files:
                raise HipwrightError(
                    "bad-data-file", f"input {entry.key!r} needs {file!r}, which is not pinned", where=Where(file=path)
                )
    return catalogue


def known_inputs() -> Catalogue:
    """Return hipwright's own catalogue."""
    return load_inputs(Path(__file__).parent.parent / "config" / "data" / "inputs.toml")


def inputs_of(catalogue: Catalogue, tier: Tier) -> tuple[Input, ...]:
    """Return the inputs of a tier; the larger one holds those of the smaller one."""
    return tuple(entry for entry in catalogue.input if _within(entry.tier, tier))


def files_of(entry: Input, tier: Tier) -> tuple[str, ...]:
    """Return the names of the files that an input is made of in a tier."""
    match entry:
        case FileInput() | FolderInput():
            return (entry.file,)
        case CollectionInput() | PackagesInput():
            return entry.files
        case RepositoryInput():
            return tuple(branch.file for branch in branches_of(entry, tier))


def branches_of(entry: RepositoryInput, tier: Tier) -> tuple[Branch, ...]:
    """Return the branches that a repository has in a tier."""
    return tuple(branch for branch in entry.branch if _within(branch.tier, tier))


def _within(smallest: Tier, tier: Tier) -> bool:
    return tier is Tier.REAL or smallest is Tier.CI
