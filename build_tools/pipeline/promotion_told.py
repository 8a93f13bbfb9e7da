"""What a promotion did, or would do, as a table for people and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import humanize

from build_tools.pipeline.publishing import wheel_install_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.publish.promote import PromotionPlan
    from build_tools.receipts.verdict import Promotion
    from build_tools.stores.run_outputs import RunOutputs
    from build_tools.workplace import Workplace

__all__ = ["tell_promotion"]

_INSTALLED: Final = 4
"""Requirements that lines which install are shown of; of more, a person knows which they want."""


def tell_promotion(
    plan: PromotionPlan,
    run: RunOutputs,
    workplace: Workplace,
    *,
    done: Promotion | None,
    left_out: Sequence[str] = (),
    reversion: str | None = None,
    came_from: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Show a promotion, and return it as plain data.

    Parameters
    ----------
    plan
        What it does.
    run
        The run that its wheels are of.
    workplace
        Where it is shown.
    done
        What came of it; None for one that is only planned.
    left_out
        The files of the same index that were not meant.
    reversion
        Which version was made of which.
    came_from
        The keys of the files in the run's store, by the names that they have in the channel; as the plan says when None.
    """
    document = _document(plan, run, done=done, left_out=left_out, reversion=reversion, came_from=came_from or {})
    _tell(document, workplace)
    return document


def _document(
    plan: PromotionPlan,
    run: RunOutputs,
    *,
    done: Promotion | None,
    left_out: Sequence[str],
    reversion: str | None,
    came_from: Mapping[str, str],
) -> dict[str, Any]:
    request = plan.request
    place, store = request.place, request.target
    named = sorted({(one.row.project, one.row.version) for one in plan.copies})
    install = wheel_install_lines(named[:_INSTALLED], page=place.find_links_url(store))
    record = plan.record
    return {
        "dry_run": done is None,
        "run_id": run.run_id,
        "platform": run.platform.value,
        "release_type": record.release_type,
        "channel": request.channel.name,
        "reversion": reversion,
        "source": record.source,
        "source_snapshot": record.source_snapshot,
        "target": store.url(place.prefix),
        "files": [
            {
                "filename": one.row.filename,
                "sha256": one.row.sha256,
                "size": one.row.size,
                "action": one.action,
                "from": came_from.get(one.row.filename) or request.origin.key(one.row.key),
                "to": place.key(one.key),
            }
            for one in plan.copies
        ],
        "left_out": list(left_out),
        "verdicts": [
            {"sha256": name, "target": verdict.target, "outcome": verdict.outcome, "passed": verdict.counts.passed}
            for name, verdict in sorted(plan.named_verdicts.items())
        ],
        "retested": list(plan.retested),
        "override": record.override,
        "not_judged": list(record.unjudged),
        "snapshot": None if done is None else done.snapshot,
        "find_links_url": place.find_links_url(store),
        "index_url": place.index_url(store) if store.serves_folders else None,
        "install": install,
    }


def _tell(document: dict[str, Any], workplace: Workplace) -> None:
    """Show from where to where each file goes, by what right, and the lines that install them."""
    dry = document["dry_run"]
    words = {"copy": "would be copied" if dry else "copied", "keep": "there already"}
    rows = [
        (one["from"], one["to"], humanize.naturalsize(one["size"], binary=True), words[one["action"]])
        for one in document["files"]
    ]
    targets = sorted({verdict["target"] for verdict in document["verdicts"]})
    lines = [f"page: {document['find_links_url']}", f"tested on: {', '.join(targets) or 'nothing'}"]
    lines += document["retested"]
    if document["override"] is not None:
        lines.append(f"override: {document['override']}")
    if document["reversion"] is not None:
        lines.append(f"made anew: {document['reversion']}")
    if document["left_out"]:
        lines.append(f"left out: {', '.join(document['left_out'])}")
    lines += document["not_judged"]
    lines += [line[way] for line in document["install"].values() for way in ("pip", "setup_venv")]
    did = "Would promote" if dry else "Promoted"
    if all(one["action"] == "keep" for one in document["files"]):
        did = "Nothing new to promote"
    title = f"{did} from the run {document['run_id']} into {document['channel']}"
    workplace.console.table(title, ("from", "to", "size", "what"), rows, note="\n".join(lines))
