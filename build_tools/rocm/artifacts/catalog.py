"""What lies in a folder of unpacked artifacts: each artifact's files and links, by their places in the one ROCm tree that all make.

An artifact is a folder ``<name>_<component>_<target>``; its ``artifact_manifest.txt`` lists base folders, one a line, and below each of
them its files lie as in the tree. Nothing here trusts the folder: what leads out of it is refused.
"""

from __future__ import annotations

import os
import posixpath
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.rocm.artifacts.name import ARCHIVE_SUFFIXES, ArtifactName, parse_artifact_name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MANIFEST", "Artifact", "Catalog", "Item", "read_catalog"]

MANIFEST: Final = "artifact_manifest.txt"
"""The file of an artifact that lists its base folders."""

_LARGEST_MANIFEST: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A file or a link of an artifact.

    ``path`` is its place in the ROCm tree, with ``/`` between the parts. ``link`` is what a link says, with ``/`` too, and None for a
    file; ``size`` is in bytes, 0 for a link.
    """

    path: str
    source: Path
    artifact: ArtifactName
    link: str | None = None
    size: int = 0
    executable: bool = False

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder that it lies in; empty at the top."""
        return self.path.rpartition("/")[0]

    @property
    def leads_to(self) -> str:
        """Where a link leads in the tree, by its text alone."""
        return posixpath.normpath(posixpath.join(self.folder, self.link or ""))


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """An artifact: its items by path, sorted."""

    name: ArtifactName
    folder: Path
    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """All artifacts of a folder, in the order of their names."""

    folder: Path
    artifacts: tuple[Artifact, ...]


def read_catalog(folder: Path, *, jobs: int = 1) -> Catalog:
    """Read a folder of unpacked artifacts.

    Folders and files whose names begin with a dot are passed over, and so are archives beside the folders.

    Parameters
    ----------
    folder
        Holds one folder for each artifact.
    jobs
        How many artifacts are read at once.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` when there is none, when a folder's name is no artifact's, when a manifest is missing, malformed or lists what
        is absolute, leads out or is not there, when an artifact has two files for one place, or when it holds something that is
        no file, folder or link, a link that leads out of the tree, or a name that no wheel can hold.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError as error:
        raise HipwrightError(
            "bad-artifact", f"cannot read the folder {folder}: {error.strerror}", where=Where(file=folder)
        ) from None
    found = [name for name in names if (folder / name).is_dir()]
    if not found:
        archives = any(name.endswith(ARCHIVE_SUFFIXES) for name in names)
        what = "archives, and no unpacked artifact" if archives else "no artifact"
        hint = "fetch and unpack them: nox -s fetch_artifacts -- --run-id ID --artifact-group GROUP --output-dir DIR"
        raise HipwrightError("bad-artifact", f"{folder} holds {what}", where=Where(file=folder), hint=hint)
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        artifacts = tuple(pool.map(lambda name: _read_artifact(folder / name), found))
    return Catalog(folder=folder, artifacts=tuple(sorted(artifacts, key=lambda artifact: artifact.name)))


def _read_artifact(folder: Path) -> Artifact:
    name = parse_artifact_name(folder.name)
    if name is None or folder.name.endswith(ARCHIVE_SUFFIXES):
        message = f"{folder.name} is not called as an artifact is: <name>_<component>_<target>"
        raise _bad(message, folder, hint="keep nothing but artifacts in the folder that --artifact-dir names")
    items: dict[str, Item] = {}
    for base in _bases(folder):
        for item in _walk(folder / base, name):
            other = items.setdefault(item.path, item)
            if other is not item:
                raise _bad(f"{folder.name} has {item.path} twice: {other.source} and {item.source}", item.source)
    return Artifact(name=name, folder=folder, items=tuple(items[path] for path in sorted(items)))


def _bases(folder: Path) -> tuple[str, ...]:
    """Return an artifact's base folders as its manifest lists them, each once.

    A base without files is not in an archive, so one that is missing is passed over unless all of them are.
    """
    manifest = folder / MANIFEST
    lines = [(number, line.strip()) for number, line in enumerate(_manifest(manifest).splitlines(), 1) if line.strip()]
    bases: dict[str, None] = {}
    missing: list[str] = []
    for number, base in lines:
        parts = PurePosixPath(base).parts
        if base.startswith("/") or ".." in parts or not parts or any(character in base for character in "\\:\0"):
            raise _bad(f"{MANIFEST} of {folder.name} lists {base!r}, which is not a folder inside of it", manifest, line=number)
        places = [folder.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
        link = next((place for place in places if place.is_symlink()), None)
        if link is not None:
            raise _bad(f"{MANIFEST} of {folder.name} lists {base!r}, and {link} is a link", manifest, line=number)
        if places[-1].is_dir():
            bases["/".join(parts)] = None
        else:
            missing.append(base)
    if not lines:
        message = f"{MANIFEST} of {folder.name} lists no folder, so nothing of the artifact would be packed"
        raise _bad(message, manifest, hint="fetch the artifact again: nox -s fetch_artifacts -- --run-id ID --output-dir DIR")
    if missing and not bases:
        raise _bad(f"{folder.name} has none of the folders that its {MANIFEST} lists: {', '.join(missing)}", manifest)
    return tuple(bases)


def _manifest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        raise _bad(f"{path.parent.name} has no {MANIFEST}", path)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_MANIFEST + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise _bad(f"cannot read {path}: {error.strerror}", path) from None
    except UnicodeDecodeError as error:
        raise _bad(f"{path} is not UTF-8: byte {error.start}", path) from None
    if len(data) > _LARGEST_MANIFEST:
        raise _bad(f"{path} is larger than {_LARGEST_MANIFEST >> 20} MiB", path)
    return text


def _walk(base: Path, artifact: ArtifactName) -> Iterator[Item]:
    """Give the files and links below a base folder; folders themselves are not told."""
    waiting = [(base, "")]
    while waiting:
        folder, prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise _bad(f"cannot read {folder}: {error.strerror}", folder) from None
        for entry in entries:
            path = f"{prefix}{entry.name}"
            place = Path(entry.path)
            if not entry.name.isprintable() or "\\" in entry.name:
                raise _bad(f"{folder} holds {entry.name!r}, a name that no package can have", folder)
            state = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(state.st_mode):
                yield _link(path, place, artifact)
            elif stat.S_ISDIR(state.st_mode):
                waiting.append((place, f"{path}/"))
            elif stat.S_ISREG(state.st_mode):
                executable = bool(state.st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))
                yield Item(path=path, source=place, artifact=artifact, size=state.st_size, executable=executable)
            else:
                raise _bad(f"{place} is no file, folder or link", place)


def _link(path: str, place: Path, artifact: ArtifactName) -> Item:
    text = str(place.readlink()).replace(os.sep, "/")
    item = Item(path=path, source=place, artifact=artifact, link=text)
    if not text or text.startswith("/") or PureWindowsPath(text).drive or item.leads_to.split("/")[0] == "..":
        raise _bad(f"{place} is a link to {text}, which leads out of the tree", place)
    return item


def _bad(message: str, place: Path, *, line: int | None = None, hint: str | None = None) -> HipwrightError:
    return HipwrightError("bad-artifact", message, where=Where(file=place, line=line), hint=hint)
