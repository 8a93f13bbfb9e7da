"""``--develop``: the tree as it stands is compiled in place and installed editable into an environment of its own."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import digest
from build_tools.builds.develop import build_in_place, installed_from, remove_editable
from build_tools.builds.generated import place_generated
from build_tools.builds.variables import BuildFolders
from build_tools.builds.workshop import Bench
from build_tools.environments.make import environment_digest, finished_environment
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, remove_tree, write_bytes, write_text
from build_tools.locking.places import wanted_family
from build_tools.pipeline.build_wishes import wishes_of
from build_tools.pipeline.build_workshop import developing, subject_of, told_jobs
from build_tools.pipeline.built_with import edits_before, inputs
from build_tools.pipeline.step import WouldRun
from build_tools.process import printable
from build_tools.receipts.record import plain
from build_tools.receipts.values import LocalChanges
from build_tools.rocm.provision import build_folder, provision
from build_tools.shown import shown
from build_tools.sources.git import Git
from build_tools.types import Platform, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from build_tools.builds.compiler_cache import CacheSettings
    from build_tools.environments.request import EnvironmentRequest
    from build_tools.pipeline.chain import Chain
    from build_tools.process import Runner
    from build_tools.receipts.values import CacheUse, EnvironmentRecord, Sdk
    from build_tools.sources.git import Repository
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["develop", "refuse_beside_develop"]

_FEW: Final = 4
_LAUNCHER: Final = "launcher"
_NO_LAUNCHER: Final = "no compiler cache"
_CONFIGURED: Final = ("CMakeCache.txt", "*/CMakeCache.txt", "*/*/CMakeCache.txt")
"""What CMake leaves in its build folder, which is build, or in build, where nobody names another one."""

_EVER_EDITED: Final = LocalChanges(digest=digest.of_value("a tree to develop in"), lines=())
"""What stands for the changes of a person's in a tree that is installed as it is, whatever they are from one hour to the next."""


def refuse_beside_develop(workplace: Workplace) -> None:
    """Refuse options that speak of a wheel, which ``--develop`` makes none of.

    Raises
    ------
    HipwrightError
        ``option-conflict``.
    """
    settings = workplace.settings
    # A folder that a file names is for the wheels of other commands.
    put = workplace.resolved.origin("dist_dir").startswith("command line")
    beside = {
        "--bundle-rocm": settings.bundle_rocm,
        "--verify-reproducible": settings.verify_reproducible,
        "--dist-dir": put,
    }
    for flag in (flag for flag, given in beside.items() if given and settings.develop):
        message = f"{flag} is about a wheel, and --develop makes none"
        raise HipwrightError("option-conflict", message, hint="give one of them")


def develop(chain: Chain) -> None:
    """Compile a project in its tree, and have an environment that imports it from there; note in the chain where that is.

    The tree keeps what is compiled, so the next call compiles what has changed since. There is no wheel and no receipt: nothing that
    checks, publishes or tests could take such a build for one.

    Parameters
    ----------
    chain
        The project, with its sources brought and what it is built with.

    Raises
    ------
    HipwrightError
        What provisioning raises; ``bad-source-tree``; ``unmet-requirement``; ``no-compiler``; ``build-failed``; ``locked`` when another
        run works with the tree, and nobody is to wait.
    WouldRun
        In a dry run.
    """
    place, project = chain.workplace, chain.project
    if place.settings.dry_run:
        chain.would_run[Stage.BUILD] = "the tree is compiled in place, as far as it has changed"
        raise WouldRun
    console = place.console
    began = time.monotonic()
    folder = place.work_dir / "develop" / project.name / chain.python_tag
    log = place.work_dir / "logs" / project.name / f"develop-{chain.python_tag}.log"
    runner = dataclasses.replace(place.runner.with_record(), on_line=console.line)
    # Two builds in one tree would take each other's objects away, and who moves the tree would do so under a compiler.
    purpose = f"the build of {project.name} in {chain.tree}"
    guard = hold(place.lock_file(f"src-{project.name}"), purpose=purpose, wait=place.settings.wait, on_wait=console.say)
    with guard, console.group(f"develop {project.name}"):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        sdk = _provision(chain, folder, runner, log)
        begins = build_folder(project, chain.tree)
        if begins is None:
            raise HipwrightError("bad-source-tree", f"{chain.tree} has no build file", where=Where(file=chain.tree))
        made = _compile(chain, sdk, begins, folder=folder, runner=runner, log=log)
    python = Path(sdk.environment.python)
    activate = _activate_line(folder, place.platform)
    console.say(f"{project.name} {made.version} is imported from {begins}; edit there, and run the same command again")
    console.say(f"its environment: {activate}")
    tests = _test_lines(chain, python)
    for line in tests:
        console.say(f"its smoke tests: {line}")
    chain.developed = {
        "project": project.name,
        "version": made.version,
        "tree": str(chain.tree),
        "environment": str(folder),
        "python": str(python),
        "activate": activate,
        "tests": list(tests),
        "installed": made.installed,
        "cache": None if made.cache is None else plain(made.cache),
        "seconds": round(time.monotonic() - began, 3),
        "log": str(log),
    }


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Made:
    """What came of a build in the tree: its version, whether it had to be installed, and what a compiler cache did."""

    version: str
    installed: bool
    cache: CacheUse | None


def _compile(chain: Chain, sdk: Sdk, begins: Path, *, folder: Path, runner: Runner, log: Path) -> _Made:
    """Compile what has changed in the tree, and install it; what is of this build alone lies beside its environment."""
    place, project = chain.workplace, chain.project
    own = folder.with_name(f"{folder.name}.build")
    folders = BuildFolders(tree=chain.tree, home=own / "home", temporary=own / "tmp")
    subject = subject_of(
        chain,
        sdk=sdk,
        wishes=wishes_of(place, edited_before=edits_before(chain)),
        # A version that names the edits would be another one after each of them; this one says that there may be some.
        source=msgspec.structs.replace(chain.source(), local=_EVER_EDITED),
        jobs=told_jobs(project, place),
    )
    workshop = developing(chain, own, sdk)
    with workshop.caching(runner=runner) as cache:
        bench = Bench(workshop=workshop, folder=own, tree=None, cache=cache)
        prepared = subject.prepare(folders, scratch=own, runner=runner, bench=bench)
        plan = prepared.plan
        place.console.say(f"building {project.name} {plan.version} in {begins} with {prepared.compiler.path}")
        _tell_launcher(chain, own, begins, workshop.cache)
        before = _untracked(chain)
        try:
            place_generated(prepared.generated, begins)
            subject.require_met(plan, begins, scratch=own, runner=runner, again=f"remove {folder}")
            with bench.watched(runner, project, log=log, sources=chain.tree) as watched:
                installed = build_in_place(
                    project,
                    plan,
                    folder=begins,
                    python=Path(sdk.environment.python),
                    runner=watched,
                    log=log,
                    platform=place.platform,
                    anew=Stage.BUILD in place.settings.force,
                )
        finally:
            _leave_out(chain, before)
            remove_tree(folders.temporary)
        return _Made(version=plan.version, installed=installed, cache=bench.tell_cache())


def _tell_launcher(chain: Chain, own: Path, begins: Path, cache: CacheSettings | None) -> None:
    """Warn that a tree which CMake has configured goes on with the compiler cache that it had then, or with none.

    Which one that is, is noted before CMake configures the tree, and stays noted until its build folder is gone.
    """
    if chain.project.build.compiles != "cmake":
        return
    note, program = own / _LAUNCHER, _NO_LAUNCHER if cache is None else str(cache.program)
    if not any(True for pattern in _CONFIGURED for _ in begins.glob(pattern)):
        write_text(note, program)
        return
    before = note.read_text(encoding="utf-8") if note.is_file() else program
    if before != program:
        told = f"{chain.tree} was compiled with {before} so far, which CMake keeps where it has configured the tree"
        chain.workplace.console.warn(f"{told}: remove its build folder there for {program} to count")


def _provision(chain: Chain, folder: Path, runner: Runner, log: Path) -> Sdk:
    """Return the environment of its own, made when it is not there or is for other packages; a person's own packages in it stay."""
    place = chain.workplace

    def make(wanted: EnvironmentRequest) -> EnvironmentRecord:
        request = dataclasses.replace(wanted, with_pip=True, purpose=f"the environment to develop {chain.project.name} in")
        _free(chain, folder, environment_digest(request, place.base), runner, log)
        try:
            record, _made = place.environment_in(
                folder,
                request,
                guard=place.lock_file(f"develop-{chain.project.name}-{chain.python_tag}"),
                runner=runner,
                log=log,
                renew=Stage.PROVISION in place.settings.force,
            )
        except HipwrightError as error:
            if error.code.name != "foreign-folder":
                raise
            hint = f"move {folder} away, and run the command again"
            raise HipwrightError(error.code.name, error.message, where=error.where, hint=hint) from error
        return record

    return provision(
        chain.project,
        inputs(chain, at_hand=True),
        tree=chain.tree,
        interpreter=place.interpreters[chain.python],
        pins=place.requirements / "build-env.txt",
        make=make,
        runner=runner,
        platform=place.platform,
        warn=place.console.warn,
        targets=chain.targets,
        family=wanted_family(place, chain.project.name),
    )


def _free(chain: Chain, folder: Path, whole: Sha256, runner: Runner, log: Path) -> None:
    """Take our own editable install out of an environment that has to be made anew: it is nothing that a person would miss."""
    place = chain.workplace
    if not folder.is_dir() or finished_environment(folder, whole, place.platform) is not None:
        return
    try:
        there = installed_from(folder, chain.project, platform=place.platform)
    except HipwrightError:
        return
    if there is not None:
        python = folder / ("Scripts/python.exe" if place.platform is Platform.WINDOWS else "bin/python")
        remove_editable(folder, chain.project, python=python, runner=runner, log=log)


def _untracked(chain: Chain) -> dict[str, frozenset[bytes]]:
    """Return what git sees in a tree and does not track, for the root and each submodule by its path."""
    modules = chain.source().modules
    listing = ("ls-files", "-z", "--others", "--exclude-standard")
    return {module.path: frozenset(_repository(chain, module.path).records(*listing)) for module in modules}


def _leave_out(chain: Chain, before: Mapping[str, frozenset[bytes]]) -> None:
    """Have git ignore what a build has made in a tree: it is nobody's edit, and no build takes it along.

    A person's own tree has that from here too, in the file that git keeps for what one clone alone ignores: it is told.
    """
    for module, found in _untracked(chain).items():
        made = found - before[module]
        if made:
            _ignore(chain, module, made, before[module])


def _ignore(chain: Chain, module: str, made: frozenset[bytes], before: frozenset[bytes]) -> None:
    repository = _repository(chain, module)
    names = _whole_folders(made, others=before.union(repository.records("ls-files", "-z", "--cached")))
    told = repository.capture("rev-parse", "--git-path", "info/exclude").stdout.removesuffix(b"\n")
    path = chain.tree / module / os.fsdecode(told)
    there = path.read_bytes() if path.is_file() else b""
    lines = b"".join(b"/" + _escaped(name) + b"\n" for name in names)
    path.parent.mkdir(exist_ok=True)
    write_bytes(path, there + (b"\n" if there and not there.endswith(b"\n") else b"") + lines)
    if chain.own is not None:
        few = ", ".join(shown(name) for name in names[:_FEW])
        more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        chain.workplace.console.say(f"made in your tree, and ignored there by {path}: {few}{more}")


def _repository(chain: Chain, module: str) -> Repository:
    return Git(runner=chain.workplace.runner).at(chain.tree / module)


def _whole_folders(made: Iterable[bytes], *, others: Iterable[bytes]) -> list[bytes]:
    """Return the names of files, or in their place the topmost folder that holds nothing else, ending in a slash."""
    shared = {folder for name in others for folder in _folders_of(name)}
    return sorted({next((folder for folder in _folders_of(name) if folder not in shared), name) for name in made})


def _folders_of(name: bytes) -> Iterator[bytes]:
    """Give the folders that a file lies in, the topmost first."""
    parts = name.split(b"/")
    return (b"/".join(parts[:count]) + b"/" for count in range(1, len(parts)))


def _escaped(name: bytes) -> bytes:
    """Return a path as a pattern of gitignore that means this path alone."""
    special = b"\\*?[]"
    text = b"".join(b"\\" + bytes([byte]) if byte in special else bytes([byte]) for byte in name)
    return text[:-1] + b"\\ " if text.endswith(b" ") else text


def _test_lines(chain: Chain, python: Path) -> tuple[str, ...]:
    """Return the command lines that run a project's smoke tests in the environment, where they can be run."""
    place = chain.workplace
    tests = place.external_builds / chain.project.name / chain.project.tests.folder
    if not tests.is_dir():
        return ()
    pins = place.requirements / "smoke-env.txt"
    words = (("pip", "install", "--quiet", "--requirement", str(pins)), ("pytest", str(tests)))
    return tuple(printable([str(python), "-m", *line]) for line in words)


def _activate_line(folder: Path, platform: Platform) -> str:
    if platform is Platform.WINDOWS:
        return f"{folder}{os.sep}Scripts{os.sep}activate"
    return printable([".", str(folder / "bin" / "activate")])
