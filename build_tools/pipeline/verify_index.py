"""``verify``: prove published indexes whole, from outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import humanize

from build_tools.counted import counted
from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError
from build_tools.index.layout import SIMPLE, SNAPSHOT
from build_tools.pipeline.index_place import index_place
from build_tools.publish.current import NAME_IT
from build_tools.publish.verify import verify_index
from build_tools.publish.verify_foreign import verify_foreign
from build_tools.receipts.record import plain
from build_tools.stores.run_outputs import IndexFolder
from build_tools.urls import is_url, without_query

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from build_tools.receipts.index_report import IndexReport
    from build_tools.workplace import Workplace

__all__ = ["verify", "way_out"]


def verify(workplace: Workplace) -> dict[str, Any]:
    """Look at each index that the command names, or the one that the options name, and tell what breaks a rule.

    Returns
    -------
    dict
        Under ``indexes``: a report of each.

    Raises
    ------
    HipwrightError
        ``index-findings`` when a rule is broken anywhere, an index that names no file included; ``option-conflict`` when words and
        options both say which index is meant; ``nothing-published``,
        ``store-unusable``, ``source-unreachable``, ``no-credentials``.
    """
    words = workplace.settings.words
    if words:
        _refuse_second_name(workplace)
    reports = [_at(word, workplace) for word in words] if words else [_named(workplace)]
    for report in reports:
        _tell(report, workplace)
    document: dict[str, object] = {"indexes": [plain(report) for report in reports]}
    findings = [finding for report in reports for finding in report.findings]
    if findings:
        first = findings[0]
        others = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
        message = f"{first.where}: {first.message} [{first.rule}]{others}"
        hint = way_out(
            {finding.rule for finding in findings}, ours=any(_is_ours(report) for report in reports if report.findings)
        )
        raise HipwrightError("index-findings", message, hint=hint, document=document)
    return document


def way_out(rules: AbstractSet[str], *, ours: bool = True) -> str:
    """Return what to do about findings of these rules; ``ours`` tells whether hipwright keeps an index that has some."""
    if not ours:
        return "tell who keeps that index: it is none of hipwright's, which can put only its own right"
    if "snapshot" in rules:
        return "until its snapshot is back, as the finding says, nothing can be published, yanked or rolled back there"
    if rules == {"empty"}:
        return NAME_IT
    if rules == {"requires"}:
        return (
            "put in what is required with nox -s promote, or, where it is yanked, offer it again with nox -s yank -- FILE --undo; "
            "else yank what requires it"
        )
    return (
        "pages are put right by nox -s rollback -- --to current --apply with the options that name this index; files and papers come "
        "back from a copy of the store"
    )


def _refuse_second_name(workplace: Workplace) -> None:
    for field in ("channel", "run_id", "artifact_group", "store"):
        origin = workplace.resolved.origin(field)
        if origin.startswith("command line"):
            message = f"{origin.removeprefix('command line ')} and an address both say which index is meant"
            raise HipwrightError("option-conflict", message, hint="name the index by its address alone, or by options alone")


def _named(workplace: Workplace) -> IndexReport:
    named = index_place(workplace, writing=False)
    return verify_index(named.store, named.place, jobs=workplace.jobs, progress=workplace.console.progress)


def _at(word: str, workplace: Workplace) -> IndexReport:
    """Look at the index at an address: of ours when a snapshot is there, else as one that others made."""
    page = path_of(word) if "://" in word else Path(workplace.typed_in, word)
    if page is not None and page.is_file():
        workplace.console.say(f"{page} is a page; looking at what it names alone")
        return _foreign(page.as_uri(), workplace)
    address = word.rstrip("/")
    address = address.removesuffix(f"/{SIMPLE}") if address.endswith(f"/{SIMPLE}") else address
    remote = "://" in word
    if not remote:
        address = str(workplace.typed_in / address)
        if not Path(address).is_dir():
            raise HipwrightError(
                "nothing-published", f"there is no index at {address}", hint="name an index's folder or its address"
            )
    store = workplace.open_store(writing=False, address=address)
    place = IndexFolder("")
    if address.startswith("s3://") or store.head(SNAPSHOT) is not None:
        return verify_index(store, place, jobs=workplace.jobs, progress=workplace.console.progress)
    url = word if is_url(word) else f"{Path(workplace.typed_in, word).as_uri()}/"
    workplace.console.say(f"{without_query(word)} has no snapshot of hipwright's; looking at its pages and files alone")
    return _foreign(url, workplace)


def _foreign(url: str, workplace: Workplace) -> IndexReport:
    return verify_foreign(url, network=workplace.base.network(), jobs=workplace.jobs, progress=workplace.console.progress)


def _tell(report: IndexReport, workplace: Workplace) -> None:
    rows = [(finding.rule, finding.where, finding.message) for finding in report.findings]
    size = humanize.naturalsize(report.size, binary=True)
    found = f"has {counted(len(rows), 'finding')}" if rows else "is whole"
    lines = [f"{report.address} {found}"]
    lines += [f"{counted(report.files, 'file')} of {counted(report.projects, 'project')}, {size}, every byte read"]
    if report.history and not _is_cut(report):
        lines.append(f"{counted(report.history, 'snapshot')} in an unbroken history")
    lines += [f"not judged: {one}" for one in report.unjudged]
    workplace.console.table("Index", ("rule", "where", "what"), rows, note="\n".join(lines))


def _is_ours(report: IndexReport) -> bool:
    """Return whether a report is of an index of ours: one of others has no history, and says so among what was not judged."""
    return report.history is not None or not report.unjudged


def _is_cut(report: IndexReport) -> bool:
    return any(finding.rule == "history" for finding in report.findings)
