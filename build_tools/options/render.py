"""Settings back to arguments: the line that repeats a command, or one stage of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.options.model import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from build_tools.options.commands import Command
    from build_tools.options.resolve import Resolved

__all__ = ["spelled", "to_arguments"]

_NEVER_REPEATED = frozenset({"from", "until", "force", "projects", "json", "dry-run", "explain", "relock", "discard-local"})


def to_arguments(
    resolved: Resolved,
    command: Command,
    *,
    project: str | None,
    extra: Mapping[str, str] | None = None,
    omit: Collection[str] = (),
) -> list[str]:
    """Return the arguments that give a command the same settings again, wherever they came from.

    Parameters
    ----------
    resolved
        The settings and their origins; defaults are not spelled out.
    command
        The command to call; options that it does not take are left out.
    project
        The project whose per-project options count; all projects' when None.
    extra
        More options, by name.
    omit
        Names of options to leave out.
    """
    words: list[str] = []
    # What a project's own variable says comes before what a file says for all.
    own_targets = project is not None and project in resolved.settings.own_gfx
    for option in command.options:
        if option.name in _NEVER_REPEATED or option.name in omit or (own_targets and option.says == OPTIONS["gfx"].says):
            continue
        value = getattr(resolved.settings, option.field_name)
        if option.per_project:
            for name in value:
                if project in {None, name}:
                    words += _several(f"--{name}-{option.name}", option.kind, value[name])
        elif option.kind == "flag":
            words += [option.flag] if value is not option.negative else []
        elif option.field_name in resolved.origins:
            words += _several(option.flag, option.kind, value)
    own = resolved.settings.own_gfx.get(project) if project is not None and "gfx" in command.option_names else None
    for name, text in {**({"gfx": ",".join(own)} if own else {}), **(extra or {})}.items():
        words += spelled(OPTIONS[name].flag, text)
    return words


def spelled(flag: str, text: str) -> list[str]:
    """Return an option with its value as arguments; a value that looks like an option is tied to the flag."""
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _several(flag: str, kind: str, value: Any) -> list[str]:  # noqa: ANN401 - any option's value
    if kind == "names":
        return spelled(flag, ",".join(str(entry) for entry in value))
    if kind == "assignments":
        return [word for name, text in value.items() for word in (flag, f"{name}={text}")]
    texts = value if isinstance(value, tuple) else (value,)
    return [word for text in texts for word in spelled(flag, str(text))]
