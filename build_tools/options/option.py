"""What an option is: its name, how a text becomes its value, how it is spelled on the command line and in the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GROUPS", "Group", "Option", "OptionKind", "flags_of"]

OptionKind = Literal[
    "text",
    "path",
    "location",
    "locations",
    "flag",
    "flag-or-text",
    "integer",
    "choice",
    "names",
    "requirements",
    "patterns",
    "assignments",
]
Group = Literal["what", "rocm", "packages", "where", "image", "how"]

GROUPS: Final[Mapping[Group, str]] = {
    "what": "what to work on",
    "rocm": "ROCm packages",
    "packages": "packages that owned requirements come from",
    "where": "where things lie",
    "image": "container images",
    "how": "how to work",
}


class Option(Value, frozen=True, kw_only=True):
    """One option.

    ``field_name`` is the field of the settings that holds the value. ``kind`` says how a text becomes a value: ``path`` and ``location`` (a path or a URL) are relative to where they were given;
    ``names`` is a comma list, ``requirements`` are parted by blanks, ``locations``, ``patterns`` and ``assignments`` (``NAME=VALUE``) are
    repeatable; a ``flag-or-text`` is a flag that may have a text. ``words`` are texts
    that a location takes for themselves. ``short_for`` are flags without a value that stand for one of the option's, each with that value. ``per_project`` makes one option per project, its flag in
    the form ``--<project>-<name>``. Options with the same ``says`` say the same thing differently. What a ``secret`` one holds is never shown.
    """

    name: str
    field_name: str
    group: Group
    kind: OptionKind
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    other_flags: tuple[str, ...] = ()
    short_for: tuple[tuple[str, str], ...] = ()
    other_environment: tuple[str, ...] = ()
    per_project: bool = False
    says: str | None = None
    negative: bool = False
    secret: bool = False

    @property
    def flag(self) -> str:
        """The flag on the command line; a per-project option's has ``<project>`` in it."""
        if self.per_project:
            return f"--<project>-{self.name}"
        return f"--no-{self.name}" if self.negative else f"--{self.name}"

    @property
    def environment(self) -> str:
        """The environment name of its own."""
        prefix = "<PROJECT>_" if self.per_project else ""
        return f"HIPWRIGHT_{prefix}{('no-' if self.negative else '') + self.name}".upper().replace("-", "_")

    def environment_of(self, project: str) -> str:
        """Return the environment name for a project; of an ordinary option, its only one."""
        return self.environment.replace("<PROJECT>", project.upper().replace("-", "_"))

    @property
    def repeatable(self) -> bool:
        """Whether it may be given several times."""
        return self.kind in {"names", "locations", "requirements", "patterns", "assignments"}

    @property
    def is_flag(self) -> bool:
        """Whether it may be given without a value."""
        return self.kind in {"flag", "flag-or-text"}


def flags_of(option: Option, projects: Iterable[str]) -> dict[str, str | None]:
    """Return an option's flags, each with the project that it speaks of (None for an ordinary option)."""
    if option.per_project:
        return {f"--{project}-{option.name}": project for project in projects}
    return dict.fromkeys((option.flag, *option.other_flags, *(flag for flag, _value in option.short_for)))
