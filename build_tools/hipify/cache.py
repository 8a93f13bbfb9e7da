"""What hipify made, kept so that the same work is not done twice on a machine.

The commits lie in the mirrors of the modules that they change, under ``refs/hipwright/hipified/<key>``, so taking them is a fetch of one commit
from a neighbour that has its parent. The record of the run and its log lie in ``<cache>/hipify/<key>/``, which is written last: without it there
is nothing. The key is the digest of all that goes in.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.hipify.record import HipifyRecord
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.mirror import WHOLE, History, Mirror, mirror_of
from build_tools.sources.modules import MARKERS
from build_tools.types import CommitId, Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.config.project import Hipify
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Markers, Module
    from build_tools.types import Sha256

__all__ = ["HipifyCache", "Kept", "key_of"]

_RECORD: Final = "record.json"
_LOG: Final = "hipify.log"
_FETCH: Final = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head")


class Kept(Record, frozen=True, kw_only=True):
    """One kept result: the record of the run, every module's commit, and the mirrors that hold those which hipify made (by folder name)."""

    schema: Literal[1] = 1
    record: HipifyRecord
    commits: dict[str, CommitId]
    mirrors: dict[str, str]


def key_of(tool: Hipify, tool_digest: Sha256, modules: Mapping[Module, Markers], platform: Platform) -> Sha256:
    """Return the digest of all that hipify's result follows from.

    Parameters
    ----------
    tool
        What ``project.toml`` says of the tool.
    tool_digest
        The digest of the tool's files; see :func:`build_tools.hipify.run.hipify_digest`.
    modules
        The modules with the commits that the tool works on, as their markers ``base``; commits of ours take their date from ``upstream``.
    platform
        Line ends are taken back on Windows.
    """
    return digest.of_value(
        {
            "tool": tool_digest,
            "script": tool.script,
            "arguments": list(tool.arguments),
            "module": tool.module,
            "line ends": "taken back" if platform is Platform.WINDOWS else "as they are",
            "modules": sorted([module.path, markers.upstream, markers.base] for module, markers in modules.items()),
        }
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class HipifyCache:
    """The results that are kept below a cache folder.

    Parameters
    ----------
    cache
        The cache folder, with the mirrors.
    git
        How git is run.
    say
        Takes one line of talk.
    history
        Which of an origin's mirrors the commits are kept in.
    """

    cache: Path
    git: Git
    say: Callable[[str], None]
    history: History = WHOLE

    def log(self, key: Sha256) -> Path:
        """Return where the log of a kept run lies."""
        return self._folder(key) / _LOG

    @contextlib.contextmanager
    def held(self, key: Sha256) -> Iterator[None]:
        """Keep other processes from making the same result for the block: they wait, and take it then."""
        lock = self._folder(key).with_suffix(".lock")
        with files.hold(lock, purpose="running hipify on the same sources", wait=True, on_wait=self.say):
            yield

    def has(self, key: Sha256) -> bool:
        """Return whether a result was kept, whole or not."""
        return (self._folder(key) / _RECORD).is_file()

    def find(self, key: Sha256, modules: Mapping[Module, Markers]) -> Kept | None:
        """Return a kept result, its commits brought into the modules' repositories; None when there is none, or not all of it is left."""
        if not self.has(key):
            return None
        try:
            kept = read_record(self._folder(key) / _RECORD, Kept)
        except HipwrightError:
            return None
        by_path = {module.path: module for module in modules}
        if kept.record.key != key or kept.commits.keys() != by_path.keys():
            return None
        if all(self._bring(by_path[path], kept.commits[path], folder) for path, folder in kept.mirrors.items()):
            return kept
        return None

    def keep(self, modules: Mapping[Module, Markers], commits: Mapping[str, CommitId], record: HipifyRecord, log: bytes) -> None:
        """Keep a result; what no mirror takes is not kept, and no more than a run is lost by that.

        Parameters
        ----------
        modules
            The modules with the commits that the tool worked on, as their markers ``base``.
        commits
            Every module's commit, by path.
        record
            The record of the run.
        log
            What the run said.
        """
        mirrors = {}
        for module, markers in modules.items():
            if commits[module.path] != markers.base:
                mirror = self._put(module, markers, commits[module.path], record.key)
                if mirror is None:
                    self.say(f"hipify's result is not kept: there is no mirror that takes what it made in {module.folder}")
                    return
                mirrors[module.path] = mirror.folder.name
        with files.finished_folder(self._folder(record.key)) as folder:
            files.write_bytes(folder / _LOG, log)
            files.write_bytes(folder / _RECORD, to_json(Kept(record=record, commits=dict(commits), mirrors=mirrors)))

    def _put(self, module: Module, markers: Markers, commit: CommitId, key: Sha256) -> Mirror | None:
        """Put a commit into a mirror and return that mirror."""
        for history in dict.fromkeys((self.history, WHOLE)):
            mirror = mirror_of(module.entry.url, cache=self.cache, git=self.git, say=self.say, history=history)
            # One that lacks what lies below the commit would get it from the tree, which may not have all of it.
            if not mirror.folder.is_dir() or not mirror.repository.has_commit(markers.upstream):
                continue
            spec = f"+{commit}:{MARKERS}hipified/{key}"
            with mirror.held():
                done = mirror.repository.capture(*_FETCH, "--", module.git_dir, spec, check=False)
            if done.returncode == 0:
                return mirror
        return None

    def _folder(self, key: Sha256) -> Path:
        return self.cache / "hipify" / key

    def _bring(self, module: Module, commit: CommitId, folder: str) -> bool:
        """Fetch a commit from the mirror that holds it; not when it is there already, as in a clone of that mirror."""
        if module.store.succeeds("cat-file", "-e", f"{commit}^{{tree}}"):
            return True
        return module.store.capture(*_FETCH, "--", self.cache / "git" / folder, commit, check=False).returncode == 0
