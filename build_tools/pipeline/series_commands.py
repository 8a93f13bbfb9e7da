"""Beginning a patch line, declaring that refs need none, and taking patches out of a series: nothing of a series needs hand work."""

from __future__ import annotations

import difflib
import os.path
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from build_tools.config.project import Line, load_project
from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, write_bytes
from build_tools.patches.applied import read_applied
from build_tools.patches.edit import SeriesText
from build_tools.patches.layout import NAME
from build_tools.patches.lines import checked_line, lines_on_disk, no_such_line
from build_tools.patches.rules import replaced_rule, with_rules
from build_tools.patches.series import load_series
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import checkout_line, projects_with_series, task_line
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from build_tools.config.project import Project
    from build_tools.workplace import Workplace

__all__ = ["drop_patches", "new_series"]

_PATTERN: Final = frozenset("*?[")
_FULL: Final = ("refs/heads/", "refs/tags/")
_NO_REF: Final = re.compile(r"^[-/]|[\x00-\x20\x7f~^:\\]|\.\.|//|@\{|(?:/|\.|\.lock)$|(?:^|/)\.")


def new_series(workplace: Workplace) -> dict[str, Any]:
    """Begin a patch line, or add rules to one; without ``--line``, declare that refs need no patches. Return what was done.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it is not said which project, line or refs, or a rule says otherwise; ``no-line`` when the line to copy
        is not there; ``bad-series``.
    """
    settings, console = workplace.settings, workplace.console
    project = _one_project(workplace)
    folder = workplace.external_builds / project.name
    line = None if settings.line is None else checked_line(settings.line, folder)
    why = " ".join(settings.words).strip()
    refs = list(dict.fromkeys(_ref(given) for given in settings.lines_for))
    if line is None and not (refs and why):
        hint = f"invoke new-series --projects {project.name} --line NAME --for-ref REF; or --for-ref REF 'why it needs none'"
        raise HipwrightError("bad-option-value", "name a line, or refs with the reason why they need no patches", hint=hint)
    if settings.copy_of is not None and settings.copy_of not in lines_on_disk(folder):
        raise no_such_line(project.name, settings.copy_of, folder=folder)
    with _series_held(project.name, workplace, "a change of its patch lines"):
        files = {} if line is None else _files_of_new(line, folder, workplace, rules=bool(refs))
        path = folder / "project.toml"
        before = path.read_bytes()
        after = with_rules(path, [Line(ref=ref, line=line, why=why) for ref in refs])
        if not settings.dry_run:
            if line is not None and files:
                write_series(folder / "patches" / line, files)
            if after != before:
                write_bytes(path, after)
    would = "would be " if settings.dry_run else ""
    if files:
        held = len(files) - 1
        begun = f"begun with {counted(held, 'patch', 'patches')}"
        console.say(
            f"{project.name}: the patch line {line} {'would be' if would else 'is'} {begun}, in {folder / 'patches' / str(line)}"
        )
    where = "declared to need no patches" if line is None else f"given the patch line {line}"
    for ref in refs:
        known = "" if after != before else ", as it was before"
        console.say(f"{project.name}: {ref} {'would be' if would else 'is'} {where}{known}")
        replaced = replaced_rule(project.lines, Line(ref=ref, line=line))
        if replaced and after != before:
            console.say(f"{project.name}: {replaced}")
    if line is not None:
        _tell_next(project, line, refs, workplace)
    return {
        "project": project.name,
        "line": line,
        "refs": refs,
        "why": why,
        "files": sorted([f"patches/{line}/{name}" for name in files] + (["project.toml"] if after != before else [])),
        "changed": bool(files) or after != before,
        "dry_run": settings.dry_run,
    }


def _one_project(workplace: Workplace) -> Project:
    names = tuple(dict.fromkeys(workplace.settings.projects))
    if len(names) != 1:
        message = f"{'no project is' if not names else 'several projects are'} named, and a series is one project's"
        raise HipwrightError("bad-option-value", message, hint="name one: --projects NAME")
    return load_project(workplace.external_builds, ProjectName(names[0]))


def _ref(given: str) -> str:
    """Return a ref that was given, or a pattern of refs, as locks have it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when git has no ref of that name (``git check-ref-format``), so that a rule for it would find nothing.
    """
    ref = next((given.removeprefix(start) for start in _FULL if given.startswith(start)), given)
    if not ref or _NO_REF.search(ref):
        message = f"--for-ref {shown(given)!r} is no name of a branch or tag, and no pattern of such names"
        raise HipwrightError("bad-option-value", message, hint="such as --for-ref release/2.9, or --for-ref 'v2.9*'")
    return ref


def _files_of_new(line: str, folder: Path, workplace: Workplace, *, rules: bool) -> dict[str, bytes]:
    """Return the files of a line that begins; none when it is there already and is to get rules.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it is there already, and nothing else is asked for, or another line's patches.
    """
    copied = workplace.settings.copy_of
    if line in lines_on_disk(folder):
        if rules and copied is None:
            return {}
        message = f"{folder.name} has a patch line {line} already"
        hint = f"choose another name; or take it away first: {printable(['git', 'rm', '-r', str(folder / 'patches' / line)])}"
        raise HipwrightError("bad-option-value", message, where=Where(file=folder / "patches" / line), hint=hint)
    if copied is not None and any((folder / "patches" / line).rglob("*")):
        message = f"patches/{line} of {folder.name} holds files already, and no {NAME}"
        raise HipwrightError(
            "bad-option-value", message, where=Where(file=folder / "patches" / line), hint="move them away first"
        )
    if copied is None:
        return {NAME: SeriesText.begin(folder / "patches" / line).data}
    series = load_series(folder, copied)
    files = {patch.name: patch.data for patch in series.patches}
    return {**files, NAME: SeriesText.read(folder / "patches" / copied).data}


def _tell_next(project: Project, line: str, refs: Sequence[str], workplace: Workplace) -> None:
    exact = [ref for ref in refs if not _PATTERN & set(ref)]
    if not refs:
        workplace.console.say(f"no rule names it; for one command: {checkout_line(project.name, workplace, '--line', line)}")
    elif exact:
        workplace.console.say(f"next: {checkout_line(project.name, workplace, f'--{project.name}-ref', exact[0])}")
    workplace.console.say(f"commits on that tree become its patches by: {task_line('save-patches', workplace)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Held:
    """A patch that some series has: its project, line and name there."""

    project: str
    line: str
    file: str
    place: Path

    @property
    def named(self) -> str:
        """It for messages."""
        return f"{self.project} {self.line} {self.file}"


def drop_patches(workplace: Workplace) -> dict[str, Any]:
    """Take patches out of their series, each with its file; all or, of one line, none. Return which.

    A patch is named by its file's path, by its name in the series, or by the end of that when only one ends so.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when none or several are called so; ``bad-series``.
    """
    settings, console = workplace.settings, workplace.console
    if not settings.words:
        raise HipwrightError("bad-option-value", "no patch is named", hint="invoke list-patches shows them")
    held = list(_all_held(workplace))
    dropped = list(dict.fromkeys(_find(word, held, workplace) for word in settings.words))
    by_place: dict[Path, list[_Held]] = {}
    for patch in dropped:
        by_place.setdefault(patch.place, []).append(patch)
    for place, patches in by_place.items():
        if settings.dry_run:
            continue
        with _series_held(patches[0].project, workplace, "a change of its patch series"):
            text = SeriesText.read(place)
            for patch in patches:
                if patch.file in text.names:
                    text = text.remove(patch.file)
                else:
                    # Another command was waited for, or came first.
                    console.say(f"{patch.named} has gone meanwhile")
                    dropped.remove(patch)
            gone = [patch.file for patch in patches if patch in dropped]
            write_series(place, {NAME: text.data, **dict.fromkeys(gone)} if gone else {})
    for patch in dropped:
        console.say(f"{patch.named} {'would go' if settings.dry_run else 'is gone'}")
    for name, line in dict.fromkeys((patch.project, patch.line) for patch in dropped):
        tree = workplace.work_dir / "src" / name
        if (tree / ".git").exists() and read_applied(tree).line == line and not settings.dry_run:
            console.say(f"the source tree has its commits until it is checked out again: {checkout_line(name, workplace)}")
    rows = [{"project": patch.project, "line": patch.line, "file": patch.file} for patch in dropped]
    return {"dropped": rows, "dry_run": settings.dry_run}


def _all_held(workplace: Workplace) -> Iterable[_Held]:
    """Yield every patch that the command may mean."""
    wanted, found = workplace.settings.line, False
    projects = projects_with_series(workplace)
    for project in projects:
        folder = workplace.external_builds / project.name
        for line in lines_on_disk(folder):
            if wanted not in {None, line}:
                continue
            found = True
            place = folder / "patches" / line
            for entry in SeriesText.read(place).entries:
                yield _Held(project=project.name, line=line, file=entry.file, place=place)
    if wanted is not None and not found:
        name = projects[0].name if projects else "any project"
        raise no_such_line(name, wanted, folder=workplace.external_builds / name)


def _find(word: str, held: Sequence[_Held], workplace: Workplace) -> _Held:
    """Return the patch that a word means."""
    path = os.path.normpath(workplace.typed_in / word)
    exact = [patch for patch in held if path == os.path.normpath(patch.place / patch.file)]
    named = PurePosixPath(word.replace("\\", "/"))
    ends = [patch for patch in held if _ends_with(patch.file, named)]
    found = exact or [patch for patch in ends if patch.file == named.as_posix()] or ends
    if len(found) == 1:
        return found[0]
    if found:
        message = f"several patches are called {word}: {', '.join(patch.named for patch in found)}"
        raise HipwrightError("bad-option-value", message, hint="say more of the name, or narrow with --projects and --line")
    names = {PurePosixPath(patch.file).name for patch in held}
    near = difflib.get_close_matches(named.name, sorted(names), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "invoke list-patches shows all"
    raise HipwrightError("bad-option-value", f"no series has a patch {word!r}", hint=hint)


def _ends_with(file: str, named: PurePosixPath) -> bool:
    """Return whether the last parts of a file's name are those that are named, with or without the suffix."""
    known = PurePosixPath(file)
    count = len(named.parts)
    return count > 0 and named.parts in {known.parts[-count:], known.with_suffix("").parts[-count:]}


def _series_held(project: str, workplace: Workplace, purpose: str) -> AbstractContextManager[None]:
    """Keep other commands from changing a project's series for the block."""
    path = workplace.lock_file(f"series-{project}")
    return hold(path, purpose=f"{purpose} ({project})", wait=workplace.settings.wait, on_wait=workplace.console.say)
