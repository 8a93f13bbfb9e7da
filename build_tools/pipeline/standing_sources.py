"""The sources of a project as they stand in a work dir at this moment, a person's edits included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.locking.keep import lock_in_use
from build_tools.locking.own import read_own
from build_tools.sources.git import Git
from build_tools.sources.state import read_source_tree
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.receipts.values import SourceTree
    from build_tools.workplace import Workplace

__all__ = ["source_parts", "standing_sources"]


def standing_sources(project: Project, workplace: Workplace) -> SourceTree:
    """Return the sources that a build of a project would take: of the tree that a command names for it, else of the work dir's.

    Raises
    ------
    HipwrightError
        ``stage-missing`` when the project is not locked or its tree not finished; ``bad-source-tree``.
    """
    if project.name in workplace.settings.dir:
        return read_own(project, workplace).source
    entry = lock_in_use(workplace).projects.get(ProjectName(project.name))
    tree = workplace.work_dir / "src" / project.name
    if entry is None or not (tree / ".git").is_dir():
        missing = "locked" if entry is None else "checked out"
        raise HipwrightError("stage-missing", f"{project.name} is not {missing} in {workplace.work_dir}")
    return read_source_tree(project.name, locked=entry.sources, tree=tree, git=Git(runner=workplace.runner))


def source_parts(source: SourceTree) -> dict[str, str]:
    """Return what a build's digest has of its sources."""
    return {
        "sources": digest.of_value([[module.path, module.upstream, module.content] for module in source.modules]),
        "version": source.base_version,
        "local changes": source.local.digest if source.local else "none",
    }
