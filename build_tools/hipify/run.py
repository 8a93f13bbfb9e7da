"""Running a tree's own hipify tool: on a fresh copy of the files with the base patches, so a run that fails or is killed leaves nothing.

The copy is made for each run, because such tools need not be idempotent (PyTorch's is not). The result becomes a commit in every module
that it changed, files that ``.gitignore`` hides included, and the tree moves there.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.errors import HipwrightError, Where
from build_tools.sources.contents import entries
from build_tools.sources.export import ModuleCopy, copy_modules
from build_tools.sources.mirror import mirror_of
from build_tools.sources.modules import ROOT
from build_tools.sources.phases import commit_phase, finish, marked_modules
from build_tools.types import Platform, TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.config.project import Hipify, Project
    from build_tools.receipts.lock import LockedSources
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.modules import Markers, Module
    from build_tools.types import CommitId, Sha256

__all__ = ["hipify", "hipify_digest"]

_ENGINE: Final = "torch/utils/hipify"
"""Where PyTorch keeps the engine behind its tool."""

_SECONDS: Final = 60
_SUBJECT: Final = "Hipify the sources"


def hipify(
    project: Project,
    *,
    tree: Path,
    scratch: Path,
    python: Path,
    platform: Platform,
    git: Git,
    log: Path,
    say: Callable[[str], None],
) -> None:
    """Run a project's hipify tool and move the tree to its result; without one, the tree stays as it is.

    Parameters
    ----------
    project
        The project; its ``[hipify]`` names the script, its arguments, the module that it runs in and its time limit.
    tree
        The source tree, with its base patches.
    scratch
        The folder in which a copy is made for the tool to work on; outside of any ``.git``.
    python
        The interpreter that runs the tool, in UTF-8 mode.
    platform
        On Windows, line ends that the tool converted are taken back.
    git
        How git is run.
    log
        The tool's output is appended here.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the tree has no such script, ``hipify-failed`` (also at the time limit), or ``unsaved-work``.
    """
    modules = marked_modules(tree, git=git, say=say)
    if project.hipify is None:
        heads = {module.path: markers.base for module, markers in modules.items()}
    else:
        with _fresh(scratch, f".{tree.name}-hipify") as folder:
            trees = _run(project.hipify, modules, folder, python=python, platform=platform, git=git, log=log, say=say)
        heads = commit_phase(tree, modules, trees, phase="hipified", subject=_SUBJECT)
    finish(tree, modules, {path: dict.fromkeys(("hipified", "finished"), commit) for path, commit in heads.items()}, git=git)


def hipify_digest(project: Project, *, locked: LockedSources, cache: Path, git: Git) -> Sha256 | None:
    """Return one digest over a project's hipify tool: the script, its engine, its arguments; None for a project without one.

    The files are read from the mirror at the locked commit.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the locked commit has no such script or module.
    """
    tool = project.hipify
    if tool is None:
        return None
    pins = {ROOT: (locked.origin, locked.commit)} | {pin.path: (pin.url, pin.commit) for pin in locked.submodules}
    if tool.module not in pins:
        raise _no_script(tool, f"{project.name} has no module {tool.module}")
    url, commit = pins[tool.module]
    repository = mirror_of(url, cache=cache, git=git, say=_quiet).fetch(commit)
    script = _object(repository, commit, tool.script)
    if script is None:
        raise _no_script(tool, f"commit {commit} of {project.name} has no {tool.script}")
    return digest.of_value([tool.module, tool.script, script, _object(repository, commit, _ENGINE), list(tool.arguments)])


def _quiet(_line: str) -> None:
    """Say nothing: the commit was fetched when it was locked."""


def _object(repository: Repository, commit: CommitId, path: str) -> str | None:
    done = repository.capture("rev-parse", "--verify", "--quiet", f"{commit}:{path}", check=False)
    return done.text if done.returncode == 0 else None


def _no_script(tool: Hipify, message: str) -> HipwrightError:
    hint = "correct [hipify] in project.toml, or choose a ref that has the tool"
    return HipwrightError("bad-source-tree", message, where=Where(file=tool.script, module=tool.module), hint=hint)


@contextlib.contextmanager
def _fresh(parent: Path, name: str) -> Iterator[Path]:
    """Give a fresh folder, and remove it afterwards, together with what killed runs on the same tree left."""
    for left_over in parent.glob(f"{name}.partial-*"):
        # A tool that outlived its run may still write there.
        with contextlib.suppress(OSError):
            files.remove_tree(left_over)
    with files.temporary_folder(parent, name) as folder:
        yield folder


def _run(
    tool: Hipify,
    modules: Mapping[Module, Markers],
    folder: Path,
    *,
    python: Path,
    platform: Platform,
    git: Git,
    log: Path,
    say: Callable[[str], None],
) -> dict[str, TreeId]:
    """Run the tool on a copy and return what each module's files are then."""
    copies = [ModuleCopy(module=module, head=markers.upstream, content=markers.base) for module, markers in modules.items()]
    repositories = copy_modules(copies, folder, git=git)
    where = folder if tool.module == ROOT else folder / tool.module
    if not (where / tool.script).is_file():
        raise _no_script(tool, f"the source tree has no {tool.script}")
    git.runner.run(
        [python, "-X", "utf8", tool.script, *tool.arguments],
        cwd=where,
        log=log,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
        timeout=tool.time_limit_minutes * _SECONDS,
        code="hipify-failed",
        what=tool.script,
    )
    trees = {}
    for copy in copies:
        trees[copy.module.path] = _store(repositories[copy.module.path], copy, platform)
        say(_summary(copy, trees[copy.module.path]))
    return trees


def _store(repository: Repository, copy: ModuleCopy, platform: Platform) -> TreeId:
    """Put a copy's files into the module's repository; hidden ones too, but no byte code."""
    env = {"GIT_OBJECT_DIRECTORY": str(copy.module.git_dir / "objects")}
    # Python on Windows writes CR LF where it read LF.
    line_ends = ("-c", "core.autocrlf=input") if platform is Platform.WINDOWS else ()
    byte_code = (":(exclude,glob)**/__pycache__/**", ":(exclude,glob)**/*.pyc")
    repository.capture(*line_ends, "add", "--all", "--force", "--", ".", *byte_code, env=env)
    return TreeId(repository.text("write-tree", env=env))


def _summary(copy: ModuleCopy, after: TreeId) -> str:
    old, new = entries(copy.module.store, copy.content), entries(copy.module.store, after)
    added = len(new.keys() - old.keys())
    changed = sum(1 for path in new.keys() & old.keys() if new[path] != old[path] and new[path].mode != b"160000")
    where = "the root" if copy.module.path == ROOT else copy.module.path
    return f"hipify in {where}: {added} files added, {changed} changed"
