"""The commands about ROCm's Python packages: from artifacts to an environment that is tested."""

from __future__ import annotations

from typing import Final

from build_tools.options.command import COMMON, OUTPUTS, ROCM_FROM, STORE, WAIT, Command

__all__ = ["ROCM_COMMANDS"]

ROCM_COMMANDS: Final = (
    Command(
        name="fetch_artifacts",
        front="nox",
        kept=True,
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
            *OUTPUTS,
            "timeout",
            "jobs",
            "dry-run",
            *COMMON,
        ),
    ),
    Command(
        name="build_rocm_packages",
        front="nox",
        kept=True,
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
            *COMMON,
        ),
    ),
    Command(
        name="upload_rocm_packages",
        front="nox",
        kept=True,
        summary="Publish ROCm Python packages into a run's outputs, with an index.",
        option_names=("packages-dir", "artifact-group", "run-id", "output-dir", *OUTPUTS, "replace", "dry-run", *COMMON),
    ),
    Command(
        name="test_rocm",
        front="nox",
        summary="Install ROCm Python packages and run `rocm-sdk test`.",
        option_names=(
            "python",
            *ROCM_FROM,
            "artifact-group",
            "gpu-family",
            "gfx",
            "gpu-policy",
            *OUTPUTS,
            *WAIT,
            *COMMON,
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
            *ROCM_FROM,
            *OUTPUTS,
            "gpu-family",
            "gfx",
            "pre",
            "installer",
            "disable-cache",
            "clean",
            *WAIT,
            "activate-in-future-github-actions-steps",
            *COMMON,
        ),
        paths="the folder of the environment",
    ),
    Command(
        name="update_deps_index",
        front="nox",
        summary="Keep the index of what the owned packages require beside them.",
        option_names=("python", "packages", *STORE, "platform", "jobs", "dry-run", *COMMON),
    ),
)
"""In the order of the reference page."""
