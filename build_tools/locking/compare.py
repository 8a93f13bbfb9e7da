"""What moved between two locks: refs, commits, submodules, patches, hipify, ROCm and package files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from build_tools.console.events import Console
    from build_tools.receipts.lock import Lock, LockedFile, LockedProject, SubmodulePin

__all__ = ["Moved", "compare", "show_moves"]

_ABSENT: Final = "absent"
_SHORT: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """One thing of one project that two locks say differently; ``absent`` where one of them has no such thing."""

    project: str
    what: str
    before: str
    after: str


def compare(earlier: Lock, later: Lock) -> tuple[Moved, ...]:
    """Return all that moved between two locks, by project, in the order of the stages that it concerns."""
    found: list[Moved] = []
    for name in sorted(earlier.projects.keys() | later.projects.keys()):
        old, new = earlier.projects.get(name), later.projects.get(name)
        if old is None or new is None:
            found.append(Moved(project=name, what="project", before=_commit_of(old), after=_commit_of(new)))
        else:
            found += [Moved(project=name, what=what, before=before, after=after) for what, before, after in _rows(old, new)]
    return tuple(found)


def show_moves(moved: tuple[Moved, ...], earlier: Path, console: Console) -> list[dict[str, Any]]:
    """Show what moved since an earlier lock as a table, and return it as plain data."""
    if moved:
        rows = [(row.project, row.what, _brief(row.before), _brief(row.after)) for row in moved]
        console.table("What moved", ("project", "what", "before", "after"), rows, note=f"compared with {earlier}")
    else:
        console.say(f"nothing moved since {earlier}")
    return [{"project": row.project, "what": row.what, "before": row.before, "after": row.after} for row in moved]


def _rows(old: LockedProject, new: LockedProject) -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two entries of a project: what it is, before, after."""
    pairs = (_plain_values(old), _plain_values(new))
    for what in pairs[0]:
        if pairs[0][what] != pairs[1][what]:
            yield what, pairs[0][what], pairs[1][what]
    recorded = list(_submodules("submodule", old.sources.submodules, new.sources.submodules))
    yield from recorded
    known = {(what.removeprefix("submodule "), before, after) for what, before, after in recorded}
    for what, before, after in _submodules("patched submodule", old.patches.submodules, new.patches.submodules):
        # What moves as recorded moves the same once the patches are applied.
        if (what.removeprefix("patched submodule "), before, after) not in known:
            yield what, before, after
    yield from _packages(old.packages, new.packages)


def _plain_values(entry: LockedProject) -> dict[str, str]:
    sources, rocm = entry.sources, entry.rocm
    return {
        "origin": sources.origin,
        "ref": sources.ref,
        "commit": sources.commit,
        "tree": sources.tree,
        "base version": sources.base_version,
        "source distribution": sources.sdist_sha256 or _ABSENT,
        "recipe": entry.recipe,
        "patch line": entry.patches.line or "none",
        "patches": entry.patches.digest,
        "hipify": entry.hipify or _ABSENT,
        "ROCm version": rocm.version if rocm else _ABSENT,
        "ROCm source": rocm.source if rocm else _ABSENT,
    }


def _submodules(word: str, old: tuple[SubmodulePin, ...], new: tuple[SubmodulePin, ...]) -> Iterator[tuple[str, str, str]]:
    before, after = {pin.path: pin for pin in old}, {pin.path: pin for pin in new}
    for path in sorted(before.keys() | after.keys()):
        one, other = before.get(path), after.get(path)
        if one is None or other is None:
            yield f"{word} {path}", one.commit if one else _ABSENT, other.commit if other else _ABSENT
            continue
        if one.commit != other.commit:
            yield f"{word} {path}", one.commit, other.commit
        if one.url != other.url:
            yield f"{word} {path} url", one.url, other.url


def _packages(old: tuple[LockedFile, ...], new: tuple[LockedFile, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield package versions that moved; where the version stays, files that came, went or have other bytes."""
    before, after = _by_distribution(old), _by_distribution(new)
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name, {}), after.get(name, {})
        versions = [", ".join(sorted({file.version for file in files.values()})) or _ABSENT for files in (one, other)]
        if versions[0] != versions[1]:
            yield f"package {name}", versions[0], versions[1]
            continue
        for filename in sorted(one.keys() | other.keys()):
            digests = [files[filename].sha256 if filename in files else _ABSENT for files in (one, other)]
            if digests[0] != digests[1]:
                yield f"file {filename}", digests[0], digests[1]


def _by_distribution(files: tuple[LockedFile, ...]) -> Mapping[str, dict[str, LockedFile]]:
    found: dict[str, dict[str, LockedFile]] = defaultdict(dict)
    for file in files:
        found[file.distribution][file.filename] = file
    return found


def _commit_of(entry: LockedProject | None) -> str:
    return _ABSENT if entry is None else entry.sources.commit


def _brief(text: str) -> str:
    """Return a long digest or commit shortened for a table; other texts as they are."""
    return text[:_SHORT] if len(text) in {40, 64} and set(text) <= set("0123456789abcdef") else text
