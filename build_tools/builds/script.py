"""The environment of a build as a script that a person sources into a shell: every value quoted, and nothing else of the shell's kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.process import ALLOWED_NAMES
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["environment_script"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_OF_THE_SHELL: Final = ("PWD", "OLDPWD", "SHLVL", "_", "PSModulePath", "PSExecutionPolicyPreference")
"""What shells keep for themselves."""


def environment_script(
    environment: Mapping[str, str],
    *,
    platform: Platform,
    about: Sequence[str],
    folders: Sequence[Path],
    programs: Mapping[Path, str] | None = None,
) -> str:
    """Return a script that gives a shell the environment of a build: for ``sh`` and its kin, on Windows for PowerShell.

    Variables that a build does not inherit are taken away, those that every child inherits stay unless the build sets them.

    Parameters
    ----------
    environment
        What the build sets.
    platform
        The system, which decides on the shell.
    about
        What is said at the top, a line each.
    folders
        Folders that must be there.
    programs
        Scripts that the variables name, with their text; for ``sh`` alone.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a name that no shell can set.
    """
    for name in environment:
        if not _NAME.fullmatch(name):
            message = f"{name!r} cannot be set by a script: a shell takes letters, digits and underscores for a name"
            raise HipwrightError("bad-option-value", message)
    # The names are known by heart, so that the same script comes out whatever the machine has.
    kept = sorted({*ALLOWED_NAMES, *environment, *_OF_THE_SHELL})
    values = sorted(environment.items())
    head = [f"# {line}" for text in about for line in text.splitlines()]
    if platform is Platform.WINDOWS:
        lines = [*head, *_powershell(kept, values, folders)]
    else:
        lines = [*head, *_posix(kept, values, folders, programs or {})]
    return "\n".join(lines) + "\n"


def _posix(
    kept: Sequence[str], values: Sequence[tuple[str, str]], folders: Sequence[Path], programs: Mapping[Path, str]
) -> list[str]:
    needed = dict.fromkeys([*folders, *(path.parent for path in programs)])
    plain = [name for name in kept if _NAME.fullmatch(name)]
    # awk lists names without their values, which may have lines; `unset` is asked one by one, as shells refuse some.
    return [
        """for _hipwright in $(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name }'); do""",
        '    case "$_hipwright" in',
        f"        {'|'.join(plain)}) ;;",
        '        *) unset "$_hipwright" ;;',
        "    esac",
        "done",
        "unset _hipwright",
        *(f"mkdir -p -- {_quote(str(folder))}" for folder in needed),
        # Written although the shell may be told to replace no file.
        *(
            f"printf %s {_quote(text)} >| {_quote(str(path))} && chmod 755 -- {_quote(str(path))}"
            for path, text in programs.items()
        ),
        *(f"export {name}={_quote(value)}" for name, value in values),
    ]


def _quote(text: str) -> str:
    """Return a text as one word of ``sh``, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"


def _powershell(kept: Sequence[str], values: Sequence[tuple[str, str]], folders: Sequence[Path]) -> list[str]:
    names = ", ".join(_literal(name) for name in kept)
    return [
        f"$hipwrightKept = @({names})",
        "Get-ChildItem Env: | Where-Object { $hipwrightKept -notcontains $_.Name } | ForEach-Object {",
        '    Remove-Item -LiteralPath "Env:$($_.Name)"',
        "}",
        "Remove-Variable hipwrightKept",
        *(f"$null = New-Item -ItemType Directory -Force -Path {_literal(str(folder))}" for folder in folders),
        *(f"$env:{name} = {_literal(value)}" for name, value in values),
    ]


def _literal(text: str) -> str:
    """Return a text as one literal of PowerShell, which takes typographic apostrophes for plain ones."""
    return "'" + re.sub("(['\u2018\u2019\u201a\u201b])", r"\1\1", text) + "'"
