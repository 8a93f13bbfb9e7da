"""What carrying a series over has brought: what became of each patch, and how old and new commits differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from build_tools.config.project import session_name
from build_tools.console.events import GroupBegan, GroupEnded, Said
from build_tools.patches.compare import change_between
from build_tools.patches.layout import PHASES
from build_tools.process import printable
from build_tools.sources.told import called
from build_tools.types import ProjectName, is_commit_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from build_tools.console.events import Console, Event, Renderer
    from build_tools.patches.rebase import Fate, RebaseState
    from build_tools.patches.series import Series
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.modules import Module
    from build_tools.types import Platform

__all__ = ["FATES", "document_of", "once", "range_diffs", "tell", "tell_elsewhere"]

FATES: Final[Mapping[Fate, str]] = {
    "carried": "carried",
    "solved": "carried, with a conflict that was solved",
    "upstream": "left out: the sources have it",
    "given-up": "left out: it was skipped",
    "expired": "left out: it was to go by now",
    "no-module": "left out: its submodule is gone",
    "other-platform": "kept as it is: it is for another platform",
}
"""What people are told of what became of a patch."""

_COLUMNS: Final = ("patch", "what became of it", "change")
_RANGE_DIFF: Final = ("--no-color", "--no-notes", "--creation-factor=95")
"""Patches that a merge has changed much are still the same ones."""


def tell(
    state: RebaseState,
    series: Series,
    made: Series,
    differences: Mapping[str, str],
    elsewhere: Mapping[Platform, str | None],
    *,
    chain: Chain,
) -> dict[str, Any]:
    """Tell what became of a series, and return it as plain data.

    Parameters
    ----------
    state
        The work, done.
    series
        The old series.
    made
        The new one.
    differences
        What :func:`range_diffs` found.
    elsewhere
        What :func:`build_tools.patches.elsewhere.unfit_elsewhere` found.
    chain
        The person's own tree.
    """
    console = chain.workplace.console
    data = {patch.name: patch.data for patch in made.patches}
    rows = []
    fates: list[tuple[str, Fate, str | None]] = []
    for patch in series.patches:
        known = state.fate_of(patch.name)
        fate: Fate = known.fate if known is not None else "carried"
        carried = data.get(patch.name) if known is not None and known.new is not None else None
        change = None if carried is None else change_between(patch.data, carried)
        rows.append((patch.name, FATES[fate], change or ""))
        fates.append((patch.name, fate, change))
        if fate in {"given-up", "no-module"}:
            console.warn(f"{patch.name} is not in the new line: {FATES[fate].removeprefix('left out: ')}")
    tell_elsewhere(elsewhere, console)
    for title, text in differences.items():
        console.say(f"{title}, old and new:\n{text}")
    commit, place = state.entry.sources.commit, chain.folder / "patches" / state.new_line
    session = f"checkout_{session_name(ProjectName(state.project))}"
    # No rule finds the line of a commit that has no name.
    line = ("--line", state.new_line) if is_commit_id(state.ref) else ()
    command = printable([*chain.workplace.nox, "-s", session, "--", f"--{state.project}-ref", state.ref, *line, "--relock"])
    console.table(
        f"{state.project}, line {state.old_line} → {state.new_line}: {state.old_commit[:12]} → {state.ref} ({commit[:12]})",
        _COLUMNS,
        rows,
        note=f"the series is {place}; to have its tree: {command}",
    )
    more = {
        "elsewhere": {platform.value: failure for platform, failure in elsewhere.items()},
        "range_diff": dict(differences),
    }
    return document_of(state, "done", fates, series=place, dry_run=False, more=more)


def document_of(
    state: RebaseState,
    standing: str,
    fates: Iterable[tuple[str, Fate, str | None]],
    *,
    series: Path,
    dry_run: bool,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what is told programs of a series that is carried, however far it is.

    Parameters
    ----------
    state
        The work.
    standing
        The word for how far it is.
    fates
        The patches that it is known of what became, or would become, of them: name, that, and how the patch changed.
    series
        The folder of the new line.
    dry_run
        Whether nothing was done.
    more
        What else is told.
    """
    return {
        "rebase": {
            "project": state.project,
            "state": standing,
            "dry_run": dry_run,
            "old_line": state.old_line,
            "line": state.new_line,
            "onto": {"ref": state.ref, "commit": state.entry.sources.commit},
            "patches": [{"file": file, "fate": fate, "change": change} for file, fate, change in fates],
            "series": str(series),
            **(more or {}),
        }
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Once:
    """A renderer that says each thing once, and frames nothing: a tree is made several times while a series is carried."""

    renderer: Renderer
    told: set[str]

    def show(self, event: Event) -> None:
        if isinstance(event, GroupBegan | GroupEnded):
            return
        if isinstance(event, Said):
            if event.text in self.told:
                return
            self.told.add(event.text)
        self.renderer.show(event)

    def close(self) -> None:
        self.renderer.close()


def once(console: Console, told: set[str]) -> Console:
    """Return a console for the stages of the trees that are made on the way: it says nothing twice, and leaves out their frames.

    Parameters
    ----------
    console
        The person's.
    told
        What was said so far; it grows.
    """
    return replace(console, renderer=_Once(renderer=console.renderer, told=told))


def tell_elsewhere(elsewhere: Mapping[Platform, str | None], console: Console) -> None:
    """Tell whether other platforms take a line; what they do not take is for somebody to mend by hand."""
    for platform, failure in elsewhere.items():
        if failure is None:
            console.say(f"tried as {platform.value} gets it: all patches apply")
        else:
            console.warn(f"tried as {platform.value} gets it, and it does not apply there: {failure}")


def range_diffs(state: RebaseState, series: Series, modules: Iterable[Module]) -> dict[str, str]:
    """Return what ``git range-diff`` says of each module and phase that has patches on both sides, by what people are told these are.

    Parameters
    ----------
    state
        The work, with the commits on both sides.
    series
        The old series.
    modules
        Modules whose repositories have the objects of both sides.
    """
    found = {}
    for module in modules:
        for phase in PHASES:
            own = [patch.name for patch in series.patches if (patch.module, patch.phase) == (module.path, phase)]
            done = [known for known in map(state.fate_of, own) if known is not None]
            old, new = [one.old for one in done if one.old], [one.new for one in done if one.new]
            if not old or not new:
                continue
            ranges = (f"{old[0]}~1..{old[-1]}", f"{new[0]}~1..{new[-1]}")
            told = module.store.capture("range-diff", *_RANGE_DIFF, *ranges, what="git range-diff")
            found[f"{called(module.path)}, {phase} patches"] = told.stdout.decode("utf-8", "replace").rstrip("\n")
    return found
