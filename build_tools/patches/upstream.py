"""Whether sources have a patch already: its results are there, it can be taken back, or a commit of upstream's is the same change.

Only what is on this machine is asked: a history that was not fetched says nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.patches.beside import OFFLINE
from build_tools.patches.hunks import hunks
from build_tools.patches.placement import lines_of, place, turned
from build_tools.patches.sections import sections
from build_tools.shown import shown
from build_tools.sources.contents import Entry, entries, read_blobs
from build_tools.sources.git import EMAIL
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.patches.beside import Bench
    from build_tools.patches.sections import Section
    from build_tools.patches.series import Patch
    from build_tools.sources.git import Repository

__all__ = ["Touch", "has_result", "patched_files", "same_upstream", "touching", "upstream_reason"]

_COMMITS: Final = 200
"""How many commits that touch a patch's files are compared with it, newest first."""

_NAMES: Final = 400
"""More names than this make a command line that is too long for some system."""

_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--find-renames", "--full-index", "--no-color")


@dataclass(frozen=True, kw_only=True, slots=True)
class Touch:
    """A commit that touches a file: its committer date as a day, and its subject for people."""

    commit: CommitId
    date: str
    subject: str


def upstream_reason(bench: Bench, patch: Patch, head: CommitId) -> str | None:
    """Return why a patch that does not apply to a commit counts as one that the sources have, None when they don't."""
    if has_result(bench.repository, patch, head):
        return "the files are as it leaves them"
    if _can_be_taken_back(bench, patch, head):
        return "what it does is in the files"
    commit = same_upstream(bench, patch, head)
    return None if commit is None else f"commit {commit[:12]} of upstream is the same change"


def has_result(repository: Repository, patch: Patch, tree: str) -> bool:
    """Return whether a commit or tree has every file as a patch leaves it, by the ids that the patch says."""
    parts = list(sections(patch.data))
    wanted = [name for part in parts for name in (part.old, part.new) if name is not None]
    if not wanted:
        return False
    there = _entries(repository, tree, wanted)
    return all(_has_result(part, there) for part in parts)


def same_upstream(bench: Bench, patch: Patch, head: CommitId) -> CommitId | None:
    """Return the newest commit of upstream's in a module's local history that is the same change as a patch, wherever its lines lie."""
    names = patched_files(patch)[:_NAMES]
    own = _patch_ids(bench.repository, patch.data)
    if not own or not names:
        return None
    commits = [one.commit for one in touching(bench.repository, head, names, most=_COMMITS)]
    # A history whose files were left out ends where the first is missing.
    told = bench.repository.capture(
        *("--literal-pathspecs", "diff-tree", "--stdin", "--root", "--patch", *_DIFF, "--", *names),
        stdin="".join(f"{commit}\n" for commit in commits).encode(),
        env=OFFLINE,
        check=False,
    )
    found = _patch_ids(bench.repository, told.stdout)
    return next((commit for change, commit in found if change == own[0][0]), None)


def patched_files(patch: Patch) -> list[str]:
    """Return the paths of the files that a patch changes, by their names before and after."""
    return sorted({os.fsdecode(name) for part in sections(patch.data) for name in (part.old, part.new) if name is not None})


def touching(repository: Repository, head: CommitId, names: Sequence[str], *, most: int, since: str | None = None) -> list[Touch]:
    """Return upstream's commits in a local history that touch files, newest first; ``since`` is a date as git reads it.

    Merges are left out, and so are commits of ours and those that patches became.
    """
    dates = (f"--since={since}",) if since is not None else ()
    form = "--format=%H%x1f%cs%x1f%ce%x1f%s"
    arguments = ("log", "-z", "--no-merges", f"--max-count={most}", "--no-renames", form, *dates, head, "--", *names)
    done = repository.capture("--literal-pathspecs", *arguments, env=OFFLINE, check=False, what="git log")
    found = []
    for record in filter(None, done.stdout.split(b"\0")):
        commit, date, email, subject = record.split(b"\x1f", 3)
        if email != EMAIL.encode():
            found.append(Touch(commit=CommitId(commit.decode()), date=date.decode(), subject=shown(subject)))
    return found


def _has_result(part: Section, there: dict[bytes, Entry]) -> bool:
    if part.is_rename and not part.is_copy and part.old in there:
        return False
    if part.new is None:
        return part.old is not None and part.old not in there
    entry = there.get(part.new)
    if entry is None or part.objects is None:
        return False
    return entry.object_id == part.objects[1] and part.mode in {None, entry.mode}


def _entries(repository: Repository, tree: str, paths: Iterable[bytes]) -> dict[bytes, Entry]:
    found = {}
    names = [os.fsdecode(path) for path in dict.fromkeys(paths)]
    if len(names) > _NAMES:
        return entries(repository, tree)
    for record in repository.records("--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", *names):
        facts, _, path = record.partition(b"\t")
        mode, _kind, object_id = facts.split(b" ")
        found[path] = Entry(mode=mode, object_id=object_id.decode())
    return found


def _can_be_taken_back(bench: Bench, patch: Patch, head: CommitId) -> bool:
    """Return whether a patch applies in reverse, and in one way only."""
    repository = bench.repository
    repository.capture("read-tree", head)
    name = bench.folder / ".git" / "reverse"
    name.write_bytes(patch.data)
    if not repository.succeeds("apply", "--cached", "--check", "--reverse", "--whitespace=nowarn", "--", name, env=OFFLINE):
        return False
    parts = [(part, [turned(hunk) for hunk in hunks(part)]) for part in sections(patch.data)]
    parts = [(part, own) for part, own in parts if own and part.new is not None and not part.is_gitlink]
    there = _entries(repository, head, [part.new for part, _ in parts if part.new is not None])
    contents = read_blobs(repository, [entry.object_id for entry in there.values()])
    for part, own in parts:
        entry = there.get(part.new or b"")
        if entry is None:
            return False
        is_own = part.objects is not None and part.objects[1] == entry.object_id
        if place(own, lines_of(contents.get(entry.object_id, b"")), own=is_own).places is None:
            return False
    return True


def _patch_ids(repository: Repository, data: bytes) -> list[tuple[str, CommitId]]:
    """Return the ids of changes that do not depend on where they lie, with the commits that the data names."""
    lines = repository.text("patch-id", "--stable", stdin=data).splitlines()
    return [(line.split()[0], CommitId(line.split()[1])) for line in lines]
