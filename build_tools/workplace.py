"""Where and with what a command works: folders, programs, console, and the rules that the person gave."""

from __future__ import annotations

import functools
import os.path
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.config.project import SdistOrigin
from build_tools.environments.download import fetch_sdist
from build_tools.environments.interpreter import find_interpreter
from build_tools.environments.make import make_environment
from build_tools.environments.settings import DECIDING_NAMES, read_base_index, settings_files
from build_tools.options.fronts import nox_words
from build_tools.sources.git import Git
from build_tools.sources.origin import open_origin
from build_tools.urls import mask_userinfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.config.project import Project
    from build_tools.console.events import Console
    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.make import EnvironmentRequest
    from build_tools.environments.settings import BaseIndex
    from build_tools.options.model import Settings
    from build_tools.options.resolve import Resolved
    from build_tools.process import Runner
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.sources.origin import Origin
    from build_tools.types import Platform

__all__ = ["Workplace"]


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Everything about the machine and the clone that stages are given; made once, at the edge, and what is asked of it found once.

    ``python`` is the interpreter that hipwright runs in; ``machine`` is the environment as found;
    ``typed_in`` is the folder that paths in it are relative to.
    """

    clone: Path
    typed_in: Path
    cache: Path
    python: Path
    platform: Platform
    processors: int
    machine: Mapping[str, str]
    runner: Runner
    console: Console
    resolved: Resolved

    @property
    def settings(self) -> Settings:
        """The values of all options."""
        return self.resolved.settings

    @property
    def nox(self) -> tuple[str, ...]:
        """The words that call nox here, for lines that a person pastes."""
        return nox_words(self.python, clone=self.clone, typed_in=self.typed_in)

    @property
    def work_dir(self) -> Path:
        """The folder for everything that is made, by its real name: a link to it is the same place."""
        return Path(os.path.realpath(self.settings.work_dir))

    @property
    def external_builds(self) -> Path:
        """The folder of the projects."""
        return self.clone / "external-builds"

    @property
    def requirements(self) -> Path:
        """The folder of the hash-pinned requirements."""
        return self.clone / "requirements"

    @property
    def jobs(self) -> int:
        """How much may run at once."""
        return self.settings.jobs or self.processors

    def lock_file(self, name: str) -> Path:
        """Return the lock file that guards a folder of this work dir."""
        return self.work_dir / "locks" / f"{name}.lock"

    @functools.cached_property
    def base(self) -> BaseIndex:
        """The base index, as this machine's pip has it; its network also knows how the named sources of owned packages are entered."""
        base = read_base_index(self.machine, self.runner, python=self.python, cwd=self.typed_in)
        settings = self.settings
        named = (*settings.rocm_find_links, settings.rocm_index_url, *settings.find_links, settings.index_url)
        return base.knowing(tuple(place for place in named if place))

    @functools.cached_property
    def interpreters(self) -> Mapping[str | None, Interpreter]:
        """The target interpreters by what ``--python`` named; hipwright's own, under None, when it named none."""
        wanted: tuple[str | None, ...] = self.settings.python or (None,)
        return {text: find_interpreter(text, default=self.python, runner=self.runner, platform=self.platform) for text in wanted}

    def origin(self, project: Project, recorded: str | None = None) -> Origin:
        """Return a project's origin, fetched and imported when it is no git repository.

        Parameters
        ----------
        project
            The project.
        recorded
            Another origin than the project's own that was asked for earlier; what is asked for now comes first.

        Raises
        ------
        HipwrightError
            What fetching or importing it raises.
        """
        url = self.settings.origin.get(project.name) or recorded
        sdist = None
        if isinstance(project.origin, SdistOrigin) and url is None:
            wanted = project.origin
            sdist = fetch_sdist(wanted.name, wanted.version, wanted.sha256, base=self.base, cache=self.cache)
        folder = self.external_builds / project.name
        git = Git(runner=self.runner)
        return open_origin(project, folder=folder, url=url, sdist=sdist, cache=self.cache, git=git, say=self.console.say)

    def settings_files(self) -> tuple[Path, ...]:
        """Return the machine's files that decide what the base index is."""
        return settings_files(self.machine, self.runner, base=self.base, python=self.python, cwd=self.typed_in)

    @property
    def settings_identity(self) -> str:
        """What of the environment decides what the base index is, told without asking pip."""
        return digest.of_value({name: mask_userinfo(value) for name, value in self.machine.items() if name in DECIDING_NAMES})

    def environment(self, request: EnvironmentRequest, *, runner: Runner, log: Path, renew: bool = False) -> EnvironmentRecord:
        """Make an environment in the work dir, or return the one that is there; with ``renew`` it is made again in any case.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.environments.make.make_environment`.
        """
        return make_environment(
            request,
            envs=self.work_dir / "envs",
            cache=self.cache,
            base=self.base,
            runner=runner,
            platform=self.platform,
            say=self.console.say,
            wait=self.settings.wait,
            log=log,
            pip=self.python,
            renew=renew,
        )
