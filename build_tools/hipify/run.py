"""Running a tree's own hipify tool: on a fresh copy of the files with the base patches, so a run that fails or is killed leaves nothing.

The copy is made for each run, because such tools need not be idempotent (PyTorch's is not). The result becomes a commit in every module
that it changed, files that ``.gitignore`` hides included, and the tree moves there. What was made once from the same inputs is taken from
:mod:`build_tools.hipify.cache`.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.hipify.account import account_of, read_notes
from build_tools.hipify.cache import HipifyCache, Kept, key_of
from build_tools.hipify.layout import Layout, not_a_result, refuse_other_submodules
from build_tools.hipify.record import HipifyRecord, ModuleFiles, TreeRecord, read_tree_record, write_tree_record
from build_tools.sources.export import ModuleCopy, copy_modules
from build_tools.sources.mirror import mirror_of, say_nothing
from build_tools.sources.modules import ROOT
from build_tools.sources.phases import commit_phase, finish, marked_modules
from build_tools.sources.told import called
from build_tools.sources.written import written_in
from build_tools.types import Platform, TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from build_tools.config.project import Hipify, Project
    from build_tools.receipts.lock import LockedSources
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.modules import Markers, Module
    from build_tools.types import CommitId, Sha256

__all__ = ["Hipified", "Hipifier", "hipify", "hipify_digest", "run_cached"]

_DRIVER: Final = Path(__file__).with_name("driver.py")
_ENGINE: Final = "torch/utils/hipify"
"""Where PyTorch keeps the engine behind its tool."""

_FORCED: Final = "hipify runs again, though a result of these sources is kept"
_SECONDS: Final = 60
_KEPT: Final = 1 << 20
"""How much of each end of a tool's output is kept with its result: no more than people read."""

_SUBJECT: Final = "Hipify the sources"
_VERSION: Final = re.compile(rb"^__version__\s*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hipifier:
    """A project's tool, and with what it is run.

    Parameters
    ----------
    tool
        Its ``[hipify]``: the script, its arguments, the module that it runs in and its time limit.
    digest
        The digest of the tool's files; see :func:`hipify_digest`.
    kept
        Where results are kept.
    scratch
        The folder in which a copy is made for the tool to work on; outside of any ``.git``.
    name
        What the copy is called: no two runs at a time have the same. What a killed run left under it is removed.
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
    """

    tool: Hipify
    digest: Sha256
    kept: HipifyCache
    scratch: Path
    name: str
    python: Path
    platform: Platform
    git: Git
    log: Path
    say: Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hipified:
    """What hipify makes of some sources: every module's commit by path, and the record of the run."""

    commits: dict[str, CommitId]
    record: HipifyRecord


def hipify(
    tree: Path,
    hipifier: Hipifier | None,
    *,
    git: Git,
    say: Callable[[str], None],
    again: bool = False,
    discard_local: bool = False,
) -> bool:
    """Move a tree from its base patches to what hipify makes of it, and return whether it had to move and holds nothing else.

    Parameters
    ----------
    tree
        The source tree, with its base patches.
    hipifier
        The tool; None leaves the sources as they are.
    git
        How git is run.
    say
        Takes one line of talk.
    again
        Whether the tool runs even when its result is known.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.

    Raises
    ------
    HipwrightError
        As :func:`run_cached`, or ``unsaved-work``.
    """
    if hipifier is not None:
        _sweep(hipifier.scratch, hipifier.name)
    modules = marked_modules(tree, git=git, say=say)
    made = None if hipifier is None else run_cached(hipifier, tree, modules, again=again)
    commits = {module.path: markers.base for module, markers in modules.items()} if made is None else made.commits
    marks = {path: dict.fromkeys(("hipified", "finished"), commit) for path, commit in commits.items()}
    clean = finish(tree, modules, marks, git=git, say=say, discard_local=discard_local)
    moved = any(markers.hipified != commits[module.path] for module, markers in modules.items())
    if moved or not _carries(tree):
        write_tree_record(tree, None if made is None else TreeRecord(record=made.record))
    return moved and clean


def _carries(tree: Path) -> bool:
    """Return whether the tree has files that hipify made of a person's changes, which its record tells from the person's own."""
    try:
        record = read_tree_record(tree)
        written = written_in(tree)
    except HipwrightError:
        return False
    return record is not None and bool(record.carried or written)


def run_cached(
    hipifier: Hipifier, tree: Path, modules: Mapping[Module, Markers], *, again: bool = False, beside: bool = False
) -> Hipified:
    """Return what hipify makes of some sources, from an earlier run where there was one; the commits are in the modules' repositories then.

    No work folder of the tree changes.

    Parameters
    ----------
    hipifier
        The tool.
    tree
        The source tree whose modules these are.
    modules
        Its modules, parents before children. Their markers ``base`` are the commits that the tool works on; they need not be those of the
        tree. Commits of ours take their date from ``upstream``, which is HEAD of what the tool sees.
    again
        Whether the tool runs even when its result is known.
    beside
        Whether the result is only compared with: that a kept one is taken then is not worth a line.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the sources have no such script, ``hipify-failed``, or ``command-timeout``.
    """
    kept = hipifier.kept
    key = key_of(hipifier.tool, hipifier.digest, modules, hipifier.platform)

    def take() -> Hipified | None:
        earlier = None if again else kept.find(key, modules)
        if earlier is None:
            return None
        return _result(earlier) if beside else _taken(hipifier, key, earlier)

    found = take()
    if found is not None:
        return found
    with kept.held(key):
        # Whoever held it may have made just this.
        found = take()
        if found is not None:
            return found
        if kept.has(key):
            hipifier.say(_FORCED if again else "what was kept of an earlier hipify run is not whole any more; it runs again")
        return _run(hipifier, key, tree, modules)


def _result(kept: Kept) -> Hipified:
    return Hipified(commits=dict(kept.commits), record=kept.record)


def _taken(hipifier: Hipifier, key: Sha256, earlier: Kept) -> Hipified:
    """Return a kept result, and say where it is from."""
    hipifier.say(f"hipify ran on these sources before; its result is taken from {hipifier.kept.cache}")
    summary = [_summary(part) for part in earlier.record.modules]
    with hipifier.log.open("ab") as sink:
        sink.write(f"# hipify ran on these sources before; what it said then: {hipifier.kept.log(key)}\n".encode())
        sink.writelines(f"# {line}\n".encode() for line in summary)
    for line in summary:
        hipifier.say(line)
    return _result(earlier)


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
    repository = mirror_of(url, cache=cache, git=git, say=say_nothing).facts(commit)
    script = _object(repository, commit, tool.script)
    if script is None:
        raise _no_script(tool, f"commit {commit} of {project.name} has no {tool.script}")
    return digest.of_value([tool.module, tool.script, script, _object(repository, commit, _ENGINE), list(tool.arguments)])


def _object(repository: Repository, commit: CommitId, path: str) -> str | None:
    done = repository.capture("rev-parse", "--verify", "--quiet", f"{commit}:{path}", check=False)
    return done.text if done.returncode == 0 else None


def _no_script(tool: Hipify, message: str) -> HipwrightError:
    hint = "correct [hipify] in project.toml, or choose a ref that has the tool"
    return HipwrightError("bad-source-tree", message, where=Where(file=tool.script, module=tool.module), hint=hint)


def _sweep(parent: Path, name: str) -> None:
    """Remove the copies that killed runs under the same name left."""
    for left_over in parent.glob(f"{glob.escape(name)}.partial-*"):
        # A tool that outlived its run may still write there.
        with contextlib.suppress(OSError):
            files.remove_tree(left_over)


@contextlib.contextmanager
def _fresh(parent: Path, name: str) -> Iterator[Path]:
    """Give a fresh folder, and remove it afterwards, together with what killed runs under the same name left."""
    _sweep(parent, name)
    with files.temporary_folder(parent, name) as folder:
        yield folder


def _run(hipifier: Hipifier, key: Sha256, tree: Path, modules: Mapping[Module, Markers]) -> Hipified:
    """Run the tool on a copy, commit what it made, and keep that."""
    tool, log = hipifier.tool, hipifier.log
    start = log.stat().st_size if log.is_file() else 0
    copies = [ModuleCopy(module=module, head=markers.upstream, content=markers.base) for module, markers in modules.items()]
    with _fresh(hipifier.scratch, hipifier.name) as scratch:
        folder, notes = scratch / "tree", scratch / "notes"
        repositories = copy_modules(copies, folder, git=hipifier.git)
        where = folder if tool.module == ROOT else folder / tool.module
        if not (where / tool.script).is_file():
            raise _no_script(tool, f"the source tree has no {tool.script}")
        layout = Layout.of(folder, repositories)
        ended = hipifier.git.runner.run(
            [hipifier.python, "-X", "utf8", _DRIVER, notes, tool.script, *tool.arguments],
            cwd=where,
            log=log,
            env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
            timeout=tool.time_limit_minutes * _SECONDS,
            code="hipify-failed",
            what=tool.script,
            alone=True,
        )
        noted = read_notes(notes)
        layout.refuse_changed(log=log)
        trees = {copy.module.path: _store(repositories[copy.module.path], copy, hipifier) for copy in copies}
        before = {module: markers.base for module, markers in modules.items()}
        refuse_other_submodules(before, trees, log=log)
        record = HipifyRecord(
            key=key,
            tool=hipifier.digest,
            generation=_generation(repositories[tool.module]),
            python=noted.python,
            seconds=round(ended.seconds, 3),
            modules=account_of(noted, folder, before, trees),
        )
    commits = commit_phase(tree, modules, trees, phase="hipified", subject=_SUBJECT)
    with log.open("ab") as sink:
        for part in record.modules:
            sink.write(f"# {_summary(part)}\n".encode())
            if part.added or part.changed or part.removed:
                hipifier.say(_summary(part))
    hipifier.kept.keep(modules, commits, record, _said(log, start))
    return Hipified(commits=commits, record=record)


def _said(log: Path, start: int) -> bytes:
    """Return what a log has from ``start`` on; of a long one its beginning and its end."""
    with log.open("rb") as source:
        left_out = source.seek(0, os.SEEK_END) - start - 2 * _KEPT
        source.seek(start)
        if left_out <= 0:
            return source.read()
        first = source.read(_KEPT)
        source.seek(-_KEPT, os.SEEK_END)
        return b"%s\n# %d bytes are left out here\n%s" % (first, left_out, source.read())


def _generation(repository: Repository) -> str | None:
    """Return the version that the engine states of itself."""
    try:
        found = _VERSION.search((repository.folder / _ENGINE / "version.py").read_bytes())
    except OSError:
        return None
    return found[1].decode("utf-8", "replace") if found else None


def _store(repository: Repository, copy: ModuleCopy, hipifier: Hipifier) -> TreeId:
    """Put a copy's files into the module's repository; hidden ones too, but no byte code.

    Raises
    ------
    HipwrightError
        ``hipify-failed`` when git refuses one of the files.
    """
    env = {"GIT_OBJECT_DIRECTORY": str(copy.module.git_dir / "objects")}
    # Python on Windows writes CR LF where it read LF.
    line_ends = ("-c", "core.autocrlf=input") if hipifier.platform is Platform.WINDOWS else ()
    byte_code = (":(exclude,glob)**/__pycache__/**", ":(exclude,glob)**/*.pyc")
    done = repository.capture(*line_ends, "add", "--all", "--force", "--", ".", *byte_code, env=env, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        what = f"left files in {called(copy.module.path)} that git cannot store ({said})"
        raise not_a_result(what, module=copy.module.path, log=hipifier.log)
    return TreeId(repository.text("write-tree", env=env))


def _summary(part: ModuleFiles) -> str:
    where = called(part.path)
    gone = f", {len(part.removed)} removed" if part.removed else ""
    return f"hipify in {where}: {counted(len(part.added), 'file')} added, {len(part.changed)} changed{gone}"
