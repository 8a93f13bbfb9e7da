"""Prove that a published index is whole: everything that it says is read as a strict client reads it, every byte of every file too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.environments.requires import parse_requires
from build_tools.errors import HipwrightError
from build_tools.index.layout import SNAPSHOT, VERDICTS, history_key, metadata_key, paper_key
from build_tools.index.sidecar import read_sdist, read_side_file
from build_tools.index.snapshots import by_project, parsed_version
from build_tools.publish.current import read_current, read_past
from build_tools.publish.history import walk_history
from build_tools.publish.transfer import Meter
from build_tools.publish.verdicts import read_verdicts
from build_tools.publish.verify_pages import look_at_pages
from build_tools.publish.verify_promotions import look_at_promotions
from build_tools.receipts.index_report import IndexFinding, IndexReport
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import from_json
from build_tools.stores.listing import refusal_of
from build_tools.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packaging.requirements import Requirement

    from build_tools.publish.current import Current
    from build_tools.publish.transfer import Progress
    from build_tools.receipts.index_report import IndexRule
    from build_tools.receipts.snapshot import Action, IndexedFile, Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["verify_index"]


def verify_index(store: Store, place: IndexFolder, *, jobs: int, progress: Progress) -> IndexReport:
    """Return what of an index of ours breaks a rule; nothing is written.

    Parameters
    ----------
    store
        Where it is; one that is only read, over HTTP, is enough.
    place
        Where in it.
    jobs
        How many objects are read at once.
    progress
        Takes how many bytes of files were read.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` and what else keeps the store from being read at all.
    """
    look = _Look(store=store, place=place, jobs=max(1, jobs))
    try:
        current = read_current(store, place)
    except HipwrightError as error:
        if error.code.name != "bad-index":
            raise
        finding = look.finding("snapshot", SNAPSHOT, f"{error.message}; {error.hint}" if error.hint else error.message)
        return IndexReport(address=look.url, projects=0, files=0, size=0, history=None, findings=(finding,))
    snapshot = current.snapshot
    if not snapshot.files:
        refusal = refusal_of(store, place.key(SNAPSHOT)) if current.etag is None else None
        if refusal is not None:
            raise refusal
        finding = look.finding("empty", SNAPSHOT, "the index names no file")
        return IndexReport(address=look.url, projects=0, files=0, size=0, history=None, findings=(finding,))
    pages = look_at_pages(store, place, snapshot, url=look.url, jobs=look.jobs)
    findings = [look.finding("page", key, message) for key, message in pages.faults]
    findings += look.files(snapshot, progress)
    findings += look.provenance(snapshot)
    verdicts, unjudged = look.verdicts(snapshot)
    steps, actions, cut = look.history(current)
    promotions = look_at_promotions(store, place, snapshot, promoted="promote" in actions)
    findings += [look.finding("promotion", key, message) for key, message in promotions.faults]
    return IndexReport(
        address=look.url,
        projects=len(by_project(snapshot)),
        files=len(snapshot.files),
        size=sum(file.size for file in snapshot.files),
        history=steps,
        unjudged=(*pages.unjudged, *unjudged, *promotions.unjudged),
        findings=(*findings, *verdicts, *cut),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    """One look at an index."""

    store: Store
    place: IndexFolder
    jobs: int

    @property
    def url(self) -> str:
        return self.store.url(f"{self.place.prefix}/") if self.place.prefix else self.store.url().rstrip("/") + "/"

    def finding(self, rule: IndexRule, key: str, message: str) -> IndexFinding:
        # The key of a page may end in a slash.
        where = "/".join(part for part in (self.store.address, self.place.prefix, key) if part)
        return IndexFinding(rule=rule, where=where, message=message)

    def files(self, snapshot: Snapshot, progress: Progress) -> Iterator[IndexFinding]:
        """Read every byte of every file, its side file, and what it requires."""
        meter = Meter(what="verifying", total=sum(file.size for file in snapshot.files), progress=progress)

        def read(file: IndexedFile) -> tuple[list[IndexFinding], tuple[Requirement, ...]]:
            found = list(self._file_faults(file))
            side, required = self._side_file(file)
            meter.add(file.size)
            return [*found, *side], required

        with Threads(self.jobs) as pool:
            results = list(pool.map(read, snapshot.files))
        for faults, _ in results:
            yield from faults
        yield from self._unmet(snapshot, [required for _, required in results])

    def provenance(self, snapshot: Snapshot) -> Iterator[IndexFinding]:
        """Read the papers of every published set, and prove that they are bound to the files that name them."""
        named: dict[str, list[IndexedFile]] = {}
        for file in snapshot.files:
            if file.provenance is not None:
                named.setdefault(file.provenance, []).append(file)
        with Threads(self.jobs) as pool:
            for faults in pool.map(lambda name: list(self._papers(named[name])), named):
                yield from faults

    def verdicts(self, snapshot: Snapshot) -> tuple[list[IndexFinding], list[str]]:
        """Read the verdicts beside the index; return what is wrong with them, and what could not be judged."""
        try:
            read_verdicts(self.store, self.place, {file.sha256 for file in snapshot.files})
        except HipwrightError as error:
            if error.code.name != "bad-index":
                return [], [f"verdicts: they cannot be listed ({error.message})"]
            return [self.finding("verdict", VERDICTS, error.message)], []
        return [], []

    def history(self, current: Current) -> tuple[int, set[Action], list[IndexFinding]]:
        """Walk the chain of snapshots; return its length, what was done, and where it is cut."""
        steps = 0
        actions: set[Action] = set()
        try:
            for past in walk_history(self.store, self.place, current):
                steps += 1
                actions |= {past.snapshot.change.action} if past.snapshot.change is not None else set()
        except HipwrightError as error:
            if error.code.name != "bad-index":
                raise
            return steps, actions, [self.finding("history", SNAPSHOT, error.message)]
        # The next change names the copy of where the index stands now, and a rollback goes back to it.
        if steps and read_past(self.store, self.place, current.digest, remembered=False) is None:
            message = "it has no copy in the history, or one with other bytes: the next change would cut the history there"
            return steps, actions, [self.finding("history", history_key(current.digest), message)]
        return steps, actions, []

    def _file_faults(self, file: IndexedFile) -> Iterator[IndexFinding]:
        try:
            with self.store.as_file(self.place.key(file.key)) as path:
                size, sha256 = path.stat().st_size, digest.of_file(path)
                if (size, sha256) != (file.size, file.sha256):
                    message = (
                        f"it has other bytes than the index says: {size} bytes with {sha256}, not {file.size} with {file.sha256}"
                    )
                    yield self.finding("file", file.key, message)
                    return
                side = read_side_file(path) if file.filename.endswith(".whl") else read_sdist(path)
        except HipwrightError as error:
            rule: Literal["metadata", "file"] = "metadata" if error.code.name == "bad-wheel" else "file"
            yield self.finding(rule, file.key, error.message)
            return
        said = (file.project, parsed_version(file.version), file.requires_python)
        found = (side.project, parsed_version(side.version), side.requires_python)
        if said != found:
            yield self.finding("metadata", file.key, f"the index says {_words(said)}, and the file {_words(found)}")
        if side.metadata is not None and digest.of_bytes(side.metadata) != file.metadata_sha256:
            yield self.finding(
                "side-file", metadata_key(file.key), "the index promises another side file than the wheel's own metadata"
            )

    def _side_file(self, file: IndexedFile) -> tuple[list[IndexFinding], tuple[Requirement, ...]]:
        if file.metadata_sha256 is None:
            return [], ()
        key = metadata_key(file.key)
        content = self.store.get(self.place.key(key))
        if content is None:
            return [self.finding("side-file", key, "it is not there")], ()
        if digest.of_bytes(content.data) != file.metadata_sha256:
            return [self.finding("side-file", key, "it has other bytes than the index says")], ()
        try:
            return [], parse_requires(content.data, name=key).requirements
        except HipwrightError as error:
            return [self.finding("requires", key, error.message)], ()

    def _unmet(self, snapshot: Snapshot, required: list[tuple[Requirement, ...]]) -> Iterator[IndexFinding]:
        """Yield the requirements on projects of this index that no file in it meets; other projects come from elsewhere."""
        there = {
            project: {parsed_version(file.version) for file in files if file.yanked is None}
            for project, files in by_project(snapshot).items()
        }
        for file, requirements in zip(snapshot.files, required, strict=True):
            if file.yanked is not None:
                continue
            for one in requirements:
                versions = there.get(canonicalize_name(one.name))
                if versions is not None and not any(one.specifier.contains(version, prereleases=True) for version in versions):
                    yield self.finding(
                        "requires", file.key, f"it requires {one}, and no file of this index that is not yanked is that"
                    )

    def _papers(self, files: list[IndexedFile]) -> Iterator[IndexFinding]:
        name = files[0].provenance
        if name is None:
            return
        key = paper_key(name)
        content = self.store.get(self.place.key(key))
        if content is None or digest.of_bytes(content.data) != name:
            what = "is not there" if content is None else "has other bytes than its name says"
            yield self.finding("provenance", key, f"the list of the papers of {files[0].filename} {what}")
            return
        try:
            record = from_json(content.data, ProvenanceSet, name=key, code="bad-index")
        except HipwrightError as error:
            yield self.finding("provenance", key, error.message)
            return
        bound = {(wheel.filename, wheel.sha256) for wheel in record.wheels}
        for file in files:
            if (file.filename, file.sha256) not in bound:
                yield self.finding("provenance", key, f"its papers are not bound to {file.filename} with {file.sha256}")
        for paper in record.papers:
            there = self.store.get(self.place.key(paper_key(name, paper.name)))
            if there is None:
                yield self.finding("provenance", paper_key(name, paper.name), "it is not there")
            elif (len(there.data), digest.of_bytes(there.data)) != (paper.size, paper.sha256):
                yield self.finding("provenance", paper_key(name, paper.name), "it has other bytes than its list says")


def _words(said: Iterable[object]) -> str:
    return " ".join(str(one) for one in said if one is not None)
