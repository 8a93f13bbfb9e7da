"""How a person keeps what moving a tree would lose: commands to paste."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from build_tools.process import printable
from build_tools.sources.guard import COMMIT, UNDER_WAY, unfinished

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.sources.modules import Module

__all__ = ["kept_by_tag", "ways_to_keep"]

_TAG: Final = "mine"
_EDITS: Final = ("edited ", "added ", "deleted ", "untracked ")
"""How the lines begin that tell of files that ``git stash`` puts away."""

_HIDDEN: Final = "(hidden from git by "


def kept_by_tag(module: Module) -> tuple[str, str]:
    """Return a name that no tag of a module has, and the command that keeps its HEAD under it."""
    taken = set(module.store.text("for-each-ref", "--format=%(refname:lstrip=2)", "refs/tags").splitlines())
    names = (_TAG if number == 1 else f"{_TAG}-{number}" for number in itertools.count(1))
    name = next(name for name in names if name not in taken)
    return name, printable(["git", "-C", str(module.folder), "tag", name])


def ways_to_keep(work: Mapping[Module, Iterable[str]]) -> str:
    """Return how to keep what is listed of modules, in the words of :mod:`build_tools.sources.guard`, with the commands that do it."""
    ends: list[str] = []
    tags: list[str] = []
    stashes: list[str] = []
    others = False
    for module, lines in work.items():
        for line in lines:
            if UNDER_WAY in line:
                ends += [command for _, command in unfinished(module)]
            elif line.startswith(COMMIT):
                tags.append(kept_by_tag(module)[1])
            elif line.startswith(_EDITS) and _HIDDEN not in line:
                stashes.append(printable(["git", "-C", str(module.folder), "stash", "--include-untracked"]))
            else:
                others = True
    told = (
        ("take back what git is in the middle of", ends),
        ("keep your commits by a tag", tags),
        ("put your edits away, or commit and tag them", stashes),
    )
    ways = [f"{what}: {' && '.join(dict.fromkeys(commands))}" for what, commands in told if commands]
    ways += ["move the rest of what is listed out of the tree"] if others else []
    return "; ".join([*ways, "then run the command again"])
