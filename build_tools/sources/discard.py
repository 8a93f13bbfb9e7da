"""Dropping a person's changes when they say so: named, and kept in a bundle before anything goes."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.process import printable
from build_tools.sources.contents import GITLINK
from build_tools.sources.git import IDENTITY
from build_tools.sources.guard import OPERATIONS, file_line, hidden_edits, link_line, own_link_line, show_to_git
from build_tools.sources.modules import ROOT, Module, link_over, markers_of, own_folder, own_link, temporary_index
from build_tools.types import TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.sources.git import Repository
    from build_tools.sources.modules import Markers
    from build_tools.types import CommitId

__all__ = ["discard", "drop", "keep"]

_MESSAGE: Final = "Changes that were discarded\n"
_STAGED: Final = "What was staged of changes that were discarded\n"
_PLACE: Final = "refs/hipwright-discarded/"
_KEPT: Final = f"{_PLACE}changes"
_INDEX: Final = f"{_PLACE}index"
_BELOW: Final = f"{_PLACE}below/"

_EMAIL: Final = "discarded@localhost"
"""Not the address of what stages make: brought back, such a commit is a person's work."""

_BY: Final = {
    "GIT_AUTHOR_NAME": IDENTITY,
    "GIT_AUTHOR_EMAIL": _EMAIL,
    "GIT_COMMITTER_NAME": IDENTITY,
    "GIT_COMMITTER_EMAIL": _EMAIL,
}

_UNFINISHED: Final = (
    "rebase-merge/orig-head",
    "rebase-apply/orig-head",
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "rebase-merge/git-rebase-todo",
    "sequencer/todo",
)
"""Files of a repository in which git names commits while it is in the middle of something; it may be that no ref holds those."""

_BESIDE: Final = ("REBASE_HEAD", "AUTO_MERGE", "MERGE_AUTOSTASH", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG")
"""What else git keeps of an operation, and takes for one of today when it is left."""

_ID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])")


def discard(
    tree: Path,
    modules: Iterable[Module],
    work: Mapping[str, list[str]],
    *,
    hidden: Mapping[str, Sequence[bytes]],
    leaving: Collection[str],
    say: Callable[[str], None],
) -> None:
    """Keep and drop what a tree's modules have of a person's.

    Parameters
    ----------
    tree
        The tree.
    modules
        Its modules.
    work
        What there is, by module, for people.
    hidden
        Ignored files that belong to it, by module.
    leaving
        The modules that go away from the tree.
    say
        Takes one line of talk.
    """
    changed = [module for module in modules if work.get(module.path)]
    # All are kept before any is dropped: what cannot be kept stops the whole.
    for module in changed:
        keep(tree, module, work[module.path], hidden=hidden.get(module.path, ()), leaves=module.path in leaving, say=say)
    for module in modules:
        if file_line(module) is not None:
            module.folder.unlink()
    for module in changed:
        drop(module, hidden=hidden.get(module.path, ()))


def keep(
    tree: Path,
    module: Module,
    lines: list[str],
    *,
    hidden: Sequence[bytes] = (),
    leaves: bool = False,
    say: Callable[[str], None],
) -> Path | None:
    """Keep a module's commits, edits and untracked files in a bundle, and name them; its files stay as they are.

    The bundle has the files as they stand as one commit, ``refs/hipwright-discarded/changes``, on top of HEAD. Where something else was
    staged than HEAD or the files have, ``index`` beside it is a commit of that; ``unfinished-1`` and so on are commits that an operation of
    git holds that has not ended. So is what stages made below the changes, because no ref holds that once the module has moved; the
    upstream commit below is not, and a ref holds that from then on.

    Parameters
    ----------
    tree
        The tree.
    module
        The module.
    lines
        What there is, for people.
    hidden
        Ignored files that are to be part of it.
    leaves
        Whether the module goes away from the tree, so that its work folder is no place to fetch the bundle in.
    say
        Takes one line of talk.

    Returns
    -------
    Path or None
        The bundle; None when nothing was ever committed in the module, or links are all there is.
    """
    for line in lines:
        say(f"discarding {line}")
    if set(lines) <= {link_line(module), own_link_line(module)}:
        return None
    markers = markers_of(module)
    # A branch that a person began anew, without history, has files all the same.
    head = module.store.head() or (None if markers is None else markers.finished)
    if head is None:
        return None
    repository = module.store.with_env(_BY)
    # Commits can be all that is left of a module whose folder a person removed.
    there = module.folder.is_dir() and link_over(module) is None
    content = _content(tree, module, hidden) if there else repository.tree_of(head)
    date = repository.date_of(head)
    refs = {_KEPT: repository.commit(content, parent=head, message=_MESSAGE, date=date)}
    staged = _staged(tree, module)
    if staged not in {None, content, repository.tree_of(head)}:
        refs[_INDEX] = repository.commit(staged, parent=head, message=_STAGED, date=date)
    held = _held_by_operations(module, head, markers)
    refs |= {f"{_PLACE}unfinished-{number}": commit for number, commit in enumerate(held, start=1)}
    bundle = _fresh_name(tree, module)
    below = [] if markers is None else [markers.upstream]
    repository.set_refs({**refs, **{f"{_BELOW}{known}": known for known in below}})
    try:
        repository.capture("bundle", "create", "--quiet", bundle, *refs, *(f"^{known}" for known in below))
    finally:
        repository.set_refs(dict.fromkeys(refs))
    place = [f"--git-dir={module.git_dir}"] if leaves else ["-C", str(module.folder)]
    back = printable(["git", *place, "fetch", "--no-recurse-submodules", str(bundle), *refs])
    say(f"kept in {bundle}; to have it back as FETCH_HEAD: {back}")
    return bundle


def drop(module: Module, *, hidden: Sequence[bytes] = ()) -> None:
    """Take a module back to what the stages made of it; its untracked files and the ignored ones in ``hidden`` go, and links of a person's.

    Nothing is left then that tells a person's work from what is done to the module afterwards. A branch of theirs stays where it is.
    """
    link = link_over(module)
    markers = markers_of(module)
    back = module.store.head() if markers is None else markers.finished
    if link is not None:
        link.unlink()
    elif module.folder.is_dir() and any(module.folder.iterdir()):
        own = own_link(module)
        if own is not None:
            own.unlink()
        edits = hidden_edits(module)
        if edits:
            show_to_git(module, edits)
        for path in [*module.repository.records("ls-files", "-z", "--others", "--exclude-standard"), *hidden]:
            # A slash ends the name of a repository of a person's own.
            if not path.endswith(b"/"):
                files.remove_tree(module.folder / os.fsdecode(path))
        if back is not None:
            module.repository.capture("read-tree", "--reset", "-u", "--no-recurse-submodules", back)
    for name in (*OPERATIONS, *_BESIDE):
        files.remove_tree(module.git_dir / name)
    if back is not None and module.store.head() != back:
        module.store.set_refs({"HEAD": back})


def _staged(tree: Path, module: Module) -> TreeId | None:
    """Return what a module's index holds; None where it has none, or files that a merge could not decide on."""
    index = module.git_dir / "index"
    if not index.is_file():
        return None
    with temporary_index(tree, copy_of=index) as env:
        done = module.store.capture("write-tree", env=env, check=False)
    return TreeId(done.text) if done.returncode == 0 else None


def _held_by_operations(module: Module, head: CommitId, markers: Markers | None) -> list[CommitId]:
    """Return the commits that an operation of git holds, and nothing else that stays."""
    repository = module.store
    stay = [head, *([] if markers is None else [markers.upstream, markers.base, markers.hipified, markers.finished])]
    found: list[CommitId] = []
    for name in _named(repository):
        commit = repository.commit_of(name)
        if commit is None:
            continue
        words = ("rev-list", "--max-count=1", commit, "--not", "--remotes=origin", "--tags", *stay, *found, "--")
        if repository.text(*words):
            found.append(commit)
    return found


def _named(repository: Repository) -> Iterator[str]:
    for name in _UNFINISHED:
        with contextlib.suppress(OSError):
            yield from dict.fromkeys(_ID.findall((repository.git_dir / name).read_text(encoding="utf-8", errors="replace")))


def _content(tree: Path, module: Module, hidden: Sequence[bytes]) -> TreeId:
    repository = module.repository
    edits = hidden_edits(module)
    with temporary_index(tree, copy_of=module.git_dir / "index") as env:
        if edits:
            show_to_git(module, edits, env=env)
        # git would ask what a submodule stands on that a link leads away from.
        away = [f":(exclude,top,literal){os.fsdecode(path)}" for path in _led_away(module)]
        repository.capture("add", "--all", "--", ".", *away, env=env)
        if hidden:
            # Takes names as they are, and asks no .gitignore.
            repository.capture("update-index", "--add", "--replace", "-z", "--stdin", env=env, stdin=b"\0".join(hidden) + b"\0")
        return TreeId(repository.text("write-tree", env=env))


def _led_away(module: Module) -> list[bytes]:
    """Return the submodules of a module, by path, that name their repository by a symbolic link."""
    found = []
    for record in module.repository.records("ls-files", "-z", "--stage"):
        facts, _, path = record.partition(b"\t")
        if facts.startswith(GITLINK) and (module.folder / os.fsdecode(path) / ".git").is_symlink():
            found.append(path)
    return found


def _fresh_name(tree: Path, module: Module) -> Path:
    """Return a file for a bundle; one that is there already is somebody's only copy."""
    folder = own_folder(tree) / "discarded"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = files.utc_now().replace(":", "")
    name = "root" if module.path == ROOT else module.path.replace("/", "-")
    names = (f"{stamp}-{name}{more}.bundle" for more in itertools.chain([""], (f"-{number}" for number in itertools.count(2))))
    return next(folder / name for name in names if not (folder / name).exists())
