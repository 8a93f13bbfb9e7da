"""Real git repositories for tests: origins with nested submodules and odd names, and everything that a checkout of them needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from build_tools.config.project import Project
from build_tools.digest import of_value
from build_tools.hipify.cache import HipifyCache
from build_tools.hipify.run import Hipifier, hipify
from build_tools.patches.apply import apply_base_patches, apply_hipified_patches
from build_tools.patches.pin_moves import submodules_after_base
from build_tools.patches.series import load_series
from build_tools.process import Runner, base_environment
from build_tools.sources.checkout import bringer_of, checkout
from build_tools.sources.git import Git
from build_tools.sources.mirror import WHOLE, History
from build_tools.sources.origin import Origin
from build_tools.sources.resolve import resolve_sources
from build_tools.sources.state import read_source_tree
from build_tools.types import Platform

if TYPE_CHECKING:
    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.receipts.values import SourceTree

__all__ = [
    "ODD_NAMES",
    "Person",
    "Yard",
    "git",
    "head",
    "identity",
    "make_patch",
    "new_git",
    "raw",
    "snapshot",
    "status",
    "write",
]

ODD_NAMES = (
    "plain.cu",
    "with space.cu",
    "new\nline.cu",
    'quote".cu',
    "tab\t.cu",
    "-dash.cu",
    "é.cu",
    "back\\slash.cu",
    ":colon.cu",
    "star*.cu",
    os.fsdecode(b"bytes-\xff\xfe.cu"),
)
"""File names that line-oriented readers get wrong; the last is no text at all."""

Tree = Mapping[str, "str | bytes"]


def identity(name: str = "Some One") -> dict[str, str]:
    """Return an environment in which plain git commits as a person, with a date that never changes, and reads no settings."""
    return {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": "some.one@example.com",
        "GIT_AUTHOR_DATE": "2024-03-04T05:06:07+02:00",
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": "some.one@example.com",
        "GIT_COMMITTER_DATE": "2024-03-04T05:06:07+02:00",
    }


def raw(folder: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> bytes:
    """Run plain git as a person does and return its output."""
    settings = ("protocol.file.allow=always", "init.defaultBranch=main", "core.fsync=none")
    command = ["git", *(word for setting in settings for word in ("-c", setting)), *arguments]
    done = subprocess.run(command, cwd=folder, env=env or identity(), capture_output=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def git(folder: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> str:
    return raw(folder, *arguments, env=env).decode().rstrip("\n")


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")


def status(folder: Path) -> bytes:
    """Return what a person's git calls changed, in every module; nothing when all is clean."""
    return raw(folder, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none") + raw(
        folder, "submodule", "--quiet", "foreach", "--recursive", "git status --porcelain -z --untracked-files=all"
    )


def write(folder: Path, tree: Tree) -> None:
    for name, content in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder that are not git's, by name; links as their targets, executables marked."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if ".git" in name.split("/"):
            continue
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(path.readlink())
        elif path.is_file():
            found[name] = (b"x " if path.stat().st_mode & 0o100 else b"  ") + path.read_bytes()
    return found


def make_patch(
    folder: Path, tree: Tree, *, message: str = "[x] patch", remove: tuple[str, ...] = (), commit: str = "HEAD"
) -> bytes:
    """Return a patch in the format that series have, which makes these changes to a commit of a repository; the repository stays as it is."""
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place, "clone")
        git(folder, "clone", "--quiet", "--no-checkout", ".", clone)
        git(clone, "checkout", "--quiet", "--detach", git(folder, "rev-parse", commit))
        for name in remove:
            git(clone, "rm", "--quiet", "-r", "--", name)
        write(clone, tree)
        git(clone, "add", "--all", "--force", "--", ".")
        git(clone, "commit", "--quiet", "--allow-empty", "-m", message)
        options = ("--keep-subject", "--zero-commit", "--no-signature", "--full-index", "--no-stat", "--binary")
        return raw(clone, "format-patch", "--stdout", *options, "HEAD~1")


@dataclass
class Person:
    """A working clone in which upstream's people commit; ``folder`` is also the origin that others fetch from."""

    folder: Path
    fresh: bool = True

    def __post_init__(self) -> None:
        if self.fresh:
            self.folder.mkdir(parents=True)
            git(self.folder, "init", "--quiet")

    def commit(self, tree: Tree, message: str = "change", *, remove: tuple[str, ...] = ()) -> str:
        for name in remove:
            git(self.folder, "rm", "-r", "--quiet", "--force", "--", name)
        write(self.folder, tree)
        git(self.folder, "add", "--all", "--force", "--", ".")
        git(self.folder, "commit", "--quiet", "--allow-empty", "-m", message)
        return head(self.folder)

    def submodule(self, other: Person, path: str, *, url: str | None = None, name: str | None = None) -> str:
        if url is not None and not git(self.folder, "remote"):
            git(self.folder, "remote", "add", "origin", str(self.folder))
        named = ("--name", name) if name is not None else ()
        git(self.folder, "submodule", "--quiet", "add", *named, "--", url or str(other.folder), path)
        git(self.folder, "commit", "--quiet", "-m", f"add {path}")
        return head(self.folder)

    def record(self, branch: str, files: Tree, modules: Mapping[str, tuple[str, Person, str]]) -> str:
        """Make a branch of one commit with exactly these files and submodules (by path: name, origin, commit); nothing is checked out."""
        text = "".join(
            f'[submodule "{name}"]\n\tpath = {path}\n\turl = {other.folder}\n' for path, (name, other, _) in modules.items()
        )
        whole = {**files, **({".gitmodules": text} if modules else {})}
        lines = []
        with tempfile.TemporaryDirectory() as place:
            index = {**identity(), "GIT_INDEX_FILE": str(Path(place, "index"))}
            for number, (name, content) in enumerate(whole.items()):
                file = Path(place, str(number))
                file.write_bytes(content.encode() if isinstance(content, str) else content)
                blob = git(self.folder, "hash-object", "-w", "--no-filters", file)
                lines.append(f"100644,{blob},{name}")
            lines += [f"160000,{commit},{path}" for path, (_, _, commit) in modules.items()]
            for line in lines:
                git(self.folder, "update-index", "--add", "--cacheinfo", line, env=index)
            tree = git(self.folder, "write-tree", env=index)
        commit = git(self.folder, "commit-tree", tree, "-m", branch)
        git(self.folder, "update-ref", f"refs/heads/{branch}", commit)
        return commit


def new_git(machine: Mapping[str, str] | None = None, *, pauses: list[float] | None = None) -> Git:
    """Return hipwright's git; one that does not wait, and notes how long it would have, with ``pauses``."""
    git = Git(runner=Runner(environment=base_environment(os.environ if machine is None else machine)))
    return git if pauses is None else replace(git, pause=pauses.append)


PROJECT = {
    "schema": 1,
    "name": "toy",
    "summary": "a toy",
    "origin": {"kind": "git", "url": "unused"},
    "version": {"file": "version.txt"},
    "hipify": {"script": "tools/hip.py"},
    "sdk": "none",
    "wheel": {"distribution": "toy"},
    "lines": [{"ref": "*", "line": "1"}],
}

HIPIFY = """
from pathlib import Path
root = Path(__file__).resolve().parents[1]
for path in sorted(root.rglob("*.cu")):
    target = path.parent / "hip" / (path.stem + ".hip")
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(path.read_bytes().replace(b"cuda", b"hip"))
for path in sorted(root.rglob("*.txt")):
    path.write_bytes(path.read_bytes().replace(b"cuda", b"hip") + b"hipified\\n")
"""
"""A tool that makes files, some of them hidden by ``.gitignore``, changes others in place, and is not idempotent."""


@dataclass
class Yard:
    """A place with origins, a project, a cache and source trees; ``git`` is hipwright's."""

    place: Path
    git: Git = field(default_factory=new_git)
    said: list[str] = field(default_factory=list)
    locked: dict[Path, LockedSources] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return self.place / "cache"

    @property
    def folder(self) -> Path:
        return self.place / "external-builds" / "toy"

    @property
    def log(self) -> Path:
        return self.place / "log.txt"

    def project(self, **changes: object) -> Project:
        return msgspec.convert({**PROJECT, **changes}, Project)

    def person(self, name: str) -> Person:
        return Person(self.place / "origins" / name)

    def again(self, name: str) -> Person:
        """Return a person who was there before."""
        return Person(self.place / "origins" / name, fresh=False)

    def origin(self, person: Person) -> Origin:
        return Origin(url=str(person.folder), git=self.git)

    def lock(self, person: Person, ref: str | None = "main", *, whole: bool = True, **changes: object) -> LockedSources:
        return resolve_sources(
            self.project(**changes),
            origin=self.origin(person),
            ref=ref,
            reason="asked for",
            cache=self.cache,
            say=self.said.append,
            whole=whole,
        )

    def checkout(
        self,
        locked: LockedSources,
        tree: Path,
        *,
        discard_local: bool = False,
        bare: bool = False,
        history: History = WHOLE,
        project: Project | None = None,
    ) -> None:
        self.locked[tree] = locked
        checkout(
            locked,
            project=project,
            after_base=self.pins(locked),
            tree=tree,
            cache=self.cache,
            git=self.git,
            say=self.said.append,
            discard_local=discard_local,
            history=history,
            bare=bare,
        )

    def pins(
        self, locked: LockedSources, *, line: str | None = "1", platform: Platform = Platform.LINUX, whole: bool = True
    ) -> tuple[SubmodulePin, ...]:
        """Return the submodules that the base patches of a line leave; those of the sources when the line has no series."""
        if line is not None and not (self.folder / "patches" / line).is_dir():
            line = None
        series = load_series(self.folder, line)
        return submodules_after_base(
            series,
            locked,
            project="toy",
            cache=self.cache,
            git=self.git,
            say=self.said.append,
            whole=whole,
            platform=platform,
        )

    def patches(
        self,
        phase: str,
        tree: Path,
        *,
        line: str | None = "1",
        platform: Platform = Platform.LINUX,
        discard_local: bool = False,
        strict: bool = False,
        three_way: bool = False,
    ) -> None:
        """Apply the patches of a phase to a tree that this yard checked out."""
        series = load_series(self.folder, line)
        say, log = self.said.append, self.log
        if phase == "hipified":
            apply_hipified_patches(
                series,
                tree=tree,
                platform=platform,
                git=self.git,
                log=log,
                say=say,
                discard_local=discard_local,
                strict=strict,
                three_way=three_way,
            )
            return
        locked = self.locked[tree]
        apply_base_patches(
            series,
            locked=locked,
            after_base=self.pins(locked, line=line, platform=platform),
            tree=tree,
            platform=platform,
            bringer=bringer_of(locked, tree=tree, cache=self.cache, git=self.git, history=WHOLE, say=say),
            git=self.git,
            log=log,
            say=say,
            discard_local=discard_local,
            strict=strict,
            three_way=three_way,
        )

    def hipifier(
        self, name: str = ".toy-hipify", *, platform: Platform = Platform.LINUX, tool: Mapping[str, object] | None = None
    ) -> Hipifier:
        """Return what runs the project's tool, or another one; results are kept in the yard's cache."""
        wanted = self.project(hipify=tool or PROJECT["hipify"]).hipify
        assert wanted is not None
        return Hipifier(
            tool=wanted,
            digest=of_value("the tool"),
            kept=HipifyCache(cache=self.cache, git=self.git, say=self.said.append),
            scratch=self.place / "scratch",
            name=name,
            python=Path(sys.executable),
            platform=platform,
            git=self.git,
            log=self.log,
            say=self.said.append,
        )

    def hipify(self, tree: Path, hipifier: Hipifier | None = None, *, again: bool = False, discard_local: bool = False) -> None:
        tool = hipifier or self.hipifier()
        hipify(tree, tool, git=self.git, say=self.said.append, again=again, discard_local=discard_local)

    def read(self, locked: LockedSources, tree: Path) -> SourceTree:
        return read_source_tree("toy", locked=locked, tree=tree, git=self.git)

    def series(self, files: Mapping[str, bytes], **entry: object) -> None:
        """Write the series of line 1 with these patch files, in this order."""
        place = self.folder / "patches" / "1"
        text = "schema = 1\n"
        for name, data in files.items():
            write(place, {name: data})
            text += f'[[patch]]\nfile = "{name}"\nwhy = "a test"\nupstream = "none"\nowner = "tests"\nadded = 2026-01-01\n'
            text += "".join(f"{key} = {msgspec.json.encode(value).decode()}\n" for key, value in entry.items())
        write(place, {"series.toml": text})
