"""A clone with one project, its origins with nested submodules, and the commands of patch series called in this process."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from build_tools.config.project import load_project
from build_tools.pipeline.run import run_pipeline
from build_tools.pipeline.save_patches import save_patches
from build_tools.types import ProjectName, Stage
from tests.support.source_trees import HIPIFY, Person, git, identity, raw, write
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace

__all__ = ["DEEP", "LIB", "PatchDesk"]

LIB = "third party/lib"
DEEP = f"{LIB}/dé ep"

_PROJECT = """\
schema = 1
name = "toy"
summary = "a toy"
sdk = "none"

[origin]
kind = "git"
url = "{url}"

[refs]
default = "main"

{lines}

[version]
file = "version.txt"

[hipify]
script = "tools/hip.py"

[wheel]
distribution = "toy"
"""

_LINE = '[[lines]]\nref = "*"\nline = "1"\n'

_ENTRY = 'why = "a test"\nupstream = "none"\nowner = "tests"\nadded = 2026-01-01\n'


@dataclass(kw_only=True)
class PatchDesk:
    """Somebody who checks the project out, commits in its tree and saves; ``place`` holds the clone, the origins and the work dirs."""

    place: Path
    said: list[str] = field(default_factory=list)

    @property
    def clone(self) -> Path:
        return self.place / "clone"

    @property
    def line(self) -> Path:
        """The folder of the patch line."""
        return self.clone / "external-builds" / "toy" / "patches" / "1"

    def person(self, name: str, *, fresh: bool = False) -> Person:
        return Person(self.place / "origins" / name, fresh=fresh)

    def begin(self, files: Mapping[str, str | bytes], *, lines: str = _LINE) -> None:
        """Make the origins and the clone: the files are those of the root, and its submodules have a few of their own."""
        deep, lib, toy = (self.person(name, fresh=True) for name in ("deep", "lib", "toy"))
        deep.commit({"d.cu": "cuda deep\n", "d.txt": "deep one\n"})
        lib.record(
            "main", {"l.cu": "cuda lib\n", "l.txt": "lib one\n"}, {"dé ep": ("deep", deep, git(deep.folder, "rev-parse", "HEAD"))}
        )
        whole = {"version.txt": "1.0\n", "tools/hip.py": HIPIFY, **files}
        toy.record("main", whole, {LIB: ("lib", lib, git(lib.folder, "rev-parse", "main"))})
        write(self.clone / "external-builds" / "toy", {"project.toml": _PROJECT.format(url=toy.folder, lines=lines)})
        self.series({})

    def series(self, patches: Mapping[str, bytes], **entry: str) -> None:
        """Write the line: these patch files, in this order; ``entry`` are further lines of every one."""
        text = "schema = 1\n"
        for name, data in patches.items():
            write(self.line, {name: data})
            text += f'\n[[patch]]\nfile = "{name}"\n{_ENTRY}' + "".join(f"{key} = {value}\n" for key, value in entry.items())
        write(self.line, {"series.toml": text})

    def files(self) -> dict[str, bytes]:
        """Return the files of the line by name."""
        return {
            path.relative_to(self.line).as_posix(): path.read_bytes() for path in sorted(self.line.rglob("*")) if path.is_file()
        }

    def workplace(self, name: str = "work", **settings: object) -> Workplace:
        """Return where a command works; a work dir of another name has a cache of its own too."""
        folder = self.place / "desks" / name
        folder.mkdir(parents=True, exist_ok=True)
        return replace(workplace(folder, **settings), clone=self.clone)

    def tree(self, name: str = "work") -> Path:
        return self.place / "desks" / name / "work" / "src" / "toy"

    def checkout(self, name: str = "work", **settings: object) -> dict[str, Any]:
        place = self.workplace(name, **settings)
        try:
            project = load_project(place.external_builds, ProjectName("toy"))
            return run_pipeline([project], until=Stage.HIPIFIED_PATCHES, workplace=place)
        finally:
            self.said += memory_of(place).said

    def until_base(self, name: str = "work") -> None:
        """Check the project out as somebody does who is to make base patches."""
        self.checkout(name, until=Stage.BASE_PATCHES)

    def save(self, name: str = "work", **settings: object) -> dict[str, Any]:
        """Save, and return what the command's document says of the project."""
        place = self.workplace(name, **settings)
        try:
            found: dict[str, Any] = save_patches(place)["saved"]["toy"]
            return found
        finally:
            self.said += memory_of(place).said

    def commit(
        self,
        files: Mapping[str, str | bytes],
        message: str = "change",
        *,
        module: str = ".",
        name: str = "work",
        more: tuple[str, ...] = (),
    ) -> str:
        """Write files of a module and commit them, as a person who has settings of their own does."""
        folder = self.tree(name) / module
        write(folder, files)
        if files:
            git(folder, "add", "--force", "--", *files)
        git(folder, "commit", "--quiet", "-m", message, *more)
        return git(folder, "rev-parse", "HEAD")

    def trees(self, name: str = "work") -> dict[str, dict[str, str]]:
        """Return the files of every module's HEAD by path, with modes and objects; submodules speak for themselves."""
        found = {}
        for module in (".", LIB, DEEP):
            listed = raw(self.tree(name) / module, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split(b"\0")
            pairs = (record.split(b"\t", 1) for record in listed if record and not record.startswith(b"160000"))
            found[module] = {os.fsdecode(path): facts.decode() for facts, path in pairs}
        return found

    def log(self, module: str = ".", name: str = "work") -> list[str]:
        """Return the subjects of a module's commits, latest first, without the origin's and the stages' own."""
        text = git(self.tree(name) / module, "log", "--format=%s", "refs/hipwright/upstream..HEAD")
        return [line for line in text.splitlines() if not line.startswith(("Record the submodules", "Hipify the sources"))]

    def heads(self, name: str = "work") -> dict[str, str]:
        return {module: git(self.tree(name) / module, "rev-parse", "HEAD") for module in (".", LIB, DEEP)}

    @staticmethod
    def as_somebody(name: str = "Some One") -> dict[str, str]:
        return identity(name)
