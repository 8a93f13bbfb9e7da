"""The commands: which options each takes. Sessions and tasks, the reference page and the tests read this table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.options.command import COMMON, Command
from build_tools.options.machine_commands import MACHINE_COMMANDS
from build_tools.options.model import OPTIONS
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
        "index-format",
        "activate-in-future-github-actions-steps",
        "image-file",
        "push",
    }
)
"""Options that say what one command does, and are no setting."""

_COMMON: Final = COMMON
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
_ROCM_FROM: Final = ("rocm-find-links", "rocm-index-url", "rocm-run-id", "rocm-path", "rocm-version")
_STORE: Final = ("store", "bucket", "endpoint-url")
_OUTPUTS: Final = (*_STORE, "repository", "platform", "release-type")
_ROCM: Final = ("python", *_ROCM_FROM, "artifact-group", *_STORE, "repository", "find-links", "index-url", "timeout")
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
_PUBLISH: Final = (*_STORE, "repository", "run-id", "replace")
_IMAGE: Final = ("image", "image-file", "engine")
_ALL: Final = (*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, "channel", *_COMMON)


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
            *_COMMON,
        ),
        until=Stage.LOCK,
    ),
    Command(
        name="promote",
        front="nox",
        summary="Move tested wheels into a channel.",
        option_names=("projects", "from", *_ALL),
        until=Stage.PROMOTE,
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
            *_COMMON,
        ),
        paths="wheels, or folders that hold some",
    ),
    Command(
        name="fetch_artifacts",
        front="nox",
        summary="Fetch and unpack the artifacts of a run, every file proved.",
        option_names=(
            "run-id",
            "for-commit",
            "for-branch",
            "artifact-group",
            "gfx",
            "output-dir",
            "include",
            "exclude",
            "extract",
            *_OUTPUTS,
            "timeout",
            "jobs",
            "dry-run",
            *_COMMON,
        ),
    ),
    Command(
        name="build_rocm_packages",
        front="nox",
        summary="Make the ROCm Python packages of a folder of artifacts.",
        option_names=(
            "artifact-dir",
            "dest-dir",
            "version",
            "release-type",
            "date",
            "candidate",
            "package-form",
            "platform",
            "gpu-family",
            "gfx",
            "linux-gfx",
            "windows-gfx",
            "compress",
            "clean",
            "jobs",
            "dry-run",
            *_COMMON,
        ),
    ),
    Command(
        name="upload_rocm_packages",
        front="nox",
        summary="Publish ROCm Python packages into a run's outputs, with an index.",
        option_names=("packages-dir", "artifact-group", "run-id", "output-dir", *_OUTPUTS, "replace", "dry-run", *_COMMON),
    ),
    Command(
        name="upload_wheels",
        front="nox",
        summary="Publish any wheels into a run's outputs, with an index.",
        option_names=(
            "projects",
            "artifact-group",
            "run-id",
            "output-dir",
            *_OUTPUTS,
            "replace",
            "index-format",
            "jobs",
            "dry-run",
            *_COMMON,
        ),
        paths="wheels, or folders that hold some",
    ),
    Command(
        name="upload_run_logs",
        front="nox",
        summary="Put logs, receipts, source manifest and artifacts of this work dir into a run's outputs, after a failure too.",
        option_names=("artifact-group", "artifact-dir", "run-id", "output-dir", *_OUTPUTS, "jobs", "dry-run", *_COMMON),
    ),
    Command(
        name="test_rocm",
        front="nox",
        summary="Install ROCm Python packages and run `rocm-sdk test`.",
        option_names=(
            "python",
            *_ROCM_FROM,
            "artifact-group",
            "gpu-family",
            "gfx",
            *_OUTPUTS,
            "timeout",
            *_COMMON,
        ),
    ),
    Command(
        name="setup_venv",
        front="nox",
        summary="Make an environment of chosen packages from chosen sources.",
        option_names=(
            "packages",
            "python",
            "find-links",
            "index-url",
            "index-name",
            "index-subdir",
            "from-run-id",
            "artifact-group",
            *_ROCM_FROM,
            *_OUTPUTS,
            "gpu-family",
            "gfx",
            "pre",
            "installer",
            "disable-cache",
            "clean",
            "timeout",
            "wait-between",
            "activate-in-future-github-actions-steps",
            *_COMMON,
        ),
        paths="the folder of the environment",
    ),
    Command(
        name="update_deps_index",
        front="nox",
        summary="Keep the index of what the owned packages require beside them.",
        option_names=("python", "packages", *_STORE, "platform", "jobs", "dry-run", *_COMMON),
    ),
    *MACHINE_COMMANDS,
    Command(
        name="docker_image",
        front="nox",
        summary="Build the container image that PyTorch is built in, tag it, save it, push it.",
        option_names=(
            *_IMAGE,
            "image-tag",
            "base-image",
            "ubuntu-version",
            "rocm-release",
            "therock-nightly",
            "push",
            "rocm-index-url",
            "packages",
            "python",
            "gfx",
            "date",
            "release-type",
            "dry-run",
            *_COMMON,
        ),
    ),
    Command(
        name="docker_run",
        front="nox",
        summary="Run a session in a fresh container of an image; options reach it by their names in the environment.",
        option_names=(*_IMAGE, "dry-run", *_COMMON),
        words="the session to run",
        word="SESSION",
    ),
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
        option_names=("projects", *_COMMON),
        paths="locks, the earlier one first; the work dir's own is the later one when only one is named",
    ),
    Command(
        name="save-patches",
        front="invoke",
        summary="Write the commits of source trees into their patch series, so that a clean checkout gives the same trees.",
        option_names=("projects", "refresh", "dry-run", *_COMMON),
    ),
    Command(
        name="apply-patches",
        front="invoke",
        summary="Bring source trees to what their patch series say.",
        option_names=("projects", "until", "strict", "three-way", "discard-local", "dry-run", *_COMMON),
    ),
    Command(
        name="check-patches",
        front="invoke",
        summary="Prove patch series: well-formed, applying to every ref of their line, the same when saved again.",
        option_names=("projects", "line", "origin", "lint-only", "against", "strict", "three-way", *_COMMON),
    ),
    Command(
        name="list-patches",
        front="invoke",
        summary="Show patch series: age, size, owner, upstream, state.",
        option_names=("projects", "line", *_COMMON),
    ),
    Command(
        name="rebase-patches",
        front="invoke",
        summary="Carry a patch series to another ref, beside the source trees.",
        option_names=("projects", "line", "onto", "origin", "submodule-url", "continue", "abort", "dry-run", *_COMMON),
    ),
    Command(
        name="import-patches",
        front="invoke",
        summary="Take over a quilt series that others keep.",
        option_names=("projects", "line", "phase", "dry-run", *_COMMON),
        paths="the folder that holds the file `series`, or has it in debian/patches",
    ),
    Command(
        name="new-series",
        front="invoke",
        summary="Begin a patch line, or declare that refs need no patches.",
        option_names=("projects", "line", "for-ref", "copy-of", "dry-run", *_COMMON),
        words="why refs need no patches, when no line is named",
        word="WHY",
    ),
    Command(
        name="drop-patch",
        front="invoke",
        summary="Take patches out of a series.",
        option_names=("projects", "line", "dry-run", *_COMMON),
        words="patches, by the file or by its name in the series",
    ),
)
"""Commands that exist once."""

PROJECT_COMMANDS: Final[Mapping[str, Command]] = _by_name(
    Command(
        name="checkout",
        front="nox",
        summary="Check {project} out: sources, base patches, hipify, hipified patches.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, "until", *_COMMON),
        until=Stage.HIPIFIED_PATCHES,
    ),
    Command(
        name="build",
        front="nox",
        summary="Build {project} wheels, with all that comes before.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, "develop", "dist-dir", "from", *_COMMON),
        until=Stage.BUILD,
    ),
    Command(
        name="check",
        front="nox",
        summary="Judge the {project} wheels that were built.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, "from", *_COMMON),
        until=Stage.CHECK,
    ),
    Command(
        name="upload",
        front="nox",
        summary="Publish the {project} wheels into the run's outputs.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, "from", *_COMMON),
        until=Stage.PUBLISH,
    ),
    Command(
        name="test",
        front="nox",
        summary="Install {project} from where it was published, and run its smoke tests.",
        option_names=(*_SOURCES, *_ROCM, *_RUN, *_BUILD, *_CHECK, *_PUBLISH, "from", *_COMMON),
        until=Stage.TEST,
    ),
)
"""Commands that every project has, as sessions ``<name>_<project>``."""
