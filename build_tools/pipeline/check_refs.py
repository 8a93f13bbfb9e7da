"""Proving a patch line on the sources of each of its refs: the source stages run in a work dir of their own, and their tree is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.errors import HipwrightError, Kind
from build_tools.locking.keep import ensure_locked, lock_in_use, restore
from build_tools.locking.resolve import with_series_of_today
from build_tools.patches.applied import Applied, read_applied
from build_tools.patches.elsewhere import other_platforms, replay_elsewhere
from build_tools.patches.findings import PatchFinding, finding
from build_tools.patches.lines import lines_on_disk, refs_of_line, rules_of_line
from build_tools.patches.prove import differing_modules, due_patches, round_trip, told_outcomes
from build_tools.patches.series import load_series
from build_tools.pipeline.patch_trees import chain_of, checkout_line, held, task_line
from build_tools.pipeline.rebase_patches import line_for
from build_tools.pipeline.source_stages import SOURCE_STAGES, run_sources
from build_tools.receipts.lock import Requested
from build_tools.sources.mirror import mirror_of
from build_tools.sources.modules import load_modules, markers_of
from build_tools.sources.phases import marked_modules
from build_tools.sources.urls import same_place
from build_tools.types import CommitId, Stage, is_commit_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.lock import LockedProject
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Markers, Module
    from build_tools.sources.origin import Origin
    from build_tools.sources.phases import Phase
    from build_tools.types import Platform
    from build_tools.workplace import Workplace

__all__ = ["CheckedRef", "LineToCheck"]

_BRANCH: Final = "refs/heads/"
_TAG: Final = "refs/tags/"
_OURS: Final = frozenset(
    {
        "bad-data-file",
        "bad-series",
        "bad-source-tree",
        "bad-version",
        "hipify-conflict",
        "hipify-failed",
        "lock-conflict",
        "no-line",
        "patch-conflict",
        "patch-misplaced",
        "patch-upstream",
        "submodule-commit-missing",
        "unknown-ref",
    }
)
"""The failures that say something of a series or its sources, and not of the machine, the network or the command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedRef:
    """One ref of a line: its commit, what became of each patch, whether the work dir's tree was held against it, and what was found."""

    ref: str
    commit: str
    patches: Mapping[str, str]
    compared: bool
    findings: tuple[PatchFinding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """A ref to check; ``entry`` is what the work dir has locked, where it is that."""

    ref: str
    commit: CommitId
    entry: LockedProject | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LineToCheck:
    """One patch line of one project.

    Parameters
    ----------
    project
        The project.
    line
        The line.
    workplace
        The person's workplace.
    apart
        The same with a work dir of its own, where trees are made.
    """

    project: Project
    line: str
    workplace: Workplace
    apart: Workplace

    def check(self) -> Iterator[CheckedRef]:
        """Yield the line's refs as they are checked: what the work dir has locked first, then every commit that the origin has a ref for.

        Raises
        ------
        HipwrightError
            ``origin-unreachable`` when the refs cannot be asked for, once what is locked has been checked; what the machine fails at.
            What is wrong with the series or the sources is a finding, and so is one ref's origin that cannot be read.
        """
        standing = self._standing()
        wanted: list[_Wanted] = []
        unread: HipwrightError | None = None
        try:
            for one in self._wanted(standing):
                wanted.append(one)  # noqa: PERF402 - what was found stays when the origin cannot be asked for more
        except HipwrightError as error:
            if error.code.kind is not Kind.NETWORK:
                raise
            unread = error
        for number, one in enumerate(wanted, start=1):
            with self.workplace.console.group(f"{self.project.name}, patches/{self.line} on {one.ref} ({one.commit[:12]})"):
                yield self._check(one)
            self.workplace.console.progress(f"{self.project.name}, patches/{self.line}: refs checked", number, len(wanted))
        if unread is not None:
            raise unread

    def _standing(self) -> LockedProject | None:
        """Return what the work dir has locked of the project, when it is of this line and of the origin that is checked."""
        try:
            entry = lock_in_use(self.workplace).projects.get(self.project.name)
        except HipwrightError as error:
            if error.code.name != "stage-missing":
                raise
            return None
        asked = self.workplace.settings.origin.get(self.project.name)
        if entry is None or (asked is not None and not same_place(asked, entry.sources.origin)):
            return None
        if entry.patches.line != self.line:
            return None
        return entry

    def _wanted(self, standing: LockedProject | None) -> Iterator[_Wanted]:
        seen = set()
        if standing is not None:
            seen.add(standing.sources.commit)
            yield _Wanted(ref=standing.sources.ref, commit=standing.sources.commit, entry=standing)
            # The others come from where that came from.
            requested = Requested(origin=standing.requested.origin, submodule_url=standing.requested.submodule_url)
            restore(msgspec.structs.replace(standing, requested=requested, rocm=None, owned=()), self.apart)
        recorded = standing.requested.origin if standing is not None else None
        refs = self._refs_at_origin(self.workplace.origin(self.project, recorded))
        rules = {rule: CommitId(rule) for rule in rules_of_line(self.project, self.line) if is_commit_id(rule)}
        for ref in refs_of_line(self.project, self.line, [*refs, *rules]):
            commit = refs[ref] if ref in refs else rules[ref]
            if commit not in seen:
                seen.add(commit)
                yield _Wanted(ref=ref, commit=commit)

    def _refs_at_origin(self, origin: Origin) -> dict[str, CommitId]:
        """Return the origin's branches and tags by short name; a branch counts before a tag of the same name."""
        place = self.workplace
        commits = mirror_of(origin.url, cache=place.cache, git=origin.git, say=place.console.say).remote_refs().commits
        found = {name.removeprefix(_BRANCH): commit for name, commit in commits.items() if name.startswith(_BRANCH)}
        for name, commit in commits.items():
            if name.startswith(_TAG):
                found.setdefault(name.removeprefix(_TAG), commit)
        return found

    def _check(self, wanted: _Wanted) -> CheckedRef:
        patches: dict[str, str] = {}
        compared = False
        found: list[PatchFinding] = []
        commit = wanted.commit
        try:
            chain, git = self._locked(wanted)
            commit = chain.locked().sources.commit
            run_sources(chain, tuple(SOURCE_STAGES), git)
            modules = marked_modules(chain.tree, git=git, say=self.apart.console.say)
            applied = read_applied(chain.tree)
            patches = {one.file: one.outcome for one in applied.patches}
            found += self._proven(chain, modules)
            for platform in other_platforms(load_series(chain.folder, self.line), self.apart.platform):
                found += self._on_platform(platform, chain, modules, wanted)
            if wanted.entry is not None:
                differing = self._compared(chain, modules, git)
                compared = differing is not None
                found += differing or ()
        except HipwrightError as error:
            if error.code.name not in _OURS and error.code.kind is not Kind.NETWORK:
                raise
            found.append(self._of_error(error, wanted))
        return CheckedRef(
            ref=wanted.ref,
            commit=commit,
            patches=patches,
            compared=compared,
            findings=tuple(replace(one, ref=wanted.ref) for one in found),
        )

    def _locked(self, wanted: _Wanted) -> tuple[Chain, Git]:
        """Return the project on its way, locked to a ref, in the work dir of its own; and its origin's git."""
        if wanted.entry is not None:
            entry = with_series_of_today(wanted.entry, self.project, self.apart, whole=True, line=self.line)
            place = self.apart
        else:
            resolved = self.apart.resolved
            settings = replace(resolved.settings, ref={self.project.name: wanted.ref}, line=self.line, relock=True)
            place = replace(self.apart, resolved=replace(resolved, settings=settings))
            entry = ensure_locked([self.project], place, packages=False, whole=True)[self.project.name].project
        return chain_of(self.project, entry, self.apart), place.origin(self.project, entry.requested.origin).git

    def _proven(self, chain: Chain, modules: Mapping[Module, Markers]) -> Iterator[PatchFinding]:
        series = load_series(chain.folder, self.line)
        applied = read_applied(chain.tree)
        yield from told_outcomes(applied, strict=self.workplace.settings.strict)
        yield from due_patches(series, modules, base_version=chain.locked().sources.base_version)
        yield from round_trip(chain.tree, modules, series, applied)

    def _on_platform(
        self, platform: Platform, chain: Chain, modules: Mapping[Module, Markers], wanted: _Wanted
    ) -> list[PatchFinding]:
        """Try the series as another platform gets it, beside the tree."""
        series = load_series(chain.folder, self.line)
        starts: dict[Phase, Mapping[Module, CommitId]] = {
            "base": {module: markers.upstream for module, markers in modules.items()},
            "hipified": {module: markers.hipified for module, markers in modules.items()},
        }
        log = self.apart.work_dir / "logs" / self.project.name / f"check-{platform.value}.log"
        self.apart.console.say(f"{self.project.name}: tried as {platform.value} gets it")
        try:
            patches = replay_elsewhere(
                series,
                platform,
                starts,
                here=self.apart.platform,
                tree=chain.tree,
                log=log,
                say=self.apart.console.say,
                strict=self.apart.settings.strict,
                three_way=self.apart.settings.three_way,
            )
        except HipwrightError as error:
            if error.code.name not in _OURS:
                raise
            return [self._of_error(error, wanted)]
        applied = Applied(line=self.line, patches=patches)
        strict = self.workplace.settings.strict
        return [*told_outcomes(applied, strict=strict), *round_trip(chain.tree, modules, series, applied)]

    def _compared(self, chain: Chain, clean: Mapping[Module, Markers], git: Git) -> list[PatchFinding] | None:
        """Return how the work dir's own tree differs from the one that was made here; None when it has none of these sources."""
        mine = chain_of(self.project, chain.locked(), self.workplace)
        if not (mine.tree / ".git").exists():
            return None
        say = self.workplace.console.say
        with held(mine, f"comparing {mine.tree} with its patch series"):
            applied = read_applied(mine.tree)
            if applied.stands not in {None, Stage.BASE_PATCHES, Stage.HIPIFIED_PATCHES}:
                say(f"{mine.tree} ends at {applied.stands}, so it is not compared with its series")
                return None
            heads: dict[Module, CommitId] = {}
            for module in load_modules(mine.tree, git=git):
                markers, head = markers_of(module), module.store.head()
                if markers is None or head is None or (not heads and markers.upstream != chain.locked().sources.commit):
                    say(
                        f"{mine.tree} is not checked out at {chain.locked().sources.commit[:12]}, so it is not compared with its series"
                    )
                    return None
                heads[module] = head
            base = applied.stands is Stage.BASE_PATCHES
            wanted = {module: markers.base if base else markers.finished for module, markers in clean.items()}
            save = task_line("save-patches", self.workplace, "--projects", self.project.name)
            return list(differing_modules(heads, wanted, tree=mine.tree, save=save))

    def _of_error(self, error: HipwrightError, wanted: _Wanted) -> PatchFinding:
        where = error.where
        file = where.file if where is not None else None
        if isinstance(file, Path):
            place = self.workplace.external_builds / self.project.name / "patches" / self.line
            file = file.relative_to(place).as_posix() if file.is_relative_to(place) else str(file)
        line = where.line if where is not None else None
        if error.code.kind is Kind.NETWORK:
            return replace(finding("unreachable", error.message, file=file, hint=error.hint), excerpt=error.excerpt)
        rule = "upstream" if error.code.name == "patch-upstream" else "applies"
        # What is named is the person's work dir, not the one that goes away.
        hint = error.hint and error.hint.replace(str(self.apart.work_dir), str(self.workplace.work_dir))
        if hint is None and error.code.name == "bad-series" and where is not None and where.module is not None:
            hint = self._way_apart(wanted)
        told = finding(rule, error.message, file=file, line=line, hint=hint, severity="error")
        return replace(told, excerpt=error.excerpt)

    def _way_apart(self, wanted: _Wanted) -> str:
        """Return how a ref whose modules are others than the line is made for gets a line of its own."""
        place, name = self.workplace, self.project.name
        standing = self._standing()
        if standing is not None and standing.sources.commit == wanted.commit:
            return "take the patch out, or lock a ref that has the module"
        held = lines_on_disk(place.external_builds / name)
        new = line_for(wanted.ref)
        new = new if new is not None and new not in held else f"{self.line}-{wanted.commit[:8]}"
        carry = task_line("rebase-patches", place, "--projects", name, "--onto", wanted.ref, "--line", new)
        # It carries what the work dir has checked out.
        first = "" if standing is not None else f"{checkout_line(name, place, '--line', self.line)}, then "
        return f"the line cannot serve this ref too, so give it one of its own: {first}{carry}"
