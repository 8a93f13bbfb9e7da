"""``import-patches``: a quilt series that others keep becomes patches of a line, with names, authors, descriptions and order as they are.

All of it happens beside the source tree: the patches become commits on top of what the line's own patches leave, are exported as any
commit is, and the line is written when it is proved that a clean checkout makes the same of it.
"""

from __future__ import annotations

import datetime as dt
import os.path
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from build_tools import digest, files
from build_tools.errors import HipwrightError, Where
from build_tools.files import utc_now
from build_tools.patches.applied import read_applied
from build_tools.patches.apply import replay
from build_tools.patches.edit import SeriesText
from build_tools.patches.elsewhere import unfit_elsewhere
from build_tools.patches.export import export
from build_tools.patches.intake import open_intake
from build_tools.patches.layout import NAME, module_folder, slug
from build_tools.patches.lines import checked_line, rules_of_line
from build_tools.patches.quilt import read_quilt
from build_tools.patches.series import Patch, PatchEntry, Series, load_series
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import checkout_line, held, task_line, trees_in_use
from build_tools.pipeline.rebase_told import tell_elsewhere
from build_tools.shown import shown
from build_tools.sources.modules import ROOT, own_folder
from build_tools.sources.phases import marked_modules
from build_tools.sources.told import called
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.patches.intake import Taken
    from build_tools.patches.quilt import Quilt
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Markers, Module
    from build_tools.sources.phases import Phase
    from build_tools.types import CommitId, Platform
    from build_tools.workplace import Workplace

__all__ = ["import_patches"]

_COLUMNS: Final = ("patch", "author", "subject", "what became of it")
_NUMBERED: Final = re.compile(r"\d{4}-.")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~=,@-]*")
_FIRST: Final = re.compile(r"\d+")
_SHORT: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class _Import:
    """One file that is to be in the line: its entry and its bytes, and whether it is there already."""

    entry: PatchEntry
    module: str
    data: bytes
    known: bool


def import_patches(workplace: Workplace) -> dict[str, Any]:
    """Take a quilt series over into a patch line; return what was done as plain data.

    Raises
    ------
    HipwrightError
        ``bad-import`` when it is no series that can be taken over, or the line has other patches of the same names; ``patch-conflict``
        and ``patch-misplaced`` when a patch does not fit the sources; ``stage-missing`` without a source tree. Nothing is written then.
    """
    settings = workplace.settings
    if len(settings.paths) != 1:
        message = f"{len(settings.paths) or 'no'} folders are named, and one can be imported"
        raise HipwrightError("bad-option-value", message, hint=task_line("import-patches", workplace, "DIR", "--line", "NAME"))
    quilt = read_quilt(_plain(settings.paths[0]))
    # The line that is imported into need not be the one that the tree has.
    settings = replace(settings, line=None)
    chains = trees_in_use(replace(workplace, resolved=replace(workplace.resolved, settings=settings)))
    if len(chains) != 1:
        names = ", ".join(chain.project.name for chain in chains)
        message = f"a series is imported into one project, and the work dir has {names}"
        raise HipwrightError("bad-option-value", message, hint="name it with --projects")
    line = workplace.settings.line or chains[0].locked().patches.line
    if line is None:
        message = f"{chains[0].project.name} has no patches at {chains[0].locked().sources.ref}"
        raise HipwrightError("no-line", message, hint="name the line that the patches are to make: --line NAME")
    checked_line(line, chains[0].folder)
    phase: Phase = "hipified" if settings.phase == "hipified" else "base"
    purpose = f"importing patches for {chains[0].project.name}"
    guard = workplace.lock_file(f"series-{chains[0].project.name}")
    with (
        held(chains[0], purpose),
        files.hold(guard, purpose=purpose, wait=settings.wait, on_wait=workplace.console.say),
    ):
        return _Importer(chain=chains[0], quilt=quilt, line=line, phase=phase).run()


def _plain(path: Path) -> Path:
    """Return a path without the way back that a relative one has in it, where that names the same."""
    plain = type(path)(os.path.normpath(path))
    return plain if plain.exists() and path.exists() and plain.samefile(path) else path


@dataclass(frozen=True, kw_only=True, slots=True)
class _Importer:
    """One quilt series on its way into one line of one project."""

    chain: Chain
    quilt: Quilt
    line: str
    phase: Phase

    @property
    def git(self) -> Git:
        """How git is run."""
        return self.chain.workplace.origin(self.chain.project, self.chain.locked().requested.origin).git

    @property
    def place(self) -> Path:
        """The line's folder."""
        return self.chain.folder / "patches" / self.line

    def run(self) -> dict[str, Any]:
        chain, console = self.chain, self.chain.workplace.console
        is_new = not (self.place / NAME).is_file()
        text = SeriesText.begin(self.place) if is_new else SeriesText.read(self.place)
        series = (
            Series(line=self.line, patches=(), digest=digest.of_value([])) if is_new else load_series(chain.folder, self.line)
        )
        modules = marked_modules(chain.tree, git=self.git, say=console.say)
        below = self._starts(modules)
        own = [patch for patch in series.patches if patch.phase == self.phase]
        first = next((number for number, patch in enumerate(own) if self._is_ours(patch.name)), len(own))
        starts = self._heads(below, own[:first])
        root = next(iter(modules))
        date = root.store.date_of(modules[root].upstream)
        with files.temporary_folder(own_folder(chain.tree), "temporary-import") as scratch:
            intake = open_intake(starts, self.quilt.patches, scratch=scratch, git=self.git, date=date)
            total = len(self.quilt.patches)
            taken = intake.take(self.quilt.patches, progress=lambda done: console.progress("patches applied", done, total))
            data: dict[CommitId, bytes] = {}
            for path in intake.stands:
                chosen = [one.commits[path] for one in taken if path in one.commits]
                data |= export(intake.repository, chosen, scratch=scratch / "export.git")
            trees = {path: intake.repository.tree_of(stand.head) for path, stand in intake.stands.items()}
        imports = self._plan(taken, data, series)
        text = _entered(text, imports)
        patches = [patch for patch in self._patches(text, series, imports) if patch.phase == self.phase]
        try:
            heads = self._heads(below, patches)
        except HipwrightError as error:
            raise self._unlike(error, taken, imports) from error
        self._prove(heads, trees, patches, imports)
        elsewhere = self._elsewhere(below, patches)
        new = [one for one in imports if not one.known]
        if not chain.workplace.settings.dry_run and new:
            write_series(self.place, {one.entry.file: one.data for one in new} | {NAME: text.data})
        return self._tell(taken, imports, elsewhere, is_new=is_new)

    def _starts(self, modules: Mapping[Module, Markers]) -> dict[Module, CommitId]:
        """Return the commits below the patches of the phase."""
        if self.phase == "base":
            return {module: markers.upstream for module, markers in modules.items()}
        chain = self.chain
        stands = read_applied(chain.tree).stands
        if stands not in {Stage.HIPIFY, Stage.HIPIFIED_PATCHES}:
            message = f"hipified patches lie on what hipify made, and {chain.tree} is not hipified"
            raise HipwrightError("stage-missing", message, hint=checkout_line(chain.project.name, chain.workplace))
        if chain.locked().patches.line != self.line:
            message = f"the tree was hipified with the base patches of {chain.locked().patches.line}, not of {self.line}"
            checkout = checkout_line(chain.project.name, chain.workplace, "--line", self.line)
            hint = f"check it out with that line first: {checkout}"
            if not (self.place / NAME).is_file():
                begin = task_line("new-series", chain.workplace, "--projects", chain.project.name, "--line", self.line)
                hint = f"begin the line, and check it out, first: {begin} && {checkout}"
            raise HipwrightError("lock-conflict", message, hint=hint)
        return {module: markers.hipified for module, markers in modules.items()}

    def _heads(self, starts: Mapping[Module, CommitId], patches: Sequence[Patch]) -> dict[Module, CommitId]:
        """Return the modules' commits with patches on top; nothing moves."""
        if not patches:
            return dict(starts)
        place = self.chain.workplace
        found = replay(
            self._of(patches),
            self.phase,
            starts,
            tree=self.chain.tree,
            platform=place.platform,
            log=self._log,
            say=lambda _line: None,
        )
        return {module: found[module.path].head if module.path in found else start for module, start in starts.items()}

    def _elsewhere(self, starts: Mapping[Module, CommitId], patches: Sequence[Patch]) -> dict[Platform, str | None]:
        """Return what other platforms make of the phase's patches; there is nobody here who could mend a patch that is for them."""
        here, tree = self.chain.workplace.platform, self.chain.tree
        return unfit_elsewhere(self._of(patches), {self.phase: starts}, here=here, tree=tree, log=self._log)

    def _of(self, patches: Sequence[Patch]) -> Series:
        return Series(line=self.line, patches=tuple(patches), digest=digest.of_value([patch.name for patch in patches]))

    @property
    def _log(self) -> Path:
        return self.chain.workplace.work_dir / "logs" / self.chain.project.name / "import-patches.log"

    def _stem(self, name: str) -> str:
        stem = next(patch.stem for patch in self.quilt.patches if patch.name == name)
        return stem if _PLAIN.fullmatch(stem) else slug(stem)

    def _is_ours(self, file: str) -> bool:
        """Return whether a name in the series is one that a patch of the quilt series gets."""
        own = PurePosixPath(file).stem
        stems = {self._stem(patch.name) for patch in self.quilt.patches}
        return own in stems or (_NUMBERED.match(own) is not None and own.split("-", 1)[1] in stems)

    def _plan(self, taken: Sequence[Taken], data: Mapping[CommitId, bytes], series: Series) -> list[_Import]:
        """Return the files of all patches in order; one whose name the line has must be the same."""
        today = dt.date.fromisoformat(utc_now()[:10])
        known = {patch.name: patch for patch in series.patches}
        used: set[str] = set()
        imports = []
        for one in taken:
            for module, commit in one.commits.items():
                file = self._file(module, self._stem(one.patch.name), known, used)
                used.add(file)
                header = one.patch.header
                if file in known and known[file].data != data[commit]:
                    message = (
                        f"{file} is in the line {self.line} already, with another content than {shown(one.patch.name)} gives it"
                    )
                    hint = f"keep it, or drop it and import again: {self._drop_line(file)}"
                    raise HipwrightError("bad-import", message, where=Where(file=known[file].file), hint=hint)
                entry = PatchEntry(
                    file=file,
                    why=header.why,
                    upstream=header.upstream,
                    owner=header.owner,
                    added=today if header.when is None else header.when.date(),
                    drop_when=header.drop_when,
                )
                imports.append(_Import(entry=entry, module=module, data=data[commit], known=file in known))
        return imports

    def _file(self, module: str, stem: str, known: Mapping[str, Patch], used: set[str]) -> str:
        """Return the name of a patch's file: theirs, with a number before it where it has none."""
        folder = f"{module_folder(module)}/{self.phase}"
        if _NUMBERED.match(stem) and f"{folder}/{stem}.patch".casefold() not in {name.casefold() for name in used}:
            return f"{folder}/{stem}.patch"
        there = re.compile(rf"{re.escape(folder)}/\d{{4}}-{re.escape(stem)}\.patch")
        for name in known:
            if there.fullmatch(name) and name not in used:
                return name
        names = [PurePosixPath(name).name for name in (*known, *used) if PurePosixPath(name).parent.as_posix() == folder]
        numbers = [int(found[0]) for found in map(_FIRST.match, names) if found]
        return f"{folder}/{max(numbers, default=0) + 1:04d}-{stem}.patch"

    def _patches(self, text: SeriesText, series: Series, imports: Sequence[_Import]) -> list[Patch]:
        """Return the patches of the line as it is to be."""
        known = {patch.name: patch for patch in series.patches}
        new = {one.entry.file: one for one in imports}
        found = []
        for entry in text.entries:
            if entry.file in known:
                found.append(known[entry.file])
            else:
                one = new[entry.file]
                file = self.place / entry.file
                found.append(Patch(entry=entry, module=one.module, phase=self.phase, file=file, data=one.data))
        return found

    def _prove(
        self,
        heads: Mapping[Module, CommitId],
        trees: Mapping[str, str],
        patches: Sequence[Patch],
        imports: Sequence[_Import],
    ) -> None:
        """Refuse files that do not give back what the foreign patches made, where nothing of the line's own comes after them."""
        ours = {one.entry.file for one in imports}
        for module, head in heads.items():
            own = [patch.name for patch in patches if patch.module == module.path]
            if own and own[-1] in ours and module.store.tree_of(head) != trees[module.path]:
                message = f"the imported patches of {called(module.path)} do not give what the foreign ones gave"
                raise HipwrightError("bad-import", message, where=Where(file=self.quilt.file, module=module.path))

    def _unlike(self, error: HipwrightError, taken: Sequence[Taken], imports: Sequence[_Import]) -> HipwrightError:
        """Return the error of a file that is not written, and does not apply as it would be, as one of the foreign patch."""
        file = error.where.file if error.where is not None else None
        sources = [one.patch for one in taken for _ in one.commits]
        for source, one in zip(sources, imports, strict=True):
            if not one.known and file == self.place / one.entry.file:
                message = f"{shown(source.name)} does not survive being a patch of a series: {error.message}"
                hint = "nothing is written; change what it is about in the foreign patch, or leave it out of its `series`"
                return HipwrightError(
                    "bad-import", message, where=Where(file=source.file), hint=hint, log=error.log, excerpt=error.excerpt
                )
        return error

    def _drop_line(self, file: str) -> str:
        return task_line("drop-patch", self.chain.workplace, file, "--projects", self.chain.project.name, "--line", self.line)

    def _tell(
        self, taken: Sequence[Taken], imports: Sequence[_Import], elsewhere: Mapping[Platform, str | None], *, is_new: bool
    ) -> dict[str, Any]:
        chain, console = self.chain, self.chain.workplace.console
        dry = chain.workplace.settings.dry_run
        left = list(imports)
        rows, document = [], []
        for one in taken:
            for module in one.commits or (None,):
                made = left.pop(0) if module is not None else None
                outcome = "left out: it changes nothing" if made is None else "there already" if made.known else "imported"
                if dry and outcome == "imported":
                    outcome = "would be imported"
                header = one.patch.header
                rows.append((shown(one.patch.name), shown(header.owner), _short(shown(header.subject)), outcome))
                document.append(
                    {
                        "patch": one.patch.name,
                        "file": None if made is None else made.entry.file,
                        "module": module or ROOT,
                        "author": header.owner,
                        "subject": header.subject,
                        "upstream": header.upstream,
                        "outcome": outcome,
                        "moved": list(one.moved),
                    }
                )
        for one in taken:
            for text in one.moved:
                console.say(f"{shown(one.patch.name)}: {text}; the patch is written for where it lies")
        for name in self.quilt.disabled:
            console.warn(f"{shown(name)} is switched off in {self.quilt.file}: left out")
        for name in self.quilt.unnamed:
            console.warn(f"{shown(name)} lies in {self.quilt.file.parent}, and the series does not name it: left out")
        tell_elsewhere(elsewhere, console)
        title = f"{self.quilt.file} → {chain.project.name}, line {self.line}"
        console.table(title, _COLUMNS, rows, note=self._next(new=any(not one.known for one in imports), dry=dry))
        return {
            "import": {
                "project": chain.project.name,
                "line": self.line,
                "new_line": is_new,
                "dry_run": dry,
                "series": str(self.quilt.file),
                "patches": document,
                "elsewhere": {platform.value: failure for platform, failure in elsewhere.items()},
                "disabled": list(self.quilt.disabled),
                "unnamed": list(self.quilt.unnamed),
            }
        }

    def _next(self, *, new: bool, dry: bool) -> str:
        chain = self.chain
        if dry:
            return "nothing was written"
        if not new:
            return "nothing to do: the line has all of them"
        if chain.locked().patches.line == self.line:
            return f"bring them into the tree: {task_line('apply-patches', chain.workplace, '--projects', chain.project.name)}"
        lines = [f"check them out: {checkout_line(chain.project.name, chain.workplace, '--line', self.line)}"]
        if not rules_of_line(chain.project, self.line):
            rule = ("--projects", chain.project.name, "--line", self.line, "--for-ref", chain.locked().sources.ref)
            lines.append(f"no ref finds the line yet; to give it one: {task_line('new-series', chain.workplace, *rule)}")
        return "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"


def _entered(text: SeriesText, imports: Sequence[_Import]) -> SeriesText:
    """Return a series with the entries that it lacks: each behind the one before it in the foreign series, the first at the end."""
    before = None
    for one in imports:
        if not one.known:
            text = text.add(one.entry, after=before)
        before = one.entry.file
    return text
