"""The commands that edit and inspect patch series."""

from __future__ import annotations

from typing import Final

from build_tools.options.command import COMMON, Command

__all__ = ["PATCH_COMMANDS"]

PATCH_COMMANDS: Final = (
    Command(
        name="save-patches",
        front="invoke",
        summary="Write the commits of source trees into their patch series, so that a clean checkout gives the same trees.",
        option_names=("projects", "refresh", "dry-run", *COMMON),
    ),
    Command(
        name="apply-patches",
        front="invoke",
        summary="Bring source trees to what their patch series say.",
        option_names=("projects", "until", "strict", "three-way", "discard-local", "dry-run", *COMMON),
    ),
    Command(
        name="check-patches",
        front="invoke",
        summary="Prove patch series: well-formed, applying to every ref of their line, the same when saved again.",
        option_names=("projects", "line", "origin", "lint-only", "against", "strict", "three-way", *COMMON),
    ),
    Command(
        name="list-patches",
        front="invoke",
        summary="Show patch series: age, size, owner, upstream, state.",
        option_names=("projects", "line", *COMMON),
    ),
    Command(
        name="rebase-patches",
        front="invoke",
        summary="Carry a patch series to another ref, beside the source trees.",
        option_names=("projects", "line", "onto", "origin", "submodule-url", "continue", "abort", "dry-run", *COMMON),
    ),
    Command(
        name="import-patches",
        front="invoke",
        summary="Take over a quilt series that others keep.",
        option_names=("projects", "line", "phase", "dry-run", *COMMON),
        paths="the folder that holds the file `series`, or has it in debian/patches",
    ),
    Command(
        name="new-series",
        front="invoke",
        summary="Begin a patch line, or declare that refs need no patches.",
        option_names=("projects", "line", "for-ref", "copy-of", "dry-run", *COMMON),
        words="why refs need no patches, when no line is named",
        word="WHY",
    ),
    Command(
        name="drop-patch",
        front="invoke",
        summary="Take patches out of a series.",
        option_names=("projects", "line", "dry-run", *COMMON),
        words="patches, by the file or by its name in the series",
    ),
)
"""In the order of the reference page."""
