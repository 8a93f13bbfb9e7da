"""The compiler environment of Windows, found and captured: what a developer prompt of Visual Studio would set, whatever shell is used.

Visual Studio is found as Microsoft documents it: by ``vswhere.exe``, which lies at one fixed place since Visual Studio 2017 15.2. The batch
file of the newest installation is run in a shell of its own, and what it changed is a part of the builds' environment; this process's own
stays as it is. A command that runs in a developer prompt has that one.

``cmd.exe`` gets ``/d`` (nothing that the registry says to run first), and the name of a file of ours without a path: it takes quotes off
what stands behind ``/c`` by rules that depend on the characters in it (``cmd /?``). What the batch file ends with is not asked for, as it
may end with 0 after an error and with 1 after none (setuptools 2307, msvc-dev-cmd 28): what it has set is looked at.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds.developer_prompt import (
    MARK,
    NEEDED,
    PYTHON_SDK,
    Installation,
    VisualStudio,
    added_by,
    choose_installation,
    first_words,
    is_prompt,
    open_prompt,
    parse_installations,
    read_capture,
    refuse_prompt,
    value_of,
)
from build_tools.config.windows import windows_table
from build_tools.errors import HipwrightError
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.config.windows import PromptScript
    from build_tools.console.events import Console
    from build_tools.process import Runner

__all__ = ["Programs", "compiler_environment", "machine_programs", "wanted_environment"]

_BATCH: Final = Path(__file__).with_name("visual_studio.cmd")
_INSTALL: Final = "install the Build Tools for Visual Studio with the workload 'Desktop development with C++'"
_TOO_LONG: Final = "input line is too long"
_REDIST: Final = "VCTOOLSREDISTDIR"


class Programs(Value, frozen=True, kw_only=True):
    """The programs that are asked: ``vswhere.exe``, the shell, and the Python that prints an environment."""

    vswhere: Path
    shell: Path
    python: Path


def machine_programs(machine: Mapping[str, str], python: Path) -> Programs:
    """Return the programs of a machine, where Windows has them."""
    files = value_of(machine, "ProgramFiles(x86)") or value_of(machine, "ProgramFiles") or "C:/Program Files (x86)"
    shell = value_of(machine, "COMSPEC") or str(Path(value_of(machine, "SystemRoot") or "C:/Windows", "System32", "cmd.exe"))
    vswhere = Path(files, "Microsoft Visual Studio", "Installer", "vswhere.exe")
    return Programs(vswhere=vswhere, shell=Path(shell), python=python)


def wanted_environment(
    machine: Mapping[str, str], runner: Runner, programs: Programs, *, overrides: Mapping[str, str], console: Console
) -> VisualStudio | None:
    """Return the compiler environment that builds on Windows have; None where a person brings one.

    Parameters
    ----------
    machine, runner, programs
        As for :func:`compiler_environment`.
    overrides
        The variables that a person sets for builds: with both of ``INCLUDE`` and ``LIB`` nothing is asked, and with ``CXX`` a machine
        without Visual Studio is good enough.
    console
        Who is told.

    Raises
    ------
    HipwrightError
        ``no-compiler`` as :func:`compiler_environment`.
    """
    named = {name.upper() for name, value in overrides.items() if value}
    if {"INCLUDE", "LIB"} <= named:
        return None
    console.say("asking Visual Studio for its compilers")
    try:
        return compiler_environment(machine, runner, programs)
    except HipwrightError as error:
        if "CXX" not in named:
            raise
        console.warn(f"{error.message}: the build has the CXX that you set, and nothing of Visual Studio's")
        return None


def compiler_environment(machine: Mapping[str, str], runner: Runner, programs: Programs) -> VisualStudio:
    """Return the compiler environment of a machine with Windows.

    Parameters
    ----------
    machine
        The machine's environment as found.
    runner
        Starts the programs.
    programs
        The programs.

    Raises
    ------
    HipwrightError
        ``no-compiler``, saying what is missing: Visual Studio, its C++ tools, their batch file, or an environment from that; and when
        what there is compiles for another architecture or is too old.
    """
    table = windows_table().visual_studio
    if is_prompt(machine):
        found = open_prompt(machine)
        refuse_prompt(machine, found.about, architecture=table.architecture, least_tools=table.least_tools)
        return found
    installation = _find(runner, programs)
    folder = Path(installation.folder)
    script = next((script for script in table.scripts if (folder / script.file).is_file()), None)
    if script is None:
        names = " and no ".join(script.file for script in table.scripts)
        hint = "repair the installation with the Visual Studio Installer"
        raise HipwrightError("no-compiler", f"{installation} has no {names}", hint=hint)
    return _capture(installation, script, runner, programs)


def _find(runner: Runner, programs: Programs) -> Installation:
    """Return the installation with C++ tools that counts."""
    component = windows_table().visual_studio.component
    if not programs.vswhere.is_file():
        message = f"there is no Visual Studio on this machine: its installer's {programs.vswhere} is not there"
        raise HipwrightError("no-compiler", message, hint=_INSTALL)
    found = choose_installation(_ask(runner, programs, "-requires", component))
    if found is not None:
        return found
    other = choose_installation(_ask(runner, programs))
    if other is None:
        raise HipwrightError("no-compiler", "there is no Visual Studio on this machine: vswhere.exe names none", hint=_INSTALL)
    message = f"{other} has no C++ tools for x64"
    raise HipwrightError("no-compiler", message, hint=f"add {component} to it with the Visual Studio Installer, or {_INSTALL}")


def _ask(runner: Runner, programs: Programs, *more: str) -> tuple[Installation, ...]:
    question = [str(programs.vswhere), "-nologo", "-products", "*", "-prerelease", *more, "-format", "json", "-utf8"]
    try:
        told = runner.capture(question, cwd=programs.vswhere.parent, timeout=windows_table().visual_studio.time_limit_seconds)
    except HipwrightError as error:
        message = f"Visual Studio could not be asked for: {error.message}"
        raise HipwrightError("no-compiler", message, hint="update the Visual Studio Installer", excerpt=error.excerpt) from error
    return parse_installations(told.stdout)


def _capture(installation: Installation, script: PromptScript, runner: Runner, programs: Programs) -> VisualStudio:
    table = windows_table().visual_studio
    file = Path(installation.folder, script.file)
    mark = f"{MARK}-{secrets.token_hex(8)}:"
    variables = {
        MARK: mark,
        "HIPWRIGHT_PYTHON": str(programs.python),
        "HIPWRIGHT_SCRIPT": str(file),
        "HIPWRIGHT_ARGUMENTS": script.arguments,
        # What it would report of its use to Microsoft, by a program that outlives it.
        "VSCMD_SKIP_SENDTELEMETRY": "1",
    }
    told = runner.capture(
        [programs.shell, "/d", "/c", f".\\{_BATCH.name}"],
        cwd=_BATCH.parent,
        env=variables,
        timeout=table.time_limit_seconds,
        check=False,
        what=file.name,
    )
    captured = read_capture(told.stdout, told.stderr, mark=mark)
    added, path = added_by(captured)
    lacking = [name for name in NEEDED if not value_of(added, name)]
    if lacking:
        message = f"{file} {script.arguments} sets no {' and no '.join(lacking)}"
        hint = "repair the installation, with a Windows SDK, by the Visual Studio Installer"
        if any(_TOO_LONG in word for word in captured.words):
            hint = "the shell takes no PATH of more than 8191 characters: shorten it"
        raise HipwrightError("no-compiler", message, hint=hint, excerpt=first_words(captured.words))
    redist = _redist(Path(installation.folder)) if not value_of(added, _REDIST) else None
    tools = value_of(added, "VCTOOLSVERSION")
    about = f"{installation}, tools {tools} for {table.architecture}" if tools else str(installation)
    refuse_prompt(added, str(installation), architecture=table.architecture, least_tools=table.least_tools)
    whole = {**added, **({_REDIST: str(redist)} if redist is not None else {}), PYTHON_SDK: "1"}
    return VisualStudio(about=about, variables=dict(sorted(whole.items())), path=path)


def _redist(folder: Path) -> Path | None:
    """Return the redistributable files of an installation, which some batch files have stopped naming (runner-images 10819)."""
    named = folder / "VC" / "Auxiliary" / "Build" / "Microsoft.VCRedistVersion.default.txt"
    try:
        version = named.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    place = folder / "VC" / "Redist" / "MSVC" / version
    return place if version and place.is_dir() else None
