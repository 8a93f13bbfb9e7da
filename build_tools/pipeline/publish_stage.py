"""The publish stage of a chain: its checked wheels and their papers into the outputs of the run, or what that would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.pipeline.provenance import papers_of_chain
from build_tools.pipeline.upload_told import tell_upload
from build_tools.pipeline.uploading import carry_into, destination, plan_into
from build_tools.publish.offer import offer_wheel

if TYPE_CHECKING:
    from build_tools.pipeline.chain import Chain
    from build_tools.pipeline.uploading import Destination
    from build_tools.publish.upload_plan import UploadPlan
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["plan_chain", "publish_chain"]


def publish_chain(chain: Chain, place: IndexFolder) -> PublishedIndex:
    """Publish a chain's wheels.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.pipeline.uploading.carry_into`.
    """
    plan, target = _plan(chain, place, dry=False)
    return carry_into(plan, target, place, chain.workplace)


def plan_chain(chain: Chain, place: IndexFolder) -> None:
    """Tell what publishing a chain's wheels would write, and note it in the chain; nothing is written."""
    plan, target = _plan(chain, place, dry=True)
    chain.upload_plan = tell_upload(plan, target, place, chain.workplace)


def _plan(chain: Chain, place: IndexFolder, *, dry: bool) -> tuple[UploadPlan, Destination]:
    target = destination(chain.workplace, dry=dry)
    offers = [offer_wheel(path, wheel) for path, wheel in zip(chain.wheel_paths(), chain.built().wheels, strict=True)]
    return plan_into(target, place, offers, papers=papers_of_chain(chain)), target
