"""Links of the development tree, made so that each system's programs work with them.

A link inside the tree stays one. A file of another package becomes a hard link: it costs no space, and a program or library that asks
where it lies is told the tree, so it finds the headers and folders that only the tree has. On another disk, programs are copied, since
they ask so; libraries and data become links. Windows lets ordinary users make no links: there files are hard links or copies, folders
are junctions.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ._errors import BadArchiveError, SdkError
from ._packages import reinstall_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Linker"]

_LIBRARY = re.compile(r"\.so(\.|$)")
_SYMBOLIC = sys.platform != "win32"


@dataclass(frozen=True)
class Linker:
    """Makes the links of one tree.

    ``into`` is where the tree is made and ``name`` what it will be called, in the same folder; ``siblings`` are the folders of the
    packages beside it, by their names there. ``symbolic`` tells whether links may be made that are no hard links.
    """

    into: Path
    name: str
    siblings: Mapping[str, Path]
    symbolic: bool = _SYMBOLIC

    def make_all(self, links: Mapping[str, str]) -> list[str]:
        """Make links, given as their paths in the tree with where they lead, and return the paths of those that lead to something.

        Others are left out: an uninstaller would leave them behind.

        Raises
        ------
        SdkError
            Naming files of other packages that are not there.
        BadArchiveError
            When a link's place is taken.
        """
        through = sorted(path for path in links if any(str(parent) in links for parent in PurePosixPath(path).parents))
        if through:
            message = f"the archive of development files is refused: {through[0]!r} lies below a link"
            raise BadArchiveError(message)
        lost = sorted(led for led in links.values() if self._outside(led) and not self._source(led).exists())
        if lost:
            more = f" and {len(lost) - 1} more" if lost[1:] else ""
            message = (
                f"the development files need {lost[0]}{more}, which the package does not have; to mend it: {reinstall_line()}"
            )
            raise SdkError(message)
        made = [path for path in sorted(links) if self._make(path, links[path], links)]
        leading = [path for path in made if (self.into / path).exists()]
        for path in set(made) - set(leading):
            (self.into / path).unlink()
        return leading

    def place(self, source: Path, path: str) -> None:
        """Put a file of another package into the tree."""
        self._file(
            source, self.into / path, posixpath.relpath(self._beside(source), posixpath.join(self.name, posixpath.dirname(path)))
        )

    def _make(self, path: str, led: str, links: Mapping[str, str]) -> bool:
        link = self.into / path
        text = posixpath.relpath(led, posixpath.join(self.name, posixpath.dirname(path)))
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            if self._outside(led) and self._source(led).is_file():
                self._file(self._source(led), link, text)
            elif self.symbolic:
                link.symlink_to(text)
            else:
                return self._without_links(link, led, links)
        except FileExistsError:
            message = f"the archive of development files is refused: its link {path!r} has the name of something else"
            raise BadArchiveError(message) from None
        return True

    def _file(self, source: Path, link: Path, text: str) -> None:
        try:
            os.link(source, link)
        except FileExistsError:
            raise
        except OSError:
            program = source.stat().st_mode & stat.S_IXUSR and not _LIBRARY.search(source.name)
            if self.symbolic and not program:
                link.symlink_to(text)
            else:
                _copy(source, link)

    def _without_links(self, link: Path, led: str, links: Mapping[str, str]) -> bool:
        """Make a hard link or a junction of a link inside the tree; one that leads nowhere is left out."""
        for _ in links:
            _, _, rest = led.partition("/")
            if self._outside(led) or rest not in links:
                break
            led = links[rest]
        if self._outside(led):
            source, final = self._source(led), self._source(led)
        else:
            rest = led.partition("/")[2]
            source, final = self.into / rest, self.into.with_name(self.name) / rest
        if source.is_file():
            self._file(source, link, "")
        elif source.is_dir():
            _junction(final, link)
        else:
            return False
        return True

    def _outside(self, led: str) -> bool:
        return led.partition("/")[0] != self.name

    def _source(self, led: str) -> Path:
        first, _, rest = led.partition("/")
        return self.siblings[first] / rest

    def _beside(self, source: Path) -> str:
        """Return the path of a sibling's file from the folder that the tree lies in."""
        name, folder = next((name, folder) for name, folder in self.siblings.items() if source.is_relative_to(folder))
        return posixpath.join(name, source.relative_to(folder).as_posix())


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as data, target.open("xb") as sink:
        shutil.copyfileobj(data, sink, 1 << 20)
    target.chmod(stat.S_IMODE(source.stat().st_mode) & 0o777)


def _junction(target: Path, link: Path) -> None:
    if sys.platform == "win32":
        import _winapi  # noqa: PLC0415 - only there

        _winapi.CreateJunction(str(target), str(link))
    else:
        link.symlink_to(target, target_is_directory=True)
