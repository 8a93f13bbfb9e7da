"""The commands about a machine, an environment that is there, and an extension of one's own."""

from __future__ import annotations

from typing import Final

from build_tools.options.command import COMMON, TESTED, Command

__all__ = ["MACHINE_COMMANDS"]

MACHINE_COMMANDS: Final = (
    Command(
        name="doctor",
        front="nox",
        summary="Judge a machine by its role, an environment, and the ROCm that this machine has.",
        option_names=(
            "role",
            "platform",
            "machine",
            "labels",
            "hosts",
            "gfx",
            "rocm-path",
            "json",
            "traceback",
            "cache-dir",
            "work-dir",
        ),
        paths="the folder of an environment",
    ),
    Command(
        name="hip_check",
        front="nox",
        summary="Ask whether an environment can use HIP, and find the GPU targets of a project.",
        option_names=("projects", "dir", "rocm-path", "gfx", "env", *COMMON),
        paths="the folder of an environment",
    ),
    Command(
        name="test_extension",
        front="nox",
        summary="Install a project's tree editable into an environment that is there, and run its own tests.",
        option_names=("projects", "dir", "venv", "rocm-path", "gfx", "env", *TESTED, *COMMON),
    ),
    Command(
        name="new_project",
        front="nox",
        summary="Begin a recipe: a folder under external-builds with a project.toml and a smoke test.",
        option_names=("git-url", "default-ref", "distribution", "sdk", "version", "dry-run", *COMMON),
        words="the name of the project: lower-case letters, digits and hyphens",
    ),
    Command(
        name="profile",
        front="nox",
        summary="Measure what examples take: time, memory of host and device.",
        option_names=(
            "projects",
            "dir",
            "venv",
            "env",
            "rocm-path",
            "output",
            "baseline",
            "fail-above",
            "repeat",
            "warm-up",
            "timeout",
            *COMMON,
        ),
        words="example scripts, each perhaps with arguments in one word, or @FILE for a list of them; those of a project's recipe without",
        word="SCRIPT|@FILE",
    ),
    Command(
        name="compare_profiles",
        front="nox",
        summary="Compare two profiles, telling change from noise.",
        option_names=("baseline", "fail-above", *COMMON),
        paths="the report to compare with, unless --baseline names it, and the one to judge",
    ),
)
"""In the order of the reference page."""
