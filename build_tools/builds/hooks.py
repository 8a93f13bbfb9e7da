"""A project's ``hooks.py``: what its data cannot say, as functions with fixed names.

``hooks.py`` is loaded by path and leaves no trace in the import system. It may define the functions of :class:`Hooks`, each of them
optional; a public function of another name is an error, because nothing would ever call it.

Hooks run in this process. One that would end it fails as any other; see :mod:`build_tools.builds.hook_guard` for what cannot be seen.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from build_tools.builds.hook_guard import guarded
from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.types import CommitId, GfxTarget, Platform

__all__ = ["HOOKS_FILE", "BuildContext", "Hooks", "ProjectHooks", "fault_of_variable", "load_hooks"]

HOOKS_FILE: Final = "hooks.py"


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildContext:
    """What a hook may know about a build.

    ``rocm_version`` and ``rocm_root`` are None in a build without ROCm. ``environment`` is the folder of the environment that the
    build runs in; ``source_date`` is the upstream commit's time, in seconds since 1970. ``packages`` has the version of each package that
    the build has, by its normalised name; ``preloads`` are the libraries of ROCm's packages that the wheel loads by itself. ``overrides``
    are the variables that a person set (``--build-env``), which win over what a hook returns; ``machine`` those of the machine that
    ``project.toml`` lets in, as far as they are set, and on Windows those of Visual Studio.
    """

    project: str
    version: str
    rocm_version: str | None
    rocm_root: Path | None
    targets: tuple[GfxTarget, ...]
    platform: Platform
    upstream: CommitId
    source_date: int
    environment: Path
    packages: Mapping[str, str] = field(default_factory=dict)
    preloads: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)


class Hooks(Protocol):
    """The functions that a ``hooks.py`` may define."""

    def build_environment(self, context: BuildContext) -> Mapping[str, str]:
        """Return environment variables that depend on the build; they win over all but a person's, and an empty one is taken away."""

    def prepare_sources(self, tree: Path, context: BuildContext) -> None:
        """Change the build's own copy of the sources, such as by its version; the person's tree is another one."""

    def generated_files(self, context: BuildContext) -> Mapping[str, bytes | Path]:
        """Return files that the wheel must hold and the sources do not have, by their names in both: bytes, or a file to copy.

        A relative path is a file that the build itself makes in its copy of the sources, and may leave out of the wheel.
        """


_NAMES: Final = ("build_environment", "prepare_sources", "generated_files")
_PARAMETERS: Final = {"build_environment": 1, "prepare_sources": 2, "generated_files": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectHooks:
    """The hooks of one project, ready to be called; a missing one does nothing."""

    file: Path
    functions: Mapping[str, Callable[..., Any]]

    def build_environment(self, context: BuildContext) -> dict[str, str]:
        """Return what the project's hook adds to the environment.

        Raises
        ------
        HipwrightError
            ``bad-hooks`` when the hook fails, or returns anything but texts by name.
        """
        function = self.functions.get("build_environment")
        if function is None:
            return {}
        made = self._call(function, context)
        if not isinstance(made, dict) or not all(isinstance(part, str) for pair in made.items() for part in pair):
            message = "build_environment must return a dict of texts by name"
            raise HipwrightError("bad-hooks", message, where=self._where(function))
        for name, value in made.items():
            if (fault := fault_of_variable(name, value)) is not None:
                message = f"build_environment sets {shown(name)!r}, and {fault}"
                raise HipwrightError("bad-hooks", message, where=self._where(function))
        return made

    def prepare_sources(self, tree: Path, context: BuildContext) -> None:
        """Let the project's hook change the build's copy of the sources.

        Raises
        ------
        HipwrightError
            ``bad-hooks`` when the hook fails.
        """
        function = self.functions.get("prepare_sources")
        if function is not None:
            self._call(function, tree, context)

    def generated_files(self, context: BuildContext) -> dict[str, bytes | Path]:
        """Return the files that the project's hook wants in the wheel.

        Raises
        ------
        HipwrightError
            ``bad-hooks`` when the hook fails, or returns anything but bytes or paths by name.
        """
        function = self.functions.get("generated_files")
        if function is None:
            return {}
        made = self._call(function, context)
        if not isinstance(made, dict) or not all(isinstance(n, str) and isinstance(c, bytes | Path) for n, c in made.items()):
            message = "generated_files must return a dict of bytes or paths by name"
            raise HipwrightError("bad-hooks", message, where=self._where(function))
        return made

    def _call(self, function: Callable[..., Any], *arguments: object) -> object:
        try:
            with guarded():
                return function(*arguments)
        except (HipwrightError, KeyboardInterrupt):
            raise
        # SystemExit among them: a hook that ends the process would end a failed build as a good one.
        except BaseException as error:
            message = f"{function.__name__} failed: {type(error).__name__}: {error}"
            raise HipwrightError("bad-hooks", message, where=self._where(function, error)) from error

    def _where(self, function: Callable[..., Any], error: BaseException | None = None) -> Where:
        line: int = function.__code__.co_firstlineno
        step = error.__traceback__ if error is not None else None
        while step is not None:
            if step.tb_frame.f_code.co_filename == str(self.file):
                line = step.tb_lineno
            step = step.tb_next
        return Where(file=self.file, line=line, key=function.__name__)


def fault_of_variable(name: str, value: str) -> str | None:
    """Return why no program can be given a variable, None where it can: no system takes these names, and no text these values."""
    if not name or "=" in name or "\0" in name or not _is_text(name):
        return "that is no name of a variable"
    return None if "\0" not in value and _is_text(value) else "its value is no text (UTF-8, without NUL)"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def load_hooks(project_folder: Path) -> ProjectHooks:
    """Load a project's ``hooks.py``; a project without one has hooks that do nothing.

    Raises
    ------
    HipwrightError
        ``bad-hooks`` when the file cannot be read or run, defines a public function that is no hook, or has by a hook's name something
        else than a plain function of its own with the hook's parameters.
    """
    path = project_folder / HOOKS_FILE
    if not path.is_file():
        return ProjectHooks(file=path, functions={})
    module = ModuleType("project_hooks")
    module.__file__ = str(path)
    try:
        source = path.read_bytes()
        code = compile(source, str(path), "exec", dont_inherit=True)
        with guarded():
            exec(code, module.__dict__)  # noqa: S102 - the recipe's own code; the import system would keep it and write byte code beside it
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line_in(path, error)
        message = f"cannot load {HOOKS_FILE}: {type(error).__name__}: {error}"
        raise HipwrightError("bad-hooks", message, where=Where(file=path, line=line)) from error
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    for name in _NAMES:
        if hasattr(module, name) and (name not in own or not _is_plain(own[name])):
            message = f"{name} must be a plain function that {HOOKS_FILE} defines"
            raise HipwrightError("bad-hooks", message, where=Where(file=path, line=_line_of(name, source), key=name))
    for name, function in own.items():
        where = Where(file=path, line=function.__code__.co_firstlineno, key=name)
        if name not in _NAMES:
            raise HipwrightError("bad-hooks", f"{name} is no hook", where=where, hint=f"hooks are {', '.join(_NAMES)}")
        if len(inspect.signature(function).parameters) != _PARAMETERS[name]:
            expected = str(inspect.signature(getattr(Hooks, name))).replace("(self, ", "(").replace("'", "")
            raise HipwrightError("bad-hooks", f"{name} must be {name}{expected}", where=where)
    return ProjectHooks(file=path, functions=own)


def _is_plain(function: Callable[..., Any]) -> bool:
    """Return whether calling a function runs it, which calling a coroutine function or a generator does not."""
    return not (
        inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    )


def _line_of(name: str, source: bytes) -> int | None:
    """Return the last line that gives a name its value."""
    lines = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.alias) and name in {node.name, node.asname})
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name)
    ]
    return max(lines, default=None)


def _line_in(path: Path, error: BaseException) -> int | None:
    line = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(path):
            line = step.tb_lineno
        step = step.tb_next
    return line
