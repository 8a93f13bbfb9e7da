"""What a person's changes make of hipify's input: the base patches' files, with what they changed of those that hipify leaves alone.

What they changed in hipify's output is no input: it stays where it is, and meets the new output there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.hipify.merge import merged
from build_tools.sources.contents import GITLINK, Entry
from build_tools.sources.modules import temporary_index
from build_tools.sources.written import spelled
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.sources.modules import Markers, Module

__all__ = ["Standing", "carried_changes", "carrying_commit"]

_MESSAGE: Final = "Changes that hipify runs on\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One module as it stands, with the hipify run that it stands on.

    ``base`` are the files with the base patches, ``before`` what hipify made of them and of ``carried``, ``finished`` the same without
    anything carried and with the hipified patches, ``now`` the work folder. ``outputs`` are the files that hipify added, changed and
    removed, ``written`` those that it wrote into the work folder; both by spelled path.
    """

    module: Module
    markers: Markers
    base: Mapping[bytes, Entry]
    before: Mapping[bytes, Entry]
    finished: Mapping[bytes, Entry]
    now: Mapping[bytes, Entry]
    outputs: frozenset[str]
    carried: Mapping[str, str | None]
    written: Mapping[str, str | None]

    def changed(self) -> list[bytes]:
        """Return the paths that a person, or hipify in the work folder, has changed on top of the stages' last commit."""
        paths = self.finished.keys() | self.now.keys()
        return sorted(path for path in paths if self.finished.get(path) != self.now.get(path) and not self._is_module(path))

    def _is_module(self, path: bytes) -> bool:
        return any(tree[path].mode == GITLINK for tree in (self.base, self.finished, self.now) if path in tree)


def carried_changes(standing: Standing, *, scratch: Path) -> tuple[dict[bytes, Entry | None], list[bytes]]:
    """Return a person's changes to hipify's input, by path: the file, or None for one that is gone; and those that cannot be carried.

    A change of a file that a hipified patch changed as well is carried to the file as hipify has read it, where the two can be told apart.

    Parameters
    ----------
    standing
        The module.
    scratch
        A folder for files that are there while git compares them.
    """
    changes: dict[bytes, Entry | None] = {}
    collide = []
    for path in standing.changed():
        name, now = spelled(path), standing.now.get(path)
        if name in standing.outputs:
            # A person's file that hipify has changed where it stands is carried as it was before that.
            blob = standing.carried.get(name)
            if blob is not None and now is not None:
                changes[path] = Entry(mode=now.mode, object_id=blob)
            continue
        if name in standing.written and (None if now is None else now.object_id) == standing.written[name]:
            continue
        base, finished = standing.base.get(path), standing.finished.get(path)
        if base is None and finished is not None:
            # A hipified patch has added it, so it comes after hipify.
            continue
        if base == finished or now is None:
            changes[path] = now
            continue
        entry = merged(standing.module.store, scratch, ours=base, base=finished, theirs=now)
        if entry is None:
            collide.append(path)
        else:
            changes[path] = entry
    return changes, collide


def carrying_commit(tree: Path, standing: Standing, changes: Mapping[bytes, Entry | None]) -> CommitId:
    """Return the commit that hipify is to run on: the base patches' with changes on top; it depends on those alone."""
    base, store = standing.markers.base, standing.module.store
    if not changes:
        return base
    removed, none = b"0 ", b"0" * len(base)
    lines = [
        (removed + none if entry is None else entry.mode + b" " + entry.object_id.encode()) + b"\t" + path + b"\0"
        for path, entry in sorted(changes.items())
    ]
    with temporary_index(tree) as env:
        store.capture("read-tree", base, env=env)
        store.capture("update-index", "-z", "--index-info", env=env, stdin=b"".join(lines))
        content = TreeId(store.text("write-tree", env=env))
    if content == store.tree_of(base):
        return base
    return store.commit(content, parent=base, message=_MESSAGE, date=store.date_of(standing.markers.upstream))
