"""``invoke check-patches``: patch series looked at, proven on the sources of every ref of their lines, and held against an earlier state."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from build_tools import files
from build_tools.counted import counted
from build_tools.errors import HipwrightError, Kind, Where
from build_tools.locking.keep import lock_in_use
from build_tools.patches.compare import PatchChange, compare_files, lines_at
from build_tools.patches.findings import PatchFinding, finding, is_serious
from build_tools.patches.layout import NAME, patch_files
from build_tools.patches.lines import faults_of_lines, lines_on_disk, no_such_line, rules_of_line
from build_tools.patches.lint_series import lint_series
from build_tools.patches.series import load_series
from build_tools.pipeline.check_refs import CheckedRef, LineToCheck
from build_tools.pipeline.patch_trees import checkout_line, projects_with_series, task_line
from build_tools.receipts.record import plain
from build_tools.shown import shown
from build_tools.sources.git import Git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.workplace import Workplace

__all__ = ["check_patches"]

_COLUMNS: Final = ("severity", "rule", "where", "ref", "what")
_TOLD: Final = 3
"""How many findings the failure itself tells; the table has them all."""


@dataclass(kw_only=True, slots=True)
class _Report:
    """What was found of one line of one project; of the project itself where ``line`` is None."""

    project: str
    line: str | None
    files: int = 0
    findings: list[PatchFinding] = field(default_factory=list)
    refs: list[CheckedRef] = field(default_factory=list)
    changes: list[PatchChange] = field(default_factory=list)

    @property
    def all(self) -> list[PatchFinding]:
        """What the files tell, and what the refs do."""
        return [*self.findings, *(one for ref in self.refs for one in ref.findings)]

    @property
    def named(self) -> str:
        """The line, for people."""
        return self.project if self.line is None else f"{self.project}, patches/{self.line}"


def check_patches(workplace: Workplace) -> dict[str, Any]:
    """Judge patch series, show of each what was found, and return it as plain data.

    They are those of the projects that are named, else of what the work dir has locked, else, where none of that has a series, all.

    Raises
    ------
    HipwrightError
        ``patch-findings`` when something is to be mended, with the document; ``no-line`` when ``--line`` names one that no project has;
        ``unknown-ref`` when ``--against`` names no commit of the clone; ``origin-unreachable``, with the document, when nothing else
        is wrong and some refs could not be tried.
    """
    settings = workplace.settings
    projects = _projects(workplace)
    earlier = _earlier(projects, workplace)
    reports: list[tuple[Project, _Report]] = []
    for project in projects:
        folder = workplace.external_builds / project.name
        own = _of_rules(project, folder, workplace)
        if own.findings:
            reports.append((project, own))
        own_lines = _lines(project, projects, earlier, workplace)
        if not own_lines and settings.line is None:
            workplace.console.say(f"{project.name}: no patch series")
        for line in own_lines:
            report = _looked_at(project, line, folder)
            if settings.against is not None:
                report.changes = _changes(folder / "patches" / line, earlier.pop((project.name, line), {}))
            reports.append((project, report))
    with contextlib.nullcontext() if settings.lint_only else _apart(workplace) as apart:
        for project, report in reports:
            if apart is not None and report.line is not None:
                _prove(project, report, workplace, apart)
            _show(report, workplace)
    gone = [_Report(project=name, line=line, changes=compare_files(before, {})) for (name, line), before in earlier.items()]
    for report in gone:
        _show_changes(report, workplace)
    document = {"patches": [_document(report) for report in (*(report for _, report in reports), *gone)]}
    _raise_for([report for _, report in reports], workplace, document)
    return document


def _projects(workplace: Workplace) -> list[Project]:
    """Return the projects whose series are to be judged; those that are passed by are named."""
    found = projects_with_series(workplace)
    if workplace.settings.projects or not (workplace.work_dir / "lock.json").exists():
        return found
    locked = lock_in_use(workplace).projects
    others = [project.name for project in found if project.name not in locked]
    if len(others) == len(found):
        return found
    if others:
        told = task_line("check-patches", workplace, "--projects", ",".join(others))
        workplace.console.say(f"what is locked in {workplace.work_dir} is checked; the others: {told}")
    return [project for project in found if project.name in locked]


def _earlier(projects: Sequence[Project], workplace: Workplace) -> dict[tuple[str, str], dict[str, bytes]]:
    """Return the lines that ``--against`` compares with, by project and line; those of projects without any line too."""
    settings, folder = workplace.settings, workplace.external_builds
    if settings.against is None:
        return {}
    judged = {project.name for project in projects}

    def counts(name: str, line: str) -> bool:
        meant = name in judged or not (settings.projects or lines_on_disk(folder / name))
        return meant and settings.line in {None, line}

    found = lines_at(folder, settings.against, git=Git(runner=workplace.runner))
    return {key: found[key] for key in sorted(found) if counts(*key)}


def _lines(project: Project, projects: Sequence[Project], earlier: Iterable[tuple[str, str]], workplace: Workplace) -> list[str]:
    """Return the lines of a project that are to be judged."""
    folder, asked = workplace.external_builds / project.name, workplace.settings.line
    held = list(lines_on_disk(folder))
    if asked is None:
        return held
    # Of several projects, those count that have it.
    anywhere = any(asked in lines_on_disk(workplace.external_builds / other.name) for other in projects)
    if asked not in held and (len(projects) == 1 or not anywhere) and not any(line == asked for _, line in earlier):
        raise no_such_line(project.name, asked, folder=folder)
    return [asked] if asked in held else []


def _of_rules(project: Project, folder: Path, workplace: Workplace) -> _Report:
    """Return what of a project's rules and lines does not fit together; nothing where one line is asked for."""
    report = _Report(project=project.name, line=None)
    if workplace.settings.line is not None:
        return report
    faults = faults_of_lines(project, folder)
    for line in faults.unused:
        use = checkout_line(project.name, workplace, "--line", line)
        hint = f"to use it: {use}; refs find it once new-series names them with --for-ref"
        message = f"no rule of project.toml names patches/{line}, so it is used where it is asked for alone"
        report.findings.append(finding("unused-line", message, file=f"patches/{line}", hint=hint))
    for line in faults.missing:
        message = f"a rule of project.toml names patches/{line}, which has no {NAME}"
        hint = f"begin it: {task_line('new-series', workplace, '--projects', project.name, '--line', line)}"
        report.findings.append(finding("missing-line", message, file="project.toml", hint=hint))
    for name in faults.stray:
        message = f"patches/{shown(name)} lies in no line"
        report.findings.append(
            finding("unnamed-file", message, file=f"patches/{shown(name)}", hint="move it into a line, or remove it")
        )
    return report


def _looked_at(project: Project, line: str, folder: Path) -> _Report:
    place = folder / "patches" / line
    return _Report(project=project.name, line=line, files=len(patch_files(place)), findings=lint_series(place))


def _changes(place: Path, before: Mapping[str, bytes]) -> list[PatchChange]:
    names = [name for name in (NAME, *patch_files(place)) if (place / name).is_file()]
    return compare_files(before, {name: (place / name).read_bytes() for name in names})


@contextlib.contextmanager
def _apart(workplace: Workplace) -> Iterator[Workplace]:
    """Give a workplace with a work dir of its own, which goes when all is told."""
    folder = workplace.work_dir / "check-patches"
    own = replace(workplace.settings, work_dir=folder, lock=None, dir={}, dry_run=False)
    apart = replace(workplace, resolved=replace(workplace.resolved, settings=own))
    guard = workplace.lock_file("check-patches")
    with files.hold(guard, purpose="checking patches", wait=workplace.settings.wait, on_wait=workplace.console.say):
        # A run that was killed has left its own lock there.
        files.remove_tree(folder)
        try:
            yield apart
        finally:
            files.remove_tree(folder)


def _prove(project: Project, report: _Report, workplace: Workplace, apart: Workplace) -> None:
    """Apply a line to the sources of its refs; an origin that cannot be read is noted, and the other lines go on."""
    if not _can_be_read(project, report, workplace):
        return
    line = LineToCheck(project=project, line=report.line or "", workplace=workplace, apart=apart)
    try:
        for ref in line.check():
            report.refs.append(ref)
    except HipwrightError as error:
        if error.code.kind is not Kind.NETWORK:
            raise
        report.findings.append(replace(finding("unreachable", error.message, hint=error.hint), excerpt=error.excerpt))
        return
    if not report.refs and rules_of_line(project, report.line):
        message = f"no branch or tag at the origin finds patches/{report.line}, so nothing tells whether it applies"
        report.findings.append(finding("no-ref", message, file=NAME))


def _can_be_read(project: Project, report: _Report, workplace: Workplace) -> bool:
    try:
        load_series(workplace.external_builds / project.name, report.line)
    except HipwrightError as error:
        workplace.console.warn(f"{report.named} is applied to nothing, because it cannot be read: {error.message}")
        if not is_serious(report.findings):
            report.findings.append(finding("series-file", error.message, file=NAME, hint=error.hint))
        return False
    return True


def _show_changes(report: _Report, workplace: Workplace) -> None:
    console = workplace.console
    if report.changes:
        changed = [(shown(change.file), str(change.change)) for change in report.changes if change.change != "unchanged"]
        title = f"{report.named}: since {workplace.settings.against}"
        if changed:
            console.table(title, ("file", "change"), changed)
        else:
            console.say(f"{title}: nothing changed")


def _show(report: _Report, workplace: Workplace) -> None:
    console = workplace.console
    _show_changes(report, workplace)
    what = "lines and rules" if report.line is None else counted(report.files, "patch", "patches")
    title = f"{report.named}: {what}{_proven(report)}"
    if not report.all:
        console.say(f"{title}: nothing found")
        return
    rows = [(found.severity, found.rule, _where(found), found.ref or "", _what(found)) for found in report.all]
    notes = dict.fromkeys(f"{found.rule}: {found.hint}" for found in report.all if found.hint)
    excerpts = dict.fromkeys(shown(found.excerpt, lines=True) for found in report.all if found.excerpt)
    console.table(title, _COLUMNS, rows, note="\n".join((*notes, *excerpts)))


def _proven(report: _Report) -> str:
    if not report.refs:
        return ""
    refs = counted(len(report.refs), "ref")
    compared = ", and the tree in the work dir" if any(ref.compared for ref in report.refs) else ""
    return f" on {refs}{compared}"


def _where(found: PatchFinding) -> str:
    file = found.file or ""
    return file if found.line is None else f"{file}:{found.line}"


def _what(found: PatchFinding) -> str:
    """Return what was found, without the file's name that the table has beside it."""
    return found.message if found.file is None else found.message.removeprefix(f"{found.file} ")


def _document(report: _Report) -> dict[str, Any]:
    return {
        "project": report.project,
        "line": report.line,
        "findings": plain(report.all),
        "refs": [
            {"ref": ref.ref, "commit": ref.commit, "patches": dict(ref.patches), "compared": ref.compared} for ref in report.refs
        ],
        "changes": plain(report.changes),
    }


def _raise_for(reports: Sequence[_Report], workplace: Workplace, document: dict[str, Any]) -> None:
    found = [(report, one) for report in reports for one in report.all if is_serious([one])]
    if not found:
        _raise_for_unreachable(reports, document)
        return
    found.sort(key=lambda pair: pair[1].severity != "error")
    counts = Counter(one.severity for _, one in found)
    words = [counted(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    guilty = ", ".join(dict.fromkeys(report.named for report, _ in found))
    told = list(dict.fromkeys(one.message for _, one in found))
    more = [f"and {len(told) - _TOLD} more"] if len(told) > _TOLD else []
    report, first = found[0]
    raise HipwrightError(
        "patch-findings",
        f"{' and '.join(words)} in {guilty}: {'; '.join((*told[:_TOLD], *more))}",
        where=Where(file=_path(report, first, workplace), line=first.line),
        hint=first.hint,
        document=document,
    )


def _raise_for_unreachable(reports: Sequence[_Report], document: dict[str, Any]) -> None:
    """Raise when some refs could not be tried: what was tried tells nothing of them."""
    found = [(report, one) for report in reports for one in report.all if one.rule == "unreachable"]
    if not found:
        return
    told = "; ".join(
        dict.fromkeys(f"{report.named}{f' on {one.ref}' if one.ref else ''}: {one.message}" for report, one in found)
    )
    _, first = found[0]
    raise HipwrightError(
        "origin-unreachable", f"not all was checked: {told}", hint=first.hint, excerpt=first.excerpt, document=document
    )


def _path(report: _Report, found: PatchFinding, workplace: Workplace) -> Path | str | None:
    """Return the file that a finding speaks of; a module of a tree as it is named."""
    folder = workplace.external_builds / report.project
    path = folder / "patches" / report.line / (found.file or "") if report.line is not None else folder / (found.file or "")
    return path if path.exists() else found.file
