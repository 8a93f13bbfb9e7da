"""The lock entry of a tree of the person's own: what stands in it, with packages locked as for any other; no lock keeps it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.files import hold
from build_tools.locking.packages import incomplete, names_a_source, with_packages
from build_tools.locking.requests import PACKAGE_FIELDS, asked_for, flag_of, is_locked_to
from build_tools.locking.resolve import recipe_of
from build_tools.receipts.lock import LockedPatches, LockedProject
from build_tools.sources.git import Git
from build_tools.sources.own import read_own_tree

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.receipts.lock import Requested
    from build_tools.sources.own import OwnTree
    from build_tools.workplace import Workplace

__all__ = ["lock_own_tree", "read_own"]

_AS_IT_STANDS: Final = "a tree of your own is taken as it stands"
_SAID_OTHERWISE: Final = ("commit", "ref", "origin", "submodule_url")


def lock_own_tree(
    project: Project, workplace: Workplace, *, known: LockedProject | None, packages: bool, built: frozenset[str] = frozenset()
) -> tuple[LockedProject, OwnTree]:
    """Return the lock entry of a tree of the person's own, and the tree as it was read for that: what is built is what is locked.

    Parameters
    ----------
    project
        The project that it is the sources of.
    workplace
        Where and with what.
    known
        The project's entry in the lock; its packages are taken where they are those that are asked for.
    packages
        Whether the command needs package files.
    built
        The packages that are wheels of other projects, built before.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when the command says something else of the project's sources too; ``bad-source-tree``; what locking packages
        raises.
    """
    asked, name = asked_for(project.name, workplace), project.name
    for field in _SAID_OTHERWISE:
        if getattr(asked, field):
            message = (
                f"--{name}-dir is a tree that is taken as it stands, and {flag_of(field, name, workplace)} says what to check out"
            )
            raise HipwrightError("option-conflict", message, hint="give one of them")
    tree = read_own(project, workplace)
    sources = tree.sources
    patches = LockedPatches(
        line=None,
        reason=_AS_IT_STANDS if project.hipify is None else f"{_AS_IT_STANDS}, and hipify does not run",
        digest=digest.of_value([]),
        submodules=sources.submodules,
    )
    entry = LockedProject(
        name=name, requested=asked, recipe=recipe_of(project), sources=sources, patches=patches, hipify=None, rocm=None
    )
    if known is not None and _has_the_packages(known, project, asked):
        requested = msgspec.structs.replace(asked, **{field: getattr(known.requested, field) for field in PACKAGE_FIELDS})
        entry = msgspec.structs.replace(entry, requested=requested, rocm=known.rocm, owned=known.owned)
    wanted = packages or names_a_source(project, entry.requested, workplace, built=built)
    if wanted and incomplete(entry, project, workplace, built=built):
        entry = with_packages(entry, project, workplace, built=built)
    return entry, tree


def read_own(project: Project, workplace: Workplace) -> OwnTree:
    """Return the tree that ``--<project>-dir`` names as it stands; what git has to write for that lies in the work dir.

    A dry run keeps none of it.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the tree lacks something that a build of it needs.
    """
    folder, git = workplace.settings.dir[project.name], Git(runner=workplace.runner)
    if workplace.settings.dry_run:
        with tempfile.TemporaryDirectory(prefix="hipwright-own-") as store:
            return read_own_tree(project, folder, store=Path(store), git=git)
    guard = workplace.lock_file(f"own-{project.name}")
    wait, say = workplace.settings.wait, workplace.console.say
    with hold(guard, purpose=f"reading your tree of {project.name}", wait=wait, on_wait=say):
        return read_own_tree(project, folder, store=workplace.work_dir / "own" / project.name, git=git)


def _has_the_packages(known: LockedProject, project: Project, asked: Requested) -> bool:
    """Whether an entry of the lock holds packages that are those asked for."""
    wanted = {field: getattr(asked, field) for field in PACKAGE_FIELDS}
    same = all(not value or is_locked_to(known, field, value) for field, value in wanted.items())
    return same and known.recipe == recipe_of(project)
