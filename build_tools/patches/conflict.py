"""Telling why a patch does not apply: the hunk, what the tree has there, who changed it upstream, and what a merge would make of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.patches.beside import OFFLINE, bench_at
from build_tools.patches.commits import read_commits
from build_tools.patches.hunks import hunks
from build_tools.patches.mail import parse_mail
from build_tools.patches.placement import fits, lines_of, turned
from build_tools.patches.refusal import refusal
from build_tools.patches.sections import sections
from build_tools.patches.upstream import patched_files, touching
from build_tools.shown import shown
from build_tools.sources.contents import read_file
from build_tools.sources.git import EMAIL
from build_tools.sources.modules import markers_of
from build_tools.sources.told import called, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.patches.beside import Bench
    from build_tools.patches.hunks import Hunk
    from build_tools.patches.series import Patch
    from build_tools.types import CommitId

__all__ = ["conflict", "what_failed"]

_COMMITS: Final = 5
_LINES: Final = 40
_LOOKS: Final = 1_000_000
"""About how many lines are compared to find the place that looks most like what a hunk expects."""

_CR: Final = b"\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    """What git complains of first: the file, the hunk where it says which, and the sentence for people."""

    what: str
    file: bytes | None = None
    hunk: Hunk | None = None
    others: tuple[bytes, ...] = ()


def what_failed(patch: Patch, said: bytes) -> tuple[str, Where, Hunk | None]:
    """Return what git says of a patch that it refuses: a sentence, the place to look at, and the hunk."""
    failure = _failure(patch, said)
    member = shown(failure.file) if failure.file is not None else None
    line = failure.hunk.line if failure.hunk is not None else None
    return failure.what, Where(file=patch.file, line=line, module=patch.module, member=member), failure.hunk


def conflict(bench: Bench, patch: Patch, head: CommitId, said: bytes, *, tree: Path, three_way: bool) -> HipwrightError:
    """Return the failure of a patch that does not apply to a commit.

    Parameters
    ----------
    bench
        Where it was tried.
    patch
        The patch.
    head
        The commit, which has the patches before it.
    said
        What git said.
    tree
        The source tree.
    three_way
        Whether a merge is tried, in a scratch work folder of its own.
    """
    failure = _failure(patch, said)
    what, where, hunk = what_failed(patch, said)
    parts = [hunk.text.decode("utf-8", "replace")] if hunk is not None else []
    notes: list[str] = []
    if failure.file is not None:
        data = read_file(bench.repository, head, os.fsdecode(failure.file))
        if data is None:
            notes.append(f"there is no such file in {called(patch.module)}")
        elif hunk is not None:
            parts.append(_there(hunk, lines_of(data), shown(failure.file)))
            notes += _notes(hunk, lines_of(data), phase=patch.phase)
        parts.append(_touched(bench, patch, head, failure.file))
    if three_way:
        parts.append("\n".join(_merged(bench, patch, head, tree)))
    if failure.others:
        notes.append(f"nor do hunks for {', '.join(shown(name) for name in failure.others)}")
    message = f"{patch.name} does not apply to {called(patch.module)}: {'; '.join([what, *notes])}"
    way = "" if three_way else "; --three-way of invoke apply-patches tells what a merge makes of it"
    return HipwrightError(
        "patch-conflict",
        message,
        where=where,
        hint=f"the tree is as it was; change the patch or drop it from the series{way}",
        log=bench.log,
        excerpt="\n".join(parts) or None,
    )


def _failure(patch: Patch, said: bytes) -> _Failure:
    found = refusal(said)
    if found.line is not None:
        own = [hunk for part in sections(patch.data) if found.file in {part.old, part.new} for hunk in hunks(part)]
        hunk = next((one for one in own if one.old_start == found.line), None)
        return _Failure(what=str(found.what), file=found.file, hunk=hunk, others=found.others)
    file = found.file if found.file is not None and os.fsdecode(found.file) in patched_files(patch) else None
    return _Failure(what=found.what or "git am refuses it", file=file)


def _notes(hunk: Hunk, lines: Sequence[bytes], *, phase: str) -> list[str]:
    """Return what can be told of a file that a hunk does not fit."""
    there = fits(turned(hunk), lines)
    if there and hunk.new != hunk.old:
        return [f"what the hunk does is there already, at line {there[0] + 1}"]
    bare = tuple(line.replace(_CR, b"\n") for line in lines)
    wanted = hunk.old
    if any(line.endswith(_CR) for line in lines) and not any(line.endswith(_CR) for line in wanted) and fits(hunk, bare):
        maker = "; hipify wrote it so, and a tool that keeps line ends writes LF" if phase == "hipified" else ""
        return [f"the file has CR LF line ends, and the patch LF{maker}"]
    if any(line.endswith(_CR) for line in wanted) and not any(line.endswith(_CR) for line in lines):
        return ["the patch has CR LF line ends, and the file LF"]
    return []


def _there(hunk: Hunk, lines: Sequence[bytes], file: str) -> str:
    """Return what a file has in the place that looks most like what a hunk expects, nearest to where it expects it."""
    wanted = hunk.old
    length = max(len(wanted), 1)
    expected = max(hunk.old_start - 1, 0)

    def alike(at: int) -> tuple[int, int]:
        return sum(one == other for one, other in zip(wanted, lines[at : at + length], strict=False)), -abs(at - expected)

    last = max(len(lines) - length, 0)
    reach = _LOOKS // length
    at = max(range(max(expected - reach, 0), min(expected + reach, last) + 1), key=alike, default=last)
    if alike(at)[0] == 0:
        at = min(expected, last)
    found = lines[at : at + length]
    told = [f"{number}: {shown(line.rstrip(bytes([10])))}" for number, line in enumerate(found, start=at + 1)]
    return "\n".join([f"{file} has there:", *(shortened(told, _LINES) or ["nothing: it is empty"])])


def _touched(bench: Bench, patch: Patch, head: CommitId, file: bytes) -> str:
    """Return which commits of upstream's touched a file since a patch was made, as far as the history is here."""
    when = parse_mail(patch.data).when
    since = when.isoformat() if when is not None else None
    name = os.fsdecode(file)
    found = touching(bench.repository, head, [name], most=_COMMITS, since=since)
    title = f"touched upstream since {when:%Y-%m-%d}, the patch's date:" if when is not None else "touched upstream by:"
    if not found:
        found = touching(bench.repository, head, [name], most=1)
        title = "not touched upstream since the patch's date; last by:"
    ours = _touched_here(bench, head, file)
    if not found and not ours:
        return f"no commit in the local history touches {shown(file)}"
    theirs = [title, *(f"{one.commit[:12]} {one.date} {one.subject}" for one in found)] if found else []
    return "\n".join([*theirs, *ours])


def _touched_here(bench: Bench, head: CommitId, file: bytes) -> list[str]:
    """Return what hipify and the patches before have done to a file, as lines for people, latest first."""
    markers = markers_of(bench.module)
    if markers is None:
        return []
    # Where patches move submodules, upstream's commits are among them.
    commits = read_commits(bench.repository, [f"--committer={EMAIL}", f"{markers.upstream}..{head}"])
    own = [one for one in reversed(commits) if file in one.changes]
    words = {True: "hipify made it, or changed it:", False: "changed by a patch of the series:"}
    return [f"{words[one.is_ours]} {one.label}" for one in own[:_COMMITS]]


def _merged(bench: Bench, patch: Patch, head: CommitId, tree: Path) -> list[str]:
    """Return what a three-way merge makes of a patch, as lines for people; it is made in a work folder that goes away again."""
    with bench_at(tree, bench.module, head, log=bench.log) as other:
        repository = other.repository
        mailed = other.merge(patch)
        if not mailed.failed:
            if not mailed.made:
                return ["a three-way merge finds that the sources have all of it"]
            difference = repository.capture("diff-tree", "--patch", "--no-color", head, "HEAD", env=OFFLINE).stdout
            lines = difference.decode("utf-8", "replace").splitlines()
            return ["a three-way merge takes it, and makes of it:", *shortened(lines, _LINES)]
        unmerged = repository.records("diff", "--name-only", "--diff-filter=U", "-z", env=OFFLINE)
        if not unmerged:
            return ["a three-way merge cannot be tried: the contents that the patch was made for are not in the local history"]
        names = ", ".join(shown(name) for name in unmerged)
        difference = repository.capture("diff", "--no-color", env=OFFLINE, check=False).stdout
        # git compares with the work folder, where only the files of the merge are.
        parts = difference.split(b"diff --cc ")[1:]
        text = "".join((b"diff --cc " + part).decode("utf-8", "replace") for part in parts)
        return [f"a three-way merge conflicts in {names}:", *shortened(text.splitlines(), _LINES)]
