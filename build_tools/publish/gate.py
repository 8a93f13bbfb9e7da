"""Whether wheels may enter a channel: one pure function of the files, their verdicts and the channel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from build_tools.receipts.verdict import CPU_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from build_tools.config.channels import Channel
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.receipts.verdict import Verdict

__all__ = ["has_local_changes", "refusals"]

_LOCAL: Final = re.compile(r"(?:^|\.)local[0-9a-f]{8}(?:\.|$)")
"""The part of a local version that a build with a person's own changes carries."""


def refusals(files: Sequence[IndexedFile], verdicts: Sequence[Verdict], *, channel: Channel) -> tuple[str, ...]:
    """Return every reason why files may not enter a channel; none means that they may.

    A file needs a verdict that names its very bytes. Of those verdicts none may be a failure, and their targets must be what the
    channel demands. A wheel with a person's own changes enters no channel.

    Parameters
    ----------
    files
        The files, as the index that they come from has them.
    verdicts
        All verdicts at hand; those that speak of other bytes count for nothing.
    channel
        The channel and its demands.
    """
    if not files:
        return ("there is no file to promote",)
    return tuple(reason for file in files for reason in _reasons(file, verdicts, channel))


def has_local_changes(file: IndexedFile, verdicts: Sequence[Verdict]) -> bool:
    """Return whether a file was built from sources with a person's own changes, by its version or by a verdict on its bytes."""
    local = Version(file.version).local
    if local is not None and _LOCAL.search(local):
        return True
    return any(verdict.local is not None for verdict in _bound(file, verdicts))


def _bound(file: IndexedFile, verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if any(wheel.sha256 == file.sha256 for wheel in verdict.wheels)]


def _reasons(file: IndexedFile, verdicts: Sequence[Verdict], channel: Channel) -> Iterator[str]:
    bound = _bound(file, verdicts)
    if has_local_changes(file, verdicts):
        yield f"{file.filename} was built from sources with local changes"
    if file.yanked is not None:
        yield f"{file.filename} is yanked"
    if not bound:
        named = any(wheel.filename == file.filename for verdict in verdicts for wheel in verdict.wheels)
        yield (
            f"{file.filename} has no verdict on its bytes ({file.sha256[:12]}); the verdict at hand is on other bytes of that name"
            if named
            else f"{file.filename} has no verdict on its bytes ({file.sha256[:12]})"
        )
        return
    for verdict in bound:
        if verdict.outcome != "passed" or verdict.counts.failed or verdict.counts.errors:
            yield f"{file.filename} failed its tests on {verdict.target}"
        elif not verdict.counts.passed:
            yield f"{file.filename} has a verdict on {verdict.target} in which no test passed"
    yield from _target_reasons(file, {verdict.target for verdict in bound}, channel)


def _target_reasons(file: IndexedFile, tested: set[str], channel: Channel) -> Iterator[str]:
    if not channel.accepts_cpu_only and tested == {CPU_ONLY}:
        yield f"{file.filename} was tested without a GPU only, which the channel {channel.name} does not accept"
    missing = [target for target in channel.required_targets if target not in tested]
    if missing:
        yield f"{file.filename} was not tested on {', '.join(missing)}, which the channel {channel.name} requires"
