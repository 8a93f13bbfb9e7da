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
from build_tools.process import printable
from build_tools.sources.git import shown
from build_tools.sources.modules import ROOT, Markers, Module, deepest_first, temporary_name
from build_tools.sources.phases import Phase, finish, marked_modules, record_submodules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.patches.series import Patch, Series
    from build_tools.process import Completed
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
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_ESCAPED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_HUNK = re.compile(rb"^@@ -(?P<start>\d+)")


def apply_base_patches(
    series: Series, *, tree: Path, platform: Platform, git: Git, log: Path, say: Callable[[str], None]
) -> None:
    """Apply a series' base patches to the upstream commits, in every module, and move the tree there; hipify comes after.

    Parameters
    ----------
    series
        The series of the tree's patch line.
    tree
        The source tree.
    platform
        Patches for other platforms are left out, and said so.
    git
        How git is run.
    log
        What ``git am`` says is appended here.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``patch-conflict`` (patch, module, file, hunk) or ``bad-series``, with everything as before; ``unsaved-work`` when moving the tree
        would lose something of a person's.
    """
    modules = marked_modules(tree, git=git, say=say)
    starts = {module.path: markers.upstream for module, markers in modules.items()}
    work = _Work(tree=tree, series=series, phase="base", platform=platform, git=git, log=log, say=say)
    heads = work.apply(modules, starts, subject="Record the submodules with their base patches")
    markers = {path: dict.fromkeys(("base", "hipified", "finished"), commit) for path, commit in heads.items()}
    finish(tree, modules, markers, git=git)


def apply_hipified_patches(
    series: Series, *, tree: Path, platform: Platform, git: Git, log: Path, say: Callable[[str], None]
) -> None:
    """Apply a series' hipified patches to hipify's result, in every module, and move the tree there; as :func:`apply_base_patches`."""
    modules = marked_modules(tree, git=git, say=say)
    starts = {module.path: markers.hipified for module, markers in modules.items()}
    work = _Work(tree=tree, series=series, phase="hipified", platform=platform, git=git, log=log, say=say)
    heads = work.apply(modules, starts, subject="Record the submodules with their hipified patches")
    finish(tree, modules, {path: {"finished": commit} for path, commit in heads.items()}, git=git)


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

    def apply(self, modules: Mapping[Module, Markers], starts: Mapping[str, CommitId], *, subject: str) -> dict[str, CommitId]:
        """Return each module's commit with the phase's patches on top of ``starts``, recorded in the parents."""
        self._check_modules(modules)
        heads = dict(starts)
        for module in deepest_first(modules):
            patches = self.series.select(self.phase, module.path, self.platform)
            if patches:
                heads[module.path] = self._apply_to(module, starts[module.path], patches)
                self.say(f"{self.tree.name}: {len(patches)} {self.phase} {_plural(len(patches))} applied to {_called(module)}")
        return record_submodules(self.tree, modules, heads, phase=self.phase, subject=subject)

    def _check_modules(self, modules: Mapping[Module, Markers]) -> None:
        paths = {module.path for module in modules}
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
            message = f"{len(patches)} patch files for {_called(module)} became {made} commits: a file holds more than one patch"
            raise HipwrightError("bad-series", message, where=Where(file=patches[0].file, module=module.path))
        changed = repository.records("diff-tree", "-r", "-z", "--no-renames", start, head)
        if any(record.startswith(b":") and b"160000" in record[:_MODES] for record in changed):
            message = f"a {self.phase} patch for {_called(module)} changes the commit of a submodule, which patches cannot do"
            raise HipwrightError("bad-series", message, where=Where(file=patches[0].file, module=module.path))
        return head

    def _write_log(self, module: Module, done: Completed) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as sink:
            sink.write(f"$ {printable(done.argv)}  # {_called(module)}\n".encode())
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
            f"{patch.name} does not apply to {_called(module)}: {what}",
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
            inside = _unquoted(line[4:].split(b"\t")[0]).removeprefix(b"a/") == file
        found = _HUNK.match(line)
        if inside and found and int(found["start"]) == start:
            end = number + 1
            while end < len(lines) and lines[end][:1] in {b" ", b"+", b"-", b"\\"} and not lines[end].startswith(b"-- "):
                end += 1
            return number + 1, b"\n".join(lines[number:end]).decode("utf-8", "replace")
    return None, None


def _unquoted(name: bytes) -> bytes:
    """Return a file name of a patch as it is on disk: git writes unusual ones in C-style quotes."""
    if not name.startswith(b'"'):
        return name
    return _ESCAPE.sub(
        lambda found: bytes([int(found[1], 8)]) if found[1] else _ESCAPED.get(found[2], found[2]), name.strip(b'"')
    )


def _plural(count: int) -> str:
    return "patch" if count == 1 else "patches"


def _called(module: Module) -> str:
    return "the root" if module.path == ROOT else module.path
