"""The commands: which options each takes. Sessions and tasks, the reference page and the tests read this table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.options.ci_commands import CI_COMMANDS
from build_tools.options.command import COMMON, ROCM_FROM, STORE, TESTED, WAIT, Command
from build_tools.options.index_commands import INDEX_COMMANDS
from build_tools.options.machine_commands import MACHINE_COMMANDS
from build_tools.options.model import OPTIONS
from build_tools.options.patch_commands import PATCH_COMMANDS
from build_tools.options.rocm_commands import ROCM_COMMANDS
from build_tools.options.suite import SUITE_OPTIONS
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "PROJECT_COMMANDS", "Command"]

_OF_ONE: Final = frozenset(
    {
        "from",
        "until",
        "tier",
        "diff",
        "manifest-out",
        "for-ref",
        "copy-of",
        "onto",
        "against",
        "phase",
        "refresh",
        "lint-only",
        "continue",
        "abort",
        "for-commit",
        "for-branch",
        "include",
        "exclude",
        "extract",
        "clean",
        "develop",
        "verify-reproducible",
        "bundle-rocm",
        "baseline",
        "stage",
        "git-url",
        "default-ref",
        "distribution",
        "sdk",
        "role",
        "machine",
        "labels",
        "hosts",
        "venv",
        "output",
        "env",
        "repeat",
        "warm-up",
        "fail-above",
        "replace",
        "reason",
        "undo",
        "all-runs",
        "to",
        "apply",
        "index-format",
        "activate-in-future-github-actions-steps",
        "image-file",
        "push",
        "for",
        "changed-since",
        "results",
        "notify-urls",
        "previous",
        "job-image",
        "max-parts",
        "wheel-version",
        *SUITE_OPTIONS,
    }
)
"""Options that say what one command does, and are no setting."""

_SOURCES: Final = (
    "ref",
    "origin",
    "dir",
    "submodule-url",
    "lock",
    "manifest",
    "pins",
    "line",
    "relock",
    "release-type",
    "depth",
    "partial",
)
_ROCM: Final = ("python", *ROCM_FROM, "artifact-group", *STORE, "repository", "find-links", "index-url", *WAIT)
_RUN: Final = ("from-receipt", "dry-run", "explain", "force", "verify", "hipify", "strict", "three-way", "discard-local")
_BUILD: Final = (
    "gpu-family",
    "gfx",
    "artifact-group",
    "jobs",
    "compiler-cache",
    "compiler-cache-store",
    "compiler-cache-size",
    "build-env",
    "verify-reproducible",
    "bundle-rocm",
)
_CHECK: Final = ("baseline",)
_PUBLISH: Final = (*STORE, "repository", "run-id", "replace")
_OFFERED: Final = ("index-name", "index-subdir", "from-run-id", "pre")
_ALL: Final = (*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, *TESTED, "channel", *COMMON)


def _by_name(*commands: Command) -> Mapping[str, Command]:
    return {command.name: command for command in commands}


COMMANDS: Final[Mapping[str, Command]] = _by_name(
    Command(
        name="pipeline",
        front="nox",
        summary="Run the whole chain, for the bundled sample by default.",
        option_names=("projects", "from", "until", "dist-dir", *_ALL),
        until=Stage.PROMOTE,
    ),
    Command(
        name="lock",
        front="nox",
        summary="Resolve refs, pins and ROCm files into the work dir's lock.",
        option_names=(
            "projects",
            *_SOURCES,
            "manifest-out",
            "diff",
            *_ROCM,
            "gpu-family",
            "gfx",
            "dry-run",
            "explain",
            *COMMON,
        ),
        until=Stage.LOCK,
    ),
    Command(
        name="promote",
        front="nox",
        summary="Move tested wheels into a channel: those of a run, with --run-id, else those of this work dir's chain.",
        option_names=("projects", "from", "platform", "override", "reversion", *_ALL),
        until=Stage.PROMOTE,
    ),
    Command(
        name="test_wheels",
        front="nox",
        summary="Test the wheels of projects: those of receipts, or those that are offered somewhere.",
        option_names=("projects", "wheel-version", "packages", *_OFFERED, "from", *_ALL),
        until=Stage.TEST,
    ),
    Command(
        name="check_wheels",
        front="nox",
        summary="Judge any wheels: files, or folders that hold some.",
        option_names=(
            "projects",
            "find-links",
            "index-url",
            "gpu-family",
            "gfx",
            "platform",
            "jobs",
            "explain",
            *_CHECK,
            *COMMON,
        ),
        paths="wheels, or folders that hold some",
    ),
    *ROCM_COMMANDS,
    *INDEX_COMMANDS,
    Command(
        name="merge_tests",
        front="nox",
        summary="Make one verdict of the results of all shards of a suite.",
        option_names=("output-dir", "compare-with", *STORE, *COMMON),
        paths="results of shards, or folders that hold some",
    ),
    *MACHINE_COMMANDS,
    *CI_COMMANDS,
    Command(
        name="inputs",
        front="nox",
        summary="Fetch the real inputs of the tests into the cache.",
        option_names=("tier", "cache-dir", "json", "traceback"),
    ),
    Command(
        name="show-config",
        front="invoke",
        summary="Show every option's value and where it came from.",
        option_names=(*(name for name in OPTIONS if name not in _OF_ONE), "bundle-rocm", "stage"),
    ),
    Command(
        name="show-hipify",
        front="invoke",
        summary="Compare what hipify did between two locks: files added, changed, gone.",
        option_names=("projects", *COMMON),
        paths="locks, the earlier one first; the work dir's own is the later one when only one is named",
    ),
    *PATCH_COMMANDS,
)
"""Commands that exist once."""

PROJECT_COMMANDS: Final[Mapping[str, Command]] = _by_name(
    Command(
        name="checkout",
        front="nox",
        summary="Check {project} out: sources, base patches, hipify, hipified patches.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, "until", *COMMON),
        until=Stage.HIPIFIED_PATCHES,
    ),
    Command(
        name="build",
        front="nox",
        summary="Build {project} wheels, with all that comes before.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, "develop", "dist-dir", "from", *COMMON),
        until=Stage.BUILD,
    ),
    Command(
        name="check",
        front="nox",
        summary="Judge the {project} wheels that were built.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, "from", *COMMON),
        until=Stage.CHECK,
    ),
    Command(
        name="upload",
        front="nox",
        summary="Publish the {project} wheels into the run's outputs.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, "from", *COMMON),
        until=Stage.PUBLISH,
    ),
    Command(
        name="test",
        front="nox",
        summary="Install {project} from where it was published, and run its smoke tests.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, *TESTED, "packages", "pre", "from", *COMMON),
        until=Stage.TEST,
    ),
    Command(
        name="test_full",
        front="nox",
        summary="Run the tests that the sources of {project} bring along, against its wheel.",
        option_names=(
            *_SOURCES,
            *_ROCM,
            *_RUN,
            *_BUILD,
            *_CHECK,
            *_PUBLISH,
            *TESTED,
            "packages",
            *_OFFERED,
            "output-dir",
            "from",
            *SUITE_OPTIONS,
            *COMMON,
        ),
        until=Stage.PUBLISH,
        words="test files, or patterns of such",
        word="TEST_FILE",
        form="test_{project}_full",
        table="suite",
    ),
)
"""Commands that projects have, as sessions such as ``build_pytorch``."""
