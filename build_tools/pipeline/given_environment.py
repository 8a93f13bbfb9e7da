"""An environment that is there and is used as it is: its interpreter, and how programs in it reach the machine's ROCm."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.config.owned import is_rocm
from build_tools.environments.installed import installed_distributions, python_in, site_packages
from build_tools.environments.interpreter import probe
from build_tools.environments.make import half_made
from build_tools.errors import HipwrightError, Where
from build_tools.locking.places import folder_asked_for
from build_tools.process import printable
from build_tools.receipts.values import EnvironmentRecord, InstalledPackage
from build_tools.rocm.reach import Reach, find_reach
from build_tools.testing.choosing import sight
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.environments.installed import Distribution
    from build_tools.environments.interpreter import Interpreter
    from build_tools.workplace import Workplace

__all__ = ["GivenEnvironment", "environment_there", "given_environment"]

_LEFT_OUT: Final = "this environment has ROCm packages of its own"


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenEnvironment:
    """An environment: its folder, its interpreter's path and what that is, what is installed, and the ROCm of the machine for it."""

    folder: Path
    python: Path
    interpreter: Interpreter
    installed: tuple[Distribution, ...]
    reach: Reach
    variables: Mapping[str, str]

    @property
    def scripts(self) -> Path:
        """The folder of its programs."""
        return self.python.parent

    @property
    def record(self) -> EnvironmentRecord:
        """It as the record of an environment; where its packages came from is not known."""
        packages = tuple(InstalledPackage(name=one.name, version=one.version, source=one.url or "") for one in self.installed)
        return EnvironmentRecord(
            folder=str(self.folder),
            digest=Sha256(digest.of_value([[one.name, one.version] for one in packages])),
            python=str(self.python),
            python_version=self.interpreter.version,
            python_tag=self.interpreter.python_tag,
            packages=packages,
        )


def environment_there(folder: Path, workplace: Workplace) -> tuple[Path, Interpreter]:
    """Return the interpreter of an environment, and what it is.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for what is no environment, ``install-failed`` for one that was made in part or has no working interpreter.
    """
    python = python_in(folder, workplace.platform)
    if (cut_short := half_made(folder)) is not None:
        hint = f"{printable(['nox', '-s', 'setup_venv', '--', str(folder), '--packages'])} …, with what was asked for then"
        raise HipwrightError("install-failed", cut_short, where=Where(file=folder), hint=hint)
    if not (folder / "pyvenv.cfg").is_file():
        message = f"{folder} is no environment: it has no pyvenv.cfg"
        raise HipwrightError(
            "bad-option-value", message, where=Where(file=folder), hint="name the folder of a virtual environment"
        )
    interpreter = probe(python, workplace.runner)
    if interpreter is None:
        message = f"the interpreter {python} does not start"
        raise HipwrightError("install-failed", message, where=Where(file=python), hint="make the environment anew")
    return python, interpreter


def given_environment(folder: Path | None, workplace: Workplace, *, flag: str, programs: Sequence[str] = ()) -> GivenEnvironment:
    """Return the environment that a command works in, and tell which ROCm programs in it find.

    Parameters
    ----------
    folder
        Its folder as it was named.
    workplace
        Options, programs, console.
    flag
        How it is named, for the error where it was not.
    programs
        Folders of programs that come before the machine's, and behind those of the environment and of ROCm.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when none is named; as :func:`environment_there`; ``sdk-incomplete`` when ``--rocm-path`` names no folder.
    """
    if folder is None:
        words = [*workplace.nox, "-s", "setup_venv", "--", "DIR", "--packages", "torch", "--find-links", "URL"]
        hint = f"name one by {flag}; {printable(words)} makes one"
        raise HipwrightError("bad-option-value", "no environment is named", hint=hint)
    real = Path(os.path.realpath(folder))
    python, interpreter = environment_there(real, workplace)
    installed = installed_distributions(site_packages(real, workplace.platform))
    reach = _reach(installed, workplace)
    # The interpreter lies beside the environment's programs.
    own = {**workplace.runner.environment, **workplace.settings.env}
    path = os.pathsep.join([str(python.parent), *programs, *([own["PATH"]] if own.get("PATH") else [])])
    # Somebody else may be at work on the GPUs that are hidden from the person.
    variables = {**sight(workplace.machine), **workplace.settings.env, **reach.environment({**own, "PATH": path})}
    return GivenEnvironment(
        folder=real,
        python=python,
        interpreter=interpreter,
        installed=installed,
        reach=reach,
        variables={"PATH": path, **variables},
    )


def _reach(installed: tuple[Distribution, ...], workplace: Workplace) -> Reach:
    named = folder_asked_for(workplace)
    if named is not None and not named.is_dir():
        message = f"there is no ROCm folder {named}"
        raise HipwrightError("sdk-incomplete", message, where=Where(file=named), hint="name another one: --rocm-path DIR")
    reach = find_reach(workplace.machine, platform=workplace.platform, named=named)
    if named is None and reach.found and any(is_rocm(each.name) for each in installed):
        workplace.console.say(f"{_LEFT_OUT}: {reach.describe()} is left out of its search paths; --rocm-path DIR puts one in")
        return Reach(platform=workplace.platform)
    if reach.found:
        workplace.console.say(f"programs find {reach.describe()}")
    return reach
