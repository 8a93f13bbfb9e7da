"""What stands in the way of saving a tree's commits: work that no commit holds, and git operations that have not ended."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Final

from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.contents import gitlinks
from build_tools.sources.guard import UNDER_WAY, hidden_edits, is_replaced, refuse_locked, unfinished
from build_tools.sources.modules import again, within
from build_tools.sources.parallel import for_each
from build_tools.sources.told import called, change_word, prefix_of, shortened
from build_tools.sources.written import spelled, unchanged_since_written, written_by_hipify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["refuse_uncommitted", "refuse_unfinished"]

_LINES: Final = 40
_MODULES: Final = 3


def refuse_unfinished(modules: Iterable[Module]) -> None:
    """Refuse to read a history while git is in the middle of something.

    Raises
    ------
    HipwrightError
        ``uncommitted`` with the commands that end it; ``locked`` when a git process is at work in a module, or died there.
    """
    lines, hints = [], []
    for module in modules:
        refuse_locked(module)
        for what, taken_back in unfinished(module):
            lines.append(f"{what}{UNDER_WAY}{called(module.path)}")
            hints.append(taken_back)
    if lines:
        hint = f"end it there, or take it back: {' && '.join(dict.fromkeys(hints))}"
        raise HipwrightError("uncommitted", lines[0], hint=hint, excerpt="\n".join(lines) if len(lines) > 1 else None)


def refuse_uncommitted(tree: Path, modules: Collection[Module], *, base: str) -> None:
    """Refuse to save while files of a tree are not as its commits have them: patches are written from commits.

    Parameters
    ----------
    tree
        The tree.
    modules
        Its modules.
    base
        The command that checks it out up to the base patches, for the hint about what hipify wrote anew.

    Raises
    ------
    HipwrightError
        ``uncommitted`` with the list, ``stage-missing`` when a module's folder is no longer its own, ``bad-commit`` for a submodule that
        was moved with its files.
    """
    children: dict[str | None, set[bytes]] = {}
    gone = _taken_out(modules)
    modules = [module for module in modules if module not in gone]
    for module in gone:
        _refuse_elsewhere(module, next(one for one in [*modules, *gone] if one.path == module.entry.parent))
    for module in modules:
        if not (module.folder / ".git").exists() or is_replaced(module):
            message = f"{module.folder} does not belong to the tree any more"
            raise HipwrightError("stage-missing", message, where=Where(module=module.path), hint=again(tree))
        children.setdefault(module.entry.parent, set()).add(os.fsencode(within(module)))
    edits: dict[str, list[str]] = {}
    hipified: dict[str, list[str]] = {}

    def read(module: Module) -> None:
        left = {os.fsencode(within(one)) for one in gone if one.entry.parent == module.path}
        edits[module.path], hipified[module.path] = _changes(module, children.get(module.path, set()), left)

    for_each(read, list(modules))
    lines = [line for module in modules for line in edits[module.path]]
    if lines:
        changed = [module for module in modules if edits[module.path]]
        message = f"{tree} has {counted(len(lines), 'change')} that no commit holds, and patches are written from commits"
        raise HipwrightError(
            "uncommitted",
            message,
            where=Where(file=tree, module=", ".join(module.path for module in changed)),
            hint=_hint(changed, edits),
            excerpt="\n".join(shortened(lines, _LINES)),
        )
    made = list(itertools.chain.from_iterable(hipified[module.path] for module in modules))
    if made:
        message = f"hipify has written {counted(len(made), 'file')} anew from changes of yours, and no commit holds them"
        hint = f"make the changes base patches, which hipify reads: git tag your commits, {base}, git cherry-pick them there, and save"
        raise HipwrightError(
            "uncommitted", message, where=Where(file=tree), hint=hint, excerpt="\n".join(shortened(made, _LINES))
        )


def _taken_out(modules: Iterable[Module]) -> list[Module]:
    """Return the modules that a person's commits have taken out of the tree, or moved; parents come before children."""
    by_path: dict[str, Module] = {}
    recorded: dict[str, Mapping[bytes, CommitId]] = {}
    gone: list[Module] = []
    for module in modules:
        by_path[module.path] = module
        parent = module.entry.parent
        if parent is None:
            continue
        # Reading a whole tree takes its time: only those that have submodules are read.
        if parent not in recorded:
            head = by_path[parent].store.head()
            recorded[parent] = gitlinks(by_path[parent].store, head) if head is not None else {}
        if os.fsencode(within(module)) not in recorded[parent] or parent in [one.path for one in gone]:
            gone.append(module)
    return gone


def _refuse_elsewhere(module: Module, parent: Module) -> None:
    """Refuse a submodule that was moved and keeps its files there: stages fill its folder, and meet a repository in the way."""
    named = module.store.capture("config", "--get", "core.worktree", check=False).text
    folder = (module.git_dir / named).resolve()
    if not named or folder == module.folder.resolve() or not (folder / ".git").exists():
        return
    place = os.path.relpath(folder, parent.folder.resolve())
    message = f"{called(module.path)} was moved to {shown(str(folder))}, and its repository with it: stages move that themselves"
    hint = f"empty the folder, which saving fills again: {printable(['git', '-C', str(parent.folder), 'submodule', 'deinit', '--', place])}"
    raise HipwrightError("bad-commit", message, where=Where(file=parent.folder, module=module.path), hint=hint)


def _changes(module: Module, submodules: Collection[bytes], left: Collection[bytes]) -> tuple[list[str], list[str]]:
    """Return what differs from a module's commits, as lines for people: what a person changed, and what hipify wrote.

    What is ``left`` are folders of submodules that its commits have taken out.
    """
    which = "--ignore-submodules=dirty" if submodules else "--ignore-submodules=all"
    arguments = ("--porcelain=v1", "-z", "--untracked-files=all", which, "--no-renames")
    written = written_by_hipify(module)
    edits: list[str] = []
    hipified: list[str] = []
    for record in module.repository.records("status", *arguments):
        state, path = record[:2], record[3:]
        if path in submodules and state[:1] == b" ":
            # That a submodule has gone on is no change of its parent's: stages record it.
            continue
        if state == b"??" and path.rstrip(b"/") in left:
            continue
        line = f"{change_word(state)} {prefix_of(module.path)}{shown(path)}"
        (hipified if _is_written(module, path, written) else edits).append(line)
    hidden = hidden_edits(module)
    edits += [f"{word} {prefix_of(module.path)}{shown(path)} (hidden from git by {bit})" for path, (word, bit) in hidden.items()]
    return edits, hipified


def _is_written(module: Module, path: bytes, written: Mapping[str, str | None]) -> bool:
    if spelled(path) not in written:
        return False
    return bool(unchanged_since_written(module, [(b" M", path)]))


def _line_ends(module: Module) -> list[bytes]:
    """Return the files that differ from the index only in that their lines end in CR LF: a person's git may take that for the same."""
    found = []
    for path in module.repository.records("diff-files", "-z", "--name-only", "--diff-filter=M", "--ignore-submodules=all"):
        file = module.folder / os.fsdecode(path)
        if file.is_symlink() or not file.is_file():
            continue
        stored = module.repository.capture("cat-file", "blob", f":{os.fsdecode(path)}", check=False).stdout
        if file.read_bytes().replace(b"\r\n", b"\n") == stored:
            found.append(path)
    return found


def _hint(changed: Sequence[Module], edits: Mapping[str, Sequence[str]]) -> str:
    ends = {module: _line_ends(module) for module in changed[:_MODULES]}
    hints = []
    if any(ends.values()):
        words = []
        for module, paths in ends.items():
            git = ["git", "-C", str(module.folder)]
            back = [*git, "checkout", "--", *map(os.fsdecode, paths)]
            words += [printable([*git, "config", "core.autocrlf", "false"]), printable(back)] if paths else []
        hints.append(f"give files back the line ends that the commits have: {' && '.join(words)}")
    others = [module for module in changed if len(edits[module.path]) > len(ends.get(module, ()))]
    if others:
        hints.append(_commit_hint(others, [line for module in others for line in edits[module.path]]))
    return "; ".join(hints)


def _commit_hint(changed: Sequence[Module], lines: Iterable[str]) -> str:
    unknown = any(line.startswith("untracked") for line in lines)
    words = []
    for module in changed[:_MODULES]:
        git = ["git", "-C", str(module.folder)]
        words += (
            [printable([*git, "add", "--all"]), printable([*git, "commit"])]
            if unknown
            else [printable([*git, "commit", "--all"])]
        )
    exclude = shown(str(changed[0].git_dir / "info" / "exclude"))
    meant = f"; files that are not meant go into {exclude}" if unknown else ""
    return f"commit what is meant: {' && '.join(words)}{meant}"
