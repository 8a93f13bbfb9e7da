"""Which renderer fits where the command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools.console.events import Console

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.console.events import Renderer

__all__ = ["console_for"]


def console_for(machine: Mapping[str, str], *, json: bool, mask: Callable[[str], str] = str, log: Path | None = None) -> Console:
    """Return the console for this process; with ``json`` nothing but the document goes to stdout.

    Parameters
    ----------
    machine
        The machine's environment; ``GITHUB_ACTIONS=true`` chooses GitHub's form.
    json
        Whether stdout belongs to a JSON document.
    mask
        What every text that is shown passes through.
    log
        Where all that is shown is kept too.
    """
    from build_tools.console.render import GitHubRenderer, TerminalRenderer  # noqa: PLC0415 - listing sessions show nothing

    if machine.get("GITHUB_ACTIONS") == "true":
        summary = machine.get("GITHUB_STEP_SUMMARY")
        renderer: Renderer = GitHubRenderer(
            out=sys.stdout, err=sys.stderr, summary=Path(summary) if summary else None, quiet_tables=json
        )
    else:
        # As rich has it: what says so there counts though stderr is no terminal.
        coloured = bool(machine.get("FORCE_COLOR")) or machine.get("TTY_COMPATIBLE") == "1"
        renderer = TerminalRenderer(out=sys.stdout, err=sys.stderr, quiet_tables=json, coloured=coloured)
    if log is not None:
        from build_tools.console.kept import KeptRenderer  # noqa: PLC0415 - few commands keep what they say

        renderer = KeptRenderer(shown_by=renderer, log=log)
    return Console(renderer=renderer, mask=mask)
