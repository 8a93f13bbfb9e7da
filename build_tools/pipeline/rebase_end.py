"""The end of carrying a series over: the new line is proved on a clean tree, and written with its rule into the person's clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import files
from build_tools.config.project import Line
from build_tools.errors import HipwrightError, Where
from build_tools.patches.applied import read_applied
from build_tools.patches.layout import NAME
from build_tools.patches.lines import rule_of
from build_tools.patches.rules import replaced_rule, with_rule_for
from build_tools.patches.series import load_series
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import task_line
from build_tools.types import is_commit_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.patches.rebase import RebaseState
    from build_tools.patches.series import Series
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.modules import Markers, Module

__all__ = ["prove", "rules_for", "tell_rule", "write_line"]


def prove(state: RebaseState, chain: Chain, modules: Mapping[Module, Markers], series: Series) -> None:
    """Refuse a line from which a clean checkout makes another tree than was carried over.

    Parameters
    ----------
    state
        The work.
    chain
        The project at the new ref, with a tree of the new line.
    modules
        The tree's modules.
    series
        The old series.

    Raises
    ------
    HipwrightError
        ``bad-commit`` that names the patch.
    """
    applied = {one.file: one for one in read_applied(chain.tree).patches}
    stores = {module.path: module.store for module in modules}
    for patch in series.patches:
        known = state.fate_of(patch.name)
        if known is None or known.new is None:
            continue
        commit = applied[patch.name].commit if patch.name in applied else None
        store = stores[patch.module]
        if commit is None or store.tree_of(commit) != store.tree_of(known.new):
            message = (
                f"{patch.name} gives another content when it is applied than the commit {known.new[:12]} that it was written from"
            )
            raise HipwrightError("bad-commit", message, where=Where(file=patch.file, module=patch.module, key=known.new))


def write_line(chain: Chain, state: RebaseState, made: Series, *, grown: Path) -> None:
    """Write the new line and its rule into the person's clone.

    Parameters
    ----------
    chain
        The person's own tree.
    state
        The work.
    made
        The new line.
    grown
        Its folder in the work.

    Raises
    ------
    HipwrightError
        ``rebase-state`` when the line is another one than it was, or came up meanwhile.
    """
    folder, home = chain.folder, chain.workplace
    place = folder / "patches" / state.new_line
    wanted: dict[str, bytes | None] = {patch.name: patch.data for patch in made.patches}
    wanted[NAME] = (grown / NAME).read_bytes()
    guard = home.lock_file(f"series-{state.project}")
    say = home.console.say
    with files.hold(guard, purpose=f"writing a patch line ({state.project})", wait=home.settings.wait, on_wait=say):
        there = load_series(folder, state.new_line) if place.exists() else None
        # An interrupted run may have written the line already.
        known = {made.digest, *((state.digest,) if state.new_line == state.old_line else ())}
        if there is not None and there.digest not in known:
            what = "was changed" if state.new_line == state.old_line else "has come up"
            message = f"the line {state.new_line} {what} while the series was carried over"
            on = task_line("rebase-patches", home, "--projects", state.project, "--continue")
            hint = f"put it back as it was, or away, and go on: {on}"
            raise HipwrightError("rebase-state", message, where=Where(file=place), hint=hint)
        wanted = {**{patch.name: None for patch in (there.patches if there else ())}, **wanted}
        path = folder / "project.toml"
        before, after = path.read_bytes(), rules_for(chain, state.ref, old=state.old_line, new=state.new_line)
        write_series(place, wanted)
        if after != before:
            files.write_bytes(path, after)
            tell_rule(chain, state.ref, new=state.new_line)


def tell_rule(chain: Chain, ref: str, *, new: str) -> None:
    """Tell which rule in ``project.toml`` says the new line, and what it said before."""
    if is_commit_id(ref.lower()):
        return
    would = "would say" if chain.workplace.settings.dry_run else "says"
    replaced = replaced_rule(chain.project.lines, Line(ref=ref, line=new))
    before = f"; {replaced}" if replaced else ""
    chain.workplace.console.say(f"{chain.folder / 'project.toml'} {would} that {ref} has the line {new}{before}")


def rules_for(chain: Chain, ref: str, *, old: str, new: str) -> bytes:
    """Return what ``project.toml`` is to hold so that a ref finds its new line; a commit's id finds what is asked for with it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when a rule for the ref says a third line.
    """
    path = chain.folder / "project.toml"
    rule = rule_of(chain.project, ref)
    if is_commit_id(ref.lower()) or (rule is not None and rule.line == new):
        return path.read_bytes()
    return with_rule_for(path, ref, new, instead_of=old)
