"""The development package: an archive of the whole ROCm tree, in which the files that other packages have are links to them.

A wheel cannot hold links, so the tree is in one archive, which is expanded on the user's machine when it is first asked for.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.rocm.packages.layout import Placed
from build_tools.rocm.packages.run_paths import Room, room_of, run_path
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.rocm.packages.layout import Laid
    from build_tools.rocm.packages.scan import Facts
    from build_tools.rocm.packages.select import Portion
    from build_tools.rocm.packages.tree import Tree

__all__ = ["Archive", "DevelTree", "lay_out_devel"]

_DATE: Final = 315532800
"""The first day that a zip can state, 1980-01-01, in seconds: the date of every member here too."""

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class DevelTree:
    """What the archive of a devel package holds: links by path, with their texts, and files of its own by path.

    ``root`` is the folder of the tree beside the other packages' modules.
    """

    portion: Portion
    root: str
    links: Mapping[str, str]
    files: Mapping[str, Placed]


def lay_out_devel(
    portion: Portion, tree: Tree, facts: Mapping[Path, Facts], *, packages: Sequence[Laid], platform: Platform
) -> DevelTree:
    """Say what the archive holds.

    Parameters
    ----------
    portion, tree
        The package, and what its artifacts make together.
    facts
        What the files are.
    packages
        The packages whose files it links to, the first that has a file owns it. Of device packages only the other names of their
        libraries are in the archive; their files come into the tree with them.
    platform
        The operating system that the package is for.
    """
    root = f"_{portion.module}"
    owners = [laid for laid in packages if laid.portion.key != "device"]
    links: dict[str, str] = {}
    files: dict[str, Placed] = {}
    for path, item in tree.items.items():
        owner = next((laid for laid in owners if path in laid.files), None)
        alias = next((laid.aliases[path] for laid in owners if path in laid.aliases), None)
        if owner is not None:
            links[path] = "/".join([*[".."] * (path.count("/") + 1), owner.portion.module, path])
        elif alias is not None:
            links[path] = alias
        elif item.link is not None:
            links[path] = item.link
        else:
            files[path] = Placed(path=path, item=item, executable=item.executable and platform is Platform.LINUX)
    for laid in packages:
        if laid.portion.key == "device":
            links |= {path: alias for path, alias in laid.aliases.items() if path not in links and path not in files}
    if platform is Platform.LINUX:
        room = room_of(root, [*links, *files])
        files = {path: _mended(placed, facts[placed.item.source], [room]) for path, placed in files.items()}
    return DevelTree(portion=portion, root=root, links=dict(sorted(links.items())), files=files)


def _mended(placed: Placed, facts: Facts, rooms: Sequence[Room]) -> Placed:
    if facts.elf is None:
        return placed
    return replace(placed, run_path=run_path(facts.elf, placed.path, rooms=rooms))


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """The archive of a devel tree, as a stream; the same tree gives the same bytes.

    ``contents`` are the files that members come from, by path, where that is another than the artifact's.
    """

    tree: DevelTree
    contents: Mapping[str, Path]

    @property
    def names(self) -> list[str]:
        """The paths of all members below the root, in their order."""
        return sorted([*self.tree.links, *self.tree.files])

    @property
    def size(self) -> int:
        """How many bytes it has, told without reading any file."""
        total = 0
        for path in self.names:
            head = self._head(path)
            size = 0 if path in self.tree.links else self._size(path)
            total += len(head) + _padded(size, tarfile.BLOCKSIZE)
        return _padded(total + 2 * tarfile.BLOCKSIZE, tarfile.RECORDSIZE)

    def pieces(self, digest: Callable[[bytes], object] = lambda _piece: None) -> Iterator[bytes]:
        """Give its bytes; ``digest`` is given them too.

        Raises
        ------
        HipwrightError
            ``output-changed`` when a file has another size than it had.
        """
        total = 0
        for piece in self._members():
            total += len(piece)
            digest(piece)
            yield piece
        end = bytes(_padded(total + 2 * tarfile.BLOCKSIZE, tarfile.RECORDSIZE) - total)
        digest(end)
        yield end

    def _members(self) -> Iterator[bytes]:
        for path in self.names:
            yield self._head(path)
            if path in self.tree.links:
                continue
            source = self._source(path)
            size = 0
            with source.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    yield chunk
            if size != self._size(path):
                raise HipwrightError("output-changed", f"{source} changed while it was packed", where=Where(file=source))
            yield bytes(_padded(size, tarfile.BLOCKSIZE) - size)

    def _source(self, path: str) -> Path:
        return self.contents.get(path, self.tree.files[path].item.source)

    def _size(self, path: str) -> int:
        return self.contents[path].stat().st_size if path in self.contents else self.tree.files[path].item.size

    def _head(self, path: str) -> bytes:
        info = tarfile.TarInfo(f"{self.tree.root}/{path}")
        info.mtime = _DATE
        if path in self.tree.links:
            info.type = tarfile.SYMTYPE
            info.linkname = self.tree.links[path]
            info.mode = 0o777
        else:
            info.size = self._size(path)
            info.mode = 0o755 if self.tree.files[path].executable else 0o644
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _padded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
