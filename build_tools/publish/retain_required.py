"""What files that stay in an index require of those that would leave it: without them, what stays could not be installed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.index.snapshots import parsed_version
from build_tools.wheels.together import go_together, tags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from packaging.requirements import Requirement

    from build_tools.receipts.snapshot import IndexedFile

    Requires = Callable[[IndexedFile], Iterable[Requirement]]
    """Gives what a file requires where it can be installed."""

__all__ = ["required_files", "requires_nothing"]


def requires_nothing(_file: IndexedFile) -> tuple[Requirement, ...]:
    """Say that a file requires nothing."""
    return ()


def required_files(staying: Iterable[IndexedFile], leaving: Iterable[IndexedFile], requires: Requires) -> dict[str, str]:
    """Return the names of the files that leave and that one which stays could not be installed without, each with why it is needed.

    A file is not needed where one of the same project and tags stays that meets the requirement too.

    Parameters
    ----------
    staying, leaving
        The files of an index.
    requires
        What each requires.
    """
    here, going = _by_project(staying), _by_project(leaving)
    found: dict[str, str] = {}
    if not going:
        return found
    for file in (one for files in here.values() for one in files):
        for requirement in requires(file):
            name = canonicalize_name(requirement.name)
            others = {tags_of(one.filename) for one in here.get(name, ()) if _meets(one, requirement)}
            for one in going.get(name, ()):
                tags = tags_of(one.filename)
                if _meets(one, requirement) and go_together(tags_of(file.filename), tags) and tags not in others:
                    found.setdefault(one.filename, f"required by {file.filename}")
    return found


def _by_project(files: Iterable[IndexedFile]) -> dict[str, Sequence[IndexedFile]]:
    rows: defaultdict[str, list[IndexedFile]] = defaultdict(list)
    for file in files:
        rows[file.project].append(file)
    return dict(rows)


def _meets(file: IndexedFile, requirement: Requirement) -> bool:
    """Return whether an installer may take a file for a requirement; it passes over what is yanked."""
    return file.yanked is None and requirement.specifier.contains(parsed_version(file.version), prereleases=True)
