"""What Visual Studio tells of itself, as pure functions of its programs' output: installations, and the environment of its compilers.

``vswhere.exe`` prints installations as JSON. The batch file of an installation changes the environment of the shell that it runs in; what
that was before and after is printed by Python as JSON on marked lines, because ``set`` tells neither where a value ends nor in which code
page it is. Names of variables have no case on Windows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MARK",
    "NEEDED",
    "PYTHON_SDK",
    "Captured",
    "Installation",
    "VisualStudio",
    "added_by",
    "choose_installation",
    "first_words",
    "is_prompt",
    "open_prompt",
    "parse_installations",
    "read_capture",
    "refuse_prompt",
    "value_of",
]

MARK: Final = "HIPWRIGHT_MARK"
"""The variable that holds what a line with an environment begins with."""

PYTHON_SDK: Final = "DISTUTILS_USE_SDK"
"""Has setuptools and torch's extension builder take the compilers of the environment, and set up none by themselves."""

_PROMPT: Final = frozenset(
    {
        "DEVENVDIR", "EXTENSIONSDKDIR", "EXTERNAL_INCLUDE", "INCLUDE", "LIB", "LIBPATH", "UCRTVERSION", "UNIVERSALCRTSDKDIR",
        "VCIDEINSTALLDIR", "VCINSTALLDIR", "VCTOOLSINSTALLDIR", "VCTOOLSREDISTDIR", "VCTOOLSVERSION", "VISUALSTUDIOVERSION",
        "VSCMD_ARG_APP_PLAT", "VSCMD_ARG_HOST_ARCH", "VSCMD_ARG_TGT_ARCH", "VSCMD_VER", "VSINSTALLDIR", "WINDOWSLIBPATH",
        "WINDOWSSDKBINPATH", "WINDOWSSDKDIR", "WINDOWSSDKLIBVERSION", "WINDOWSSDKVERBINPATH", "WINDOWSSDKVERSION",
    }
)  # fmt: skip
"""What a developer prompt sets that compilers, linkers and build tools read."""

NEEDED: Final = ("INCLUDE", "LIB", "VCTOOLSINSTALLDIR")
"""What no environment of compilers does without."""

_PASSING: Final = frozenset({"_", "PATH", "PROMPT", "SHLVL"})
_OURS: Final = "HIPWRIGHT_"
_ARCHITECTURES: Final = {"amd64": "x64", "x86_amd64": "x64"}
_NUMBERS: Final = re.compile(r"\d+")


class Installation(Value, frozen=True, kw_only=True):
    """An installation of Visual Studio or its Build Tools: its folder, name, version, and whether it is a preview."""

    folder: str
    name: str
    version: str
    preview: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version} in {self.folder}"


class VisualStudio(Value, frozen=True, kw_only=True):
    """The compiler environment of Windows, for the builds of a run.

    Parameters
    ----------
    about
        Which one it is, for people and receipts.
    variables
        What it sets, but for the search path; names as they were found.
    path
        The folders that it puts before the machine's search path; none of a prompt that is open already.
    """

    about: str
    variables: Mapping[str, str]
    path: tuple[str, ...] = ()

    def laid_over(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with what it sets, and its folders before the search path that is there."""
        path = [*self.path, value_of(environment, "PATH")]
        rest = {name: value for name, value in environment.items() if name.upper() != "PATH"}
        return {**rest, **self.variables, "PATH": ";".join(filter(None, path))}


class Captured(Value, frozen=True, kw_only=True):
    """What a run of a batch file told: the environments before and after it, and its own words."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    words: tuple[str, ...]


def parse_installations(output: bytes) -> tuple[Installation, ...]:
    """Return the installations that ``vswhere -format json -utf8`` printed.

    Raises
    ------
    HipwrightError
        ``no-compiler`` when it is no such output.
    """
    try:
        rows = json.loads(output.decode("utf-8-sig") or "[]")
        return tuple(_installation(row) for row in rows)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = "vswhere.exe told of Visual Studio in a way that cannot be read"
        excerpt = output.decode("utf-8", "replace").strip()[:400] or None
        hint = "update the Visual Studio Installer, or open the x64 Native Tools prompt yourself"
        raise HipwrightError("no-compiler", message, hint=hint, excerpt=excerpt) from error


def _installation(row: Mapping[str, Any]) -> Installation:
    catalog = row.get("catalog") or {}
    return Installation(
        folder=_text(row["installationPath"]),
        name=_text(row.get("displayName") or "Visual Studio"),
        version=_text(catalog.get("productDisplayVersion") or row["installationVersion"]),
        preview=bool(row.get("isPrerelease")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(value)
    return value


def choose_installation(installations: tuple[Installation, ...]) -> Installation | None:
    """Return the newest installation, a preview only where there is nothing else; None where there is none."""
    return max(installations, key=lambda each: (not each.preview, _numbers(each.version)), default=None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(version))


def read_capture(output: bytes, errors: bytes, *, mark: str) -> Captured:
    """Return what a run of the batch file told, from what it and Python printed.

    Parameters
    ----------
    output, errors
        What came over both streams; a batch file writes in any code page.
    mark
        What the lines with the environments begin with.

    Raises
    ------
    HipwrightError
        ``no-compiler`` when there are not two whole environments.
    """
    lines = output.splitlines()
    begins = mark.encode("ascii")
    told = [line.partition(begins)[2] for line in lines if begins in line]
    # A batch file that ends in the middle of a line is no reason not to find ours.
    rest = [line.partition(begins)[0] for line in lines]
    words = tuple(line for raw in (*rest, *errors.splitlines()) if (line := raw.decode("utf-8", "replace").strip()))
    try:
        before, after = (_environment(line) for line in told)
    except ValueError as error:
        message = "the environment that Visual Studio's batch file sets could not be read"
        hint = "open the x64 Native Tools prompt of Visual Studio, and run the command there"
        raise HipwrightError("no-compiler", message, hint=hint, excerpt=first_words(words)) from error
    return Captured(before=before, after=after, words=words)


def _environment(line: bytes) -> dict[str, str]:
    values = json.loads(line)
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ValueError(line)
    return values


def first_words(words: tuple[str, ...]) -> str | None:
    """Return what a batch file says of its failure: its errors where it names some, else its last lines."""
    errors = [word for word in words if word.startswith("[ERROR")]
    return "\n".join(errors[:6] or words[-6:]) or None


def added_by(captured: Captured) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what a batch file has added to an environment or changed in it, and the folders that it put on the search path.

    Its own notes (``__VSCMD_…``) and those of the shell are left out. What it took away stays: nothing of it reaches a build anyway.
    """
    before = {name.upper(): value for name, value in captured.before.items()}
    variables = {
        name: value
        for name, value in captured.after.items()
        if value and before.get(name.upper()) != value and _of_compilers(name.upper())
    }
    known = {_folder(entry) for entry in value_of(captured.before, "PATH").split(";")}
    found: dict[str, str] = {}
    for entry in value_of(captured.after, "PATH").split(";"):
        if entry.strip() and _folder(entry) not in known:
            found.setdefault(_folder(entry), entry)
    return variables, tuple(found.values())


def _of_compilers(name: str) -> bool:
    return bool(name) and "=" not in name and name not in _PASSING and not name.startswith(("__", _OURS))


def _folder(entry: str) -> str:
    return entry.strip().strip('"').rstrip("\\/").lower()


def value_of(environment: Mapping[str, str], name: str) -> str:
    """Return a variable whose name has no case, an empty text without it."""
    if name in environment:
        return environment[name]
    return next((value for other, value in environment.items() if other.upper() == name.upper()), "")


def is_prompt(machine: Mapping[str, str]) -> bool:
    """Say whether an environment is that of a developer prompt with C++ tools, or made like one; what some installer has set is none."""
    return all(value_of(machine, name) for name in NEEDED)


def open_prompt(machine: Mapping[str, str]) -> VisualStudio:
    """Return the compiler environment of a developer prompt that a command runs in: what it sets, as it is."""
    version = value_of(machine, "VSCMD_VER")
    about = " ".join(["the developer prompt", *([f"of Visual Studio {version}"] if version else []), *_tools_of(machine)])
    variables = {name: value for name, value in machine.items() if value and name.upper() in _PROMPT}
    return VisualStudio(about=about, variables={**variables, PYTHON_SDK: "1"})


def _tools_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    tools, folder = value_of(environment, "VCTOOLSVERSION"), value_of(environment, "VCINSTALLDIR")
    return (*((f"with tools {tools}",) if tools else ()), *((f"in {folder}",) if folder else ()))


def refuse_prompt(environment: Mapping[str, str], about: str, *, architecture: str, least_tools: str) -> None:
    """Refuse the environment of compilers that no wheel of ours can be built with.

    What an environment does not tell is left to the compiler's proof.

    Parameters
    ----------
    environment
        The environment.
    about
        Which one it is.
    architecture
        What has to be compiled for.
    least_tools
        The oldest version of the tools that will do.

    Raises
    ------
    HipwrightError
        ``no-compiler`` for another architecture, or tools that are too old.
    """
    target = value_of(environment, "VSCMD_ARG_TGT_ARCH").lower()
    if target and _ARCHITECTURES.get(target, target) != architecture:
        message = f"{about} compiles for {target}, and wheels are built for {architecture}"
        hint = "run the command in an ordinary prompt: Visual Studio is asked for its compilers then; or in the x64 Native Tools prompt"
        raise HipwrightError("no-compiler", message, hint=hint)
    tools = value_of(environment, "VCTOOLSVERSION")
    if tools and _numbers(tools) < _numbers(least_tools):
        message = f"the C++ tools {tools} of {about} are too old: {least_tools} is the oldest version that will do"
        raise HipwrightError("no-compiler", message, hint="update Visual Studio with its installer, or install newer Build Tools")
