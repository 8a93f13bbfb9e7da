"""Which index the commands that keep one mean: a channel's, or that of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from build_tools.stores.base import Store
    from build_tools.workplace import Workplace

__all__ = ["NamedIndex", "index_place"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedIndex:
    """An index: the store, where in it, and the channel that it is of; None for that of a run."""

    store: Store
    place: IndexFolder
    channel: str | None


def index_place(workplace: Workplace, *, writing: bool) -> NamedIndex:
    """Return the index that ``--channel`` names, or ``--run-id`` with ``--artifact-group``, in the store that the options name.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when both are named, ``unknown-channel``, ``bad-option-value``, ``store-unusable``, ``no-credentials``.
    """
    settings, resolved = workplace.settings, workplace.resolved
    of_run = resolved.origin("run_id") != "default"
    if of_run and resolved.origin("channel").startswith("command line"):
        message = "--channel and --run-id both say which index is meant"
        raise HipwrightError("option-conflict", message, hint="name a channel, or a run with its --artifact-group")
    if not of_run:
        channel = load_channels().find_channel(settings.channel)
        return NamedIndex(store=workplace.open_store(writing=writing), place=IndexFolder(channel.prefix), channel=channel.name)
    place = workplace.outputs(settings.run_id, writing=writing)
    return NamedIndex(store=place.store, place=place.run.pytorch(settings.artifact_group), channel=None)
