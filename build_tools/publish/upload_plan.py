"""What an upload does, told before the first byte is written: of each file what becomes of it, and the keys that are written, in order."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from build_tools.errors import HipwrightError
from build_tools.index import layout
from build_tools.index.plan import pages
from build_tools.index.snapshots import by_filename, changed_projects, is_same, merged
from build_tools.publish.holdings import AT_ONCE, holdings
from build_tools.publish.retired import key_beside, retired_by_filename
from build_tools.publish.shown import read_shown
from build_tools.publish.spelled import refuse_respelled
from build_tools.publish.transfer import Transfer, taken
from build_tools.threads import Threads
from build_tools.types import ObjectKey
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.publish.current import Current
    from build_tools.publish.holdings import Holdings
    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import MakePapers, Papers
    from build_tools.receipts.snapshot import IndexedFile, RetiredFile, Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["Action", "FilePlan", "UploadPlan", "plan_upload", "refuse_retired", "row_of"]

Action = Literal["publish", "keep", "supersede"]


class FilePlan(Value, frozen=True, kw_only=True):
    """What becomes of a file: ``key`` is where its bytes are or will be, relative to the index; the rest says what of it is sent."""

    offer: Offer
    action: Action
    key: ObjectKey
    file: bool
    side_file: bool


class UploadPlan(Value, frozen=True, kw_only=True):
    """What an upload does.

    ``rows`` are the index's rows of its files as they will be; ``after`` is the snapshot, when no other publisher comes between.
    ``papers`` are those of the files that have none yet. ``current`` is where the index stood, ``replace`` and ``uploaded`` are what the
    plan was made with.
    """

    files: tuple[FilePlan, ...]
    rows: tuple[IndexedFile, ...]
    current: Current
    replace: bool
    uploaded: str
    after: Snapshot
    slash_keys: bool
    papers: Papers | None = None

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """What is sent."""
        return tuple(
            Transfer(offer=one.offer, key=one.key, file=one.file, side_file=one.side_file)
            for one in self.files
            if one.file or one.side_file
        )

    @property
    def before(self) -> Snapshot:
        """The snapshot that the index stood at."""
        return self.current.snapshot

    @property
    def size(self) -> int:
        """How many bytes of files are sent."""
        return sum(one.offer.size for one in self.files if one.file)

    def writes(self) -> tuple[str, ...]:
        """Return the keys that are written, relative to the index, in the order of their kinds; in the history the folder is meant.

        Under which name a snapshot lies in the history is known when it is written: its time is in it. Pages that differ from what
        the index says, which only looking at each would show, are put right beyond this.
        """
        sent = [one.key for one in self.transfers if one.file]
        sides = [layout.metadata_key(one.key) for one in self.transfers if one.side_file]
        if is_same(self.after, self.before):
            return (*sent, *sides)
        changed = changed_projects(self.before, self.after)
        old = pages(self.before, slash_keys=self.slash_keys, projects=changed) if self.before.files else {}
        new = pages(self.after, slash_keys=self.slash_keys, projects=changed)
        differ = [key for key, page in new.items() if key not in old or old[key].body != page.body]
        papers = self.papers.keys if self.papers is not None else ()
        return (*sent, *sides, *papers, f"{layout.HISTORY}/", layout.SNAPSHOT, layout.PAGES, *differ)


def plan_upload(
    offers: Sequence[Offer],
    current: Current,
    *,
    store: Store,
    place: IndexFolder,
    replace: bool,
    uploaded: str,
    papers: MakePapers | None = None,
) -> UploadPlan:
    """Say what an upload of files into an index does; nothing is written.

    Parameters
    ----------
    offers
        The files.
    current
        Where the index stands.
    store
        Where it is.
    place
        Where in it.
    replace
        Whether a name that holds other bytes gets these instead.
    uploaded
        The time that new rows get, UTC in ISO 8601.
    papers
        Makes the papers of the files that have none in the index yet.

    Raises
    ------
    HipwrightError
        ``several-wheels`` for one name twice, also in two spellings, ``name-taken`` naming all whose names hold other bytes when
        ``replace`` is off, and one that is there in another spelling.
    """
    for name, times in collections.Counter(offer.filename for offer in offers).items():
        if times > 1:
            raise HipwrightError("several-wheels", f"{name} is to be published {times} times at once", hint="name one of them")
    refuse_respelled(offers, current.snapshot)
    known = by_filename(current.snapshot)
    if not replace:
        refuse_retired(offers, current.snapshot, store)
    held = holdings(store, place, len(offers), among=len(known))
    left = retired_by_filename(current.snapshot)

    def found_of(offer: Offer) -> FilePlan | HipwrightError:
        return _plan_file(offer, known.get(offer.filename), left.get(offer.filename), held, replace=replace)

    with Threads(AT_ONCE) as pool:
        found = list(pool.map(found_of, offers))
    refused = [one for one in found if isinstance(one, HipwrightError)]
    if refused:
        raise _together(refused)
    files = tuple(one for one in found if isinstance(one, FilePlan))
    files, made = _with_papers(files, known, papers)
    rows = tuple(row_of(one, known.get(one.offer.filename), uploaded=uploaded, replace=replace) for one in files)
    after = merged(current.snapshot, rows)
    return UploadPlan(
        files=files,
        rows=rows,
        current=current,
        replace=replace,
        uploaded=uploaded,
        after=after,
        # Of a plan that writes no page it does not matter, and to find it out takes writing.
        slash_keys=not is_same(after, current.snapshot)
        and (store.abilities.slash_keys or _has_slash_keys(store, place, current)),
        papers=made,
    )


def row_of(plan: FilePlan, row: IndexedFile | None, *, uploaded: str, replace: bool) -> IndexedFile:
    """Return the index's row for a file.

    That is ``row``, which is there, when it is of the same bytes, with its upload time and yank; papers are added where it has none.

    Raises
    ------
    HipwrightError
        ``name-taken`` when it is of other bytes and ``replace`` is off.
    """
    if row is None:
        return plan.offer.indexed(plan.key, uploaded=uploaded)
    if row.sha256 == plan.offer.sha256:
        return row if row.provenance or not plan.offer.provenance else structs.replace(row, provenance=plan.offer.provenance)
    if not replace:
        raise taken(plan.offer, row.sha256, None)
    return plan.offer.indexed(plan.key, uploaded=uploaded)


def _has_slash_keys(store: Store, place: IndexFolder, current: Current) -> bool:
    """Return whether pages of an index lie under keys that end in ``/``; of a server that is only read that is not found out otherwise."""
    return current.etag is not None and read_shown(store, place, slash_keys=True).pages.snapshot is not None


def _with_papers(
    files: tuple[FilePlan, ...], known: Mapping[str, IndexedFile], make: MakePapers | None
) -> tuple[tuple[FilePlan, ...], Papers | None]:
    """Return the files with the papers of those that have none, and these papers."""

    def lacks(one: FilePlan) -> bool:
        row = known.get(one.offer.filename)
        return one.action != "keep" or row is None or row.provenance is None

    lacking = [one.offer for one in files if lacks(one)]
    if make is None or not lacking:
        return files, None
    made = make(lacking)
    name = made.digest
    return tuple(
        structs.replace(one, offer=structs.replace(one.offer, provenance=name)) if lacks(one) else one for one in files
    ), made


def _plan_file(
    offer: Offer, row: IndexedFile | None, left: RetiredFile | None, held: Holdings, *, replace: bool
) -> FilePlan | HipwrightError:
    if row is not None and row.sha256 == offer.sha256:
        key = ObjectKey(row.key)
        file, side = not held.has_file(offer, key, vouched=True), not held.has_side_file(offer, key, vouched=True)
        return FilePlan(offer=offer, action="keep", key=key, file=file, side_file=side)
    if row is not None and not replace:
        return taken(offer, row.sha256, held.store)
    action: Action = "publish" if row is None else "supersede"
    key = key_beside(offer.filename, offer.sha256, left)
    there = held.info(key)
    if there is not None and there.sha256 != offer.sha256:
        if not replace:
            return taken(offer, there.sha256, held.store)
        key = layout.superseding_key(offer.filename, offer.sha256)
        there = held.info(key)
    whole = there is not None and (there.size, there.sha256) == (offer.size, offer.sha256)
    # Side files come after their files.
    side = offer.metadata is not None and (there is None or not held.has_side_file(offer, key))
    return FilePlan(offer=offer, action=action, key=key, file=not whole, side_file=side)


def refuse_retired(offers: Sequence[Offer], snapshot: Snapshot, store: Store) -> None:
    """Refuse other bytes under the name of a file that left the index: somebody has them under that name.

    Raises
    ------
    HipwrightError
        ``name-taken``.
    """
    left = retired_by_filename(snapshot)
    refused = [
        taken(offer, left[offer.filename].file.sha256, store)
        for offer in offers
        if offer.filename in left and left[offer.filename].file.sha256 != offer.sha256
    ]
    if refused:
        raise _together(refused)


def _together(refused: Sequence[HipwrightError]) -> HipwrightError:
    if len(refused) == 1:
        return refused[0]
    message = "; ".join(error.message for error in refused)
    return HipwrightError("name-taken", message, hint=refused[0].hint)
