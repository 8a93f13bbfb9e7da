"""Settings back to arguments: the line that repeats a command, or one stage of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_tools.options.model import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from build_tools.options.commands import Command
    from build_tools.options.option import Option
    from build_tools.options.resolve import Resolved

__all__ = ["given_by_environment", "spelled", "to_arguments"]

_LONGEST = 2000
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


def given_by_environment(resolved: Resolved, command: Command, *, typed_in: Path) -> list[str]:
    """Return the arguments that stand for what the environment gave a command, for a line that says all where nothing is set.

    Secrets are left out, and values as long as documents. Paths below ``typed_in`` are relative to it.
    """
    words: list[str] = []
    for option in command.options:
        found = [] if option.secret else _given(resolved, option, typed_in)
        words += found if all(len(word) <= _LONGEST for word in found) else []
    return words


def _given(resolved: Resolved, option: Option, typed_in: Path) -> list[str]:
    value = getattr(resolved.settings, option.field_name)
    if option.per_project:
        given = [name for name in value if _from_environment(resolved, f"{option.field_name}.{name}")]
        return [
            word for name in given for word in _several(f"--{name}-{option.name}", option.kind, _nearer(value[name], typed_in))
        ]
    if not _from_environment(resolved, option.field_name):
        return []
    if option.is_flag and isinstance(value, bool):
        return [option.flag] if value is not option.negative else []
    return _several(option.flag, option.kind, _nearer(value, typed_in))


def _from_environment(resolved: Resolved, field_name: str) -> bool:
    return resolved.origin(field_name).startswith("environment")


def _nearer(value: Any, folder: Path) -> Any:  # noqa: ANN401 - any option's value
    """Return a value with paths below a folder relative to it."""
    if isinstance(value, tuple):
        return tuple(_nearer(entry, folder) for entry in value)
    if isinstance(value, str | Path) and Path(value).is_absolute() and Path(value).is_relative_to(folder):
        return str(Path(value).relative_to(folder))
    return value


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
