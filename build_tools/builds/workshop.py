"""What a build has on its machine beyond its recipe: a compiler cache, a folder that outlives it, and somebody who watches how far it is."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from build_tools.builds.cache_server import running_cache
from build_tools.builds.cache_statistics import rows, warning
from build_tools.builds.compiler_cache import cache_layer
from build_tools.builds.configure_logs import forget_configure_logs, keep_configure_logs
from build_tools.builds.first_error import find_first_error
from build_tools.builds.kept_tree import held_tree, inputs_of
from build_tools.builds.progress import BuildProgress
from build_tools.builds.reproducible import first_difference
from build_tools.errors import HipwrightError, Where
from build_tools.files import remove_tree, write_bytes
from build_tools.shown import shown
from build_tools.sources.export import links_as_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.builds.cache_server import RunningCache
    from build_tools.builds.compiler_cache import CacheSettings
    from build_tools.builds.kept_tree import KeptTree
    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.builds.progress import Earlier
    from build_tools.config.project import Project
    from build_tools.console.events import Console
    from build_tools.process import Runner
    from build_tools.receipts.values import BuiltWheels, CacheUse, SourceTree
    from build_tools.sources.git import Git
    from build_tools.stores.base import Store

__all__ = ["Bench", "Workshop"]

_CACHE: Final = "cache"
_PASSING: Final = ("home", "tmp", "run", "out", _CACHE)
"""What of a build folder is of one run alone."""

_OF_THE_RUN: Final = frozenset({"MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"})
"""Variables that change how fast objects are made, and not what they are."""

_AGAIN: Final = "-again-in-a-folder-of-another-length"
_RECACHE: Final = {"ccache": "CCACHE_RECACHE", "sccache": "SCCACHE_RECACHE"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Workshop:
    """What builds of one project and Python have on a machine.

    Parameters
    ----------
    folder
        The folder to build in; it is the same for all of them, so that an earlier one can be taken up.
    lock
        The lock file of that folder.
    wait
        Whether to wait for another run that builds there.
    console
        Who is told.
    parts
        What the objects of a build depend on, by name, beyond its environment's variables.
    exactly
        The digest of all that goes into the build, when only the same build may be taken up.
    cache
        The compiler cache, None without one.
    credentials, store
        As for :func:`build_tools.builds.cache_server.running_cache`.
    earlier
        What an earlier build took.
    """

    folder: Path
    lock: Path
    wait: bool
    console: Console
    parts: Mapping[str, str] = field(default_factory=dict)
    exactly: str | None = None
    cache: CacheSettings | None = None
    credentials: Mapping[str, str] = field(default_factory=dict)
    store: Store | None = None
    earlier: Earlier | None = None

    @contextlib.contextmanager
    def bench(self, source: SourceTree, *, runner: Runner) -> Iterator[Bench]:
        """Give the place of one build, held for the block.

        The sources and what was compiled stay when the build fails or is killed after it began, and when they are a person's; else all
        goes.

        Parameters
        ----------
        source
            What will be built.
        runner
            Starts the cache's programs.

        Raises
        ------
        HipwrightError
            ``locked``; ``cache-unusable``.
        """
        purpose = f"a build of {source.project}"
        say = self.console.say
        with contextlib.ExitStack() as stack:
            tree = stack.enter_context(held_tree(self.folder, purpose=purpose, wait=self.wait, say=say, lock=self.lock))
            _clear(self.folder)
            stack.callback(_clear, self.folder)
            cache = stack.enter_context(self.caching(runner=runner))
            bench = Bench(workshop=self, folder=self.folder, tree=tree, cache=cache)
            try:
                yield bench
            except BaseException:
                if bench.running:
                    say(f"what was compiled is kept in {self.folder}: the same command goes on there")
                else:
                    tree.remove()
                raise
            if source.local is None or self.exactly is not None:
                tree.remove()
            else:
                say(f"{self.folder} is kept: after further edits what its build tool finds unchanged there is not compiled again")

    @contextlib.contextmanager
    def caching(self, *, runner: Runner) -> Iterator[RunningCache | None]:
        """Have the compiler cache at work for the block, None without one.

        Parameters
        ----------
        runner
            Starts the cache's programs.

        Raises
        ------
        HipwrightError
            ``cache-unusable``; ``folder-not-writable``.
        """
        if self.cache is None:
            yield None
            return
        scratch = self.folder / _CACHE
        with running_cache(self.cache, runner=runner, scratch=scratch, credentials=self.credentials, store=self.store) as running:
            yield running


@dataclass(kw_only=True, slots=True)
class Bench:
    """The place of one build; ``running`` says whether it has begun to compile there, ``planned`` what its variables are without a cache."""

    workshop: Workshop
    folder: Path
    tree: KeptTree | None
    cache: RunningCache | None
    running: bool = False
    recache: bool = False
    missed: bool = False
    objects: int | None = None
    planned: Mapping[str, str] | None = None

    def variables(self, project: Project, plan: BuildPlan, compiler: Compiler) -> Mapping[str, str]:
        """Return a plan's environment with what the compiler cache adds; what a person set stays as it is."""
        self.planned = plan.environment
        if self.cache is None:
            return plan.environment
        settings = self.cache.settings
        layer = cache_layer(
            settings,
            {**self.cache.environment, **({_RECACHE[settings.tool]: "1"} if self.recache else {})},
            environment=plan.environment,
            rocm=plan.context.rocm_version,
            compiles=project.build.compiles,
            compiler=str(compiler.path),
            folder=self.folder / _CACHE / "bin",
            overrides=plan.context.overrides,
        )
        for path, text in layer.scripts.items():
            write_bytes(path, text.encode(), mode=0o755)
        self.missed = layer.missed is not None
        if layer.missed is not None and not self.recache:
            self.workshop.console.warn(layer.missed)
        return {**plan.environment, **layer.variables}

    def bring(self, source: SourceTree, plan: BuildPlan, compilers: Mapping[str, str], *, git: Git) -> None:
        """Bring the sources into the build folder.

        Parameters
        ----------
        source
            The source tree.
        plan
            The build.
        compilers
            How the compilers call themselves, by what they are.
        git
            Copies the sources.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.sources.export.materialise`.
        """
        if self.tree is None:
            raise HipwrightError("internal", "a second build takes no sources from the first")
        modules = {_commit_words(module.path): module.upstream for module in source.modules}
        # A cache changes where objects come from, and a version is in few of them; both are told when they change nothing.
        environment = plan.environment if self.planned is None else self.planned
        ignored = _OF_THE_RUN | {name for name, value in environment.items() if plan.version in value}
        ignored |= {name for name, value in environment.items() if value == plan.version.partition("+")[2] and value}
        parts = {**self.workshop.parts, **modules, **compilers, "the targets": ";".join(plan.targets)}
        inputs = inputs_of(
            parts=parts,
            environment=environment,
            ignored=frozenset(ignored),
            version=plan.version,
            exactly=self.workshop.exactly,
            launcher=None if self.cache is None else str(self.cache.settings.program),
        )
        self.tree.prepare(source, inputs, git=git)
        if links := links_as_files(source, self.folder / "src", git=git):
            message = f"links of the sources ({len(links)}, such as {shown(links[0])}) are files in {self.folder / 'src'}"
            self.workshop.console.warn(f"{message}, as none can be made there; on Windows turn its developer mode on")

    @contextlib.contextmanager
    def watched(self, runner: Runner, project: Project, *, log: Path, sources: Path | None = None) -> Iterator[Runner]:
        """Give a runner whose output is watched; a failure of the block gets the first real error of the log.

        What CMake wrote of a configure step of its own is kept beside the log then, and named when that step failed.

        Parameters
        ----------
        runner
            Starts the build.
        project
            What is built.
        log
            The log that the build writes.
        sources
            Where CMake configures, when that is not below the bench's folder.
        """
        console = self.workshop.console
        watch = BuildProgress(name=project.name, say=console.say, progress=console.progress, earlier=self.workshop.earlier)

        def line(text: str) -> None:
            runner.on_line(text)
            watch.line(text)

        start = log.stat().st_size if log.is_file() else 0
        self.running = True
        forget_configure_logs(log)
        try:
            yield replace(runner, on_line=line)
        except HipwrightError as error:
            kept = keep_configure_logs(sources or self.folder, log, mask=runner.mask)
            found = find_first_error(log, start)
            if found is None:
                raise
            excerpt, hint = runner.mask(found.text), error.hint or found.hint
            if found.kind == "CMake" and kept:
                hint = f"read why in CMake's own log, {kept[0]}" if hint is None else f"{hint}; CMake's own log is {kept[0]}"
            raise HipwrightError(error.code.name, error.message, hint=hint, log=log, excerpt=excerpt) from error
        finally:
            self.objects = watch.objects

    def tell_cache(self) -> CacheUse | None:
        """Show what the compiler cache did, and return it; None without one."""
        if self.cache is None:
            return None
        use, settings, console = self.cache.account(), self.cache.settings, self.workshop.console
        note = f"{settings.tool}, objects in {settings.place}, key {settings.key.text}"
        columns = ("language", "from the cache", "compiled", "share")
        console.table(f"Compiler cache of {settings.key.project}", columns, rows(use), note)
        said = warning(use, key=settings.key.prefix)
        # What was compiled by nothing else than what takes no launcher has been told.
        if said is not None and (use.hits or use.misses or not self.missed):
            console.warn(said)
        return use

    def compare(self, built: BuiltWheels, output: Path, again: Callable[[Bench, Path], BuiltWheels], *, log: Path) -> None:
        """Build the same again in another folder, in which nothing is and into which nothing comes from a cache, and compare.

        Parameters
        ----------
        built
            What the first build made.
        output
            The folder that it is in.
        again
            Builds at another place into another output folder.
        log
            The log of both.

        Raises
        ------
        HipwrightError
            ``not-reproducible`` naming the first difference; what the second build raises.
        """
        console, project = self.workshop.console, built.project
        folder = self.folder.with_name(f"{self.folder.name}{_AGAIN}")
        console.say(f"building {project} again in {folder}, to compare")
        remove_tree(folder)
        try:
            bench = Bench(workshop=self.workshop, folder=folder, tree=None, cache=self.cache, recache=True)
            other = again(bench, folder / "wheels")
            found = first_difference(output / built.wheels[0].path, folder / "wheels" / other.wheels[0].path)
        finally:
            remove_tree(folder)
        if found is not None:
            name = built.wheels[0].filename
            message = f"a second build of {project} made other bytes: {found.member or name}: {found.what}"
            hint = "look for times, folders and random order in what makes it; both builds are in the log"
            where = Where(file=name, member=found.member)
            raise HipwrightError("not-reproducible", message, where=where, hint=hint, log=log)
        console.say(f"a second build of {project} in another folder made the same bytes")


def _commit_words(path: str) -> str:
    return "the upstream commit" if path == "." else f"the upstream commit of {path}"


def _clear(folder: Path) -> None:
    for name in _PASSING:
        remove_tree(folder / name)
    # Nothing but these was in it when there was no build.
    with contextlib.suppress(OSError):
        folder.rmdir()
