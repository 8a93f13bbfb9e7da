"""Promotion: the very bytes that were tested, copied into a channel, all of them or none.

Files go first, then side files, papers, verdicts and the record of the promotion, then the snapshot by compare-and-swap, then the pages.
Whether the wheels may enter is judged before the first byte is written and again right before each try at the swap, as a file may be
yanked or superseded, or fail a test, while it is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import structs

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.index import layout
from build_tools.index.snapshots import by_filename, is_same, merged, snapshot_digest
from build_tools.publish.channel_copy import Route, copy_files, copy_papers, plan_copies
from build_tools.publish.closure import Closure, judge_closure
from build_tools.publish.current import NOT_KEPT, PUBLISH_AGAIN, nothing_published, put_new, read_current, swap
from build_tools.publish.gate import TEST_BY, Circumstances, advice, reasons_by_file, refusals
from build_tools.publish.pages import publish_pages
from build_tools.publish.retest import retests
from build_tools.publish.retired import refuse_deleted, retired_by_filename
from build_tools.publish.transfer import nobody
from build_tools.publish.verdicts import put_verdict, read_verdicts
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import to_json
from build_tools.receipts.snapshot import Change
from build_tools.receipts.verdict import Promotion, PromotionRecord
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.config.channels import Channel
    from build_tools.publish.channel_copy import FileCopy
    from build_tools.publish.closure import Elsewhere
    from build_tools.publish.current import Current
    from build_tools.publish.transfer import Progress
    from build_tools.receipts.snapshot import IndexedFile, Snapshot
    from build_tools.receipts.verdict import Verdict
    from build_tools.stores.base import Store
    from build_tools.types import Sha256

__all__ = ["BuiltWith", "PromotionPlan", "Request", "carry_out", "plan_promotion"]

_TRIES: Final = 200
"""Every lost race means that another publisher got on, so this many are only lost when something is broken."""

_TYPE: Final = "application/json"


def _nowhere(_name: str) -> tuple[str, ...]:
    """Say that no index is named beside the channel."""
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltWith:
    """A wheel that promoted ones were built with, whose very bytes the channel must have, and the command line that promotes it."""

    filename: str
    sha256: Sha256
    promote_by: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be promoted, and by what it is judged.

    Parameters
    ----------
    files
        The explicit list: files with their bytes.
    origin
        The index that they stand in.
    source
        The store of that index.
    channel
        Where they go, and what it demands.
    target
        The store that the channel is in; may be the same.
    verdicts
        Test results at hand; those that are kept beside the index count too.
    circumstances
        What else the gate is told.
    elsewhere
        Gives what other indexes hold that users name beside the channel.
    built_with
        What the wheels were built with.
    test_by
        The command line that tests the files where they lie.
    made_from
        The address of the index whose files these were made of, and its snapshot, where they are not what a run published.
    """

    files: Sequence[JudgedWheel]
    origin: IndexFolder
    source: Store
    channel: Channel
    target: Store
    verdicts: Sequence[Verdict] = ()
    circumstances: Circumstances = field(default_factory=Circumstances)
    elsewhere: Elsewhere = _nowhere
    built_with: Sequence[BuiltWith] = ()
    test_by: str = TEST_BY
    made_from: tuple[str, Sha256] | None = None

    @property
    def place(self) -> IndexFolder:
        """The channel's index."""
        return IndexFolder(self.channel.prefix)

    @property
    def route(self) -> Route:
        """From where to where."""
        return Route(source=self.source, origin=self.origin, target=self.target, place=self.place)

    def judged(
        self, *, renamed: Callable[[str], str] = lambda version: version
    ) -> tuple[Current, tuple[IndexedFile, ...], tuple[Verdict, ...]]:
        """Return where the source stands, its rows of the files, and the verdicts on them, if they may enter.

        ``renamed`` gives the version that a file is to have in the channel for the one that it has.

        Raises
        ------
        HipwrightError
            ``promotion-refused`` with all reasons, ``nothing-published`` when the source is gone.
        """
        current = read_current(self.source, self.origin)
        if not current.snapshot.files:
            raise nothing_published(self.source, self.origin)
        now = by_filename(current.snapshot)
        # Judged as their index has them today: a verdict on what was superseded, or a file yanked since, does not count.
        rows = [now[file.filename] for file in self.files if _stands(file, now)]
        wanted = tuple(structs.replace(row, version=renamed(row.version)) for row in rows)
        verdicts = self._all_verdicts()
        superseded = {
            file.filename: (f"{file.filename} was superseded in its index after it was published",)
            for file in self.files
            if not _stands(file, now)
        }
        reasons = [reason for said in superseded.values() for reason in said]
        if wanted or not reasons:
            reasons += refusals(wanted, verdicts, channel=self.channel, circumstances=self.circumstances)
        if reasons:
            message = f"the channel {self.channel.name} does not take these wheels: {'; '.join(reasons)}"
            hint = (
                advice(wanted, verdicts, channel=self.channel, circumstances=self.circumstances, test_by=self.test_by)
                if len(wanted) == len(self.files)
                else "test what its index has now, then promote that"
            )
            by_file = reasons_by_file(wanted, verdicts, channel=self.channel, circumstances=self.circumstances)
            raise HipwrightError("promotion-refused", message, hint=hint, document={"refused": {**superseded, **by_file}})
        return current, wanted, verdicts

    def _all_verdicts(self) -> tuple[Verdict, ...]:
        wheels = {file.sha256 for file in self.files}
        given = [verdict for verdict in self.verdicts if any(wheel.sha256 in wheels for wheel in verdict.wheels)]
        # Those on other bytes of a name are no use but for saying so.
        others = [verdict for verdict in self.verdicts if verdict not in given]
        kept = read_verdicts(self.source, self.origin, wheels)
        return (*dict.fromkeys((*given, *kept)), *others)


@dataclass(frozen=True, kw_only=True)
class PromotionPlan:
    """What a promotion does: ``channel_now`` is where the channel stood, ``verdicts`` are those on the files' bytes."""

    request: Request
    copies: tuple[FileCopy, ...]
    verdicts: tuple[Verdict, ...]
    source_now: Current
    channel_now: Current
    closure: Closure = field(default_factory=lambda: Closure(unmet=(), unjudged=()))

    @property
    def named_verdicts(self) -> Mapping[Sha256, Verdict]:
        """The verdicts by the digests that name them."""
        return {digest.of_bytes(to_json(verdict)): verdict for verdict in self.verdicts}

    @property
    def retested(self) -> tuple[str, ...]:
        """The failures on the files' bytes that later tests took back, a line each."""
        return retests(self.verdicts, {one.row.sha256 for one in self.copies})

    @property
    def record(self) -> PromotionRecord:
        """What is kept of it in the channel."""
        given = self.request.circumstances
        here = (self.request.source.url(self.request.origin.prefix), self.source_now.digest)
        source, snapshot = self.request.made_from or here
        return PromotionRecord(
            channel=self.request.channel.name,
            source=source,
            source_snapshot=snapshot,
            release_type=given.release_type,
            files=tuple(self.request.files),
            verdicts=tuple(sorted(self.named_verdicts)),
            override=given.override,
            unjudged=self.closure.unjudged,
        )


def plan_promotion(request: Request, *, promised: Sequence[IndexedFile] = ()) -> PromotionPlan:
    """Judge a promotion, and say what it does; nothing is written.

    Parameters
    ----------
    request
        What is to be promoted.
    promised
        Files that count as if the channel had them; a plan that stands on one cannot be carried out before it has.

    Raises
    ------
    HipwrightError
        ``promotion-refused`` with all reasons, ``nothing-published`` when the source is gone, ``output-changed`` when it has other
        bytes than its index says, ``name-taken`` when the channel holds other bytes under a name.
    """
    source_now, wanted, verdicts = request.judged()
    channel_now = read_current(request.target, request.place)
    copies = plan_copies(wanted, channel_now.snapshot, request.route)
    shas = {row.sha256 for row in wanted}
    return PromotionPlan(
        request=request,
        copies=copies,
        verdicts=tuple(verdict for verdict in verdicts if any(wheel.sha256 in shas for wheel in verdict.wheels)),
        source_now=source_now,
        channel_now=channel_now,
        closure=_closed(request, copies, (*channel_now.snapshot.files, *promised)),
    )


def carry_out(
    plan: PromotionPlan,
    *,
    say: Callable[[str], None],
    progress: Progress = nobody,
    clock: Callable[[], str] = files.utc_now,
) -> Promotion:
    """Do what a plan says, and prove it; with all of it there already, nothing is written.

    Raises
    ------
    HipwrightError
        As :func:`plan_promotion`, as all is judged again at the swap, and ``write-conflict``, ``store-unusable``.
    """
    request, route, uploaded = plan.request, plan.request.route, clock()
    copy_files(plan.copies, route, say=say, progress=progress)
    current = plan.channel_now
    change = Change(
        action="promote",
        time=uploaded,
        reason=plan.record.override,
        what=tuple(sorted({one.row.project for one in plan.copies})),
    )
    if not is_same(_with(plan, current.snapshot, uploaded), current.snapshot):
        copy_papers({one.row.provenance for one in plan.copies if one.row.provenance is not None}, route)
        for verdict in plan.verdicts:
            put_verdict(request.target, request.place, verdict)
        record = to_json(plan.record)
        name = digest.of_bytes(record)
        put_new(request.target, request.place.key(layout.promotion_key(name)), record, content_type=_TYPE, sha256=name)
    for _ in range(_TRIES):
        after = _with(plan, current.snapshot, uploaded)
        if is_same(after, current.snapshot):
            break
        request.judged()
        _closed(request, plan.copies, current.snapshot.files)
        if swap(request.target, request.place, before=current, after=after, change=change):
            break
        say("another publisher changed the channel; adding to what it wrote")
        current = read_current(request.target, request.place)
    else:
        raise HipwrightError(
            "write-conflict",
            f"the channel {request.channel.name} did not stand still for {_TRIES} tries",
            hint=PUBLISH_AGAIN,
        )
    final = publish_pages(request.target, request.place, say=say, projects={one.row.project for one in plan.copies})
    _prove(plan, final)
    return Promotion(
        channel=request.channel.name,
        files=tuple(JudgedWheel(filename=one.row.filename, sha256=one.row.sha256) for one in plan.copies),
        snapshot=snapshot_digest(final),
        index_url=request.place.index_url(request.target),
    )


def _with(plan: PromotionPlan, snapshot: Snapshot, uploaded: str) -> Snapshot:
    """Return a snapshot with the files, those that it has as they are."""
    left, standing = retired_by_filename(snapshot), by_filename(snapshot)
    known = {**{name: one.file for name, one in left.items()}, **standing}
    rows = []
    for one in plan.copies:
        old = known.get(one.row.filename)
        if old is not None and old.sha256 != one.row.sha256:
            message = f"{one.row.filename} in the channel {plan.request.channel.name} was just taken by other bytes"
            raise HipwrightError("name-taken", message, hint="look who else promotes into the channel")
        if one.row.filename not in standing:
            refuse_deleted(one.row.filename, one.key, left.get(one.row.filename))
        rows.append(standing.get(one.row.filename) or one.indexed(uploaded))
    return merged(snapshot, rows)


def _closed(request: Request, copies: Sequence[FileCopy], there: Sequence[IndexedFile]) -> Closure:
    """Judge whether everything that the wheels need is where they go, or can be had beside it."""
    held = {file.sha256 for file in there if file.yanked is None} | {one.row.sha256 for one in copies}
    missing = [one for one in request.built_with if one.sha256 not in held]
    if missing:
        names = " and ".join(one.filename for one in missing)
        message = f"what these wheels were built with is not in the channel {request.channel.name}: {names}"
        hint = f"promote it first, or together: {missing[0].promote_by}"
        raise HipwrightError("promotion-refused", message, hint=hint, document={"refused": {}})
    closure = judge_closure([one.offer for one in copies], there, elsewhere=request.elsewhere)
    if closure.unmet:
        message = (
            f"nobody could install from the channel {request.channel.name}: {'; '.join(closure.unmet)}, which is neither in the "
            "channel, nor promoted with it, nor in an index that is named"
        )
        hint = "promote it first, or name the index that has it: --rocm-index-url URL, --rocm-find-links DIR, --find-links URL"
        by_file = {
            one.offer.filename: [line for line in closure.unmet if line.startswith(f"{one.offer.filename} ")] for one in copies
        }
        raise HipwrightError("promotion-refused", message, hint=hint, document={"refused": by_file})
    return closure


def _prove(plan: PromotionPlan, snapshot: Snapshot) -> None:
    """Find out whether the channel holds what this promotion vouches for."""
    request, known = plan.request, by_filename(snapshot)
    lying = {one.key: one.size for one in request.target.list(request.place.dist_prefix)}
    for one in plan.copies:
        row = known.get(one.row.filename)
        if row is None or row.sha256 != one.row.sha256:
            message = f"another publisher took {one.row.filename} out of the channel or replaced it just now"
            raise HipwrightError("write-conflict", message, hint="look who publishes into the same place")
        key = request.place.key(row.key)
        if lying.get(key) != row.size or (row.metadata_sha256 is not None and layout.metadata_key(key) not in lying):
            raise HipwrightError(
                "store-unusable",
                f"{request.target.address} does not hold what was just written to {key}",
                hint=NOT_KEPT,
            )


def _stands(file: JudgedWheel, now: Mapping[str, IndexedFile]) -> bool:
    return file.filename in now and now[file.filename].sha256 == file.sha256
