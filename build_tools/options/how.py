"""How to work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.options.declare import declare
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HowOptions"]

STAGES: Final = tuple(stage.value for stage in Stage)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class HowOptions:
    """How to work."""

    version: str | None = declare(
        None,
        "text",
        "how",
        "Exact version that is given to what is made; ROCm's own with .dev0 when neither it nor a release type is given.",
        metavar="V",
        says="the version",
    )
    date: str | None = declare(None, "text", "how", "Day of the version in UTC, instead of today.", metavar="YYYYMMDD")
    candidate: int | None = declare(
        None, "integer", "how", "Number of the release candidate, for the release type prerelease.", metavar="N"
    )
    package_form: str | None = declare(
        None,
        "choice",
        "how",
        "Libraries as one package with a device package for each target, or as one package for each GPU family.",
        choices=("device", "family"),
        metavar="FORM",
    )
    compiler_cache: str | None = declare(
        None,
        "choice",
        "how",
        "What keeps compiled objects between builds; nothing does when not given.",
        choices=("none", "ccache", "sccache"),
        metavar="TOOL",
    )
    compiler_cache_store: str | None = declare(
        None,
        "location",
        "how",
        "Where compiled objects are shared: a folder, or a bucket (sccache); a folder of the cache dir when not given.",
        metavar="DIR|s3://B",
    )
    compiler_cache_size: str | None = declare(
        None, "text", "how", "How large a folder of compiled objects may grow.", metavar="20G"
    )
    build_env: Mapping[str, str] = declare(
        {}, "assignments", "how", "A variable of the build's environment, over what hipwright would set.", metavar="NAME=VALUE"
    )
    develop: bool = declare(
        False, "flag", "how", "Build in the source tree, and install it editable into an environment of its own."
    )
    verify_reproducible: bool = declare(False, "flag", "how", "Build twice, in different folders, and compare.")
    bundle_rocm: bool = declare(False, "flag", "how", "Put into the wheel what it needs of ROCm.")
    baseline: str | None = declare(
        None,
        "location",
        "how",
        "What is compared with: of a check, earlier wheels (one, or a folder or page with some); of a profile, an earlier report.",
        metavar="PATH|URL",
    )
    stage: str | None = declare(
        None,
        "choice",
        "how",
        "Show a stage's environment as a script instead of the options.",
        choices=("build",),
        metavar="build",
    )
    compress: bool = declare(True, "flag", "how", "Store files in packages as they are.", negative=True)
    extract: bool = declare(
        True, "flag", "how", "Leave artifacts packed, each with the file beside it that states its SHA-256.", negative=True
    )
    timeout: int | None = declare(
        None,
        "integer",
        "how",
        "Seconds to wait for packages that are still appearing, or that fetching artifacts, or one run of an example, may take.",
        metavar="SECONDS",
        other_flags=("--install-retry-timeout-seconds",),
    )
    wait_between: int | None = declare(
        None,
        "integer",
        "how",
        "Seconds at the most between two looks whether packages have appeared.",
        metavar="SECONDS",
        other_flags=("--install-retry-wait-between-seconds",),
    )
    clean: bool = declare(False, "flag", "how", "Make anew what is there already.")
    jobs: int | None = declare(
        None, "integer", "how", "Parallel work at the most; the number of processors when not given.", metavar="N"
    )
    dry_run: bool = declare(False, "flag", "how", "Say what would be done, and do nothing.")
    explain: bool | str = declare(
        False,
        "flag-or-text",
        "how",
        "Say for each stage why it runs or is skipped; of a check's rule, what it demands and why.",
        metavar="RULE",
    )
    reruns: int | None = declare(
        None, "integer", "how", "How often a test that fails is tried again; one that passes then is told as flaky.", metavar="N"
    )
    force: tuple[Stage, ...] = declare(
        (), "names", "how", "Redo this stage although nothing changed.", choices=STAGES, metavar="STAGE"
    )
    verify: bool = declare(False, "flag", "how", "Prove earlier outputs by their full hashes, not by size and time.")
    wait: bool = declare(
        True, "flag", "how", "Stop instead of waiting when another run holds what this run needs.", negative=True
    )
    json: bool = declare(False, "flag", "how", "Print one JSON document on stdout.")
    traceback: bool = declare(False, "flag", "how", "Show where in hipwright a failure arose.")
    hipify: bool = declare(True, "flag", "how", "Leave the sources as they are: no hipify, no hipified patches.", negative=True)
    depth: int | None = declare(None, "integer", "how", "Fetch only so many commits of each branch's history.", metavar="N")
    partial: bool = declare(False, "flag", "how", "Fetch the history without the contents of earlier files.")
    discard_local: bool = declare(
        False, "flag", "how", "Drop a person's edits and commits in the tree when it has to move; what is dropped is named."
    )
    strict: bool = declare(False, "flag", "how", "Take a patch that the sources have already for an error.")
    three_way: bool = declare(False, "flag", "how", "Where a patch does not apply, try a merge beside the tree and show it.")
    refresh: bool = declare(
        False, "flag", "how", "Write all patches anew, those too whose hunks moved; each hunk that moved is shown."
    )
    lint_only: bool = declare(False, "flag", "how", "Look at the files alone; no source tree is made.")
    go_on: bool = declare(False, "flag", "how", "Go on after a conflict that was solved.", name="continue")
    abort: bool = declare(False, "flag", "how", "Give up what stopped at a conflict.")
    tier: str = declare("ci", "choice", "how", "Which real inputs: those of every run, or all.", choices=("ci", "real"))
