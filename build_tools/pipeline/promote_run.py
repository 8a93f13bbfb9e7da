"""``promote`` by run: wheels in the outputs of a run, with the verdicts beside them, into a channel."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Final

from packaging.utils import canonicalize_name

from build_tools.config.channels import load_channels
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.index.layout import SNAPSHOT
from build_tools.pipeline.promoting import make_request
from build_tools.pipeline.promotion_refused import telling_refusal
from build_tools.pipeline.promotion_told import tell_promotion
from build_tools.pipeline.publishing import store_to_read, warn_when_closed
from build_tools.process import printable
from build_tools.publish.current import read_snapshot
from build_tools.publish.promote import carry_out, plan_promotion
from build_tools.types import ProjectName
from build_tools.wheels.reversion import parse_reversion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder, RunOutputs
    from build_tools.workplace import Workplace

__all__ = ["is_by_run", "promote_run"]

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
    rule = None if settings.reversion is None else parse_reversion(settings.reversion)
    address, run = workplace.layout(settings.run_id)
    dry = settings.dry_run
    source = store_to_read(workplace, address)
    target = source if dry else workplace.open_store(writing=True, address=address)
    origin = _index_of(run, source, workplace)
    rows, left_out = _chosen(read_snapshot(source, origin).files, workplace)
    request = make_request(workplace, rows=rows, origin=origin, run=run, source=source, target=target, channel=channel)
    request = dataclasses.replace(request, test_by=_test_line(origin, address, workplace))
    renamed = {} if rule is None else {row.filename: rule.of_file(row.filename) for row in rows}
    with contextlib.ExitStack() as stack:
        stack.enter_context(telling_refusal(request, rows, workplace, renamed=renamed))
        if rule is not None:
            # What makes wheels anew and checks them costs more time than a promotion has.
            from build_tools.pipeline.reversion import remade_request  # noqa: PLC0415

            current, _, _ = request.judged(renamed=rule.of)
            made = stack.enter_context(remade_request(request, rows, rule, workplace))
            request = dataclasses.replace(made, made_from=(source.url(origin.prefix), current.digest))
        plan = plan_promotion(request)
        done = None if dry else carry_out(plan, say=console.say, progress=console.progress)
        if done is not None:
            warn_when_closed(workplace, target, request.place)
    came_from = {renamed.get(row.filename, row.filename): origin.key(row.key) for row in rows}
    document = tell_promotion(
        plan, run, workplace, done=done, left_out=left_out, reversion=settings.reversion, came_from=came_from
    )
    return {"promotion": document}


def _test_line(origin: IndexFolder, address: str, workplace: Workplace) -> str:
    """Return the command line that tests the files in the run's index, which leaves verdicts beside them."""
    settings = workplace.settings
    words = [*workplace.nox, "-s", "test_wheels", "--", "--from-run-id", settings.run_id]
    words += ["--artifact-group", origin.prefix.rpartition("/")[2], "--store", address]
    words += ["--endpoint-url", settings.endpoint_url] if settings.endpoint_url else []
    words += ["--platform", settings.platform] if settings.platform else []
    words += [word for place in settings.rocm_find_links for word in ("--rocm-find-links", place)]
    words += ["--rocm-index-url", settings.rocm_index_url] if settings.rocm_index_url else []
    return f"{printable(words)} --projects {','.join(settings.projects) or '<project>'}"


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
