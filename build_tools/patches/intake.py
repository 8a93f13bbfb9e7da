"""Making commits of a foreign series beside a source tree: every patch is applied as it is, without fuzz, and becomes a commit a module.

Foreign patches are made for one tree of files, in which submodules are folders like any other. They are applied to such a tree, and what
each one changed is taken apart by module. All of it happens in a repository of its own, which borrows the objects of the modules.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.patches.foreign import read_foreign
from build_tools.patches.hunks import hunks
from build_tools.patches.placement import lines_of, place
from build_tools.patches.refusal import refusal
from build_tools.patches.sections import unquoted
from build_tools.shown import shown
from build_tools.sources.borrow import borrow
from build_tools.sources.contents import read_file
from build_tools.sources.modules import ROOT
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.patches.quilt import QuiltPatch
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.modules import Module

__all__ = ["Intake", "Taken", "open_intake"]

_NAMES: Final = re.compile(rb"^(?:--- |\+\+\+ |rename from |rename to |diff --git )(?P<rest>.*)$", re.MULTILINE)
_NOTHING: Final = re.compile(rb"^error: (?:No valid patches in input|unrecognized input)", re.MULTILINE)
_NO_FILE: Final = b"0" * 6
_LONGEST: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What one patch became: a commit for each module that it changes, by path, and what is to be told of hunks that moved."""

    patch: QuiltPatch
    commits: Mapping[str, CommitId]
    moved: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Stand:
    """A module on the way: the commit that it stands on."""

    path: str
    head: CommitId


@dataclass(frozen=True, kw_only=True, slots=True)
class Intake:
    """The repository in which foreign patches become commits; ``repository`` holds them."""

    repository: Repository
    stands: Mapping[str, _Stand]
    whole: Path
    date: int
    _own: dict[str, Path] = field(default_factory=dict)

    def take(self, patches: Sequence[QuiltPatch], *, progress: Callable[[int], None]) -> tuple[Taken, ...]:
        """Return what the patches become, one on top of the other.

        Parameters
        ----------
        patches
            The patches, in order.
        progress
            Takes how many are done.

        Raises
        ------
        HipwrightError
            ``patch-conflict`` that names the patch, its file and hunk; ``patch-misplaced`` when a hunk does not fit where it says, and
            fits in several places.
        """
        self._spread()
        before = self._write_tree(self.whole)
        found = []
        for number, patch in enumerate(patches, start=1):
            if not patch.diff.strip():
                found.append(Taken(patch=patch, commits={}))
                continue
            self._apply(patch)
            after = self._write_tree(self.whole)
            moved = tuple(self._moved(patch, before))
            found.append(Taken(patch=patch, commits=self._commit(patch, before, after), moved=moved))
            before = after
            progress(number)
        return tuple(found)

    def _spread(self) -> None:
        """Fill the index with the files of all modules, each in its folder."""
        env = _index(self.whole)
        for stand in self.stands.values():
            if stand.path == ROOT:
                self.repository.capture("read-tree", stand.head, env=env)
                continue
            gone = b"%s %s\t%s\0" % (_NO_FILE, b"0" * _LONGEST, os.fsencode(stand.path))
            self.repository.capture("update-index", "-z", "--index-info", env=env, stdin=gone)
            self.repository.capture("read-tree", "-i", f"--prefix={stand.path}/", stand.head, env=env)

    def _write_tree(self, index: Path) -> TreeId:
        # A repository of partial history lacks files that nothing changes.
        return TreeId(self.repository.text("write-tree", "--missing-ok", env=_index(index)))

    def _apply(self, patch: QuiltPatch) -> None:
        arguments = ("apply", "--cached", f"-p{patch.strip}", "--whitespace=nowarn", "-")
        done = self.repository.capture(*arguments, env=_index(self.whole), stdin=patch.diff, check=False)
        if done.returncode == 0:
            return
        found = refusal(done.stderr)
        file = shown(found.file) if found.file is not None else None
        what = found.what or "git apply refuses it"
        if file is None and _NOTHING.search(done.stderr):
            what = "there is no diff in it that git can read"
        raise HipwrightError(
            "patch-conflict",
            f"{shown(patch.name)} does not apply: {what}",
            where=Where(file=patch.file, line=patch.diff_line, member=file),
            hint="nothing is written; take the sources that the series is made for, or leave the patch out of its `series`",
            excerpt=done.stderr.decode("utf-8", "replace").strip() or None,
        )

    def _moved(self, patch: QuiltPatch, before: TreeId) -> Iterator[str]:
        """Yield what is to be told of hunks that do not lie where they say; one that could lie in several places is refused."""
        for section in read_foreign(patch.diff, line=patch.diff_line, strip=patch.strip).sections:
            # A diff of two folders may call the earlier file otherwise, such as name.orig.
            names = [os.fsdecode(name) for name in (section.old, section.new) if name is not None]
            known = ((name, read_file(self.repository, before, name)) for name in names)
            name, content = next((pair for pair in known if pair[1] is not None), ("", None))
            own = hunks(section)
            if section.old is None or content is None or not own:
                continue
            placed = place(own, lines_of(content), own=True)
            if placed.places is None and placed.hunk is not None and placed.fits:
                lines = ", ".join(str(at + 1) for at in placed.fits)
                message = (
                    f"{shown(patch.name)} does not fit {shown(name)} where it says, and the hunk for line "
                    f"{placed.hunk.old_start} fits in {len(placed.fits)} places: lines {lines}"
                )
                where = Where(file=patch.file, line=placed.hunk.line, member=shown(name))
                hint = "have it refreshed by those who keep it, or give the hunk more context"
                excerpt = placed.hunk.text.decode("utf-8", "replace")
                raise HipwrightError("patch-misplaced", message, where=where, hint=hint, excerpt=excerpt)
            for one in placed.places or ():
                if one.moved:
                    yield f"{shown(name)}: the hunk for line {one.hunk.old_start} applies {one.moved:+d} lines away"

    def _commit(self, patch: QuiltPatch, before: TreeId, after: TreeId) -> dict[str, CommitId]:
        if before == after:
            return {}
        records = iter(self.repository.records("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", before, after))
        changes: dict[str, list[bytes]] = {}
        for record in records:
            _old_mode, new_mode, _old, new, _kind = record[1:].split(b" ")
            path = next(records)
            module = self._module_of(path)
            own = path if module == ROOT else path[len(os.fsencode(module)) + 1 :]
            changes.setdefault(module, []).append(b"%s %s\t%s\0" % (new_mode, new, own))
        commits = {}
        for module in self.stands:
            if module in changes:
                stand = self.stands[module]
                tree = self._tree(stand, b"".join(changes[module]))
                stand.head = commits[module] = self._make(patch, tree, stand.head)
        return commits

    def _module_of(self, path: bytes) -> str:
        own = [module for module in self.stands if module != ROOT and path.startswith(os.fsencode(module) + b"/")]
        return max(own, key=len, default=ROOT)

    def _tree(self, stand: _Stand, changes: bytes) -> TreeId:
        """Return the content of a module after changes, in its own index, which is filled when it is first asked for."""
        index = self._own.get(stand.path)
        if index is None:
            index = self._own[stand.path] = self.whole.with_name(f"index-{len(self._own)}")
            self.repository.capture("read-tree", stand.head, env=_index(index))
        self.repository.capture("update-index", "-z", "--index-info", env=_index(index), stdin=changes)
        return self._write_tree(index)

    def _make(self, patch: QuiltPatch, tree: TreeId, parent: CommitId) -> CommitId:
        header = patch.header
        when = header.when or dt.datetime.fromtimestamp(self.date, dt.UTC)
        stamp = f"@{int(when.timestamp())} {when:%z}"
        env = {
            "GIT_AUTHOR_NAME": header.author,
            "GIT_AUTHOR_EMAIL": header.email,
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
        }
        message = header.message.encode("utf-8", "surrogateescape")
        done = self.repository.capture("commit-tree", tree, "-p", parent, "-F", "-", env=env, stdin=message, check=False)
        if done.returncode != 0:
            said = f"{shown(patch.name)} names an author or a date that git does not take: {shown(header.owner)}, {when}"
            raise HipwrightError("bad-import", said, where=Where(file=patch.file), excerpt=done.stderr.decode("utf-8", "replace"))
        return CommitId(done.text)


def open_intake(
    starts: Mapping[Module, CommitId], patches: Sequence[QuiltPatch], *, scratch: Path, git: Git, date: int
) -> Intake:
    """Return a repository in which foreign patches become commits.

    Parameters
    ----------
    starts
        The tree's modules, parents before children, and the commit that each one's patches are to lie on.
    patches
        The patches that are to come: submodules that none of them names are left alone.
    scratch
        A folder that is there, for the repository.
    git
        How git is run.
    date
        The date of patches that bear none, in seconds since 1970.
    """
    # A submodule lies in the folder of its parent's, whose files are named with it then.
    kept = [module for module in starts if module.path == ROOT or _is_named(module.path, patches)]
    repository = git.make_bare(scratch / "intake.git", head="refs/heads/none")
    borrow(repository.git_dir, lender=kept[0].git_dir, more=[module.git_dir for module in kept[1:]])
    stands = {module.path: _Stand(path=module.path, head=starts[module]) for module in kept}
    return Intake(repository=repository, stands=stands, whole=scratch / "index", date=date)


def _index(index: Path) -> dict[str, str]:
    return {"GIT_INDEX_FILE": str(index)}


def _is_named(path: str, patches: Sequence[QuiltPatch]) -> bool:
    """Return whether a patch may change something in a folder."""
    inside = os.fsencode(f"{path}/")
    return any(inside in unquoted(found["rest"]) for patch in patches for found in _NAMES.finditer(patch.diff))
