"""What patch series there are: every patch with its age, size, owner and upstream, and what the source tree here has of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.errors import HipwrightError
from build_tools.files import utc_now
from build_tools.locking.keep import lock_in_use
from build_tools.patches.applied import read_applied
from build_tools.patches.lines import faults_of_lines, lines_on_disk, no_such_line, rules_of_line
from build_tools.patches.prove import due_patches
from build_tools.patches.series import load_series
from build_tools.patches.status import TreeStatus, states_of
from build_tools.pipeline.patch_trees import projects_with_series
from build_tools.shown import shown
from build_tools.sources.git import Git
from build_tools.sources.modules import load_modules, markers_of
from build_tools.sources.told import called
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.patches.series import Series
    from build_tools.patches.status import PatchStatus
    from build_tools.receipts.lock import Lock
    from build_tools.workplace import Workplace

__all__ = ["list_patches"]

_COLUMNS: Final = ("state", "patch", "size", "days", "upstream", "owner")
_REQUEST: Final = re.compile(
    r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/(?:pull|issues)/(?P<number>\d+)\b(?:/[\w#/-]*)?"
)
_COMMIT: Final = re.compile(r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/commit/(?P<commit>[0-9a-f]{12})[0-9a-f]*")
_ADDRESS: Final = re.compile(r"\s*<[^<>]*@[^<>]*>")
_UPSTREAM: Final = 40
_OWNER: Final = 22


def list_patches(workplace: Workplace) -> dict[str, Any]:
    """Show the patch series of projects, and return them as plain data; no network is asked.

    Nothing is changed, but that a change of a series which an interrupted run had begun comes to its end.

    Raises
    ------
    HipwrightError
        ``no-line`` when none of the projects has the line that ``--line`` names; ``bad-series``, ``bad-data-file``.
    """
    wanted, lock = workplace.settings.line, _lock(workplace)
    projects = projects_with_series(workplace)
    if wanted is not None and projects and not any(wanted in lines_on_disk(_folder(project, workplace)) for project in projects):
        raise no_such_line(projects[0].name, wanted, folder=_folder(projects[0], workplace))
    if not projects:
        workplace.console.say("no project has a patch series")
    return {"projects": {project.name: _project(project, wanted, lock, workplace) for project in projects}}


def _project(project: Project, wanted: str | None, lock: Lock | None, workplace: Workplace) -> dict[str, Any]:
    folder, console = _folder(project, workplace), workplace.console
    lines = [line for line in lines_on_disk(folder) if wanted in {None, line}]
    today = dt.date.fromisoformat(utc_now()[:10])
    document: dict[str, Any] = {}
    for line in lines:
        series = load_series(folder, line)
        tree = _tree_status(project, series, lock, workplace)
        states = states_of(series, tree, platform=workplace.platform, today=today)
        rules = rules_of_line(project, line)
        title = f"{project.name}, line {line} ({'for ' + ', '.join(rules) if rules else 'no rule names it'})"
        if states:
            note = "" if tree is not None else "no source tree here has this line"
            console.table(title, _COLUMNS, list(_rows(states)), note=note)
        else:
            console.say(f"{title}: no patches")
        document[line] = {"rules": list(rules), "tree": tree is not None, "patches": [_plain(state) for state in states]}
    if not lines:
        console.say(f"{project.name} has no patch series")
    faults = faults_of_lines(project, folder)
    for sentence in faults.told(project.name):
        console.warn(sentence)
    declared = [{"ref": rule.ref, "why": rule.why} for rule in project.lines if rule.line is None]
    return {
        "lines": document,
        "without_patches": declared,
        "faults": {key: list(names) for key, names in dataclasses.asdict(faults).items()},
    }


def _tree_status(project: Project, series: Series, lock: Lock | None, workplace: Workplace) -> TreeStatus | None:
    """Return what is known of the work dir's tree, None when it has another line or is not there."""
    tree = workplace.work_dir / "src" / project.name
    if not (tree / ".git").exists():
        return None
    applied = read_applied(tree)
    if applied.line != series.line:
        return None
    try:
        modules = {
            module: markers for module in load_modules(tree, git=Git(runner=workplace.runner)) if (markers := markers_of(module))
        }
        commits = {
            module.path: frozenset(map(CommitId, module.store.text("rev-list", f"{markers.upstream}..HEAD", "--").split()))
            for module, markers in modules.items()
        }
    except HipwrightError as error:
        workplace.console.warn(f"what {tree} stands on cannot be told: {error.message}")
        return TreeStatus(applied=applied, commits=None)
    entry = None if lock is None else lock.projects.get(project.name)
    found = () if entry is None else due_patches(series, modules, base_version=entry.sources.base_version)
    due = frozenset(str(finding.file) for finding in found if finding.rule == "expired")
    return TreeStatus(applied=applied, commits=commits, due=due)


def _lock(workplace: Workplace) -> Lock | None:
    """Return the work dir's lock, None where nothing is locked."""
    return lock_in_use(workplace) if (workplace.work_dir / "lock.json").exists() else None


def _rows(states: Iterable[PatchStatus]) -> Iterator[Sequence[str]]:
    """Yield the rows of a table in the series' order, after one that says so where another module or phase begins."""
    rest = ("",) * (len(_COLUMNS) - 2)
    for (module, phase), group in itertools.groupby(states, key=lambda status: (status.patch.module, status.patch.phase)):
        yield ("", f"{called(module)}, {phase}:", *rest)
        for status in group:
            entry = status.patch.entry
            told = (
                status.words,
                PurePosixPath(status.patch.name).stem,
                str(status.size),
                str(status.days),
                _cut(_short(entry.upstream), _UPSTREAM),
                _cut(_ADDRESS.sub("", entry.owner) or entry.owner, _OWNER),
            )
            yield tuple(map(shown, told))


def _short(upstream: str) -> str:
    """Return where a patch stands upstream, with addresses at GitHub as people write them there.

    >>> _short("https://github.com/x/y/pull/1 and https://github.com/x/y/commit/0123456789abcdef0123456789abcdef01234567")
    'x/y#1 and x/y@0123456789ab'
    """
    return _COMMIT.sub(r"\g<repository>@\g<commit>", _REQUEST.sub(r"\g<repository>#\g<number>", upstream))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _plain(status: PatchStatus) -> dict[str, Any]:
    patch, entry = status.patch, status.patch.entry
    return {
        "file": entry.file,
        "module": patch.module,
        "phase": patch.phase,
        "why": entry.why,
        "upstream": entry.upstream,
        "owner": entry.owner,
        "platforms": list(entry.platforms),
        "added": entry.added.isoformat(),
        "days": status.days,
        "drop_when": None if entry.drop_when is None else msgspec.to_builtins(entry.drop_when),
        "bytes": len(patch.data),
        "files": status.size.files,
        "lines_added": status.size.added,
        "lines_removed": status.size.removed,
        "state": status.state,
        "expired": status.expired,
    }


def _folder(project: Project, workplace: Workplace) -> Path:
    return workplace.external_builds / project.name
