"""Which projects changed files are about, so that a change to one of them starts no jobs of the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from build_tools.config.matrix import ChangeRow
    from build_tools.sources.git import Git

__all__ = ["About", "changed_files", "projects_about"]

_PROJECTS: Final = "external-builds/"


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What a change is about: projects, each with the reason; and of the others why they are left out."""

    kept: Mapping[str, str]
    left_out: Mapping[str, str]


def projects_about(
    changed: Iterable[str], projects: Sequence[str], *, rows: Sequence[ChangeRow], built_on: Callable[[str], Iterable[str]]
) -> About:
    """Return which of some projects changed files are about.

    Parameters
    ----------
    changed
        Paths in the clone, with ``/``.
    projects
        The projects that have jobs.
    rows
        What files are about; the first row that speaks of one counts. One of a project's folder is about that project, and one that no
        row speaks of about all: to build too much is a loss of time, to build too little a surprise.
    built_on
        Gives the projects whose wheels a project is built with.
    """
    kept: dict[str, str] = {}
    ignored: dict[str, str] = {}
    for path in sorted(set(changed)):
        row = next((row for row in rows if row.speaks_of(path)), None)
        own = path.removeprefix(_PROJECTS).partition("/")[0] if path.startswith(_PROJECTS) and path.count("/") > 1 else None
        if row is not None and row.about == "nothing":
            ignored.setdefault(row.reason, path)
        elif own is not None and row is None:
            kept.setdefault(own, f"{path} changed")
        else:
            return About(kept=dict.fromkeys(projects, f"{path} changed, which is about everything"), left_out={})
    grown = True
    while grown:
        grown = False
        for project in projects:
            base = next((base for base in built_on(project) if base in kept), None)
            if project not in kept and base is not None:
                kept[project] = f"it is built on {base}: {kept[base]}"
                grown = True
    why = "; ".join(f"{path}: {reason}" for reason, path in ignored.items()) or "nothing changed"
    others = [project for project in projects if project not in kept]
    reason = (
        "no changed file is about it" if any(project in kept for project in projects) else f"no changed file is about it ({why})"
    )
    return About(kept={name: kept[name] for name in projects if name in kept}, left_out=dict.fromkeys(others, reason))


def changed_files(git: Git, clone: Path, since: str) -> tuple[str, ...]:
    """Return the files of a clone that differ from where it left a commit's history, committed or not; of a rename both names.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the clone has no such commit, or nothing in common with it.
    """
    done = git.capture(
        "diff", "--name-only", "--no-renames", "-z", "--merge-base", "--end-of-options", since, "--", cwd=clone, check=False
    )
    if done.returncode:
        hint = "a job that checks sources out with few commits does not have it: fetch its history (fetch-depth: 0)"
        raise HipwrightError("bad-option-value", f"--changed-since {since!r} is no commit that this clone has", hint=hint)
    return tuple(os.fsdecode(path) for path in done.stdout.split(b"\0") if path)
