"""The promote stage of a chain: what it published and tested into a channel, or what that would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.pipeline.promoting import make_request
from build_tools.pipeline.promotion_refused import telling_refusal
from build_tools.pipeline.promotion_told import tell_promotion
from build_tools.pipeline.publishing import store_of_channels, store_to_read, warn_when_closed
from build_tools.pipeline.report import repeat_line
from build_tools.publish.promote import BuiltWith, carry_out, plan_promotion
from build_tools.stores.run_outputs import IndexFolder, run_of
from build_tools.types import Stage

if TYPE_CHECKING:
    from build_tools.config.channels import Channel
    from build_tools.pipeline.chain import Chain
    from build_tools.publish.promote import PromotionPlan
    from build_tools.receipts.verdict import Promotion
    from build_tools.stores.run_outputs import RunOutputs

__all__ = ["plan_chain_promotion", "promote_chain"]


def promote_chain(chain: Chain, channel: Channel) -> Promotion:
    """Promote a chain's wheels.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.pipeline.promoting.make_request`, :func:`build_tools.publish.promote.plan_promotion` and
        :func:`build_tools.publish.promote.carry_out`.
    """
    plan, _run = _plan(chain, channel, dry=False)
    console = chain.workplace.console
    for line in plan.retested:
        console.say(line)
    promotion = carry_out(plan, say=console.say, progress=console.progress)
    warn_when_closed(chain.workplace, plan.request.target, plan.request.place)
    return promotion


def plan_chain_promotion(chain: Chain, channel: Channel) -> None:
    """Judge the promotion of a chain's wheels, tell what it would do, and note it in the chain; nothing is written.

    Raises
    ------
    HipwrightError
        As :func:`promote_chain`, as far as that judges.
    """
    plan, run = _plan(chain, channel, dry=True)
    chain.promotion_plan = tell_promotion(plan, run, chain.workplace, done=None)


def _plan(chain: Chain, channel: Channel, *, dry: bool) -> tuple[PromotionPlan, RunOutputs]:
    place, index = chain.workplace, chain.index()
    address = store_of_channels(place)
    run = run_of(f"{index.prefix}/")
    if run is None:
        message = f"the wheels of {chain.project.name} were published to {index.prefix}, which is no run's folder"
        raise HipwrightError("bad-receipt", message, hint="publish them with `nox -s upload_wheels`, then promote that run")
    ways = {build.project.name: repeat_line(Stage.PROMOTE, build.project.name, place, force=False) for build in chain.before}
    request = make_request(
        place,
        rows=index.files,
        origin=IndexFolder(index.prefix),
        run=run,
        source=store_to_read(place, index.store),
        target=store_to_read(place, address) if dry else place.open_store(writing=True, address=address),
        channel=channel,
        verdicts=chain.verdicts(),
        locked=chain.locked().packages if Stage.LOCK in chain.done else (),
        built_with=[
            BuiltWith(filename=build.filename, sha256=build.sha256, promote_by=ways[build.project.name]) for build in chain.before
        ],
    )
    with telling_refusal(request, index.files, place):
        return plan_promotion(request, promised=chain.promised if dry else ()), run
