"""Proof on a tree that was made from a series: saving it gives the same files, it is due, and another tree is the same bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from packaging.version import Version

from build_tools.patches.compare import same_but_for_places
from build_tools.patches.export import export
from build_tools.patches.findings import PatchFinding, finding
from build_tools.patches.hints import drop_line
from build_tools.patches.sections import sections
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.modules import status_of, temporary_name
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from build_tools.patches.applied import Applied
    from build_tools.patches.series import Patch, Series
    from build_tools.sources.modules import Markers, Module
    from build_tools.types import CommitId

__all__ = ["differing_modules", "due_patches", "round_trip", "told_outcomes"]

_MOST: Final = 5


def round_trip(tree: Path, modules: Mapping[Module, Markers], series: Series, applied: Applied) -> Iterator[PatchFinding]:
    """Yield the patches that would be other bytes if their commits were saved.

    A patch that was applied at other lines than it was made for is passed over: :func:`told_outcomes` tells of it.

    Parameters
    ----------
    tree
        A tree with all patches of the series that are for this platform.
    modules
        Its modules.
    series
        The series.
    applied
        Which commit each patch became.
    """
    patches = {patch.name: patch for patch in series.patches}
    for module in modules:
        commits = {
            one.file: one.commit
            for one in applied.patches
            if one.module == module.path and one.outcome == "applied" and one.commit is not None
        }
        saved = export(module.store, list(commits.values()), scratch=temporary_name(tree, "export"))
        for file, commit in commits.items():
            found = _other_bytes(patches[file], saved[commit])
            if found is not None:
                yield found


def told_outcomes(applied: Applied, *, strict: bool) -> Iterator[PatchFinding]:
    """Yield what is to be told of how the patches of a series were applied: not at their own lines, or not at all.

    Parameters
    ----------
    applied
        What applying brought.
    strict
        Whether a patch that the sources have already is an error.
    """
    for one in applied.patches:
        if one.outcome == "offset":
            hint = "have it written for these lines: invoke save-patches --refresh"
            yield finding("offset", f"{one.file} applies at other lines than it was made for", file=one.file, hint=hint)
        elif one.outcome == "upstream":
            severity: Literal["error", "note"] = "error" if strict else "note"
            message, hint = f"the sources have {one.file} already", f"drop it: {drop_line(one.file)}"
            yield finding("upstream", message, file=one.file, hint=hint, severity=severity)


def due_patches(series: Series, modules: Mapping[Module, Markers], *, base_version: str) -> Iterator[PatchFinding]:
    """Yield the patches that are to go: the sources are of the version that they wait for, or hold the commit.

    Parameters
    ----------
    series
        The series.
    modules
        The modules of a tree with the sources, with their markers.
    base_version
        The version of the sources.
    """
    by_path = {module.path: (module, markers) for module, markers in modules.items()}
    for patch in series.patches:
        due = patch.entry.drop_when
        if due is None:
            continue
        hint = f"drop it: {drop_line(patch.name)}"
        if due.version is not None and Version(base_version) >= Version(due.version):
            message = f"{patch.name} was to go with version {due.version}, and the sources are {base_version}"
            yield finding("expired", message, file=patch.name, hint=hint)
        if due.commit is None or patch.module not in by_path:
            continue
        module, markers = by_path[patch.module]
        held = _holds(module, due.commit, markers.upstream)
        if held:
            message = f"{patch.name} was to go with commit {due.commit}, which the sources have"
            yield finding("expired", message, file=patch.name, hint=hint)
        elif held is None:
            message = f"whether the sources have commit {due.commit}, with which {patch.name} is to go, cannot be told: their history is cut off"
            yield finding("unknown-history", message, file=patch.name, hint="fetch all of it: leave --depth out")


def differing_modules(
    mine: Mapping[Module, CommitId], clean: Mapping[Module, CommitId], *, tree: Path, save: str
) -> Iterator[PatchFinding]:
    """Yield how a tree differs from the one that its series gives: other modules, other contents, and changes that no commit holds.

    Parameters
    ----------
    mine
        The modules of the tree that is judged, with the commits that they stand on.
    clean
        The modules of a tree that was made from the series, with the commits that are to be met.
    tree
        The tree that is judged, for messages.
    save
        The command that writes the tree's commits into the series, for the hint.
    """
    wanted = {module.path: (module, commit) for module, commit in clean.items()}
    have = {module.path: (module, commit) for module, commit in mine.items()}
    hint = f"to save its commits: {save}; to bring it to the series: invoke apply-patches"
    for path in sorted(wanted.keys() ^ have.keys()):
        where = "the series gives" if path in wanted else f"{tree} has"
        message = f"only the tree that {where} has the module {path}" if path in wanted else f"only {tree} has the module {path}"
        yield finding("other-tree", message, file=called(path), hint=hint)
    for path in sorted(wanted.keys() & have.keys()):
        (module, commit), (other, met) = have[path], wanted[path]
        if module.store.tree_of(commit) != other.store.tree_of(met):
            names = _differing_files(module, commit, other, met)
            message = f"{called(path)} of {tree} is not what the series gives: {names}"
            yield finding("other-tree", message, file=called(path), hint=hint)
        changes = status_of(module, ignored=False)
        if changes:
            names = _some([name for _, name in changes])
            command = printable(["git", "-C", str(module.folder), "commit", "--all"])
            message = f"{called(path)} of {tree} has changes that no commit holds, which no series can have: {names}"
            yield finding("uncommitted", message, file=called(path), hint=f"{command}, then {save}")


def _other_bytes(patch: Patch, saved: bytes) -> PatchFinding | None:
    if saved == patch.data:
        return None
    kept, new = patch.data.split(b"\n"), saved.split(b"\n")
    line = next(
        (number for number, pair in enumerate(zip(kept, new, strict=False), start=1) if pair[0] != pair[1]),
        min(len(kept), len(new)),
    )
    if _breaks_promise(patch.data, saved):
        message = f"{patch.name} makes something else than its index lines say: somebody has changed it by hand"
        hint = "look whether each hunk lies where it belongs, and have it written anew: invoke save-patches --refresh"
        return finding("round-trip", message, file=patch.name, line=line, hint=hint, severity="error")
    what = "at other places" if same_but_for_places(patch.data, saved) else "otherwise"
    message = f"{patch.name} would be written {what} when it is saved: this line is another one"
    hint = "have it written as it will stay: invoke save-patches --refresh"
    return finding("round-trip", message, file=patch.name, line=line, hint=hint)


def _breaks_promise(kept: bytes, saved: bytes) -> bool:
    """Return whether a file that is the one a patch was made for has become another one than the patch says."""
    became = {(part.old, part.new): part.objects for part in sections(saved)}
    for part in sections(kept):
        said, done = part.objects, became.get((part.old, part.new))
        if said is not None and done is not None and said[0] == done[0] and said[1] != done[1]:
            return True
    return False


def _holds(module: Module, commit: CommitId, upstream: CommitId) -> bool | None:
    """Return whether a module's sources have a commit in their history; None when that is not all here."""
    if module.store.has_commit(commit) and module.store.is_ancestor(commit, upstream):
        return True
    return None if module.store.text("rev-parse", "--is-shallow-repository") == "true" else False


def _differing_files(module: Module, commit: CommitId, other: Module, met: CommitId) -> str:
    env = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(other.git_dir / "objects")}
    arguments = ("-r", "-z", "--no-renames", "--name-only", f"{met}^{{tree}}", f"{commit}^{{tree}}")
    return _some(module.store.records("diff-tree", *arguments, env=env))


def _some(names: list[bytes]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(map(shown, names[:_MOST])) + more
