"""Runs a program of ROCm in this process's place, in an environment where no other ROCm of the machine misleads it."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

__all__ = ["function_name", "own_environment", "program_in", "script_function"]

_CORE = "_rocm_sdk_core"
_ROOTS = ("ROCM_PATH", "HIP_PATH")
"""Where ROCm is, to its compilers: always this SDK."""

_ROOTS_WHEN_SET = ("ROCM_HOME", "HSA_PATH")
_PARTS = ("HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "HIP_LIB_PATH", "HIP_INCLUDE_PATH", "HIP_RUNTIME_PATH")
"""Where parts of ROCm are: those that lie outside of this SDK are another ROCm's."""

_COMPILER = "lib/llvm/bin"
_SUFFIXES = ("", ".exe", ".bat")


def function_name(script: str) -> str:
    """Return the name of the function that stands for a script: ``hipify_clang``, ``amdclang_plus_plus`` for ``amdclang++``."""
    return re.sub(r"\W", "_", script.replace("++", "_plus_plus"))


def script_function(table: Path, module: str, name: str) -> Callable[[], None]:
    """Return the function that runs a script.

    Parameters
    ----------
    table
        The file that names the scripts with their programs.
    module
        The folder with the package's files.
    name
        The function's name.

    Raises
    ------
    AttributeError
        When no script has it.
    """
    scripts = json.loads(table.read_bytes())
    for script, entry in scripts.items():
        if function_name(script) == name:
            return functools.partial(_run, script, module, entry["file"], expand=entry.get("expand", True))
    message = f"no script of {table.parent.name} has the function {name}"
    raise AttributeError(message)


def program_in(root: Path, file: str) -> Path | None:
    """Return a program below a folder, on Windows by its name with a suffix; None when it is not there."""
    return next((path for suffix in _SUFFIXES if (path := root / f"{file}{suffix}").is_file()), None)


def own_environment(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return an environment in which programs find this SDK and no other ROCm that the machine names."""
    own = dict(environment)
    own.update(dict.fromkeys([*_ROOTS, *(name for name in _ROOTS_WHEN_SET if name in own)], str(root)))
    # With a compiler of another vendor on the machine, hipcc would take that one.
    own.setdefault("HIP_PLATFORM", "amd")
    for name in _PARTS:
        if name in own and not _inside(Path(own[name]), root):
            del own[name]
    if (root / _COMPILER).is_dir():
        own.setdefault("HIP_CLANG_PATH", str(root / _COMPILER))
    return own


def _inside(path: Path, root: Path) -> bool:
    """Return whether a path is below a root, as it is spelled or as links lead."""
    return path.absolute().is_relative_to(root) or path.resolve().is_relative_to(root.resolve())


def _run(script: str, module: str, file: str, *, expand: bool) -> None:
    root = _root(module, expand=expand)
    program = program_in(root, file)
    if program is None:
        sys.exit(f"error: {script} is not there: {root} has no {file}; reinstall the package that it is part of")
    os.environ.pop("__PYVENV_LAUNCHER__", None)
    environment = own_environment(os.environ, root)
    command = [str(program), *sys.argv[1:]]
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if sys.platform == "win32":
            sys.exit(_wait_for(command, environment))
        else:
            os.execve(program, command, environment)  # noqa: S606 - this process becomes the program
    except OSError as error:
        sys.exit(f"error: {script} cannot be started: {program}: {error.strerror}")


def _wait_for(command: list[str], environment: MutableMapping[str, str]) -> int:
    """Run a program where one cannot take another's place; Ctrl-C goes to both, and the program decides."""
    import subprocess  # noqa: PLC0415 - slow to import, and needed on Windows alone

    with subprocess.Popen(command, env=environment) as child:
        while child.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                child.wait()
        return child.returncode


def _root(module: str, *, expand: bool) -> Path:
    """Return the folder to run from: the expanded development files where they are installed and wanted, else the package's own."""
    if module == _CORE and expand and _has("rocm_sdk"):
        from rocm_sdk import MissingPackageError, SdkError  # noqa: PLC0415 - a package beside this one
        from rocm_sdk._devel import devel_root  # noqa: PLC0415

        try:
            root: Path = devel_root()
        except MissingPackageError:
            pass  # no development files: what the package itself has is used
        except (SdkError, OSError) as error:
            sys.exit(f"error: {error}")
        else:
            return root
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        sys.exit(f"error: {module} is not there; reinstall the package that it is part of")
    return Path(spec.origin).parent


def _has(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None
