"""What a hipify tool must leave as it is in the copy that it works on: which modules there are, and their repositories.

Files are its business. A repository that it makes, or a submodule that it takes away, would be stored as another commit than any origin
has, or lose the files in it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.contents import gitlinks
from build_tools.sources.modules import ROOT
from build_tools.sources.told import called, prefix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.sources.modules import Module
    from build_tools.types import CommitId, TreeId

__all__ = ["Layout", "not_a_result", "refuse_other_submodules"]

_GIT: Final = ".git"
_WATCHED: Final = (".gitmodules", ".git/HEAD", ".git/config", ".git/info/attributes", ".git/objects/info/alternates")
"""What decides which modules there are, and where and how a copy's files are stored."""


def not_a_result(what: str, *, module: str, log: Path) -> HipwrightError:
    """Return the error for a tool that did something else to the sources than a tool may do; ``what`` follows "the tool"."""
    return HipwrightError(
        "hipify-failed",
        f"the tool {what}, and nothing of its result is kept",
        where=Where(module=module),
        hint="a tool adds, changes and removes files; submodules, .gitmodules and repositories it must leave alone: correct the tool, "
        "or its arguments in [hipify] of project.toml",
        log=log,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The modules of a copy as they were before the tool ran.

    Parameters
    ----------
    folder
        The copy.
    watched
        For each module path what the files had in them that a tool must leave alone, by name from the module; None for one that is not
        there.
    """

    folder: Path
    watched: dict[str, dict[str, bytes | None]]

    @staticmethod
    def of(folder: Path, modules: Iterable[str]) -> Layout:
        """Return the layout of a copy as it stands."""
        return Layout(folder=folder, watched={module: _watched(folder / module) for module in modules})

    def refuse_changed(self, *, log: Path) -> None:
        """Refuse a copy in which modules are gone, come or changed.

        Raises
        ------
        HipwrightError
            ``hipify-failed`` naming the path.
        """
        for module, before in self.watched.items():
            folder = self.folder / module
            # A link would be followed to files that are none of the copy's.
            expected = os.path.normpath(Path(os.path.realpath(self.folder)) / module)
            if not folder.is_dir() or os.path.realpath(folder) != expected:
                raise not_a_result(f"removed or replaced the folder of {called(module)}", module=module, log=log)
            for name, now in _watched(folder).items():
                if now != before[name]:
                    word = "made" if before[name] is None else "removed" if now is None else "changed"
                    raise not_a_result(f"{word} {prefix_of(module)}{name}", module=module, log=log)
        own = {os.path.normpath(self.folder / module) for module in self.watched}
        for parent, folders, names in os.walk(os.path.normpath(self.folder)):
            for name in (*folders, *names):
                # Some file systems, and so git, take every spelling for the same.
                if name.lower() == _GIT and not (name == _GIT and parent in own):
                    path = os.path.relpath(Path(parent) / name, self.folder).replace(os.sep, "/")
                    raise not_a_result(f"made a repository inside the sources: {shown(path)}", module=ROOT, log=log)
            if parent in own:
                folders[:] = [name for name in folders if name != _GIT]


def refuse_other_submodules(before: Mapping[Module, CommitId], after: Mapping[str, TreeId], *, log: Path) -> None:
    """Refuse a result that records other submodules than the sources do, those that are not checked out included.

    Raises
    ------
    HipwrightError
        ``hipify-failed`` naming the submodule.
    """
    for module, commit in before.items():
        was, now = gitlinks(module.store, commit).keys(), gitlinks(module.store, after[module.path]).keys()
        for path in sorted(was ^ now):
            word = "removed or replaced the folder of" if path in was else "made"
            raise not_a_result(f"{word} the submodule {prefix_of(module.path)}{shown(path)}", module=module.path, log=log)


def _watched(module: Path) -> dict[str, bytes | None]:
    return {name: _bytes(module / name) for name in _WATCHED}


def _bytes(path: Path) -> bytes | None:
    """Return what a file has in it, whatever its line ends; of a link, where it leads; None when there is no such file."""
    try:
        return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes().replace(b"\r\n", b"\n")
    except OSError:
        return None
