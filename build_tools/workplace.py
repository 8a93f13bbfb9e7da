"""Where and with what a command works: folders, programs, console, and the rules that the person gave."""

from __future__ import annotations

import functools
import os.path
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_tools import digest
from build_tools.builds.visual_studio import machine_programs, wanted_environment
from build_tools.config.buckets import bucket_table, external_folder
from build_tools.config.project import SdistOrigin
from build_tools.environments.interpreter import find_interpreter
from build_tools.environments.settings import DECIDING_NAMES, read_base_index, settings_files
from build_tools.errors import HipwrightError
from build_tools.options.fronts import nox_words
from build_tools.stores.place import RunPlace, runs_for_fork
from build_tools.stores.run_outputs import RunOutputs
from build_tools.stores.s3_access import Access
from build_tools.types import Platform
from build_tools.urls import mask_userinfo, redact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from build_tools.builds.developer_prompt import VisualStudio
    from build_tools.config.project import Project
    from build_tools.console.events import Console
    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.make import EnvironmentRequest
    from build_tools.environments.network import Network
    from build_tools.environments.settings import BaseIndex
    from build_tools.options.model import Settings
    from build_tools.options.resolve import Resolved
    from build_tools.process import Runner
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.sources.origin import Origin
    from build_tools.stores.base import Store

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
    _ahead: dict[str, Future[Any]] = field(default_factory=dict, init=False, repr=False)

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

    @property
    def meant_platform(self) -> Platform:
        """The operating system that is meant: the one that ``--platform`` names, or this machine's."""
        return Platform(self.settings.platform) if self.settings.platform else self.platform

    @property
    def store_address(self) -> str:
        """The store that the options name, as :func:`build_tools.stores.open.open_store` takes it; a folder of the work dir without."""
        settings = self.settings
        return settings.store or (f"s3://{settings.bucket}" if settings.bucket else str(self.work_dir / "store"))

    def store_identity(self, address: str) -> str:
        """Return what tells a store from all others: its address, and the server of a bucket that is not Amazon's."""
        server = Access(machine=self.machine, endpoint_url=self.settings.endpoint_url).server
        return f"{address} at {redact(server)}" if server and address.startswith("s3://") else address

    def open_store(self, *, writing: bool, address: str | None = None, option: str = "--store") -> Store:
        """Return the store that the options name, or the one at ``address``, which ``option`` names.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.stores.open.open_store`.
        """
        from build_tools.stores.open import open_store  # noqa: PLC0415 - few commands need stores

        named = address or self.store_address
        known = bucket_table().find(named.removeprefix("s3://").partition("/")[0]) if named.startswith("s3://") else None
        try:
            return open_store(
                named,
                base=self.work_dir,
                writing=writing,
                endpoint_url=self.settings.endpoint_url,
                region=known.region if known and self.settings.endpoint_url is None else None,
                machine=self.machine,
                network=self._network,
                option=option,
                journal=self.work_dir / "uploads",
            )
        except HipwrightError as error:
            if known is None or error.code.name != "no-credentials":
                raise
            who = f"the role that writes it is {known.role_arn}" if known.role_arn else "it is written by hand, by no role"
            hint = f"{error.hint}; {who}"
            raise HipwrightError(error.code.name, error.message, where=error.where, hint=hint) from error

    def outputs(self, run_id: str, *, writing: bool, repository: str | None = None, fork: bool | None = None) -> RunPlace:
        """Return where the outputs of a run are.

        That is the store that the options name. When they name none, it is the bucket that AMD's CI keeps runs of the repository in,
        when the repository was named by a person, or CI says it together with the release type; else a folder of the work dir. What
        CI says of a repository alone sends nothing anywhere.

        Parameters
        ----------
        run_id
            The run.
        writing
            Whether it will be written.
        repository
            Whose run it is, as ``OWNER/NAME``; the one that the options name when None.
        fork
            Whether the run is one of a pull request from a fork; when None, CI's own data are asked if it is the run in progress.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when the run or the repository has no plain name; as :meth:`open_store`.
        """
        address, run = self.layout(run_id, repository=repository, fork=fork)
        return RunPlace(store=self.open_store(writing=writing, address=address), run=run)

    def layout(
        self, run_id: str, *, platform: Platform | None = None, repository: str | None = None, fork: bool | None = None
    ) -> tuple[str, RunOutputs]:
        """Return the address of the store and the layout of a run's outputs there, as :meth:`outputs`; nothing is opened.

        ``platform`` is the run's where that is known, else the one that is meant.
        """
        if fork is None:
            # What CI says is of the run in progress, and of no other.
            fork = run_id == self.machine.get("GITHUB_RUN_ID") and runs_for_fork(self.machine)
        address, external_repo = self._run_address(repository, fork=fork)
        return address, RunOutputs(run_id=run_id, platform=platform or self.meant_platform, external_repo=external_repo)

    def _network(self) -> Network:
        # Known only after pip was asked for its settings, which few stores need.
        return self.base.network()

    def _run_address(self, repository: str | None, *, fork: bool) -> tuple[str, str]:
        settings = self.settings
        named = repository or settings.repository
        typed = repository is not None or not self.resolved.origin("repository").endswith("GITHUB_REPOSITORY")
        if settings.store or settings.bucket:
            known = bucket_table().find(self.store_address.removeprefix("s3://").rstrip("/"))
            if known is None or not known.shared:
                return self.store_address, ""
            if named is None:
                message = f"in the bucket {known.name} each repository has a folder of its own, and none is named"
                raise HipwrightError("bad-option-value", message, hint="say --repository OWNER/NAME")
            return self.store_address, external_folder(named)
        if named is None or not (typed or settings.release_type):
            return self.store_address, ""
        chosen = bucket_table().of_run(repository=named, release_type=settings.release_type or "ci", fork=fork)
        return f"s3://{chosen.bucket.name}", chosen.external_repo

    def ask_ahead(self) -> None:
        """Begin to ask for the base index and the target interpreters, while the command goes on: programs take their time to answer."""
        pool = ThreadPoolExecutor(2)
        self._ahead["interpreters"] = pool.submit(self._find_interpreters)
        self._ahead["base"] = pool.submit(self._read_base)
        pool.shutdown(wait=False)

    @functools.cached_property
    def base(self) -> BaseIndex:
        """The base index, as this machine's pip has it; its network also knows how the named sources of owned packages are entered."""
        return self._ahead["base"].result() if "base" in self._ahead else self._read_base()

    def _read_base(self) -> BaseIndex:
        base = read_base_index(self.machine, self.runner, python=self.python, cwd=self.typed_in)
        settings = self.settings
        named = (*settings.rocm_find_links, settings.rocm_index_url, *settings.find_links, settings.index_url)
        base = base.knowing(tuple(place for place in named if place))
        return replace(base, no_cache=True) if settings.disable_cache else base

    @property
    def visual_studio(self) -> VisualStudio | None:
        """The compiler environment that builds on Windows have; None elsewhere, and where a person brings one by ``--build-env`` or ``--env``.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.builds.visual_studio.wanted_environment`.
        """
        if isinstance(self._studio, HipwrightError):
            raise self._studio
        return self._studio

    @functools.cached_property
    def _studio(self) -> VisualStudio | HipwrightError | None:
        """What Visual Studio answered: it is asked once, whatever comes of it."""
        if self.platform is not Platform.WINDOWS:
            return None
        programs = machine_programs(self.machine, self.python)
        try:
            return wanted_environment(
                self.machine,
                self.runner,
                programs,
                overrides={**self.settings.build_env, **self.settings.env},
                console=self.console,
            )
        except HipwrightError as error:
            return error

    @functools.cached_property
    def interpreters(self) -> Mapping[str | None, Interpreter]:
        """The target interpreters by what ``--python`` named; hipwright's own, under None, when it named none."""
        return self._ahead["interpreters"].result() if "interpreters" in self._ahead else self._find_interpreters()

    def _find_interpreters(self) -> Mapping[str | None, Interpreter]:
        wanted: tuple[str | None, ...] = self.settings.python or (None,)
        return {text: find_interpreter(text, default=self.python, runner=self.runner, platform=self.platform) for text in wanted}

    @functools.cached_property
    def manifest(self) -> bytes:
        """The bytes of the source manifest that ``--manifest`` names; none without one.

        Raises
        ------
        HipwrightError
            ``bad-manifest`` when nothing is there; ``source-unreachable``.
        """
        from build_tools.environments.manifest_file import read_manifest_file  # noqa: PLC0415 - few runs name one

        place = self.settings.manifest
        return b"" if place is None else read_manifest_file(place, network=self._network, say=self.console.say)

    def submodule_urls(self, name: str) -> dict[str, str]:
        """Return the addresses that submodules of a project are fetched from instead of their recorded ones, by path.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when one is no ``PATH=URL``, ``option-conflict`` when a path has two.
        """
        from build_tools.sources.pins import is_address  # noqa: PLC0415 - not every command needs sources

        flag = f"--{name}-submodule-url"
        found: dict[str, str] = {}
        for text in self.settings.submodule_url.get(name, ()):
            path, _, url = text.partition("=")
            if not path.strip("/") or not url:
                raise HipwrightError("bad-option-value", f"{flag} takes PATH=URL, not {redact(text)!r}")
            if not is_address(url):
                in_file = self.resolved.origin(f"submodule_url.{name}").startswith("hipwright.toml")
                url = os.path.normpath((self.clone if in_file else self.typed_in) / url)
            if found.setdefault(path.strip("/"), url) != url:
                raise HipwrightError("option-conflict", f"{flag} gives two addresses for {path.strip('/')}")
        return found

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
        from build_tools.environments.download import fetch_sdist  # noqa: PLC0415 - not every command needs sources
        from build_tools.sources.git import Git  # noqa: PLC0415
        from build_tools.sources.origin import open_origin  # noqa: PLC0415
        from build_tools.sources.urls import place_with_secrets  # noqa: PLC0415

        url = self.settings.origin.get(project.name) or recorded
        sdist = None
        if isinstance(project.origin, SdistOrigin) and url is None:
            wanted = project.origin
            sdist = fetch_sdist(wanted.name, wanted.version, wanted.sha256, base=self.base, cache=self.cache)
        folder = self.external_builds / project.name
        # Locks name addresses without their secrets; git alone is told where that really is.
        secret: dict[str, str] = {}
        for place in self.submodule_urls(project.name).values():
            secret |= place_with_secrets(place)
        git = Git(runner=self.runner, redirects=secret)
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
        from build_tools.environments.make import make_environment  # noqa: PLC0415 - not every command makes environments

        return make_environment(request, envs=self.work_dir / "envs", renew=renew, **self._making(runner, log))

    def environment_in(
        self,
        folder: Path,
        request: EnvironmentRequest,
        *,
        guard: Path | None,
        runner: Runner,
        log: Path,
        renew: bool,
        option: str | None = "--work-dir",
    ) -> tuple[EnvironmentRecord, bool]:
        """Make an environment in a folder of its own, or keep the one that is there; return it, and whether it was made.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.environments.make.make_environment_in`, which tells the parameters.
        """
        from build_tools.environments.make import make_environment_in  # noqa: PLC0415 - not every command makes environments

        return make_environment_in(folder, request, guard=guard, renew=renew, option=option, **self._making(runner, log))

    def _making(self, runner: Runner, log: Path) -> dict[str, Any]:
        """Return what the making of every environment is given."""
        return {
            "cache": self.cache,
            "base": self.base,
            "runner": runner,
            "platform": self.platform,
            "say": self.console.say,
            "wait": self.settings.wait,
            "log": log,
            "pip": self.python,
        }
