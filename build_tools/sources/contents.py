"""What a commit holds: its submodules, its files, and single files of it, read without a work folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.partial import bring_objects
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.sources.git import Repository
    from build_tools.types import TreeId

__all__ = [
    "GITLINK",
    "PLAIN_FILES",
    "Entry",
    "Submodule",
    "entries",
    "entry_at",
    "gitlinks",
    "is_git_folder",
    "read_blobs",
    "read_file",
    "submodules",
]

GITLINK: Final = b"160000"
"""The mode of a submodule."""

PLAIN_FILES: Final = frozenset({b"100644", b"100755"})
"""The modes of files that are no links."""

_FOLDER: Final = b"040000"
_GIT_FOLDER: Final = re.compile(r"(?:\.git|git~1)(?:[ .]*|:.*)", re.IGNORECASE | re.DOTALL)
_UNSEEN: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file, link or submodule of a tree: its mode as git writes it, and its object."""

    mode: bytes
    object_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Submodule:
    """One submodule as a commit records it: ``url`` as it stands in ``.gitmodules``, ``path`` relative to that repository."""

    name: str
    path: str
    url: str
    commit: CommitId


def entries(repository: Repository, tree: str) -> dict[bytes, Entry]:
    """Return all files, links and submodules of a commit or tree by path."""
    found = {}
    for record in repository.records("ls-tree", "-r", "-z", "--full-tree", tree):
        head, _, path = record.partition(b"\t")
        mode, _kind, object_id = head.split(b" ")
        found[path] = Entry(mode=mode, object_id=object_id.decode())
    return found


def entry_at(repository: Repository, tree: str, path: str) -> Entry | None:
    """Return one file, link, submodule or folder of a commit or tree, or None when it has no such path."""
    for record in repository.records("ls-tree", "-z", "--full-tree", tree, "--", path):
        head, _, found = record.partition(b"\t")
        if found == path.encode("utf-8", "surrogateescape"):
            mode, _kind, object_id = head.split(b" ")
            return Entry(mode=mode, object_id=object_id.decode())
    return None


def gitlinks(repository: Repository, tree: str) -> dict[bytes, CommitId]:
    """Return the submodule commits that a commit or tree records, by path."""
    found = {}
    for record in repository.records("ls-tree", "-r", "-z", "--full-tree", tree):
        if record.startswith(GITLINK):
            head, _, path = record.partition(b"\t")
            found[path] = CommitId(head.split(b" ")[2].decode())
    return found


def submodules(repository: Repository, commit: CommitId | TreeId) -> tuple[Submodule, ...]:
    """Return the submodules that a commit or tree records, sorted by path; those with ``update = none`` are left out, as git does.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when ``.gitmodules`` cannot be read, names no address for a recorded submodule, or uses a name or path that
        git refuses as well.
    """
    key = ("submodules", str(commit))
    seen = repository.git.seen
    if key not in seen:
        seen[key] = _submodules(repository, commit)
    found: tuple[Submodule, ...] = seen[key]
    return found


def _submodules(repository: Repository, commit: CommitId | TreeId) -> tuple[Submodule, ...]:
    links = gitlinks(repository, commit)
    if not links:
        return ()
    table = _gitmodules(repository, commit)
    by_path = {values["path"].rstrip("/"): (name, values) for name, values in table.items() if "path" in values}
    found = []
    for raw, pin in sorted(links.items()):
        path = _path_of(raw, commit)
        if path not in by_path:
            raise _bad(f"{shown(path)} is recorded as a submodule, and .gitmodules has no entry with that path", commit)
        name, values = by_path[path]
        if values.get("update") == "none":
            continue
        if not values.get("url"):
            raise _bad(f".gitmodules gives no url for the submodule {shown(name)}", commit)
        if values["url"].startswith("-") or not _is_safe(name):
            raise _bad(f".gitmodules has an unsafe name or url for the submodule at {shown(path)}", commit)
        found.append(Submodule(name=name, path=path, url=values["url"], commit=pin))
    # A submodule's repository lies in a folder of its name.
    for inner in found:
        outer = next((one for one in found if inner.name.startswith(f"{one.name}/")), None)
        if outer is not None:
            message = f"the repository of the submodule {shown(inner.name)} would lie inside that of {shown(outer.name)}"
            raise _bad(f"{message}: .gitmodules must name one of them otherwise", commit)
    return tuple(found)


def _path_of(raw: bytes, commit: CommitId | TreeId) -> str:
    """Return a submodule's path as text, one that stays inside the tree on every platform."""
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad(f"the path of the submodule {shown(raw)} is no UTF-8", commit) from None
    if any(part in {"", ".", ".."} or is_git_folder(part) for part in path.replace("\\", "/").split("/")):
        what = "a path that leads out of the tree or into git's own files"
        raise _bad(f"{shown(path)} is recorded as a submodule, {what}", commit)
    return path


def is_git_folder(part: str) -> bool:
    """Return whether a file system may take a name for ``.git``, as git itself sees it: Windows and macOS fold cases and drop characters."""
    return _GIT_FOLDER.fullmatch(_UNSEEN.sub("", part)) is not None


def _is_safe(name: str) -> bool:
    """Return whether a submodule's name leads to a folder below the one that holds all of them, on every platform."""
    parts = name.replace("\\", "/").split("/")
    return not any(part in {"", ".", ".."} for part in parts) and ":" not in parts[0]


def read_file(repository: Repository, commit: CommitId | TreeId, path: str) -> bytes | None:
    """Return the bytes of one file of a commit or tree, or None when it has no such file.

    Raises
    ------
    HipwrightError
        ``origin-unreachable`` when its contents are to come from the origin, and do not.
    """
    if repository.source is not None:
        entry = entry_at(repository, commit, path)
        if entry is None or entry.mode in {GITLINK, _FOLDER}:
            return None
        bring_objects(repository, [entry.object_id])
    done = repository.capture("cat-file", "blob", f"{commit}:{path}", check=False)
    return done.stdout if done.returncode == 0 else None


def read_blobs(repository: Repository, ids: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of files by their ids, asked for in one go; what the repository does not hold is left out."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    output = repository.capture("cat-file", "--batch", stdin="".join(f"{one}\n" for one in wanted).encode()).stdout
    found: dict[str, bytes] = {}
    at = 0
    for one in wanted:
        end = output.index(b"\n", at)
        words = output[at:end].split(b" ")
        at = end + 1
        if len(words) == len(("id", "kind", "size")):
            found[one] = output[at : at + int(words[2])]
            at += int(words[2]) + 1
    return found


def _gitmodules(repository: Repository, commit: CommitId | TreeId) -> dict[str, dict[str, str]]:
    if read_file(repository, commit, ".gitmodules") is None:
        return {}
    arguments = ("config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\.")
    done = repository.capture(*arguments, check=False)
    # git config ends with 1 when nothing matches.
    if done.returncode > 1:
        raise _bad(f".gitmodules cannot be read: {done.stderr.decode('utf-8', 'replace').strip()}", commit)
    table: dict[str, dict[str, str]] = {}
    for record in done.stdout.split(b"\0"):
        key, _, value = record.decode("utf-8", "surrogateescape").partition("\n")
        _section, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if name:
            table.setdefault(name, {})[variable] = value
    return table


def _bad(message: str, commit: CommitId | TreeId) -> HipwrightError:
    return HipwrightError("bad-source-tree", message, where=Where(file=".gitmodules", key=f"commit {commit}"))
