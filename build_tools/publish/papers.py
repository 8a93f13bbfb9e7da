"""The papers of a published set on their way beside an index: bound to the wheels, named by the digest of the list of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.index.layout import SET_PAPER, paper_key
from build_tools.publish.current import put_new
from build_tools.publish.transfer import all_of
from build_tools.receipts.provenance import Paper, ProvenanceSet
from build_tools.receipts.record import to_json
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.publish.offer import Offer
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.provenance import PaperKind
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey, Sha256

    MakePapers = Callable[[Sequence[Offer]], "Papers"]
    """Makes the papers of the files of a set that have none yet."""

__all__ = ["PaperFile", "Papers", "bind_papers", "put_papers"]

_TYPE: Final = "application/json"


class PaperFile(Value, frozen=True, kw_only=True):
    """A paper: its name, what it is, and its bytes."""

    name: str
    kind: PaperKind
    data: bytes


class Papers(Value, frozen=True, kw_only=True):
    """The papers of a set: ``record`` lists them, and the digest of its bytes names the set."""

    record: ProvenanceSet
    files: tuple[PaperFile, ...]

    @property
    def listing(self) -> bytes:
        """The bytes of the list."""
        return to_json(self.record)

    @property
    def digest(self) -> Sha256:
        """What names the set."""
        return digest.of_bytes(self.listing)

    @property
    def keys(self) -> tuple[ObjectKey, ...]:
        """Where all of it lies relative to the index, in the order of writing: the list comes last."""
        return tuple(paper_key(self.digest, name) for name in (*(file.name for file in self.files), SET_PAPER))


def bind_papers(
    wheels: Iterable[JudgedWheel], papers: Iterable[PaperFile], *, missing: Iterable[str] = (), reason: str | None = None
) -> Papers:
    """Return papers bound to the wheels that they are of.

    Parameters
    ----------
    wheels
        The wheels of the set.
    papers
        Their papers.
    missing
        What there is no paper of, and why, a line each.
    reason
        Why names get other bytes, where somebody had to say it.

    Raises
    ------
    HipwrightError
        ``internal`` when two papers have one name.
    """
    files = tuple(sorted(papers, key=lambda paper: paper.name))
    names = [file.name for file in files]
    if len(set(names)) < len(names) or SET_PAPER in names:
        twice = sorted({name for name in names if names.count(name) > 1 or name == SET_PAPER})
        raise HipwrightError("internal", f"two papers of a published set are called {', '.join(twice)}")
    record = ProvenanceSet(
        wheels=tuple(sorted(wheels, key=lambda wheel: wheel.filename)),
        papers=tuple(
            Paper(name=file.name, kind=file.kind, sha256=digest.of_bytes(file.data), size=len(file.data)) for file in files
        ),
        missing=tuple(missing),
        reason=reason,
    )
    return Papers(record=record, files=files)


def put_papers(papers: Papers, *, store: Store, place: IndexFolder) -> None:
    """Write papers beside an index, the list of them last; what is there already is not written again.

    Raises
    ------
    HipwrightError
        ``name-taken`` when other bytes lie there, ``store-unusable``.
    """
    name = papers.digest

    def put(file: PaperFile) -> None:
        key = place.key(paper_key(name, file.name))
        put_new(store, key, file.data, content_type=_TYPE, sha256=digest.of_bytes(file.data), expected=False)

    all_of([functools.partial(put, file) for file in papers.files])
    put_new(store, place.key(paper_key(name)), papers.listing, content_type=_TYPE, sha256=name, expected=False)
