"""What an upload did, or would do, as a table for people and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.counted import counted
from build_tools.pipeline.publishing import wheel_install_lines
from build_tools.pipeline.uploading import SHOWN_COLUMNS, file_rows, shown_rows
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.pipeline.uploading import Destination
    from build_tools.publish.upload_plan import UploadPlan
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey
    from build_tools.workplace import Workplace

__all__ = ["paper_lines", "tell_upload"]

_INSTALLED: Final = 4
"""Requirements that lines which install are shown of; of more, a person knows which they want."""


def tell_upload(
    plan: UploadPlan, target: Destination, place: IndexFolder, workplace: Workplace, *, pages: Iterable[ObjectKey] = ()
) -> dict[str, Any]:
    """Show an upload, done or only planned, and return it as plain data; ``pages`` are the keys of pages that were written or removed."""
    document = _document(plan, target, place, workplace)
    document["repaired"] = sorted(frozenset(pages).difference(document["writes"]))
    _tell(document, workplace)
    return document


def _document(plan: UploadPlan, target: Destination, place: IndexFolder, workplace: Workplace) -> dict[str, Any]:
    store, settings = target.store, workplace.settings
    versions = sorted({(one.offer.project, one.offer.version) for one in plan.files})
    install = wheel_install_lines(versions[:_INSTALLED], page=place.find_links_url(store))
    papers = plan.papers
    return {
        "dry_run": settings.dry_run,
        "run_id": settings.run_id,
        "release_type": target.release_type,
        "platform": target.run.platform.value,
        "artifact_group": place.prefix.rpartition("/")[2],
        "reason": target.reason,
        "versions": [{"project": project, "version": version} for project, version in versions],
        "files": file_rows(plan),
        "writes": list(plan.writes()),
        "provenance": None
        if papers is None
        else {
            "set": papers.digest,
            "papers": [paper.name for paper in papers.record.papers],
            "missing": list(papers.record.missing),
        },
        "store": store.address,
        "prefix": place.prefix,
        "find_links_url": place.find_links_url(store),
        "index_url": place.index_url(store) if store.serves_folders else None,
        "install": install,
    }


def _tell(document: Mapping[str, Any], workplace: Workplace) -> None:
    """Show the files, what is known of where they come from, where they are, and the lines that install them."""
    dry = document["dry_run"]
    lines = [f"page: {document['find_links_url']}"]
    count = sum(one["action"] == "supersede" for one in document["files"])
    if count:
        lines.append(f"{'would replace' if dry else 'replaced'} because: {document['reason'] or _may(document)}")
        lines.append(
            f"other bytes were there under {counted(count, 'name')}: they stay beside these, and verdicts on them are void"
        )
    provenance = document["provenance"]
    if provenance is not None:
        lines += paper_lines(provenance["papers"])
        lines += [f"missing: {line}" for line in provenance["missing"]]
    count = len(document["writes"])
    if count or dry:
        lines.append(f"{'would write' if dry else 'wrote'} {counted(count, 'object')}")
    elif not document["repaired"]:
        lines.append("nothing new")
    if document["repaired"]:
        lines.append(f"put right what was not as the index has it: {', '.join(document['repaired'])}")
    lines += [line[way] for line in document["install"].values() for way in ("pip", "setup_venv")]
    title = f"Wheels of the run {document['run_id']} for {document['artifact_group']}"
    workplace.console.table(title, SHOWN_COLUMNS, shown_rows(document["files"], dry=dry), note="\n".join(lines))


def paper_lines(names: Iterable[str]) -> list[str]:
    """Return the papers of a set as lines for people: those of the whole set, then of each build its receipts, then check reports.

    >>> paper_lines(["receipt-torch-build.json", "sbom.cdx.json", "receipt-torch-base-patches.json", "check-report-torch.json"])
    ['papers: sbom.cdx.json', 'receipts of torch: build, base-patches', 'check reports of: torch']
    """
    whole: list[str] = []
    receipts: dict[str, list[str]] = {}
    reports: list[str] = []
    for name in names:
        stem = name.removesuffix(".json")
        stage = next((stage for stage in Stage if stem.startswith("receipt-") and stem.endswith(f"-{stage}")), None)
        if stage is not None:
            receipts.setdefault(stem.removeprefix("receipt-").removesuffix(f"-{stage}"), []).append(stage)
        elif stem.startswith("check-report-"):
            reports.append(stem.removeprefix("check-report-"))
        else:
            whole.append(name)
    lines = [f"papers: {', '.join(whole)}"] if whole else []
    lines += [f"receipts of {label}: {', '.join(stages)}" for label, stages in receipts.items()]
    return [*lines, f"check reports of: {', '.join(reports)}"] if reports else lines


def _may(document: Mapping[str, Any]) -> str:
    """Say why a run may supersede what it published before, when nobody gave a reason."""
    kind = document["release_type"]
    whose = "at a desk, of no release type," if kind is None else f"of the release type {kind}"
    return f"a run {whose} may be tried again"
