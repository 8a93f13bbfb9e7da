"""``upload_wheels``: publish any wheels into a run's outputs, with an index and what is known of where they come from."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from build_tools.errors import HipwrightError, Where
from build_tools.pipeline.named_wheels import all_projects, require_expected
from build_tools.pipeline.upload_told import tell_upload
from build_tools.pipeline.uploading import carry_into, destination, plan_into
from build_tools.publish.current import read_current
from build_tools.publish.known_digests import KnownDigests
from build_tools.publish.offer import offer_file
from build_tools.publish.transfer import Meter
from build_tools.threads import Threads
from build_tools.wheels.find import find_wheels
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.pipeline.uploading import Destination
    from build_tools.publish.current import Current
    from build_tools.publish.offer import Judged, Offer
    from build_tools.publish.papers import Papers
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey, Platform
    from build_tools.workplace import Workplace

__all__ = ["upload_wheels"]


def upload_wheels(workplace: Workplace) -> dict[str, Any]:
    """Publish wheels as ``…/pytorch/<artifact group>`` of the run: files, papers, pages.

    Returns
    -------
    dict
        Under ``upload``: each file with what was (or would be) done with it, every key that is written, pages that were put right beyond
        these, papers and what they lack, where the index is, and how to install from it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when no group is named, ``no-wheel``, ``bad-wheel``, ``several-wheels``, ``name-taken``, ``option-conflict``,
        ``run-contradicted``, ``output-changed``, ``store-unusable``, ``no-credentials``, ``write-conflict``.
    """
    settings = workplace.settings
    wheels = find_wheels(settings.paths, command="upload_wheels")
    _refuse_twins(wheels)
    if settings.projects:
        require_expected(wheels, all_projects(workplace.external_builds), settings.projects)
    platform = _platform(wheels, workplace)
    if settings.artifact_group is None:
        hint = "say --artifact-group NAME: the GPU family that they are for, with a build variant behind it where there is one"
        raise HipwrightError("bad-option-value", "no artifact group is named for the wheels", hint=hint)
    target = destination(workplace, platform=platform)
    place = target.run.pytorch(settings.artifact_group)
    offers, current = _offers(wheels, target, place, workplace)
    if settings.index_format == "piprepo":
        from build_tools.pipeline.piprepo import publish_by_piprepo  # noqa: PLC0415 - few ask for it

        return publish_by_piprepo(wheels, offers, target, place, workplace)
    plan = plan_into(target, place, offers, current=current, papers=lambda new: _papers(new, workplace))
    pages: list[ObjectKey] = []
    if not settings.dry_run:
        carry_into(plan, target, place, workplace, wrote=pages.append)
    return {"upload": tell_upload(plan, target, place, workplace, pages=pages)}


def _papers(offers: Sequence[Offer], workplace: Workplace) -> Papers:
    """Make the papers of wheels that have none yet."""
    from build_tools.pipeline.provenance import papers_of_wheels  # noqa: PLC0415 - an upload with nothing new needs none

    return papers_of_wheels(workplace)(offers)


def _refuse_twins(wheels: Sequence[Path]) -> None:
    """Refuse two files of one name: which of them is meant, nobody can know."""
    for wheel in wheels:
        twins = [str(other) for other in wheels if other.name == wheel.name]
        if len(twins) > 1:
            raise HipwrightError(
                "several-wheels",
                f"{wheel.name} is named {len(twins)} times: {', '.join(twins)}",
                hint="name the file that is meant, or the folder that has it",
            )


def _platform(wheels: Sequence[Path], workplace: Workplace) -> Platform:
    """Return what the run builds for, as the wheels' tags say; wheels for every system go where ``--platform`` or this machine says."""
    systems = {parse_wheel_name(wheel.name).system for wheel in wheels} - {None}
    named = workplace.settings.platform
    if len(systems) > 1 or (named and systems - {workplace.meant_platform}):
        words = ", ".join(f"{wheel.name}" for wheel in wheels if parse_wheel_name(wheel.name).system)
        message = f"the outputs of a run are for one operating system{f', here {named}' if named else ''}, and these are for others: {words}"
        raise HipwrightError(
            "option-conflict", message, hint="name the wheels of one system, and its --platform when you say one"
        )
    return next((system for system in systems if system is not None), workplace.meant_platform)


def _offers(wheels: Sequence[Path], target: Destination, place: IndexFolder, workplace: Workplace) -> tuple[list[Offer], Current]:
    """Read the wheels, several at a time, and meanwhile where the index stands; where it is begun, what the store can is found out too."""
    try:
        total = sum(wheel.stat().st_size for wheel in wheels)
    except OSError as error:
        raise HipwrightError(
            "no-wheel",
            f"a wheel cannot be read: {error}",
            where=Where(file=str(error.filename)),
            hint="see who may read it, or leave it out",
        ) from error
    known = KnownDigests(workplace.cache, believed=not workplace.settings.verify)
    meter = Meter(what="reading wheels", total=total, progress=workplace.console.progress)

    def read(wheel: Path) -> Offer:
        try:
            sha256 = known.of_file(wheel)
            judged: Judged = "before" if known.is_sound(wheel) else "whole" if workplace.settings.verify else "outline"
            offer = offer_file(wheel, sha256=sha256, judged=judged)
            known.found_sound(wheel)
        except OSError as error:
            raise HipwrightError(
                "no-wheel",
                f"{wheel} cannot be read: {error.strerror}",
                where=Where(file=wheel),
                hint="see who may read it, or leave it out",
            ) from error
        meter.add(offer.size)
        return offer

    def look() -> Current:
        current = read_current(target.store, place)
        if current.etag is None:
            # All is new, so papers will be made: to import what makes them takes longer than to hear what the store can.
            pool.submit(importlib.import_module, "build_tools.publish.sbom")
            # What fails here fails again where it is asked for, and is told then.
            with contextlib.suppress(HipwrightError):
                _ = target.store.abilities
        return current

    with Threads(max(1, workplace.jobs) + 1) as pool:
        looking = pool.submit(look)
        offers, current = list(pool.map(read, wheels)), looking.result()
    known.keep()
    return offers, current
