"""Build folders that outlive a build: one that failed or was killed goes on where it stopped, and an edit costs only its own objects.

A folder is kept for each project and Python, with what its objects depend on beside it. When that is the same, sources are brought up to
date in it and the build's own tools find what has to be compiled; when it is not, the folder is made anew. A build that ends well leaves
its folder only where the sources have a person's changes: nobody builds the same pristine sources twice.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.files import hold, remove_tree, write_bytes
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.export import materialise, refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git

__all__ = ["BuildInputs", "KeptTree", "changes", "held_tree", "inputs_of"]

_STATE: Final = "build.json"
_SOURCES: Final = "src"
_STALE: Final = tuple(f"{place}{name}" for place in ("", "*/") for name in ("build/lib.*", "build/bdist.*", "*.egg-info"))
"""What setuptools adds to and never takes from: a module that is gone would come into the wheel from there. A build may begin in a folder."""

_CMAKE_CACHES: Final = ("build/CMakeCache.txt", "build/temp.*/CMakeCache.txt", "build/*/CMakeCache.txt")


class BuildInputs(Record, frozen=True, kw_only=True):
    """What the objects of a build folder depend on, by name, and the version that they were compiled for.

    ``exactly`` is the digest of all that goes into the build, where nothing but the same build may go on in the folder. ``launcher`` starts
    its compilers: what configures a build notes it, so it may come to a folder later, and not go from it.
    """

    parts: dict[str, str]
    version: str
    exactly: str | None = None
    launcher: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptTree:
    """A build folder, held by this run."""

    folder: Path
    say: Callable[[str], None]

    @property
    def sources(self) -> Path:
        """The copy of the sources."""
        return self.folder / _SOURCES

    def prepare(self, source: SourceTree, inputs: BuildInputs, *, git: Git) -> bool:
        """Bring the sources into the folder; return whether an earlier build goes on in it.

        Parameters
        ----------
        source
            The source tree.
        inputs
            What this build's objects will depend on.
        git
            Copies the sources.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.sources.export.materialise`.
        """
        goes_on = self._takes_up(source, inputs, git)
        if not goes_on:
            self.remove()
            self.folder.mkdir(parents=True, exist_ok=True)
            materialise(source, self.sources, git=git)
        write_bytes(self.folder / _STATE, to_json(inputs))
        return goes_on

    def _takes_up(self, source: SourceTree, inputs: BuildInputs, git: Git) -> bool:
        if not self.sources.exists():
            return False
        try:
            earlier = read_record(self.folder / _STATE, BuildInputs)
        except HipwrightError:
            self.say(f"{self.folder} is built in anew: an earlier build did not come as far as compiling there")
            return False
        changed = changes(earlier, inputs)
        if changed:
            self.say(f"{self.folder} is built in anew: {', '.join(changed)} changed")
            return False
        try:
            # Gone until all is in place: what is killed in here is no folder to go on in.
            (self.folder / _STATE).unlink()
            for pattern in _STALE if earlier.version == inputs.version else (*_STALE, *_CMAKE_CACHES):
                for path in self.sources.glob(pattern):
                    remove_tree(path)
            refresh(source, self.sources, git=git)
        except HipwrightError as error:
            self.say(f"{self.folder} is built in anew: {error.message}")
            return False
        self.say(f"the build goes on in {self.folder}, with what an earlier one left there")
        return True

    def remove(self) -> None:
        """Remove the sources and what was compiled."""
        (self.folder / _STATE).unlink(missing_ok=True)
        remove_tree(self.sources)


def changes(earlier: BuildInputs, now: BuildInputs) -> list[str]:
    """Return the names of what changed between two builds in one folder, as people are told them."""
    names = sorted({*earlier.parts, *now.parts})
    found = [name for name in names if earlier.parts.get(name) != now.parts.get(name)]
    if earlier.launcher not in {None, now.launcher}:
        found.append("the compiler cache")
    if not found and earlier.exactly != now.exactly:
        found.append("what goes into a build to be published")
    return found


@contextlib.contextmanager
def held_tree(folder: Path, *, purpose: str, wait: bool, say: Callable[[str], None], lock: Path) -> Iterator[KeptTree]:
    """Hold the build folder ``folder`` for the block: it is one for all builds of a project and Python in a work dir.

    Parameters
    ----------
    folder
        The folder.
    purpose
        What it is held for, for those who wait.
    wait
        Whether to wait for another run.
    say
        Told of what is done, and of waiting.
    lock
        The lock file.

    Raises
    ------
    HipwrightError
        ``locked``.
    """
    with hold(lock, purpose=purpose, wait=wait, on_wait=lambda text: say(f"waiting: {text}")):
        yield KeptTree(folder=folder, say=say)


def inputs_of(
    *,
    parts: Mapping[str, str],
    environment: Mapping[str, str],
    ignored: frozenset[str],
    version: str,
    exactly: str | None,
    launcher: str | None = None,
) -> BuildInputs:
    """Return what a build's objects depend on: named parts, and each variable of its environment but those ignored."""
    variables = {f"the variable {name}": value for name, value in environment.items() if name not in ignored}
    return BuildInputs(parts={**parts, **variables}, version=version, exactly=exactly, launcher=launcher)
