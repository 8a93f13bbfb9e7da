"""What all promotions share, whichever command asks for one: by what their wheels are judged besides tests."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.channels import load_channels
from build_tools.config.owned import is_rocm
from build_tools.config.runners import runner_table
from build_tools.config.targets import family_of_group
from build_tools.environments.listing import Listing, PackageSource
from build_tools.locking.places import named_places
from build_tools.pipeline.reasons import given_reason
from build_tools.publish.gate import Circumstances
from build_tools.publish.promote import Request
from build_tools.publish.run_record import settle_run
from build_tools.receipts.check import JudgedWheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.config.channels import Channel
    from build_tools.publish.closure import Elsewhere
    from build_tools.publish.promote import BuiltWith
    from build_tools.receipts.lock import LockedFile
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.receipts.verdict import Verdict
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder, RunOutputs
    from build_tools.types import GfxTarget, Platform
    from build_tools.workplace import Workplace

__all__ = ["make_request", "override_of"]


def make_request(
    workplace: Workplace,
    *,
    rows: Sequence[IndexedFile],
    origin: IndexFolder,
    run: RunOutputs,
    source: Store,
    target: Store,
    channel: Channel,
    verdicts: Sequence[Verdict] = (),
    locked: Sequence[LockedFile] = (),
    built_with: Sequence[BuiltWith] = (),
) -> Request:
    """Return what is to be promoted, with what its run and this command's options say of it.

    Parameters
    ----------
    workplace
        Where and with what.
    rows
        The files, as their index has them.
    origin, run, source
        That index, the run that it is of, and its store.
    target, channel
        Where they go.
    verdicts
        Test results at hand.
    locked
        Packages that the wheels were built for, which lie where their lock says.
    built_with
        What they were built with.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when an override gives no reason, ``run-contradicted``, ``bad-index``.
    """
    settings = workplace.settings
    record = settle_run(source, run, release_type=settings.release_type, repository=settings.repository, dry=True)
    return Request(
        files=tuple(JudgedWheel(filename=row.filename, sha256=row.sha256) for row in rows),
        origin=origin,
        source=source,
        channel=channel,
        target=target,
        verdicts=verdicts,
        circumstances=Circumstances(
            release_type=record.release_type,
            override=override_of(workplace),
            has_runner=_runners(channel, origin, run.platform, release_type=record.release_type),
        ),
        elsewhere=_elsewhere(workplace, record.release_type, locked),
        built_with=built_with,
    )


def override_of(workplace: Workplace) -> str | None:
    """Return why wheels may go untested, as ``--override`` says; None without it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it says nothing.
    """
    hint = "say why these wheels may go untested, such as --override 'no machine of gfx1201 until Monday'"
    return given_reason(workplace.settings.override, option="--override", hint=hint)


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


def _elsewhere(workplace: Workplace, release_type: str | None, locked: Sequence[LockedFile]) -> Elsewhere:
    """Return what is had beside the channel: what was locked of a package, else what the named indexes hold.

    Without a named index it is the index of ROCm packages that the run's release type has.
    """
    settings = workplace.settings

    @functools.cache
    def listings() -> list[Listing]:
        sources: list[PackageSource] = []
        if (
            settings.find_links
            or settings.index_url
            or settings.rocm_find_links
            or settings.rocm_index_url
            or settings.rocm_run_id
        ):
            places = named_places(workplace)
            sources = [source for source in (places.rocm, places.packages) if source is not None]
        elif release_type is not None and (url := load_channels().find_release_type(release_type).rocm_index_url) is not None:
            sources = [PackageSource(index_url=url, option_prefix="--rocm-")]
        return [Listing(source=source, network=workplace.base.network()) for source in sources]

    def versions(name: str) -> Iterable[str]:
        if known := {file.version for file in locked if canonicalize_name(file.distribution) == name}:
            return known
        asked = listings() if settings.rocm_find_links or not is_rocm(name) else listings()[:1]
        return {str(file.version) for listing in asked for file in listing.files(name)}

    return versions
