"""Applying a series: ``git am`` beside the tree, in an empty work folder, so that a patch that fails has changed nothing.

The options make the result depend on the patches alone: subjects and line ends verbatim, no fuzz, no merging, committer dates from the
patches, a fixed committer. The tree moves onto the new commits when all modules' patches are applied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.patches.sections import pin_changes, unquoted
from build_tools.process import printable
from build_tools.sources.arrange import Arrangement, Target, arrange
from build_tools.sources.assemble import assemble, pinned
from build_tools.sources.contents import GITLINK
from build_tools.sources.git import shown
from build_tools.sources.modules import Module, deepest_first, temporary_name
from build_tools.sources.phases import Phase, finish, marked_modules, record_submodules
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from build_tools.patches.series import Patch, Series
    from build_tools.process import Completed
    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.bring import Bringer
    from build_tools.sources.git import Git, Repository
    from build_tools.types import CommitId, Platform

__all__ = ["apply_base_patches", "apply_hipified_patches"]

_OPTIONS: Final = (
    "--keep",
    "--keep-cr",
    "--whitespace=nowarn",
    "--no-scissors",
    "--committer-date-is-author-date",
    "--no-gpg-sign",
    "--no-3way",
    "--no-reject",
    "--patch-format=mbox",
)
_MODES: Final = len(":100644 100644 ")
_FAILED = re.compile(rb"^error: patch failed: (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_COMPLAINT = re.compile(rb"^error: (?!patch failed: )(?P<text>.+)$", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -(?P<start>\d+)")


def apply_base_patches(
    series: Series,
    *,
    locked: LockedSources,
    after_base: Iterable[SubmodulePin],
    tree: Path,
    platform: Platform,
    bringer: Bringer,
    git: Git,
    log: Path,
    say: Callable[[str], None],
    discard_local: bool = False,
) -> None:
    """Apply a series' base patches to the locked commits, in every module, and move the tree there; hipify comes after.

    A patch that changes the commit that a module records for a submodule moves that submodule: a parent's patches count first, then its
    submodules stand on what it records, with their own patches on top.

    Parameters
    ----------
    series
        The series of the tree's patch line.
    locked
        The exact sources.
    after_base
        The submodules that the tree must have afterwards, as the lock has them.
    tree
        The source tree.
    platform
        Patches for other platforms are left out, and said so.
    bringer
        Brings the commits of submodules that patches move.
    git
        How git is run.
    log
        What ``git am`` says is appended here.
    say
        Takes one line of talk.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.

    Raises
    ------
    HipwrightError
        ``patch-conflict`` (patch, module, file, hunk), ``bad-series``, or ``lock-conflict`` when the patches leave other submodules than
        are locked, with everything as before; ``unsaved-work`` when moving the tree would lose something of a person's.
    """
    modules = marked_modules(tree, git=git, say=say)
    work = _Work(tree=tree, series=series, phase="base", platform=platform, git=git, log=log, say=say)
    found = assemble(
        pinned(locked, after_base),
        tree=tree,
        git=git,
        bringer=bringer,
        stand=work.apply_to,
        mismatch=lambda what: _other_submodules(series, tree, what),
        have={module.path: (module.entry, markers.upstream) for module, markers in modules.items()},
    )
    work.check_modules(found)
    upstream = {one.module: one.upstream for one in found.values()}
    heads = {path: one.head for path, one in found.items()}
    heads = record_submodules(tree, upstream, heads, phase="base", subject="Record the submodules with their base patches")
    same = {(module.path, module.entry, markers.upstream) for module, markers in modules.items()}
    if same == {(path, one.module.entry, one.upstream) for path, one in found.items()}:
        commits = {path: dict.fromkeys(("base", "hipified", "finished"), commit) for path, commit in heads.items()}
        finish(tree, modules, commits, git=git, say=say, discard_local=discard_local)
        return
    names = ("upstream", "base", "hipified", "finished")
    wanted = {
        path: Target(
            module=one.module, commit=heads[path], markers=dict.fromkeys(names, heads[path]) | {"upstream": one.upstream}
        )
        for path, one in found.items()
    }
    plan = Arrangement(tree=tree, have=tuple(modules), wanted=wanted)
    arrange(plan, git=git, say=say, discard_local=discard_local, repair=False)


def apply_hipified_patches(
    series: Series,
    *,
    tree: Path,
    platform: Platform,
    git: Git,
    log: Path,
    say: Callable[[str], None],
    discard_local: bool = False,
) -> None:
    """Apply a series' hipified patches to hipify's result, in every module, and move the tree there; as :func:`apply_base_patches`.

    None of them can move a submodule: hipify has read the submodules as they are.
    """
    modules = marked_modules(tree, git=git, say=say)
    work = _Work(tree=tree, series=series, phase="hipified", platform=platform, git=git, log=log, say=say)
    work.check_modules({module.path for module in modules})
    heads = {module.path: work.apply_to(module, modules[module].hipified) for module in deepest_first(modules)}
    upstream = {module: markers.upstream for module, markers in modules.items()}
    heads = record_submodules(
        tree, upstream, heads, phase="hipified", subject="Record the submodules with their hipified patches"
    )
    commits = {path: {"finished": commit} for path, commit in heads.items()}
    finish(tree, modules, commits, git=git, say=say, discard_local=discard_local)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """One phase of one series on one tree."""

    tree: Path
    series: Series
    phase: Phase
    platform: Platform
    git: Git
    log: Path
    say: Callable[[str], None]

    def apply_to(self, module: Module, start: CommitId) -> CommitId:
        """Return a module's commit with the phase's patches on top of ``start``."""
        patches = self.series.select(self.phase, module.path, self.platform)
        if not patches:
            return start
        head = self._apply_to(module, start, patches)
        self.say(f"{self.tree.name}: {len(patches)} {self.phase} {_plural(len(patches))} applied to {called(module.path)}")
        return head

    def check_modules(self, paths: Collection[str]) -> None:
        """Refuse patches for modules that the tree does not have."""
        for patch in self.series.patches:
            if patch.phase != self.phase:
                continue
            if not patch.applies_on(self.platform):
                self.say(f"{self.tree.name}: {patch.name} is left out: it is for {', '.join(patch.entry.platforms)} only")
            elif patch.module not in paths:
                message = f"{patch.name} is for the module {patch.module}, which this tree does not have"
                raise HipwrightError("bad-series", message, where=Where(file=patch.file, module=patch.module))

    def _apply_to(self, module: Module, start: CommitId, patches: tuple[Patch, ...]) -> CommitId:
        scratch = temporary_name(self.tree, "am")
        try:
            self.git.capture("init", "--quiet", "--template=", scratch, cwd=self.tree)
            # New objects go straight into the module; git am takes from them the files that it needs.
            repository = self.git.at(scratch).with_env({"GIT_OBJECT_DIRECTORY": str(module.git_dir / "objects")})
            repository.capture("update-ref", "--no-deref", "HEAD", start)
            repository.capture("read-tree", start)
            done = repository.capture("am", *_OPTIONS, "--", *(patch.file for patch in patches), check=False)
            self._write_log(module, done)
            if done.returncode != 0:
                raise self._conflict(module, scratch, patches, done.stdout + done.stderr)
            return self._checked(module, repository, start, patches)
        finally:
            files.remove_tree(scratch)

    def _checked(self, module: Module, repository: Repository, start: CommitId, patches: tuple[Patch, ...]) -> CommitId:
        head = repository.head()
        made = int(repository.text("rev-list", "--count", f"{start}..HEAD"))
        if head is None or made != len(patches):
            message = (
                f"{len(patches)} patch files for {called(module.path)} became {made} commits: a file holds more than one patch"
            )
            raise HipwrightError("bad-series", message, where=Where(file=patches[0].file, module=module.path))
        if self.phase == "hipified":
            self._refuse_pin_moves(module, repository, start, head, patches)
        return head

    def _refuse_pin_moves(
        self, module: Module, repository: Repository, start: CommitId, head: CommitId, patches: tuple[Patch, ...]
    ) -> None:
        changed = repository.records("diff-tree", "-r", "-z", "--no-renames", start, head)
        if not any(record.startswith(b":") and GITLINK in record[:_MODES] for record in changed):
            return
        places = ((patch, change.line) for patch in patches for change in pin_changes(patch.data))
        patch, line = next(places, (patches[0], None))
        message = f"{patch.name} changes the commit of a submodule of {called(module.path)}, which only a base patch can do"
        hint = "hipify has read the submodules as they are: move the patch to the folder base"
        raise HipwrightError("bad-series", message, where=Where(file=patch.file, line=line, module=module.path), hint=hint)

    def _write_log(self, module: Module, done: Completed) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as sink:
            sink.write(f"$ {printable(done.argv)}  # {called(module.path)}\n".encode())
            sink.write(done.stdout + done.stderr)

    def _conflict(self, module: Module, scratch: Path, patches: tuple[Patch, ...], said: bytes) -> HipwrightError:
        patch = _failing(scratch, patches)
        found = _FAILED.search(said)
        if found is not None:
            file = shown(found["file"])
            line, hunk = _hunk(patch, found["file"], int(found["line"]))
            what = f"the hunk for line {int(found['line'])} of {file} does not fit"
        else:
            complaint = _COMPLAINT.search(said)
            what = shown(complaint["text"]) if complaint else "git am refuses it"
            file, line, hunk = None, None, None
        return HipwrightError(
            "patch-conflict",
            f"{patch.name} does not apply to {called(module.path)}: {what}",
            where=Where(file=patch.file, line=line, module=module.path, member=file),
            hint="the tree is as it was; change or drop the patch in the series, or choose another ref",
            log=self.log,
            excerpt=hunk,
        )


def _failing(scratch: Path, patches: tuple[Patch, ...]) -> Patch:
    """Return the patch at which ``git am`` stopped."""
    try:
        number = int((scratch / ".git" / "rebase-apply" / "next").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return patches[0]
    return patches[min(number, len(patches)) - 1]


def _hunk(patch: Patch, file: bytes, start: int) -> tuple[int | None, str | None]:
    """Return the line of the patch file where the hunk for a file's line ``start`` begins, and the hunk."""
    lines = patch.data.split(b"\n")
    inside = False
    for number, line in enumerate(lines):
        if line.startswith(b"--- "):
            inside = unquoted(line[4:].split(b"\t")[0]).removeprefix(b"a/") == file
        found = _HUNK.match(line)
        if inside and found and int(found["start"]) == start:
            end = number + 1
            while end < len(lines) and lines[end][:1] in {b" ", b"+", b"-", b"\\"} and not lines[end].startswith(b"-- "):
                end += 1
            return number + 1, b"\n".join(lines[number:end]).decode("utf-8", "replace")
    return None, None


def _plural(count: int) -> str:
    return "patch" if count == 1 else "patches"


def _other_submodules(series: Series, tree: Path, what: str) -> HipwrightError:
    message = f"the base patches of the line {series.line} leave other submodules in {tree} than are locked: {what}"
    return HipwrightError(
        "lock-conflict", message, where=Where(file=tree), hint=f"to lock it anew: nox -s lock -- --projects {tree.name} --relock"
    )
