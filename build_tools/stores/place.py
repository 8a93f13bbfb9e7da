"""Where a run's outputs are: the store, and the run's layout in it; and whether a run's own data say that it comes from a fork."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import RunOutputs

__all__ = ["RunPlace", "runs_for_fork"]


class RunPlace(Value, frozen=True, kw_only=True):
    """A store, and the layout of one run's outputs in it."""

    store: Store
    run: RunOutputs


def runs_for_fork(machine: Mapping[str, str]) -> bool:
    """Return whether GitHub's own data about the run in progress say that it is of a pull request from a fork.

    The event's file says so: a deleted fork has no repository at all there, and that is one too.
    """
    file = machine.get("GITHUB_EVENT_PATH")
    if not file:
        return False
    try:
        event: Any = json.loads(Path(file).read_bytes())
    except (OSError, ValueError):
        return False
    pull = event.get("pull_request") if isinstance(event, dict) else None
    if not isinstance(pull, dict):
        return False
    head, base = (_repository(pull.get(side)) for side in ("head", "base"))
    return head is None or head != base


def _repository(side: object) -> str | None:
    repository = side.get("repo") if isinstance(side, dict) else None
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else None
