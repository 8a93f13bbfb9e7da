"""What to work on: projects, sources, targets, stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.options.declare import declare
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["WhatOptions"]

STAGES: Final = tuple(stage.value for stage in Stage)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class WhatOptions:
    """What to work on: projects, sources, targets, stages."""

    projects: tuple[str, ...] = declare((), "names", "what", "Projects to work on, in this order.", metavar="P1,P2")
    ref: Mapping[str, str] = declare({}, "text", "what", "Branch, tag or commit of the project.", metavar="REF", per_project=True)
    wheel_version: Mapping[str, str] = declare(
        {}, "text", "what", "Version of the project's wheel that is tested.", metavar="V", per_project=True
    )
    origin: Mapping[str, str] = declare(
        {},
        "location",
        "what",
        "Where the project's sources come from instead of its own origin.",
        metavar="URL",
        per_project=True,
    )
    dir: Mapping[str, Path] = declare(
        {}, "path", "what", "A tree of your own, as it stands; only --develop changes it.", metavar="DIR", per_project=True
    )
    submodule_url: Mapping[str, tuple[str, ...]] = declare(
        {},
        "names",
        "what",
        "Where a submodule of the project is fetched from instead of its recorded address.",
        metavar="PATH=URL",
        per_project=True,
    )
    line: str | None = declare(None, "text", "what", "Patch line, instead of the one that the ref finds.", metavar="NAME")
    lines_for: tuple[str, ...] = declare(
        (), "names", "what", "Refs, or patterns of refs, that are to find the line.", name="for-ref", metavar="REF"
    )
    copy_of: str | None = declare(None, "text", "what", "Begin the line with the patches of this one.", metavar="NAME")
    onto: str | None = declare(None, "text", "what", "Ref that the series is carried to.", metavar="REF")
    against: str | None = declare(
        None, "text", "what", "Tell cosmetic from real changes since this commit of the clone.", metavar="COMMIT"
    )
    phase: str | None = declare(
        None,
        "choice",
        "what",
        "Patches of hipify's input, or of its result.",
        choices=("base", "hipified"),
        metavar="base|hipified",
    )
    lock: Path | None = declare(None, "path", "what", "Use this lock and nothing else.", metavar="FILE")
    manifest: str | None = declare(
        None, "location", "what", "Take the projects' commits from this source manifest.", metavar="FILE|URL"
    )
    manifest_out: Path | None = declare(None, "path", "what", "Write what is locked as a source manifest too.", metavar="FILE")
    diff: Path | None = declare(None, "path", "what", "Say what moved since this earlier lock.", metavar="FILE")
    pins: str | None = declare(
        None,
        "choice",
        "what",
        "When no place states a project's pin: stop, or take the branch of the same kind; where CI is set, stop.",
        choices=("require", "allow-defaults"),
        metavar="MODE",
    )
    relock: bool = declare(False, "flag", "what", "Resolve the named projects anew, although the work dir has locked them.")
    python: tuple[str, ...] = declare(
        (),
        "names",
        "what",
        "Interpreter that wheels are built for, or an environment is made with: a version or a path.",
        metavar="3.12",
        other_environment=("ANACONDA_PYTHON_VERSION",),
    )
    from_receipt: tuple[str, ...] = declare(
        (), "locations", "what", "Take a stage's result from this receipt, made elsewhere.", metavar="FILE|URL"
    )
    from_stage: Stage | None = declare(
        None,
        "choice",
        "what",
        "Begin at this stage; what comes before must be done.",
        choices=STAGES,
        name="from",
        metavar="STAGE",
    )
    until: Stage | None = declare(None, "choice", "what", "End after this stage.", choices=STAGES, metavar="STAGE")
