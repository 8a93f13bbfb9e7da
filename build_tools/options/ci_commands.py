"""The commands of continuous integration: images, containers, matrices, messages."""

from __future__ import annotations

from typing import Final

from build_tools.options.command import COMMON, OUTPUTS, ROCM_FROM, Command

__all__ = ["CI_COMMANDS"]

_IMAGE: Final = ("image", "image-file", "engine")

CI_COMMANDS: Final = (
    Command(
        name="docker_image",
        front="nox",
        summary="Build the container image that PyTorch is built in, tag it, save it, push it, or take one that is there.",
        option_names=(
            *_IMAGE,
            "image-tag",
            "base-image",
            "ubuntu-version",
            "rocm-release",
            "therock-nightly",
            "push",
            "reuse",
            "rocm-index-url",
            "packages",
            "python",
            "gfx",
            "date",
            "release-type",
            "dry-run",
            *COMMON,
        ),
    ),
    Command(
        name="docker_run",
        front="nox",
        summary="Run a session in a fresh container of an image; options reach it by their names in the environment.",
        option_names=(*_IMAGE, "dry-run", *COMMON),
        words="the session to run",
        word="SESSION",
    ),
    Command(
        name="preflight",
        front="nox",
        summary="Judge a job's options, say where it publishes, by which role, and how its artifacts are called.",
        option_names=(
            "projects",
            "ref",
            "origin",
            "python",
            "gpu-family",
            "artifact-group",
            "run-id",
            *OUTPUTS,
            *ROCM_FROM,
            "find-links",
            "index-url",
            "compiler-cache",
            "publish-role",
            "job-image",
            *COMMON,
        ),
    ),
    Command(
        name="matrix",
        front="nox",
        summary="List the jobs that continuous integration starts, minus what is not supported or not wanted.",
        option_names=(
            "for",
            "projects",
            "ref",
            "python",
            "gpu-family",
            "platform",
            "labels",
            "changed-since",
            "max-parts",
            *COMMON,
        ),
    ),
    Command(
        name="workflows",
        front="nox",
        summary="Check the workflow files: by actionlint, zizmor and their schema, and by rules of our own.",
        option_names=("json", "traceback"),
        pins="lint",
    ),
    Command(
        name="notify",
        front="nox",
        summary="Tell people that jobs of a run failed, or are well again, and how to repeat what failed.",
        option_names=("results", "notify-urls", "previous", "dry-run", *COMMON),
    ),
    Command(
        name="summary",
        front="nox",
        summary="Say how the jobs of a run ended, and fail when one did not end well.",
        option_names=("results", *COMMON),
    ),
)
"""In the order of the reference page."""
