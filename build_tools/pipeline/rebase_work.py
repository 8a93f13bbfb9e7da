"""The work of carrying a series over: group by group of patches, each on the tree that the source stages make of those before it.

Base patches come level by level of modules, because a parent's may move a submodule; then hipify runs, and the hipified ones come. Every
step is noted before the next begins, so that the work goes on where it was stopped or killed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError, Where
from build_tools.locking.resolve import with_series_of_today
from build_tools.patches.apply import replay
from build_tools.patches.edit import SeriesText
from build_tools.patches.elsewhere import unfit_elsewhere
from build_tools.patches.export import export
from build_tools.patches.layout import NAME
from build_tools.patches.mail import parse_mail
from build_tools.patches.pick import add_line, conflicting_files, marks_left, pick, put_back, solution, unsolved
from build_tools.patches.prove import due_patches
from build_tools.patches.rebase import Carried, Stopped, clear, write_state
from build_tools.patches.remake import remade
from build_tools.patches.series import Series, load_series
from build_tools.patches.upstream import patched_files, touching
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import chain_of, task_line
from build_tools.pipeline.rebase_end import prove, write_line
from build_tools.pipeline.rebase_told import once, range_diffs, tell
from build_tools.pipeline.source_stages import SOURCE_STAGES, run_sources
from build_tools.process import printable
from build_tools.sources.borrow import borrow_more
from build_tools.sources.modules import markers_of, temporary_name
from build_tools.sources.phases import marked_modules
from build_tools.sources.told import called
from build_tools.types import CommitId, ProjectName, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.patches.rebase import RebaseState
    from build_tools.patches.series import Patch
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Markers, Module
    from build_tools.sources.phases import Phase
    from build_tools.workplace import Workplace

__all__ = ["OLD", "RebaseWork"]

OLD: Final = "old"
"""The folder of the work that keeps the series as it was when the work began, placed as a project has it."""

_BASE: Final = (Stage.CHECKOUT, Stage.BASE_PATCHES)
_STAYS: Final = frozenset({"carried", "solved", "other-platform"})
_UNFIT: Final = frozenset({"patch-conflict", "patch-misplaced"})
_COMMITS: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RebaseWork:
    """One series on its way: the person's tree that it comes from, and the folder of the work."""

    chain: Chain
    folder: Path
    told: set[str] = field(default_factory=set)

    @property
    def workplace(self) -> Workplace:
        """The person's workplace."""
        return self.chain.workplace

    def go_on(self, state: RebaseState) -> dict[str, Any]:
        """Carry all patches that are still to come, and write the new line; return what was done as plain data.

        Raises
        ------
        HipwrightError
            ``rebase-stopped`` at a conflict; ``rebase-state`` when the old line was changed meanwhile and is to be replaced.
        """
        series = load_series(self.folder / OLD, state.old_line)
        if state.stopped is not None:
            state = self._solved(state, state.stopped)
        groups = _groups(series)
        while state.group < len(groups):
            state = self._carry_group(state, series, groups[state.group])
        return self._finish(state, series)

    def _note(self, state: RebaseState) -> RebaseState:
        write_state(self.folder, state)
        return state

    def _apart(self, state: RebaseState) -> Chain:
        """Return the project at the new ref, with the line as it is so far."""
        settings = replace(
            self.workplace.settings,
            work_dir=self.folder,
            projects=(state.project,),
            ref={},
            origin={},
            submodule_url={},
            line=state.new_line,
            dry_run=False,
        )
        resolved = replace(self.workplace.resolved, settings=settings)
        console = once(self.workplace.console, self.told)
        place = replace(self.workplace, clone=self.folder / "clone", console=console, resolved=resolved)
        project = load_project(place.external_builds, ProjectName(state.project))
        entry = with_series_of_today(state.entry, project, place, whole=True, line=state.new_line)
        return chain_of(project, entry, place)

    def _git(self, chain: Chain) -> Git:
        return chain.workplace.origin(chain.project, chain.locked().requested.origin).git

    def _carry_group(self, state: RebaseState, series: Series, group: Sequence[Patch]) -> RebaseState:
        """Carry the patches of a group, and add them to the line."""
        chain = self._apart(state)
        git = self._git(chain)
        if not state.standing:
            stages = _BASE if group[0].phase == "base" else (*_BASE, Stage.HIPIFY)
            with self.workplace.console.group(f"{state.project} at {state.ref}, for its {group[0].phase} patches"):
                run_sources(chain, stages, git)
            state = self._note(msgspec.structs.replace(state, standing=True))
        modules = {module.path: (module, markers) for module, markers in marked_modules(chain.tree, git=git, say=_quiet).items()}
        for path, (module, _markers) in modules.items():
            if path in state.lenders:
                borrow_more(module.git_dir, lender=Path(state.lenders[path]))
        sources = state.entry.sources
        due = {
            one.file
            for one in due_patches(series, dict(modules.values()), base_version=sources.base_version)
            if one.rule == "expired"
        }
        heads = {path: markers.finished for path, (_module, markers) in modules.items()}
        begun = set()
        for number, patch in enumerate(group, start=1):
            known = state.fate_of(patch.name)
            if known is None and patch.module in modules and patch.module not in begun:
                put_back(modules[patch.module][0], heads[patch.module])
                begun.add(patch.module)
            if known is None:
                target = modules[patch.module][0] if patch.module in modules else None
                known = self._carry(state, patch, target, expired=patch.name in due)
                state = self._note(state.with_done(known))
            if known.new is not None:
                heads[patch.module] = known.new
            self.workplace.console.progress(f"{group[0].phase} patches carried", number, len(group))
        self._keep(state, group, {path: module for path, (module, _markers) in modules.items()})
        for path in {patch.module for patch in group} & modules.keys():
            module, markers = modules[path]
            put_back(module, markers.finished)
        return self._note(msgspec.structs.replace(state, group=state.group + 1, standing=False))

    def _carry(self, state: RebaseState, patch: Patch, module: Module | None, *, expired: bool) -> Carried:
        old = state.commits.get(patch.name)
        if expired:
            return Carried(file=patch.name, fate="expired", old=old)
        if module is None:
            return Carried(file=patch.name, fate="no-module", old=old)
        if not patch.applies_on(self.workplace.platform):
            return Carried(file=patch.name, fate="other-platform")
        if old is None:
            return self._carry_file(state, patch, module)
        return self._merge(state, patch, module, old, old=old)

    def _carry_file(self, state: RebaseState, patch: Patch, module: Module) -> Carried:
        """Carry a patch that was left out of the old sources, since they have it of their own; the new ones need not."""
        head = CommitId(module.repository.text("rev-parse", "HEAD"))
        tree, log = self._tree(state), self._log(state)
        alone = Series(line=state.new_line, patches=(patch,), digest=state.digest)
        try:
            found = replay(alone, patch.phase, {module: head}, tree=tree, platform=self.workplace.platform, log=log, say=_quiet)
        except HipwrightError as error:
            if error.code.name not in _UNFIT:
                raise
            commit = remade(patch, module, head, tree=tree, log=log)
            if commit is not None:
                return self._merge(state, patch, module, commit, old=None)
            self._note(msgspec.structs.replace(state, stopped=_stopped(patch, module, None, head)))
            raise self._by_hand(state, patch, module, error) from error
        done = found[module.path]
        if done.patches[0].outcome == "upstream":
            return Carried(file=patch.name, fate="upstream")
        put_back(module, done.head)
        return Carried(file=patch.name, fate="carried", new=done.head)

    def _merge(self, state: RebaseState, patch: Patch, module: Module, commit: CommitId, *, old: CommitId | None) -> Carried:
        head = CommitId(module.repository.text("rev-parse", "HEAD"))
        try:
            new = pick(module, commit)
        except HipwrightError as error:
            if error.code.name != "rebase-stopped":
                raise
            self._note(msgspec.structs.replace(state, stopped=_stopped(patch, module, commit, head)))
            raise self._conflict(state, patch, module, error.message) from error
        return Carried(file=patch.name, fate="upstream" if new is None else "carried", old=old, new=new)

    def _tree(self, state: RebaseState) -> Path:
        return self.folder / "src" / state.project

    def _log(self, state: RebaseState) -> Path:
        return self.folder / "logs" / state.project / "rebase-patches.log"

    def _ways(self, state: RebaseState) -> tuple[str, str]:
        """Return the commands that go on and that give up."""
        words = ("--projects", state.project)
        return (
            task_line("rebase-patches", self.workplace, *words, "--continue"),
            task_line("rebase-patches", self.workplace, *words, "--abort"),
        )

    def _by_hand(self, state: RebaseState, patch: Patch, module: Module, error: HipwrightError) -> HipwrightError:
        """Return the stop at a patch that no merge can be tried of, since what it was made for is not here."""
        git = ("git", "-C", str(module.folder))
        mail = parse_mail(patch.data)
        author = ("--author", f"{mail.author} <{mail.email}>", "--date", mail.date)
        on, away = self._ways(state)
        hint = (
            f"make one commit of it in {module.folder}: {printable([*git, 'apply', '--reject', str(patch.file)])} takes what fits, then "
            f"{printable([*git, 'commit', *author])}; go on: {on}; to leave the patch out, before that: "
            f"{printable([*git, 'commit', '--allow-empty', '-m', 'left out'])}; to give all of it up: {away}"
        )
        return HipwrightError(
            "rebase-stopped", f"{error.message}; at {state.ref}", where=error.where, hint=hint, excerpt=error.excerpt
        )

    def _conflict(self, state: RebaseState, patch: Patch, module: Module, what: str) -> HipwrightError:
        skip = printable(["git", "-C", str(module.folder), "cherry-pick", "--skip"])
        on, away = self._ways(state)
        hint = (
            f"solve it in {module.folder}, mark it as solved: {add_line(module, conflicting_files(module))}, and go on: {on}; "
            f"to leave the patch out, before that: {skip}; to give all of it up: {away}"
        )
        markers = markers_of(module)
        touched = [] if markers is None else touching(module.store, markers.upstream, patched_files(patch), most=_COMMITS)
        told = [f"{one.commit[:12]} {one.date} {one.subject}" for one in touched]
        excerpt = "\n".join(["upstream's last commits there:", *told]) if told else None
        message = f"{patch.name} does not fit {called(module.path)} at {state.ref}: {what}"
        where = Where(file=self.chain.folder / "patches" / state.old_line / patch.name, module=module.path)
        return HipwrightError("rebase-stopped", message, where=where, hint=hint, excerpt=excerpt)

    def _solved(self, state: RebaseState, stopped: Stopped) -> RebaseState:
        """Take what the person made of a conflict."""
        chain = self._apart(state)
        modules = marked_modules(chain.tree, git=self._git(chain), say=_quiet)
        module = next(module for module in modules if module.path == stopped.module)
        left = [line for other in modules for line in unsolved(other)]
        left += self._strays(state, {other: markers for other, markers in modules.items() if other is not module})
        patch = next(one for one in load_series(self.folder / OLD, state.old_line).patches if one.name == stopped.file)
        left += marks_left(module, stopped.head, meant=patch.data)
        if left:
            message = f"the conflict of {stopped.file} in {called(stopped.module)} is not solved yet"
            where = Where(file=module.folder, module=stopped.module)
            hint = f"then {self._ways(state)[0]}"
            raise HipwrightError("rebase-stopped", message, where=where, hint=hint, excerpt="\n".join(left))
        try:
            fate, new = solution(module, stopped.commit, stopped.head)
        except HipwrightError as error:
            if error.code.name != "rebase-stopped":
                raise
            raise self._by_hand(state, patch, module, error) from error
        old = state.commits.get(stopped.file)
        state = self._note(state.with_done(Carried(file=stopped.file, fate=fate, old=old, new=new)))
        if new is None:
            put_back(module, stopped.head)
        return state

    def _strays(self, state: RebaseState, others: Mapping[Module, Markers]) -> Iterator[str]:
        """Yield what a person has committed where there was nothing to solve: going on would lose it."""
        group = {patch.name: patch.module for patch in _groups(load_series(self.folder / OLD, state.old_line))[state.group]}
        for module, markers in others.items():
            made = [one.new for one in state.done if one.new is not None and group.get(one.file) == module.path]
            stands = made[-1] if made else markers.finished
            if module.store.head() != stands:
                back = printable(["git", "-C", str(module.folder), "reset", "--keep", stands])
                yield f"{called(module.path)} has commits that no patch waits for; take them back: {back}"

    def _keep(self, state: RebaseState, group: Sequence[Patch], modules: Mapping[str, Module]) -> None:
        """Add the patches of a group to the line that grows."""
        place = self._line_folder(state)
        data: dict[str, bytes] = {}
        for path, module in modules.items():
            made = {
                one.name: known.new for one in group if one.module == path and (known := state.fate_of(one.name)) and known.new
            }
            saved = export(module.store, list(made.values()), scratch=temporary_name(self._tree(state), "export"))
            data |= {name: saved[commit] for name, commit in made.items()}
        for patch in group:
            known = state.fate_of(patch.name)
            if known is not None and known.fate == "other-platform":
                data[patch.name] = patch.data
        text = SeriesText.read(self.folder / OLD / "patches" / state.old_line)
        for name in text.names:
            known = state.fate_of(name)
            if known is None or known.fate not in _STAYS:
                text = text.remove(name)
        write_series(place, {**data, NAME: text.data})

    def _line_folder(self, state: RebaseState) -> Path:
        return self.folder / "clone" / "external-builds" / state.project / "patches" / state.new_line

    def _finish(self, state: RebaseState, series: Series) -> dict[str, Any]:
        """Prove the new line on a clean tree, write it, and tell what changed."""
        chain = self._apart(state)
        git = self._git(chain)
        with self.workplace.console.group(f"{state.project} at {state.ref}, with the new line"):
            run_sources(chain, tuple(SOURCE_STAGES), git)
        modules = marked_modules(chain.tree, git=git, say=_quiet)
        made = load_series(self._line_folder(state).parents[1], state.new_line)
        prove(state, chain, modules, series)
        starts: dict[Phase, Mapping[Module, CommitId]] = {
            "base": {module: markers.upstream for module, markers in modules.items()},
            "hipified": {module: markers.hipified for module, markers in modules.items()},
        }
        # There is nobody here who could solve a conflict on another platform.
        elsewhere = unfit_elsewhere(made, starts, here=self.workplace.platform, tree=chain.tree, log=self._log(state))
        differences = range_diffs(state, series, modules)
        state = self._note(msgspec.structs.replace(state, ending="writing"))
        write_line(self.chain, state, made, grown=self._line_folder(state))
        document = tell(state, series, made, differences, elsewhere, chain=self.chain)
        self._note(msgspec.structs.replace(state, ending="written"))
        clear(self.folder)
        return document


def _stopped(patch: Patch, module: Module, commit: CommitId | None, head: CommitId) -> Stopped:
    return Stopped(file=patch.name, module=module.path, commit=commit, head=head)


def _quiet(_line: str) -> None:
    """Say nothing."""


def _groups(series: Series) -> list[tuple[Patch, ...]]:
    """Return the patches in groups, each with the patches of modules that none of the same group contains: base ones, then hipified."""
    base = [patch for patch in series.patches if patch.phase == "base"]
    paths = {patch.module for patch in base}

    def level(path: str) -> int:
        return 0 if path == "." else 1 + sum(path.startswith(f"{other}/") for other in paths)

    levels = sorted({level(patch.module) for patch in base})
    groups = [tuple(patch for patch in base if level(patch.module) == number) for number in levels]
    hipified = tuple(patch for patch in series.patches if patch.phase == "hipified")
    return [*groups, *([hipified] if hipified else [])]
