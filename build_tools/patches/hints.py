"""Commands that messages about patches name, as a person can paste them whatever a patch is called."""

from __future__ import annotations

from build_tools.process import printable

__all__ = ["drop_line", "refresh_line"]


def drop_line(name: str) -> str:
    """Return the command that takes a patch out of its series."""
    return printable(["invoke", "drop-patch", name])


def refresh_line(project: str) -> str:
    """Return the command that writes all patches of a project's tree anew, as git does today."""
    return printable(["invoke", "save-patches", "--projects", project, "--refresh"])
