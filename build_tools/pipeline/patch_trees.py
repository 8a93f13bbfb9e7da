"""Which projects and source trees a patch command is about, and how it keeps others off a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.config.project import load_project, project_names, session_name
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold
from build_tools.locking.keep import ensure_locked, lock_in_use
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS
from build_tools.options.model import OPTIONS
from build_tools.options.render import to_arguments
from build_tools.patches.layout import NAME
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.engine import RECEIPT, Done, Work, imagine
from build_tools.process import printable
from build_tools.receipts.stage import LockedResult
from build_tools.types import ProjectName, Stage

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from build_tools.config.project import Project
    from build_tools.receipts.lock import Lock, LockedProject
    from build_tools.workplace import Workplace

__all__ = ["chain_of", "checkout_line", "held", "projects_with_series", "task_line", "trees_in_use"]

_PLACES: Final = frozenset({"work-dir", "cache-dir"})
_SAMPLE: Final = ProjectName("sample")
"""The project that needs nothing but this clone."""


def trees_in_use(workplace: Workplace) -> list[Chain]:
    """Return the source trees that a command is about: those of the projects that it names, else all that the work dir has.

    Each comes with its lock entry as :meth:`Chain.locked`, with the patch series as it is on disk; ``locked_before`` is the entry that
    had another one. The network is asked only where the series on disk moves submodules that it did not move when it was locked.

    Parameters
    ----------
    workplace
        Where the trees lie; ``--projects`` narrows.

    Raises
    ------
    HipwrightError
        ``stage-missing`` when there is no tree, or none of a project that is named; ``lock-conflict`` when ``project.toml`` says other
        sources than were locked; ``no-line`` and ``bad-series``.
    """
    lock = _lock(workplace)
    return [_chain(project, lock, workplace) for project in _with_trees(lock, workplace)]


def projects_with_series(workplace: Workplace) -> list[Project]:
    """Return the projects that a command is about: those that it names, else all that have a patch series.

    Raises
    ------
    HipwrightError
        ``unknown-project``; ``bad-data-file`` when a ``project.toml`` cannot be read.
    """
    folder = workplace.external_builds
    asked = workplace.settings.projects
    names = [ProjectName(name) for name in asked] or [
        name for name in project_names(folder) if any((folder / name).glob(f"patches/*/{NAME}"))
    ]
    return [load_project(folder, name) for name in dict.fromkeys(names)]


def held(chain: Chain, purpose: str) -> AbstractContextManager[None]:
    """Keep other runs from the tree of a chain for the block; ``purpose`` says for what.

    It is the hold that :func:`build_tools.pipeline.source_stages.run_sources` takes by itself, which therefore cannot run inside.
    """
    place = chain.workplace
    path = place.lock_file(f"src-{chain.project.name}")
    return hold(path, purpose=purpose, wait=place.settings.wait, on_wait=place.console.say)


def chain_of(project: Project, entry: LockedProject, workplace: Workplace) -> Chain:
    """Return a project on its way with a lock entry as its lock stage's result, whoever made that entry."""
    chain = Chain(project=project, workplace=workplace, targets=())
    result = LockedResult(value=entry)
    work = Work(
        stage=Stage.LOCK,
        project=project.name,
        parts={},
        make=lambda _making: result,
        receipt=workplace.work_dir / RECEIPT,
    )
    chain.done[Stage.LOCK] = Done(
        receipt=imagine(work, result), path=work.receipt, state="received", why="locked earlier in this work dir", seconds=0.0
    )
    return chain


def checkout_line(project: str, workplace: Workplace, *words: str) -> str:
    """Return the command that checks a project out here, for hints: the options that it takes as this command was told, then ``words``."""
    command = PROJECT_COMMANDS["checkout"]
    # A line is named where another than the rules' is meant, and that is locked by then.
    told = to_arguments(workplace.resolved, command, project=project, omit=("line", "until"))
    session = f"{command.name}_{session_name(ProjectName(project))}"
    return printable([*workplace.nox, "-s", session, *(["--", *told, *words] if told or words else [])])


def task_line(name: str, workplace: Workplace, *words: str) -> str:
    """Return the command line of an invoke task here, for hints: where things lie is said as this command was told, then ``words``."""
    where = to_arguments(workplace.resolved, COMMANDS[name], project=None, omit=set(OPTIONS) - _PLACES)
    # The wrapper starts both; a nox and an invoke that are installed are two programs.
    wrapper = () if workplace.nox == ("nox",) else workplace.nox
    return printable([*wrapper, "invoke", name, *where, *words])


def _chain(project: Project, lock: Lock, workplace: Workplace) -> Chain:
    before = lock.projects[project.name]
    entry = ensure_locked([project], workplace, packages=False, whole=True)[project.name].project
    chain = chain_of(project, entry, workplace)
    chain.locked_before = None if entry == before else before
    return chain


def _with_trees(lock: Lock, workplace: Workplace) -> list[Project]:
    """Return the projects that are locked and checked out in the work dir, of those that the command names where it names some."""
    folder, sources = workplace.external_builds, workplace.work_dir / "src"
    asked = list(dict.fromkeys(workplace.settings.projects))
    names = asked or [name for name in project_names(folder) if name in lock.projects and (sources / name / ".git").exists()]
    if not names:
        message = f"no source tree is checked out in {workplace.work_dir}"
        raise HipwrightError("stage-missing", message, where=Where(file=sources), hint=_checkout_hint(workplace))
    projects = [load_project(folder, ProjectName(name)) for name in names]
    for project in projects:
        missing = "locked" if project.name not in lock.projects else "checked out"
        if missing == "locked" or not (sources / project.name / ".git").exists():
            message = f"{project.name} is not {missing} in {workplace.work_dir}"
            hint = f"check it out first: {checkout_line(project.name, workplace)}"
            raise HipwrightError("stage-missing", message, where=Where(file=sources / project.name), hint=hint)
    return projects


def _lock(workplace: Workplace) -> Lock:
    """Return the work dir's lock; where there is none, its error names a command that makes one and a tree."""
    try:
        return lock_in_use(workplace)
    except HipwrightError as error:
        if error.code.name != "stage-missing":
            raise
        raise HipwrightError("stage-missing", error.message, where=error.where, hint=_checkout_hint(workplace)) from error


def _checkout_hint(workplace: Workplace) -> str:
    """Return the command that checks out what the command names, else a project that has a series, the bundled sample first."""
    names = [project.name for project in projects_with_series(workplace)]
    if not names:
        return "check a project out first"
    if workplace.settings.projects:
        return f"check it out first: {checkout_line(names[0], workplace)}"
    name = _SAMPLE if _SAMPLE in names else names[0]
    return f"check one out first, such as {checkout_line(name, workplace)}"
