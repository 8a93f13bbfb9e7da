"""Whether a source tree has gone on since hipify read it: files that the tool read and that a person has changed, deleted or added beside.

Files that the tool changed where they stand are none of these: what a person edits there is the tool's output, and stays as it is. What
counts is the work folder as it stands, so commits and edits are alike.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.hipify.record import ModuleFiles, TreeRecord, read_tree_record
from build_tools.shown import shown
from build_tools.sources.contents import Entry, entries
from build_tools.sources.modules import load_modules
from build_tools.sources.told import prefix_of, shortened
from build_tools.sources.written import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git, Repository

__all__ = ["refuse_stale", "stale_files", "watched_by"]

_LINES: Final = 20


def stale_files(source: SourceTree, *, git: Git) -> list[str]:
    """Return what has changed in a tree of that which hipify read, as lines for people; nothing when its result is still right.

    Parameters
    ----------
    source
        The tree as it was read; see :func:`build_tools.sources.state.read_source_tree`.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``stale-hipify`` when the tree has changes, and no record of what hipify read.
    """
    tree = Path(source.folder)
    record = read_tree_record(tree)
    if record is None:
        # A tree that is not there says so itself when it is built.
        if source.local is None or not tree.exists():
            return []
        message = f"{tree} has changes of yours, and what hipify read in it is not known"
        raise HipwrightError("stale-hipify", message, where=Where(file=tree))
    if source.local is None and not any(record.carried.values()):
        return []
    modules = {module.path: module for module in load_modules(tree, git=git)}
    lines = []
    for state in source.modules:
        store = modules[state.path].store
        carried = record.carried.get(state.path, {})
        if carried or state.content != store.tree_of(state.expected):
            lines += _stale(store, state.path, record, state.expected, state.content)
    return lines


def refuse_stale(source: SourceTree, *, git: Git, command: str) -> None:
    """Refuse to build a tree in which files that hipify read have changed since; ``command`` is the one that runs hipify again.

    Raises
    ------
    HipwrightError
        ``stale-hipify`` with the files.
    """
    hint = f"run hipify again; your changes stay as they are: {command}"
    try:
        lines = stale_files(source, git=git)
    except HipwrightError as error:
        if error.code.name != "stale-hipify":
            raise
        raise HipwrightError("stale-hipify", error.message, where=error.where, hint=hint) from error
    if not lines:
        return
    what = f"{lines[0]}" if len(lines) == 1 else f"{len(lines)} files, first {lines[0]}"
    message = f"hipify's result in {source.folder} is stale: since it ran, what it read has changed ({what})"
    raise HipwrightError(
        "stale-hipify", message, where=Where(file=source.folder), hint=hint, excerpt="\n".join(shortened(lines, _LINES))
    )


def watched_by(files: ModuleFiles, paths: Iterable[str]) -> set[str]:
    """Return those paths of a module, spelled as in records, that a run's result follows from.

    These are files that it read and did not change, and files beside one that it read, with the same suffix: it would have read them too.
    """
    outputs = {*files.added, *files.changed, *files.removed}
    read = set(files.read)
    places = {_place(path) for path in read}
    return {path for path in paths if path not in outputs and (path in read or _place(path) in places)}


def _stale(store: Repository, module: str, record: TreeRecord, expected: str, content: str) -> list[str]:
    """Return one module's lines; ``expected`` is the commit that the stages made, ``content`` the tree as it stands."""
    carried = record.carried.get(module, {})
    then, now = ({spelled(path): entry for path, entry in entries(store, tree).items()} for tree in (expected, content))
    files = next((one for one in record.record.modules if one.path == module), ModuleFiles(path=module))
    changed = {path for path in then.keys() | now.keys() if _blob(then, path) != _blob(now, path)}
    # A file that was there counts only when it was read; one that came counts when it lies where others were read.
    watched = watched_by(files, changed) - (then.keys() - set(files.read))
    place = prefix_of(module)
    lines = []
    outputs = {*files.added, *files.changed, *files.removed}
    for path in sorted(watched | carried.keys()):
        was = carried[path] if path in carried else _blob(then, path)
        # A person's file that hipify has changed where it stands is its output, until it is as before both.
        if (_blob(now, path) != _blob(then, path)) if path in outputs else (_blob(now, path) == was):
            continue
        instead = "taken back" if _blob(now, path) == _blob(then, path) else "edited"
        word = "deleted" if path not in now else "added" if was is None else instead
        lines.append(f"{word} {place}{shown(path)}")
    return lines


def _blob(tree: Mapping[str, Entry], path: str) -> str | None:
    return tree[path].object_id if path in tree else None


def _place(path: str) -> tuple[str, str]:
    pure = PurePosixPath(path)
    return str(pure.parent), pure.suffix
