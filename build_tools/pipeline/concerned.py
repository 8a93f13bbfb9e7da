"""The projects that a command is about, as far as its options say; their own variables and names are read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.options.commands import Command
    from build_tools.options.model import Settings
    from build_tools.types import ProjectName

__all__ = ["DEFAULT_PROJECT", "projects_about"]

DEFAULT_PROJECT: Final = "sample"
"""The project of a command that names none: the bundled one, which needs nothing from outside."""


def projects_about(
    command: Command, project: ProjectName | None, settings: Settings, known: Sequence[ProjectName], *, external_builds: Path
) -> Sequence[str]:
    """Return the projects that a command is about; one that shows values and names none is about all, one that judges wheels about theirs."""
    if project is not None:
        return (project,)
    if command.name == "check_wheels":
        from build_tools.pipeline.named_wheels import projects_of  # noqa: PLC0415 - other commands must not pay for what reads wheels

        return projects_of(settings.paths, external_builds)
    if "projects" not in command.option_names:
        return ()
    showing = command.name == "show-config" and settings.stage is None
    return settings.projects or (known if showing else (DEFAULT_PROJECT,))
