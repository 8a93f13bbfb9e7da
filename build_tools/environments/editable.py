"""Install a source tree editable into an environment that is there, with what it requires; owned packages stay as they are.

What nobody owns comes from the base index. Whether an owned package would come from there is asked before anything is installed: pip plans
the installation, and one that has such a package in it is refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools.config.owned import is_owned
from build_tools.environments.build_system import build_requires
from build_tools.environments.install import pip_places
from build_tools.environments.resolved import from_report
from build_tools.errors import HipwrightError, Where
from build_tools.files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from packaging.utils import NormalizedName

    from build_tools.environments.installed import Distribution
    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner

__all__ = ["EditableInstall"]

_SECONDS: Final = 6 * 3600.0
_FILE: Final = "pyproject.toml"
_WHEEL: Final = "wheel"
_SETUPTOOLS: Final = "setuptools"
_MAKES_WHEELS: Final = "70.1"
"""The first setuptools that makes wheels without the package ``wheel``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditableInstall:
    """An editable installation.

    Parameters
    ----------
    pip
        The interpreter that has pip.
    target
        The environment's interpreter.
    tree
        The source tree.
    extras
        What is installed with it, by the names of its extras.
    installed
        What the environment holds: the owned packages among it are kept at their versions.
    base
        The base index.
    notes
        A folder for reports and constraints.
    runner, log
        Starts pip, and gets its output.
    """

    pip: Path
    target: Path
    tree: Path
    extras: Sequence[str]
    installed: Sequence[Distribution]
    base: BaseIndex
    notes: Path
    runner: Runner
    log: Path

    def prepare(self) -> None:
        """Install what the build requires: the tree's own ``setup.py`` cannot be asked for anything before.

        Raises
        ------
        HipwrightError
            ``requirement-missing`` when an owned package is required and not there; ``install-failed``; ``bad-data-file``.
        """
        wanted = self._build_requires()
        if wanted:
            self._install(wanted, "build", {})

    def install(self, more: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
        """Install the tree with its extras and ``more`` requirements; return what was installed.

        Parameters
        ----------
        more
            Requirements beyond the tree's.
        variables
            Names added to the runner's environment, for the build.

        Raises
        ------
        HipwrightError
            As :meth:`prepare`.
        """
        name = f"{self.tree}[{','.join(self.extras)}]" if self.extras else str(self.tree)
        return self._install(["--no-build-isolation", *more, "--editable", name], "tree", variables)

    def _build_requires(self) -> list[str]:
        """Return what the tree's build requires that nobody owns; what is owned has to be there."""
        path = self.tree / _FILE
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        try:
            asked = [Requirement(each) for each in build_requires(text, path)]
        except InvalidRequirement as error:
            raise HipwrightError("bad-data-file", f"{path} cannot be read: {error}", where=Where(file=path)) from error
        there = {one.name: one.version for one in self.installed}
        applying = [one for one in asked if one.marker is None or one.marker.evaluate()]
        self._refuse([one.name for one in applying if is_owned(one.name) and canonicalize_name(one.name) not in there])
        unmet = [one for one in applying if not _is_there(one, there.get(canonicalize_name(one.name)))]
        if any(_lacks_wheels(one, there) for one in applying) and _WHEEL not in there:
            unmet.append(Requirement(_WHEEL))
        return [str(one) for one in unmet if not is_owned(one.name)]

    def _install(self, words: Sequence[str], name: str, variables: Mapping[str, str]) -> tuple[str, ...]:
        constraints = self.notes / "owned.txt"
        owned = [f"{one.name}=={one.version}" for one in self.installed if is_owned(one.name)]
        write_text(constraints, "\n".join(owned) + "\n")
        options = [*pip_places(self.base), "--constraint", str(constraints)]
        report = self.notes / f"{name}-report.json"
        self._pip([*options, "--dry-run", "--report", str(report), *words], variables)
        planned = from_report(report)
        self._refuse([one.name for one in planned if is_owned(one.name) and one.url is None])
        self._pip([*options, *words], variables)
        return tuple(f"{one.name}=={one.version}" for one in planned)

    def _refuse(self, names: Sequence[str]) -> None:
        if names:
            listed = ", ".join(sorted(names))
            message = f"{listed} would come from the base index, and may come from the source named for it alone"
            hint = f"put it into the environment first: nox -s setup_venv -- DIR --packages {' '.join(sorted(names))} --find-links URL"
            raise HipwrightError("requirement-missing", message, where=Where(file=self.tree), hint=hint)

    def _pip(self, options: Sequence[str], variables: Mapping[str, str]) -> None:
        command: list[str | Path] = [
            self.pip,
            "-I",
            "-m",
            "pip",
            "--python",
            self.target,
            "--isolated",
            "--no-input",
            "--no-color",
        ]
        command += ["--disable-pip-version-check", "install", "--progress-bar", "off", *options]
        env = {**variables, "PIP_CONFIG_FILE": os.devnull}
        self.runner.run(
            command, cwd=self.notes, log=self.log, env=env, timeout=_SECONDS, code="install-failed", what="pip", alone=True
        )


def _lacks_wheels(wanted: Requirement, there: Mapping[NormalizedName, str]) -> bool:
    """Say whether a requirement is for a setuptools that leaves making wheels to another package, which its back end asks for later."""
    if canonicalize_name(wanted.name) != _SETUPTOOLS:
        return False
    version = there.get(canonicalize_name(_SETUPTOOLS))
    if version is not None and _is_there(wanted, version):
        return Version(version) < Version(_MAKES_WHEELS)
    return not wanted.specifier.contains(_MAKES_WHEELS)


def _is_there(wanted: Requirement, version: str | None) -> bool:
    """Say whether a version that is installed, None for none, is what a requirement wants; its extras are pip's to look at."""
    return version is not None and not wanted.extras and wanted.specifier.contains(version, prereleases=True)
