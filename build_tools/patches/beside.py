"""``git am`` beside the tree: in an empty work folder inside the tree's ``.git``, so that a patch that fails has changed nothing.

The options make the result depend on the patches alone: subjects and line ends verbatim, no fuzz, no merging, committer dates from the
patches, a fixed committer. New objects go straight into the module's repository, where nothing names them yet.

For every patch ``git am`` reads and writes the index of the whole tree, which takes most of its time in a large one. So it is given a tree of
the files alone that the patches name, and its commits are made anew on the whole tree; where it fails, the whole tree is what counts.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.patches.sections import sections
from build_tools.patches.transplant import Made, PathChange, commits_on, small_commit, transplanted
from build_tools.process import printable
from build_tools.sources.modules import temporary_name
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from build_tools.patches.series import Patch
    from build_tools.process import Completed
    from build_tools.sources.git import Repository
    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["OFFLINE", "Bench", "Made", "Mailed", "PathChange", "bench_at"]

OFFLINE: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""What a repository of partial history lacks is not fetched to tell why a patch failed; gits before 2.45 know the second name alone."""

_OPTIONS: Final = (
    "--keep",
    "--keep-cr",
    "--whitespace=nowarn",
    "--no-scissors",
    "--committer-date-is-author-date",
    "--no-gpg-sign",
    "--no-reject",
    "--patch-format=mbox",
)
_NUMBER: Final = re.compile(r"\d+\n?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mailed:
    """What became of patches in a row: the commits of those that went in; whether the next one failed, and what git said then."""

    made: tuple[Made, ...]
    failed: bool = False
    said: bytes = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """A scratch repository that stands on a module's commit, with the module's objects; its index and its work folder are empty."""

    module: Module
    repository: Repository
    start: CommitId
    log: Path

    @property
    def folder(self) -> Path:
        """The work folder."""
        return self.repository.folder

    def mail(self, patches: Sequence[Patch]) -> Mailed:
        """Let ``git am`` make commits of patches, until one fails.

        Raises
        ------
        HipwrightError
            ``bad-series`` when a file holds more than one patch.
        """
        quick = self._mail_quickly(patches)
        if quick is not None:
            return Mailed(made=quick)
        self.repository.capture("read-tree", self.start)
        return self._mail(patches)

    def merge(self, patch: Patch) -> Mailed:
        """Let ``git am`` try a three-way merge of a patch, with all files in the work folder."""
        # Files that are not there would be taken for changes of a person's.
        self.repository.capture("read-tree", self.start)
        self.repository.capture("checkout-index", "--all", "--index", "--quiet", env=OFFLINE)
        return self._mail((patch,), "--3way")

    def _mail_quickly(self, patches: Sequence[Patch]) -> tuple[Made, ...] | None:
        """Return the commits of patches that all go in, None where that takes the whole tree to tell."""
        names = {name for patch in patches for part in sections(patch.data) for name in (part.old, part.new) if name is not None}
        small = _repository(self.folder / ".git" / "small", self.module, self.start)
        begin = small_commit(small, self.start, names)
        if begin is None:
            return None
        small.set_refs({"HEAD": begin})
        small.capture("read-tree", begin)
        done = self._am(small, patches, "--no-3way")
        made = commits_on(small, begin) if done.returncode == 0 else ()
        if len(made) != len(patches):
            return None
        self._note(done, patches)
        return transplanted(small, made, self.start, whole=self.repository)

    def _mail(self, patches: Sequence[Patch], way: str = "--no-3way") -> Mailed:
        done = self._am(self.repository, patches, way)
        self._note(done, patches)
        failed = done.returncode != 0
        made = () if self.repository.head() == self.start else commits_on(self.repository, self.start)
        mails = self._mails() if failed else len(made)
        if mails is not None and mails != len(patches):
            count = counted(len(patches), "patch file")
            message = f"{count} for {called(self.module.path)} became {mails} commits: a file holds more than one patch"
            raise HipwrightError("bad-series", message, where=Where(file=patches[0].file, module=self.module.path))
        return Mailed(made=made, failed=failed, said=done.stdout + done.stderr)

    def _am(self, repository: Repository, patches: Sequence[Patch], way: str) -> Completed:
        names = []
        for number, patch in enumerate(patches, start=1):
            # What was read is what is applied, whatever a person does to the file meanwhile.
            name = repository.git_dir / f"{number:04d}"
            name.write_bytes(patch.data)
            names.append(name.relative_to(repository.folder).as_posix())
        return repository.capture("am", *_OPTIONS, way, "--", *names, env=OFFLINE, check=False)

    def _note(self, done: Completed, patches: Sequence[Patch]) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as sink:
            names = ", ".join(patch.name for patch in patches)
            sink.write(f"$ {printable(done.argv)}  # {called(self.module.path)}: {names}\n".encode("utf-8", "replace"))
            sink.write(done.stdout + done.stderr)

    def _mails(self) -> int | None:
        """Return how many mails ``git am`` found in the files, None where it could not read them."""
        try:
            text = (self.repository.git_dir / "rebase-apply" / "last").read_text(encoding="ascii")
        except OSError:
            return None
        return int(text) if _NUMBER.fullmatch(text) else None


@contextlib.contextmanager
def bench_at(tree: Path, module: Module, start: CommitId, *, log: Path) -> Iterator[Bench]:
    """Give a scratch repository that stands on a commit of a module, for the block.

    Parameters
    ----------
    tree
        The source tree, inside whose ``.git`` it lies.
    module
        The module, whose objects it has.
    start
        The commit.
    log
        What ``git am`` says is appended here.
    """
    folder = temporary_name(tree, "am")
    try:
        yield Bench(module=module, repository=_repository(folder, module, start), start=start, log=log)
    finally:
        files.remove_tree(folder)


def _repository(folder: Path, module: Module, start: CommitId) -> Repository:
    """Make all that git asks of a repository; a process of its own that makes one takes longer than the rest."""
    own = folder / ".git"
    for name in ("refs", "info"):
        (own / name).mkdir(parents=True)
    (own / "HEAD").write_bytes(f"{start}\n".encode())
    with contextlib.suppress(OSError):
        # Says where a history ends that was not fetched whole.
        (own / "shallow").write_bytes((module.git_dir / "shallow").read_bytes())
    objects = os.fspath(module.git_dir / "objects")
    return module.repository.git.at(folder).with_env({"GIT_OBJECT_DIRECTORY": objects})
