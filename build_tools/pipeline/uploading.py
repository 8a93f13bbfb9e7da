"""What all uploads into a run's outputs share: where they go, what they may replace, and how they are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import humanize

from build_tools import files
from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.pipeline.publishing import layout_to_publish, publishes_nothing, store_to_read, warn_when_closed
from build_tools.pipeline.reasons import given_reason
from build_tools.publish.current import read_current
from build_tools.publish.run_record import judge_run, settle_run
from build_tools.publish.upload import carry_out
from build_tools.publish.upload_plan import plan_upload
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.publish.current import Current
    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import MakePapers
    from build_tools.publish.run_record import JudgedRun
    from build_tools.publish.upload_plan import UploadPlan
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder, RunOutputs
    from build_tools.types import ObjectKey, Platform
    from build_tools.workplace import Workplace

__all__ = [
    "SHOWN_COLUMNS",
    "Destination",
    "carry_into",
    "destination",
    "file_rows",
    "plan_into",
    "reason_of",
    "refuse_inside",
    "shown_rows",
]

SHOWN_COLUMNS: Final = ("file", "size", "sha256", "what")
"""What a table of published files has; :func:`shown_rows` has the rows."""

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "publish": ("published", "would be published"),
    "keep": ("there already", "there already"),
    "supersede": ("supersedes an earlier one", "would supersede an earlier one"),
}
"""What is done with a file, as people read it: done, and only planned."""


class Destination(Value, frozen=True, kw_only=True):
    """Where an upload goes: a store and a run in it.

    ``judged`` is what kind of run it is. ``replace`` tells whether other bytes may take the place of a published name, ``reason`` why,
    where the person said it.
    """

    store: Store
    run: RunOutputs
    judged: JudgedRun
    replace: bool
    reason: str | None

    @property
    def release_type(self) -> str | None:
        """What the run is, None at a desk."""
        return self.judged.record.release_type

    def claim(self, workplace: Workplace) -> None:
        """Write down what kind of run it is, when nobody did: the first thing that an upload writes, once its plan is accepted.

        Raises
        ------
        HipwrightError
            ``run-contradicted`` when somebody wrote another one down meanwhile, ``store-unusable``.
        """
        settings = workplace.settings
        settle_run(self.store, self.run, release_type=settings.release_type, repository=settings.repository, judged=self.judged)


def destination(workplace: Workplace, *, platform: Platform | None = None, dry: bool | None = None) -> Destination:
    """Return where an upload of this command goes; who may not write there, or says another kind of run than it is, hears it now.

    Parameters
    ----------
    workplace
        Where and with what.
    platform
        What the upload is for, where that is known; else the one that is meant.
    dry
        Whether nothing is written, not even a folder made; as ``--dry-run`` says when None.

    Raises
    ------
    HipwrightError
        ``option-conflict`` for two places, ``bad-option-value``, ``store-unusable``, ``no-credentials``, ``run-contradicted``.
    """
    settings = workplace.settings
    address, run = layout_to_publish(workplace, platform=platform)
    address = _output_dir(workplace) or address
    if publishes_nothing(workplace):
        workplace.console.warn(f"a pull request from a fork publishes nothing: what it would publish lies in {address}")
    option = "--store" if settings.output_dir is None else "--output-dir"
    dry = settings.dry_run if dry is None else dry
    store = store_to_read(workplace, address) if dry else workplace.open_store(writing=True, address=address, option=option)
    judged = judge_run(store, run, release_type=settings.release_type, repository=settings.repository)
    reason = reason_of(workplace)
    replace = reason is not None or load_channels().may_supersede(judged.record.release_type)
    return Destination(store=store, run=run, judged=judged, replace=replace, reason=reason)


def refuse_inside(workplace: Workplace, folder: Path) -> None:
    """Refuse to publish into the very folder that packages are read from: what is written there would be taken for some of them.

    Raises
    ------
    HipwrightError
        ``option-conflict``.
    """
    address = _output_dir(workplace) or layout_to_publish(workplace)[0]
    if "://" not in address and Path(address).resolve().is_relative_to(folder.resolve()):
        option = "--store" if workplace.settings.output_dir is None else "--output-dir"
        message = (
            f"{option} {address} lies in {folder}, where the packages are: what is published there would be taken for packages"
        )
        raise HipwrightError("option-conflict", message, hint=f"name a folder of its own with {option}")


def reason_of(workplace: Workplace) -> str | None:
    """Return why names are to get other bytes, as ``--replace`` says; None without it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it says nothing.
    """
    hint = "say what is wrong with the bytes that are there, such as --replace 'built against the wrong ROCm'"
    return given_reason(workplace.settings.replace, option="--replace", hint=hint)


def plan_into(
    target: Destination,
    place: IndexFolder,
    offers: Sequence[Offer],
    *,
    current: Current | None = None,
    papers: MakePapers | None = None,
) -> UploadPlan:
    """Say what publishing files into the index of a destination does; nothing is written.

    Parameters
    ----------
    target
        Where to.
    place
        The index there.
    offers
        The files.
    current
        Where the index stands, when that was read before.
    papers
        Makes the papers of the files that have none in the index yet.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.publish.upload_plan.plan_upload`.
    """
    return plan_upload(
        offers,
        current or read_current(target.store, place),
        store=target.store,
        place=place,
        replace=target.replace,
        uploaded=files.utc_now(),
        papers=papers,
    )


def carry_into(
    plan: UploadPlan,
    target: Destination,
    place: IndexFolder,
    workplace: Workplace,
    *,
    wrote: Callable[[ObjectKey], object] = lambda _key: None,
) -> PublishedIndex:
    """Do what a plan says; ``wrote`` takes the keys of pages that were written, planned or not.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.publish.upload.publish_wheels`, and ``run-contradicted``.
    """
    console = workplace.console
    target.claim(workplace)
    published = carry_out(
        plan, store=target.store, place=place, say=console.say, progress=console.progress, reason=target.reason, wrote=wrote
    )
    warn_when_closed(workplace, target.store, place)
    return published


def file_rows(plan: UploadPlan) -> list[dict[str, Any]]:
    """Return what becomes of each file, as plain data."""
    return [
        {
            "filename": one.offer.filename,
            "sha256": one.offer.sha256,
            "size": one.offer.size,
            "action": one.action,
            "key": one.key,
        }
        for one in plan.files
    ]


def shown_rows(rows: list[dict[str, Any]], *, dry: bool) -> list[tuple[str, str, str, str]]:
    """Return what becomes of each file, as rows of a table with :data:`SHOWN_COLUMNS`."""
    return [
        (one["filename"], humanize.naturalsize(one["size"], binary=True), one["sha256"], _WORDS[one["action"]][dry])
        for one in rows
    ]


def _output_dir(workplace: Workplace) -> str | None:
    settings = workplace.settings
    if settings.output_dir is None:
        return None
    named = "--store" if settings.store else "--bucket" if settings.bucket else None
    if named and workplace.resolved.origin(named.removeprefix("--")).startswith("command line"):
        message = f"--output-dir and {named} both say where the packages go"
        raise HipwrightError(
            "option-conflict", message, hint="publish into a folder with --output-dir alone, then into the store"
        )
    return str(settings.output_dir)
