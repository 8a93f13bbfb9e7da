"""Two states of a patch file, or of a whole series: whether anything real changed between them, or only where the hunks lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from build_tools.config.load import parse_toml
from build_tools.errors import HipwrightError
from build_tools.patches.hunks import read_hunks
from build_tools.patches.layout import NAME, is_patch_file
from build_tools.patches.sections import sections
from build_tools.patches.series import SeriesFile
from build_tools.process import printable
from build_tools.sources.contents import PLAIN_FILES, read_blobs
from build_tools.sources.git import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["Change", "PatchChange", "change_between", "compare_files", "files_at", "lines_at", "same_but_for_places"]

Change = Literal["unchanged", "cosmetic", "real"]
"""``cosmetic``: the same change with the same message, made for other contents or at other lines; of ``series.toml``, the same entries
with other comments or another layout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchChange:
    """What became of one file of a line between two states."""

    file: str
    change: Change | Literal["added", "removed"]


def same_but_for_places(one: bytes, other: bytes) -> bool:
    """Return whether two patch files say the same but for contents' ids, line numbers of hunks, and the commit in the first line."""
    return one == other or list(_without_places(one)) == list(_without_places(other))


def change_between(before: bytes, after: bytes) -> Change:
    """Return what two states of a patch file differ in."""
    if before == after:
        return "unchanged"
    return "cosmetic" if same_but_for_places(before, after) else "real"


def compare_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[PatchChange]:
    """Return what became of each file between two states of a line, by name."""
    found = [PatchChange(file=file, change="removed") for file in before.keys() - after.keys()]
    found += [PatchChange(file=file, change="added") for file in after.keys() - before.keys()]
    for file in before.keys() & after.keys():
        between = _between_series if file == NAME else change_between
        found.append(PatchChange(file=file, change=between(before[file], after[file])))
    return sorted(found, key=lambda change: change.file)


def files_at(folder: Path, commit: str, *, git: Git) -> tuple[CommitId, dict[str, bytes]]:
    """Return what a folder of a clone held at a commit: files ``series.toml`` and patch files, by path from the folder; and the commit.

    Parameters
    ----------
    folder
        The folder, which need not be there.
    commit
        A commit, branch or tag of the clone that the folder is in.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``unknown-ref`` when the folder is in no clone, or the clone has no such commit.
    """
    stands = next(place for place in (folder, *folder.parents) if place.is_dir())
    top = git.capture("rev-parse", "--show-toplevel", cwd=stands, check=False)
    if top.returncode != 0:
        raise HipwrightError("unknown-ref", f"{folder} is in no git clone, so it has no commit {commit!r}")
    clone = Path(os.fsdecode(top.stdout.removesuffix(b"\n")))
    repository = Repository(git=git, folder=clone, git_dir=clone / ".git", work_tree=clone)
    found = repository.commit_of(commit) if not commit.startswith("-") else None
    if found is None:
        hint = f"look at {printable(['git', '-C', str(clone), 'log', '--oneline'])}"
        raise HipwrightError("unknown-ref", f"the clone {clone} has no commit {commit!r}", hint=hint)
    # git knows where in the clone a folder is that is named through a link.
    inside = git.capture("rev-parse", "--show-prefix", cwd=stands).stdout.removesuffix(b"\n")
    prefix = inside + b"".join(os.fsencode(part) + b"/" for part in folder.relative_to(stands).parts)
    names = {}
    for record in repository.records("ls-tree", "-r", "-z", "--full-tree", found, "--", os.fsdecode(prefix) or "."):
        facts, _, path = record.partition(b"\t")
        mode, _kind, blob = facts.split(b" ")
        name = os.fsdecode(path.removeprefix(prefix))
        if mode in PLAIN_FILES and (is_patch_file(name) or name.rpartition("/")[2] == NAME):
            names[name] = blob.decode()
    contents = read_blobs(repository, names.values())
    return found, {name: contents[blob] for name, blob in names.items()}


def lines_at(external_builds: Path, commit: str, *, git: Git) -> dict[tuple[str, str], dict[str, bytes]]:
    """Return the files of all patch lines that a clone had at a commit, by project and line, each as :func:`files_at` does.

    Raises
    ------
    HipwrightError
        As :func:`files_at`.
    """
    found: dict[tuple[str, str], dict[str, bytes]] = {}
    for name, data in files_at(external_builds, commit, git=git)[1].items():
        project, _, rest = name.partition("/")
        folder, _, inside = rest.partition("/")
        line, _, file = inside.partition("/")
        if folder == "patches" and file:
            found.setdefault((project, line), {})[file] = data
    return found


def _between_series(before: bytes, after: bytes) -> Change:
    if before == after:
        return "unchanged"
    try:
        one, other = (parse_toml(data.decode(), Path(NAME), SeriesFile) for data in (before, after))
    except (HipwrightError, UnicodeDecodeError):
        return "real"
    return "cosmetic" if one == other else "real"


def _without_places(data: bytes) -> Iterator[bytes]:
    lines = data.split(b"\n")
    parts = list(sections(data))
    first = parts[0].line - 1 if parts else len(lines)
    # The line that begins the mail names a commit, which says nothing of the change.
    yield from lines[1 if lines[0].startswith(b"From ") else 0 : first]
    for number, part in enumerate(parts, start=1):
        reading = read_hunks(part, is_last=number == len(parts))
        headers = {hunk.line - part.line for hunk in reading.hunks}
        head = min(headers, default=reading.length)
        for place, line in enumerate(part.lines):
            if place in headers:
                yield b"@@" + line.split(b"@@", 2)[2]
            elif place >= head or not line.startswith(b"index "):
                yield line
