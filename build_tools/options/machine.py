"""A machine, an environment that is there, and what is measured in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - the fields are read at run time
from typing import TYPE_CHECKING, Final

from build_tools.options.declare import declare

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["ROLES", "MachineOptions"]

ROLES: Final = ("build", "test", "publish")
"""What a machine is for."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class MachineOptions:
    """A machine, an environment that is there, and what is measured in it."""

    role: str | None = declare(None, "choice", "what", "What the machine is to be fit for.", choices=ROLES, metavar="ROLE")
    machine: Path | None = declare(
        None, "path", "what", "Description of a machine that is judged instead of this one, as doctor writes it.", metavar="FILE"
    )
    labels: tuple[str, ...] = declare(
        (), "names", "what", "Labels that the runner on the machine is registered with.", metavar="self-hosted,Linux"
    )
    hosts: tuple[str, ...] = declare(
        (), "names", "what", "Hosts that the machine has to reach, with a port or 443.", metavar="H:P"
    )
    git_url: str | None = declare(None, "location", "what", "Repository of a project that is begun.", metavar="URL")
    default_ref: str = declare("main", "text", "what", "Branch, tag or commit that it is built from as a rule.", metavar="REF")
    distribution: str | None = declare(
        None, "text", "what", "Name of its wheel; the project's own when not given.", metavar="NAME"
    )
    sdk: str = declare(
        "rocm", "choice", "what", "Whether its build needs ROCm packages.", choices=("rocm", "none"), metavar="rocm|none"
    )
    venv: Path | None = declare(None, "path", "where", "Environment that is used as it is.", metavar="DIR")
    output: Path | None = declare(None, "path", "where", "File that the report is written to.", metavar="FILE")
    env: Mapping[str, str] = declare(
        {}, "assignments", "how", "A variable for the programs that are tried or measured.", metavar="NAME=VALUE"
    )
    repeat: int = declare(
        3, "integer", "how", "How often each example is measured, each time in a process of its own.", metavar="N"
    )
    warm_up: bool = declare(
        True, "flag", "how", "Measure from the first run on, without one before that does not count.", negative=True
    )
    fail_above: str = declare(
        "10%", "text", "how", "How much slower or larger an example may be than in the base.", metavar="10%"
    )
