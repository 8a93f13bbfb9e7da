"""Finding a tree's modules level by level, parents before children, with all commits brought into their repositories.

No work folder changes: whoever assembles a tree moves it afterwards, with :mod:`build_tools.sources.arrange`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.shown import shown
from build_tools.sources.contents import submodules
from build_tools.sources.modules import ROOT, Module, ModuleEntry, in_tree, module_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from build_tools.errors import HipwrightError
    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.bring import Bringer
    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["Assembled", "assemble", "pinned", "unpatched"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembled:
    """A module as the tree shall have it: the commit of its origin, and the one that it stands on, patches included."""

    module: Module
    upstream: CommitId
    head: CommitId


def pinned(sources: LockedSources, pins: Iterable[SubmodulePin]) -> dict[str, tuple[str, CommitId]]:
    """Return the address and the commit of every module by path, the root included."""
    return {pin.path: (pin.url, pin.commit) for pin in pins} | {ROOT: (sources.origin, sources.commit)}


def unpatched(_module: Module, commit: CommitId) -> CommitId:
    """Return a module's own commit: it stands on that."""
    return commit


def assemble(
    pins: Mapping[str, tuple[str, CommitId]],
    *,
    tree: Path,
    git: Git,
    bringer: Bringer,
    stand: Callable[[Module, CommitId], CommitId],
    mismatch: Callable[[str], HipwrightError],
    have: Mapping[str, tuple[ModuleEntry, CommitId]],
) -> dict[str, Assembled]:
    """Return the modules of a tree by path, parents before children.

    Parameters
    ----------
    pins
        What is locked, as :func:`pinned` returns it.
    tree
        The tree.
    git
        How git is run.
    bringer
        Brings commits into the modules' repositories.
    stand
        Returns the commit that a module stands on, from its origin's; a parent's one tells the submodules.
    mismatch
        Makes the error for a tree that has other submodules than are locked.
    have
        Entries and commits of modules whose repositories are known to be there; nothing is brought into those.

    Raises
    ------
    HipwrightError
        What ``mismatch`` makes, or what bringing and ``stand`` raise.
    """
    url, commit = pins[ROOT]
    level = [(module_at(tree, ModuleEntry(path=ROOT, name="", parent=None, url=url), parent=None, git=git), commit)]
    found: dict[str, Assembled] = {}
    while level:
        lacking = [pair for pair in level if have.get(pair[0].path) != (pair[0].entry, pair[1])]
        bringer.bring_all(lacking, before=len(found) + len(level) - len(lacking), total=len(pins))
        children = []
        for module, upstream in level:
            head = stand(module, upstream)
            found[module.path] = Assembled(module=module, upstream=upstream, head=head)
            for submodule in submodules(module.store, head):
                path = in_tree(module.path, submodule.path)
                child_url, locked = pins.get(path, ("", None))
                if submodule.commit != locked:
                    instead = f"has it at {locked}" if locked else "has no such submodule"
                    raise mismatch(f"the submodule {shown(path)} is recorded at {submodule.commit}, and the lock {instead}")
                entry = ModuleEntry(path=path, name=submodule.name, parent=module.path, url=child_url)
                children.append((module_at(tree, entry, parent=module, git=git), submodule.commit))
        level = children
    left = sorted(pins.keys() - found.keys())
    if left:
        raise mismatch(
            f"the lock has the submodule{'s' if len(left) > 1 else ''} {shown(', '.join(left))}, which nothing records"
        )
    return found
