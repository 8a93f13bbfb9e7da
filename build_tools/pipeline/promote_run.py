"""``promote`` by run: wheels in the outputs of a run, with the verdicts beside them, into a channel."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import humanize
from packaging.utils import canonicalize_name

from build_tools.config.channels import load_channels
from build_tools.config.owned import is_rocm
from build_tools.config.project import load_project
from build_tools.config.runners import runner_table
from build_tools.config.targets import family_of_group
from build_tools.environments.listing import Listing, PackageSource
from build_tools.errors import HipwrightError
from build_tools.index.layout import SNAPSHOT
from build_tools.locking.places import named_places
from build_tools.pipeline.publishing import install_lines, store_to_read, warn_when_closed
from build_tools.pipeline.reversion import remade_request
from build_tools.publish.current import read_snapshot
from build_tools.publish.gate import Circumstances
from build_tools.publish.promote import Request, carry_out, plan_promotion
from build_tools.publish.run_record import settle_run
from build_tools.receipts.check import JudgedWheel
from build_tools.types import ProjectName
from build_tools.wheels.reversion import parse_reversion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.config.channels import Channel
    from build_tools.publish.closure import Elsewhere
    from build_tools.publish.promote import PromotionPlan
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.receipts.verdict import Promotion
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder, RunOutputs
    from build_tools.types import GfxTarget, Platform
    from build_tools.workplace import Workplace

__all__ = ["is_by_run", "promote_run"]

_INSTALLED: Final = 4
"""Requirements that lines which install are shown of; of more, a person knows which they want."""

_CHAIN_OPTIONS: Final = ("from_stage", "from_receipt", "force")
"""Options that only the chain's own promote stage understands."""


def is_by_run(workplace: Workplace) -> bool:
    """Return whether a promotion is of what a run published, rather than the last stage of the chain of this work dir."""
    origin = workplace.resolved.origin
    return origin("run_id") != "default" and all(origin(name) == "default" for name in _CHAIN_OPTIONS)


def promote_run(workplace: Workplace) -> dict[str, Any]:
    """Promote the wheels of a run and an artifact group into the channel that ``--channel`` names, all of them or none.

    Returns
    -------
    dict
        Under ``promotion``: each file with from where to where it goes and what was (or would be) done, what was left out, the verdicts
        that were judged, what was not judged, where the channel's index is, and how to install from it.

    Raises
    ------
    HipwrightError
        ``unknown-channel``, ``bad-option-value`` when several groups could be meant or an override gives no reason,
        ``nothing-published``, ``no-wheel`` when the run has none of a project, and what
        :func:`build_tools.publish.promote.plan_promotion` and :func:`build_tools.publish.promote.carry_out` raise.
    """
    settings, console = workplace.settings, workplace.console
    channel = load_channels().find_channel(settings.channel)
    if settings.reversion is not None:
        parse_reversion(settings.reversion)
    address, run = workplace.layout(settings.run_id)
    dry = settings.dry_run
    source = store_to_read(workplace, address)
    target = source if dry else workplace.open_store(writing=True, address=address)
    record = settle_run(source, run, release_type=settings.release_type, repository=settings.repository, dry=True)
    origin = _index_of(run, source, workplace)
    rows, left_out = _chosen(read_snapshot(source, origin).files, workplace)
    request = Request(
        files=tuple(JudgedWheel(filename=row.filename, sha256=row.sha256) for row in rows),
        origin=origin,
        source=source,
        channel=channel,
        target=target,
        kept_verdicts=True,
        circumstances=Circumstances(
            release_type=record.release_type,
            override=_override(workplace),
            has_runner=_runners(channel, origin, run.platform, release_type=record.release_type),
        ),
        elsewhere=_elsewhere(workplace, record.release_type),
    )
    with contextlib.ExitStack() as stack:
        if settings.reversion is not None:
            rule = parse_reversion(settings.reversion)
            request.judged(renamed=rule.of)
            request = stack.enter_context(remade_request(request, rows, rule, workplace))
        plan = plan_promotion(request)
        done = None if dry else carry_out(plan, say=console.say, progress=console.progress)
        if done is not None:
            warn_when_closed(workplace, target, request.place)
    document = _document(plan, done, left_out, run, reversion=settings.reversion)
    _tell(document, workplace)
    return {"promotion": document}


def _index_of(run: RunOutputs, store: Store, workplace: Workplace) -> IndexFolder:
    """Return the index of the group that is meant: the named one, else the only one that the run has."""
    group = workplace.settings.artifact_group
    if group is not None:
        return run.pytorch(group)
    above = run.pytorch().prefix
    found = sorted(
        {one.key.split("/")[-2] for one in store.list(above) if one.key.removeprefix(f"{above}/").partition("/")[2] == SNAPSHOT}
    )
    if not found:
        message = f"the run {run.run_id} has published no wheels at {store.url(above)}"
        hint = "name the run's store and platform: --store DIR|s3://B, --platform OS; a run publishes with `nox -s upload_wheels`"
        raise HipwrightError("nothing-published", message, hint=hint)
    if len(found) > 1:
        message = f"the run {run.run_id} has wheels of several artifact groups: {', '.join(found)}"
        raise HipwrightError("bad-option-value", message, hint=f"name one: --artifact-group {found[0]}")
    return run.pytorch(found[0])


def _chosen(files: Sequence[IndexedFile], workplace: Workplace) -> tuple[list[IndexedFile], list[str]]:
    """Return the files of the projects that are named, of all without, and the names of those left out."""
    projects = workplace.settings.projects
    if not projects:
        return list(files), []
    wanted = {
        canonicalize_name(load_project(workplace.external_builds, ProjectName(name)).wheel.distribution): name
        for name in projects
    }
    missing = sorted(name for distribution, name in wanted.items() if all(file.project != distribution for file in files))
    if missing:
        message = f"the run has no wheel of {', '.join(missing)}"
        raise HipwrightError(
            "no-wheel", message, hint="leave it out of --projects, or publish its wheel with `nox -s upload_wheels`"
        )
    return (
        [file for file in files if file.project in wanted],
        [file.filename for file in files if file.project not in wanted],
    )


def _override(workplace: Workplace) -> str | None:
    text = workplace.settings.override
    if text is not None and not text.strip():
        hint = "say why these wheels may go untested, such as --override 'no machine of gfx1201 until Monday'"
        raise HipwrightError("bad-option-value", "--override gives no reason", hint=hint)
    return None if text is None else text.strip()


def _runners(
    channel: Channel, origin: IndexFolder, platform: Platform, *, release_type: str | None
) -> Callable[[GfxTarget | None], bool]:
    """Return what tells whether CI has a machine that could test a target; of an unknown family it is said that there is one."""
    release = "release" in {channel.name, release_type}
    family = family_of_group(origin.prefix.rpartition("/")[2])

    def has_runner(target: GfxTarget | None) -> bool:
        name = target.partition(":")[0] if target is not None else None if family is None else family[0]
        return name is None or bool(runner_table().test_labels(name, platform, release=release))

    return has_runner


def _elsewhere(workplace: Workplace, release_type: str | None) -> Elsewhere:
    """Return what the named indexes hold; without one, the index of ROCm packages that the run's release type has."""
    settings = workplace.settings
    sources: list[PackageSource] = []
    if settings.find_links or settings.index_url or settings.rocm_find_links or settings.rocm_index_url or settings.rocm_run_id:
        places = named_places(workplace)
        sources = [source for source in (places.rocm, places.packages) if source is not None]
    elif release_type is not None and (url := load_channels().find_release_type(release_type).rocm_index_url) is not None:
        sources = [PackageSource(index_url=url, option_prefix="--rocm-")]
    listings = [Listing(source=source, network=workplace.base.network()) for source in sources]

    def versions(name: str) -> Iterable[str]:
        asked = listings if settings.rocm_find_links or not is_rocm(name) else listings[:1]
        return {str(file.version) for listing in asked for file in listing.files(name)}

    return versions


def _document(
    plan: PromotionPlan, done: Promotion | None, left_out: list[str], run: RunOutputs, *, reversion: str | None
) -> dict[str, Any]:
    request = plan.request
    place, store = request.place, request.target
    named = sorted({(one.row.project, one.row.version) for one in plan.copies})
    install = {
        f"{project}=={version}": install_lines(
            f"{project}=={version}", version=version, places=["--find-links", place.find_links_url(store)]
        )
        for project, version in named[:_INSTALLED]
    }
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
                "from": request.origin.key(one.row.key),
                "to": place.key(one.key),
            }
            for one in plan.copies
        ],
        "left_out": left_out,
        "verdicts": [
            {"sha256": name, "target": verdict.target, "outcome": verdict.outcome, "passed": verdict.counts.passed}
            for name, verdict in sorted(plan.named_verdicts.items())
        ],
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
    if document["override"] is not None:
        lines.append(f"override: {document['override']}")
    if document["reversion"] is not None:
        lines.append(f"made anew: {document['reversion']}")
    if document["left_out"]:
        lines.append(f"left out: {', '.join(document['left_out'])}")
    lines += document["not_judged"]
    lines += [line["pip"] for line in document["install"].values()]
    title = f"{'Would promote' if dry else 'Promoted'} from the run {document['run_id']} into {document['channel']}"
    workplace.console.table(title, ("from", "to", "size", "what"), rows, note="\n".join(lines))
