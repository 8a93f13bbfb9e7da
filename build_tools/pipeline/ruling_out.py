"""Combinations that the support table rules out: they are skipped with the reason, and the others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.support import python_text, support_table
from build_tools.errors import HipwrightError
from build_tools.locking.makers import must_need
from build_tools.pipeline.chain import RuledOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.pipeline.chain import Chain

__all__ = ["left", "rule_out"]

_TORCH = "torch"


def rule_out(chains: Sequence[Chain]) -> None:
    """Mark the chains that the support table rules out, as far as it is known what they are built with, and tell of each once.

    A project that cannot be built without one that is ruled out is ruled out with it.

    Parameters
    ----------
    chains
        All chains of the command, in the order in which they are built.
    """
    for chain in chains:
        if chain.ruled_out is None:
            chain.ruled_out = _by_table(chain, chains) or _by_another(chain, chains)
            if chain.ruled_out is not None:
                _tell(chain, chain.ruled_out)


def left(chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains that go on.

    Raises
    ------
    HipwrightError
        ``not-supported`` when there are some, and all of them are ruled out.
    """
    going = [chain for chain in chains if chain.ruled_out is None]
    if going or not chains:
        return going
    reasons = {
        f"{_label(chain)}: {chain.ruled_out.reason}": chain.ruled_out.link for chain in chains if chain.ruled_out is not None
    }
    links = sorted({link for link in reasons.values() if link is not None})
    raise HipwrightError("not-supported", "; ".join(reasons), hint=f"see {' and '.join(links)}" if links else None)


def _by_table(chain: Chain, chains: Iterable[Chain]) -> RuledOut | None:
    row = support_table().find(
        chain.project.name,
        torch=_torch_of(chain, chains),
        platform=chain.workplace.platform,
        python=python_text(chain.python_tag),
    )
    return RuledOut(reason=row.reason, link=row.link) if row is not None and row.state == "unsupported" else None


def _by_another(chain: Chain, chains: Iterable[Chain]) -> RuledOut | None:
    names = {canonicalize_name(need.name) for need in must_need(chain.project)}
    for other in chains:
        needed = canonicalize_name(other.project.wheel.distribution) in names and other.project.name != chain.project.name
        if needed and other.python_tag == chain.python_tag and other.ruled_out is not None:
            return RuledOut(reason=f"it is built with {other.project.name}, which is skipped", link=other.ruled_out.link)
    return None


def _torch_of(chain: Chain, chains: Iterable[Chain]) -> str | None:
    """Return the version of torch that a project is built with, or is; None where that is not known yet."""
    before = next((build.version for build in chain.before if build.distribution == _TORCH), None)
    if before is not None:
        return before
    for other in (chain, *chains):
        own = canonicalize_name(other.project.wheel.distribution) == _TORCH and other.python_tag == chain.python_tag
        if own and other.is_locked:
            return other.locked().sources.base_version
    owned = chain.locked().owned if chain.is_locked else ()
    return next((file.version for file in owned if file.distribution == _TORCH), None)


def _label(chain: Chain) -> str:
    return f"{chain.project.name} for Python {python_text(chain.python_tag)} on {chain.workplace.platform.value}"


def _tell(chain: Chain, why: RuledOut) -> None:
    told = f"{_label(chain)} is skipped: {why.reason}"
    chain.workplace.console.warn(f"{told} ({why.link})" if why.link else told)
