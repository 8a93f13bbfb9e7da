"""Save the commits of source trees as their patch series, so that a clean checkout gives the same trees.

Everything is found, proved and shown before a file is written. Then the tree itself takes the commits that a clean checkout makes: its
files stay as they are, and what is on top of the stages' commits is nobody's alone any more.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.hipify.record import read_tree_record, spelled
from build_tools.locking.keep import ensure_locked
from build_tools.patches.applied import Applied, read_applied
from build_tools.patches.edit import SeriesText
from build_tools.patches.history import ModuleHistory, read_histories
from build_tools.patches.layout import NAME, PHASES
from build_tools.patches.pin_moves import submodules_after_base
from build_tools.patches.save import Saved, plan_series, refuse_changed_series, refuse_moved
from build_tools.patches.saving import forget_saving, let_go, settle_saving, take_back
from build_tools.patches.sections import may_move_submodules
from build_tools.patches.series import Series, load_series
from build_tools.patches.survive import prove_saved, said_already
from build_tools.patches.uncommitted import refuse_uncommitted, refuse_unfinished
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import chain_of, checkout_line, held, task_line, trees_in_use
from build_tools.pipeline.save_told import document, show
from build_tools.pipeline.source_stages import run_sources
from build_tools.process import printable
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import StageReceipt
from build_tools.shown import shown
from build_tools.sources.git import Git
from build_tools.sources.kept import kept_by_tag
from build_tools.sources.mirror import mirror_of
from build_tools.sources.modules import MARKERS, ROOT, own_folder, temporary_name
from build_tools.sources.phases import finish, marked_modules
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.ids import Sha256
    from build_tools.sources.modules import Markers, Module
    from build_tools.types import CommitId
    from build_tools.workplace import Workplace

__all__ = ["save_patches"]

_STAGES: Final = (Stage.CHECKOUT, Stage.BASE_PATCHES, Stage.HIPIFY, Stage.HIPIFIED_PATCHES)
_LEFT_OUT: Final = "left out"


def save_patches(workplace: Workplace) -> dict[str, Any]:
    """Write the commits of the trees that the command is about into their series; show what changed, and return it as plain data.

    Raises
    ------
    HipwrightError
        ``uncommitted``, ``bad-commit``, ``marker-lost``, ``moved-hunks``, ``series-changed``, ``no-line``: nothing is written, and the
        hint names the way out; what finding and making trees raises.
    """
    saved: dict[str, Any] = {}
    for chain in trees_in_use(workplace):
        try:
            saved[chain.project.name] = _save(chain)
        except HipwrightError as error:
            error.document = {"saved": saved}
            raise
    return {"saved": saved}


def _save(chain: Chain) -> dict[str, Any]:
    place, project = chain.workplace, chain.project.name
    purpose = f"saving the patches of {project}"
    series = files.hold(
        place.lock_file(f"series-{project}"), purpose=purpose, wait=place.settings.wait, on_wait=place.console.say
    )
    with held(chain, purpose), series:
        saving = _prepare(chain)
        if saving is None:
            place.console.say(f"{project}: nothing to save, the series says what the tree has")
            return document(chain, None)
        saved = saving.plan()
        for note in saving.notes(saved):
            place.console.warn(note)
        if not place.settings.refresh:
            refuse_moved(saved, refresh=task_line("save-patches", place, "--projects", project, "--refresh"))
        saving.prove(saved)
        if saved.files and not place.settings.dry_run:
            write_series(saving.place, saved.files)
        show(chain, saved)
        if place.settings.dry_run:
            return document(chain, saved)
        saving.let_go()
    saving.adopt(saved)
    if saving.stands is Stage.BASE_PATCHES and chain.project.hipify is not None:
        place.console.say(f"{project}: to have hipify see them: {checkout_line(project, place)}")
    return document(chain, saved)


def _prepare(chain: Chain) -> _Saving | None:
    """Return what there is to save, None when the tree is as its series makes it; refuse what cannot be saved."""
    place, tree = chain.workplace, chain.tree
    origin = place.origin(chain.project, chain.locked().requested.origin)
    git = Git(runner=place.runner, redirects=origin.git.redirects)
    line = chain.locked().patches.line
    digest = functools.partial(_digest, chain)
    settle_saving(tree, series=digest, git=git, say=place.console.say, resume=True)
    modules = marked_modules(tree, git=git, say=place.console.say)
    applied = read_applied(tree)
    refuse_unfinished(modules)
    until_base = checkout_line(chain.project.name, place, "--until", Stage.BASE_PATCHES.value)
    refuse_uncommitted(tree, modules, base=until_base)
    _refuse_other_sources(chain, modules)
    gone_on = [module for module, markers in modules.items() if module.store.head() != markers.finished]
    series = load_series(chain.folder, line)
    stands = _stands(chain, applied, modules, gone_on)
    if stands is None:
        return None
    if line is None and gone_on:
        project, ref = chain.project.name, chain.locked().sources.ref
        message = f"{ref} of {project} has no patch line to save to: {chain.locked().patches.reason}"
        begin = task_line("new-series", place, "--projects", project, "--line", "NAME", "--for-ref", ref)
        hint = f"begin one, and save again: {begin}"
        raise HipwrightError("no-line", message, where=Where(file=chain.folder / "project.toml", key="lines"), hint=hint)
    if line is None:
        return None

    def read() -> tuple[ModuleHistory, ...]:
        known = frozenset(one.commit for one in applied.patches if one.commit is not None)
        is_upstream = _known_upstream(chain, git)
        return read_histories(tree, modules, stands=stands, is_upstream=is_upstream, known=known, until_base=until_base)

    try:
        restore = _anew(chain, {one: modules[one] for one in gone_on})
        refuse_changed_series(series, applied, stands=stands, platform=place.platform, restore=restore)
    except HipwrightError:
        histories = read()
        said = said_already(series, applied, histories, tree=tree, platform=place.platform, log=_log(chain))
        if said is None:
            raise
        place.console.say(
            f"{chain.project.name}: the series says the tree's commits already: carrying a save that was ended to its end"
        )
        return _Saving(chain=chain, git=git, applied=said, series=series, stands=stands, histories=histories, resumed=True)
    if not gone_on and not place.settings.refresh:
        return None
    return _Saving(chain=chain, git=git, applied=applied, series=series, stands=stands, histories=read())


def _digest(chain: Chain) -> Sha256:
    """Return the digest of the series as it is on disk."""
    return load_series(chain.folder, chain.locked().patches.line).digest


def _log(chain: Chain) -> Path:
    return chain.workplace.work_dir / "logs" / chain.project.name / "save-patches.log"


def _anew(chain: Chain, gone_on: Mapping[Module, Markers]) -> str:
    """Return the commands that make a tree anew from its series, with the commits on top that modules have beyond the stages' own."""
    tags = {module: kept_by_tag(module) for module in gone_on}
    keep = [command for _, command in tags.values()]
    again = task_line("apply-patches", chain.workplace, "--projects", chain.project.name)
    picks = [
        printable(["git", "-C", str(module.folder), "cherry-pick", f"{markers.finished}..{tags[module][0]}"])
        for module, markers in gone_on.items()
    ]
    return " && ".join([*keep, again, *picks])


def _known_upstream(chain: Chain, git: Git) -> Callable[[Module, CommitId], bool]:
    """Return what says whether a module's origin has a commit, as far as that is known without asking it."""
    place = chain.workplace

    def knows(module: Module, commit: CommitId) -> bool:
        mirror = mirror_of(module.entry.url, cache=place.cache, git=git, say=place.console.say)
        return mirror.folder.is_dir() and mirror.repository.has_commit(commit)

    return knows


def _refuse_other_sources(chain: Chain, modules: Mapping[Module, Markers]) -> None:
    """Refuse a tree of other sources than are locked: its commits belong to another line, or to none."""
    locked = chain.locked().sources
    upstream = next(markers.upstream for module, markers in modules.items() if module.path == ROOT)
    if upstream != locked.commit:
        message = f"{chain.tree} stands on commit {upstream[:12]}, and {locked.ref}, commit {locked.commit[:12]}, is locked"
        hint = f"lock what the tree has, or move it: {checkout_line(chain.project.name, chain.workplace)}"
        raise HipwrightError("lock-conflict", message, where=Where(file=chain.tree), hint=hint)


def _stands(chain: Chain, applied: Applied, modules: Mapping[Module, Markers], gone_on: list[Module]) -> Stage | None:
    """Return the stage at which the tree stands, as far as commits can be saved there; None when there are none where they cannot."""
    stands = applied.stands
    if stands in {Stage.BASE_PATCHES, Stage.HIPIFIED_PATCHES} and not (
        stands is Stage.HIPIFIED_PATCHES and _is_unhipified(chain)
    ):
        return stands
    if not gone_on:
        return None
    first = gone_on[0]
    tag, keep = kept_by_tag(first)
    # In a tree that a killed run left, the markers tell whether hipify has been at work.
    hipified = stands is Stage.HIPIFY or (stands is None and any(one.base != one.hipified for one in modules.values()))
    there = checkout_line(chain.project.name, chain.workplace, *(() if hipified else ("--until", Stage.BASE_PATCHES.value)))
    below = str(first.store.commit_of(f"{MARKERS}finished"))
    pick = printable(["git", "-C", str(first.folder), "rebase", "--onto", f"{MARKERS}finished", below, tag])
    where = "without hipify" if stands is Stage.HIPIFIED_PATCHES else f"at {stands}" if stands else "at no stage that is known"
    message = f"{chain.tree} stands {where}, and commits there are neither base patches nor hipified ones"
    hint = f"put them where patches are made: {keep} && {there} && {pick}"
    raise HipwrightError("bad-commit", message, where=Where(file=chain.tree, module=first.path), hint=hint)


def _is_unhipified(chain: Chain) -> bool:
    """Return whether the tree was made without hipify, by the receipt of its last stage."""
    if chain.project.hipify is None:
        return False
    path = own_folder(chain.tree) / f"{Stage.HIPIFIED_PATCHES}.json"
    return path.is_file() and read_record(path, StageReceipt).parts.get("patches") == _LEFT_OUT


@dataclass(frozen=True, kw_only=True)
class _Saving:
    """One tree whose history goes into its series; ``resumed`` where an earlier save has written it, and has not moved the tree."""

    chain: Chain
    git: Git
    applied: Applied
    series: Series
    stands: Stage
    histories: tuple[ModuleHistory, ...]
    resumed: bool = False

    @property
    def place(self) -> Path:
        """The folder of the line."""
        return self.chain.folder / "patches" / str(self.series.line)

    def plan(self) -> Saved:
        """Return what the history makes of the series."""
        refresh = self.chain.workplace.settings.refresh
        text = SeriesText.read(self.place)
        return plan_series(self.series, text, self.applied, self.histories, tree=self.chain.tree, refresh=refresh)

    def notes(self, saved: Saved) -> Iterator[str]:
        """Yield what a person should know of the commits."""
        for history in self.histories:
            yield from history.notes
        changed = {one.file for one in saved.patches}
        record = read_tree_record(self.chain.tree)
        if record is None or self.stands is not Stage.HIPIFIED_PATCHES:
            return
        read = {}
        for part in record.record.modules:
            read[part.path] = frozenset(part.read) - {*part.added, *part.changed, *part.removed}
        for history in self.histories:
            ours = {one.source.id for one in history.commits.get("hipified", ())}
            for file, one in saved.sources.items():
                paths = [path for path in one.source.changes if spelled(path) in read.get(history.module.path, ())]
                if file in changed and one.source.id in ours and paths:
                    names = ", ".join(shown(path) for path in sorted(paths))
                    yield (
                        f"{file} changes {names}, which hipify read and left as it is: "
                        "if hipify is to see the change, it belongs into a base patch"
                    )

    def prove(self, saved: Saved) -> None:
        """Refuse to write what would not give the same tree."""
        chain, place = self.chain, self.chain.workplace
        with self._staged(saved) as series:
            self._prove_pins(series, saved)
            for phase in PHASES:
                touched = any(f"/{phase}/" in name for name in saved.files if name != NAME)
                if all(phase in history.commits for history in self.histories) and (touched or self._has_gone_on(phase)):
                    prove_saved(
                        series,
                        saved.sources,
                        self.histories,
                        phase,
                        tree=chain.tree,
                        platform=place.platform,
                        log=_log(chain),
                        say=lambda _line: None,
                    )

    def let_go(self) -> None:
        """Note that the stages' commits include what was saved, so that moving on from it loses nothing."""
        tree = self.chain.tree
        modules = marked_modules(tree, git=self.git, say=self.chain.workplace.console.say)
        let_go(tree, modules, series=_digest(self.chain), applied=read_applied(tree))

    def adopt(self, saved: Saved) -> None:
        """Bring the tree onto the commits that a clean checkout makes of the saved series; its files are those already."""
        chain, place = self.chain, self.chain.workplace
        heads = {history.module.path: history.markers.finished for history in self.histories}
        written = bool(saved.files) or self.resumed
        if written:
            what = "the tree takes the commits that a clean checkout makes of the series: other ids, the same files"
            place.console.say(f"{chain.project.name}: {what}")
            entry = ensure_locked([chain.project], place, packages=False, whole=True)[chain.project.name].project
            self._move(chain_of(chain.project, entry, place))
        with held(chain, f"saving the patches of {chain.project.name}"):
            modules = marked_modules(chain.tree, git=self.git, say=place.console.say)
            if written:
                # A stage that made the same commits as before has left the tree where it was.
                based = self.stands is Stage.BASE_PATCHES
                heads = {module.path: markers.base if based else markers.finished for module, markers in modules.items()}
            if any(module.store.head() != heads[module.path] for module in modules):
                commits = {path: {"finished": commit} for path, commit in heads.items()}
                finish(chain.tree, modules, commits, git=self.git, say=place.console.say)
            forget_saving(chain.tree, git=self.git)

    def _move(self, chain: Chain) -> None:
        """Have the stages move the tree; where one of them fails, it goes back to the person's commits."""
        try:
            run_sources(chain, _STAGES[: _STAGES.index(self.stands) + 1], self.git, saving=True)
        except HipwrightError:
            say = chain.workplace.console.say
            with held(chain, f"taking the tree of {chain.project.name} back"):
                take_back(chain.tree, git=self.git, say=say)
            say(
                f"{chain.project.name}: the series is written, and the tree has your commits as before: mend what follows, and save"
            )
            raise

    def _has_gone_on(self, phase: str) -> bool:
        own = PHASES[0] if self.stands is Stage.BASE_PATCHES else PHASES[1]
        return phase == own and any(history.head != history.markers.finished for history in self.histories)

    @contextlib.contextmanager
    def _staged(self, saved: Saved) -> Iterator[Series]:
        """Give the series as it would be on disk, read from a scratch folder."""
        scratch = temporary_name(self.chain.tree, "series")
        place = scratch / "patches" / str(self.series.line)
        try:
            whole: dict[str, bytes | None] = {patch.name: patch.data for patch in self.series.patches}
            whole[NAME] = (self.place / NAME).read_bytes()
            for name, data in {**whole, **saved.files}.items():
                if data is not None:
                    (place / name).parent.mkdir(parents=True, exist_ok=True)
                    (place / name).write_bytes(data)
            yield load_series(scratch, self.series.line)
        finally:
            files.remove_tree(scratch)

    def _prove_pins(self, series: Series, saved: Saved) -> None:
        """Refuse submodule commits that the submodules' origins do not have."""
        changed = [patch for patch in series.patches if patch.phase == "base" and patch.name in saved.files]
        if not any(may_move_submodules(patch.data) for patch in changed):
            return
        chain, place = self.chain, self.chain.workplace
        urls = {path: url for path, _, url in (text.partition("=") for text in chain.locked().requested.submodule_url)}
        try:
            submodules_after_base(
                series,
                chain.locked().sources,
                project=chain.project.name,
                cache=place.cache,
                git=self.git,
                say=place.console.say,
                whole=True,
                platform=place.platform,
                submodule_urls=urls,
            )
        except HipwrightError as error:
            if error.code.name != "submodule-commit-missing":
                raise
            path = error.where.module if error.where is not None else None
            folder = chain.tree if path is None else (chain.tree / path).parent
            hint = (
                f"push the commit to the submodule's origin, or take it out of the commit that records it: "
                f"git -C {folder} rebase --interactive {MARKERS}upstream"
            )
            raise HipwrightError(
                "bad-commit", error.message, where=replace(error.where or Where(), file=folder), hint=hint
            ) from error
