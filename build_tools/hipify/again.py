"""Running hipify again on a tree with a person's changes: what they changed is carried into the input, and what comes of it into the tree.

The new output is compared with the one that the tree stands on, and the difference goes into the work folder, file by file; where a person
or a hipified patch has changed such a file too, the three are merged. Commits, markers and the index stay as they are. All is computed
before anything is written, and each file is replaced whole, so a run that fails or is killed is made good by the next one.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.hipify.carry import Standing, carried_changes, carrying_commit
from build_tools.hipify.place import Planned, is_ours, plan, put
from build_tools.hipify.record import ModuleFiles, TreeRecord, read_tree_record, write_tree_record
from build_tools.hipify.run import run_cached
from build_tools.hipify.stale import watched_by
from build_tools.shown import shown
from build_tools.sources.contents import Entry, entries
from build_tools.sources.modules import MARKERS
from build_tools.sources.phases import marked_modules
from build_tools.sources.told import prefix_of, shortened
from build_tools.sources.written import spelled, written_by_hipify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.hipify.record import HipifyRecord
    from build_tools.hipify.run import Hipified, Hipifier
    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Markers, Module

__all__ = ["hipify_again"]

_AGAIN: Final = f"{MARKERS}again"
"""What hipify made of a person's changes: kept from git's own cleaning, because the next output is compared with it."""

_LINES: Final = 40
Changes = dict[bytes, Entry | None]


def hipify_again(source: SourceTree, hipifier: Hipifier, *, git: Git, say: Callable[[str], None]) -> bool:
    """Run hipify on a tree's sources with a person's changes, and bring what it makes of them into the tree.

    Parameters
    ----------
    source
        The tree as it was read, with its changes.
    hipifier
        The tool.
    git
        How git is run.
    say
        Takes one line of talk.

    Returns
    -------
    bool
        False when there was nothing to do: nobody has changed anything, or the tree does not stand on hipify's result.

    Raises
    ------
    HipwrightError
        ``hipify-conflict`` with the files when what hipify makes anew does not fit what a person or a patch has made of them, and as
        :func:`build_tools.hipify.run.run_cached`. The tree is as it was then.
    """
    tree = Path(source.folder)
    known = read_tree_record(tree)
    if source.local is None and (known is None or not any(known.carried.values())):
        return False
    modules = marked_modules(tree, git=git, say=say)
    pristine = run_cached(hipifier, tree, modules, beside=True)
    if any(pristine.commits[module.path] != markers.hipified for module, markers in modules.items()):
        return False
    work = _Again(tree=tree, hipifier=hipifier, modules=modules, known=known or TreeRecord(record=pristine.record), say=say)
    work.run(source)
    return True


class _Again:
    """One run on a tree."""

    def __init__(
        self,
        *,
        tree: Path,
        hipifier: Hipifier,
        modules: Mapping[Module, Markers],
        known: TreeRecord,
        say: Callable[[str], None],
    ) -> None:
        self.tree = tree
        self.hipifier = hipifier
        self.modules = modules
        self.known = known
        self.say = say

    def run(self, source: SourceTree) -> None:
        """Carry, run, plan, and only then write."""
        content = {state.path: state.content for state in source.modules}
        standing = [self._standing(module, markers, content[module.path]) for module, markers in self.modules.items()]
        changes: dict[str, Changes] = {}
        for one in standing:
            changes[one.module.path], collide = carried_changes(one, scratch=self.hipifier.scratch)
            self._refuse([(one, collide)], "changed by you and by a hipified patch, and the two cannot be told apart", patch=True)
        made = self._made(standing, changes)
        overwritten = self._overwritten(standing, changes, made)
        self._refuse(
            [(one, overwritten.get(one.module.path, [])) for one in standing], "added by you where hipify makes one itself"
        )
        planned = {
            one.module.path: plan(
                one,
                changes[one.module.path],
                entries(one.module.store, made.commits[one.module.path]),
                scratch=self.hipifier.scratch,
            )
            for one in standing
        }
        unfit = [(one, planned[one.module.path].collide) for one in standing]
        if all(_is_the_patches(one, path) for one, paths in unfit for path in paths):
            self._refuse(unfit, "changed by a hipified patch where hipify's new output changes", patch=True)
        self._refuse(unfit, "changed where hipify's new output changes")
        for one in standing:
            put(self.tree, one, planned[one.module.path])
        self._note(standing, changes, planned, made)

    def _standing(self, module: Module, markers: Markers, content: str) -> Standing:
        files, carried = _part(self.known.record, module), self.known.carried.get(module.path, {})
        before = module.store.commit_of(_AGAIN) if any(self.known.carried.values()) else None
        return Standing(
            module=module,
            markers=markers,
            base=entries(module.store, markers.base),
            before=entries(module.store, before or markers.hipified),
            finished=entries(module.store, markers.finished),
            now=entries(module.store, content),
            outputs=frozenset({*files.added, *files.changed, *files.removed}),
            carried=carried,
            written=written_by_hipify(module),
        )

    def _made(self, standing: Sequence[Standing], changes: Mapping[str, Changes], *, beside: bool = False) -> Hipified:
        """Return what hipify makes with changes: by a run, or, where it is only compared with, from an earlier one."""
        fed = {
            one.module: replace(one.markers, base=carrying_commit(self.tree, one, changes[one.module.path])) for one in standing
        }
        return run_cached(self.hipifier, self.tree, fed, again=not beside, beside=beside)

    def _overwritten(
        self, standing: Sequence[Standing], changes: Mapping[str, Changes], made: Hipified
    ) -> dict[str, list[bytes]]:
        """Return the files that a person added and that hipify makes whether they are there or not, otherwise than they are."""
        suspects: dict[str, list[bytes]] = {}
        for one in standing:
            after = entries(one.module.store, made.commits[one.module.path])
            suspects[one.module.path] = [
                path
                for path, entry in changes[one.module.path].items()
                if entry is not None and path not in one.base and spelled(path) not in one.outputs and after.get(path) != entry
            ]
        if not any(suspects.values()):
            return {}
        # A file that hipify changes where it stands looks the same as one that it writes from another: without it, only the latter comes.
        without = {
            path: {name: entry for name, entry in part.items() if name not in suspects[path]} for path, part in changes.items()
        }
        other = self._made(standing, without, beside=True)
        return {
            one.module.path: [
                path for path in suspects[one.module.path] if path in entries(one.module.store, other.commits[one.module.path])
            ]
            for one in standing
        }

    def _refuse(self, collide: Sequence[tuple[Standing, Sequence[bytes]]], what: str, *, patch: bool = False) -> None:
        """Refuse to go on when files collide; with ``patch``, for what a hipified patch changes in them.

        Raises
        ------
        HipwrightError
            ``hipify-conflict`` with the list.
        """
        lines = [_told(one, path) for one, paths in collide for path in paths]
        if not lines:
            return
        name = self.tree.name
        way_out = (
            "change the patch or drop it from the series, or make your edit a base patch, in a tree without hipified patches: "
            f"nox -s checkout_{name} -- --until base-patches"
            if patch
            else "keep your edits of the listed files elsewhere, take them out of the tree, run the command again, and make them in the "
            "new files"
        )
        count = "1 file was" if len(lines) == 1 else f"{len(lines)} files were"
        raise HipwrightError(
            "hipify-conflict",
            f"hipify cannot run again in {self.tree}: {count} {what}",
            where=Where(file=self.tree, module=", ".join(one.module.path for one, paths in collide if paths)),
            hint=f"nothing was changed; {way_out}",
            excerpt="\n".join(shortened(lines, _LINES)),
        )

    def _note(
        self, standing: Sequence[Standing], changes: Mapping[str, Changes], planned: Mapping[str, Planned], made: Hipified
    ) -> None:
        """Keep what the next run and moving the tree need to know, the record last."""
        carried = {}
        for one in standing:
            path = one.module.path
            if made.commits[path] != one.markers.hipified:
                one.module.store.set_refs({_AGAIN: made.commits[path]})
            else:
                one.module.store.capture("update-ref", "-d", _AGAIN)
            carried[path] = self._carried(one, changes[path], made.record)
            for name in planned[path].translated:
                self.say(f"hipify has changed your {_named(path, name)} where it stands")
        written = {path: part.written for path, part in planned.items() if part.written}
        carried = {path: part for path, part in carried.items() if part}
        write_tree_record(self.tree, TreeRecord(record=made.record, carried=carried), written=written)
        count = sum(len(part.files) for part in planned.values())
        self.say(f"hipify ran again with your changes: {counted(count, 'file')} of the tree written or removed")

    def _carried(self, one: Standing, changes: Changes, record: HipifyRecord) -> dict[str, str | None]:
        """Return those of a person's changes that hipify's output follows from, each as it stands in the tree."""
        new, old = _part(record, one.module), _part(self.known.record, one.module)
        spellings = {spelled(path): path for path in changes}
        watched = watched_by(new, spellings) | (spellings.keys() & {*new.changed, *old.read})
        found: dict[str, str | None] = {}
        for name in sorted(watched):
            path = spellings[name]
            entry = changes[path] if name in new.changed else one.now.get(path)
            found[name] = None if entry is None else entry.object_id
        return found


def _part(record: HipifyRecord, module: Module) -> ModuleFiles:
    return next((part for part in record.modules if part.path == module.path), ModuleFiles(path=module.path))


def _is_the_patches(one: Standing, path: bytes) -> bool:
    """Return whether it is a hipified patch alone that has changed a file which collides."""
    now = one.now.get(path)
    return (now == one.finished.get(path) or is_ours(one, path, now)) and bool(_patches(one, path))


def _patches(one: Standing, path: bytes) -> list[str]:
    """Return the subjects of the hipified patches that change a file, the first one first."""
    commits = f"{one.markers.hipified}..{one.markers.finished}"
    told = ("--literal-pathspecs", "log", "--reverse", "--format=%s", commits, "--", os.fsdecode(path))
    return one.module.store.text(*told).splitlines()


def _told(one: Standing, path: bytes) -> str:
    """Return a file that collides as people are told of it, with the hipified patches that change it."""
    patches = ", ".join(shown(subject) for subject in _patches(one, path))
    return f"{_named(one.module.path, path)}{f' (hipified patch: {patches})' if patches else ''}"


def _named(module: str, path: bytes) -> str:
    return f"{prefix_of(module)}{shown(path)}"
