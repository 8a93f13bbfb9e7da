"""A person at a desk who works on patches: a clone under git, commits in source trees, and what the series on disk say."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.support.source_trees import git, identity, write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.commands import Desk

__all__ = ["GREETER", "MODULES", "WORDS", "PatchDesk"]

GREETER: Final = "third_party/greeter"
WORDS: Final = f"{GREETER}/words"
MODULES: Final = (".", GREETER, WORDS)
"""The sample's modules at its release."""


@dataclass(frozen=True, kw_only=True)
class PatchDesk:
    """A desk whose clone is a git repository, and the sample's series in it."""

    desk: Desk
    project: str = "sample"
    line: str = "1.0"

    @property
    def tree(self) -> Path:
        """The source tree."""
        return self.desk.work / "src" / self.project

    @property
    def place(self) -> Path:
        """The folder of the series."""
        return self.desk.clone / "external-builds" / self.project / "patches" / self.line

    def begin(self) -> PatchDesk:
        """Put the clone under git, with all that is in it, and check the project out."""
        git(self.desk.clone, "init", "--quiet")
        git(self.desk.clone, "add", "--all", "--force", "external-builds")
        git(self.desk.clone, "commit", "--quiet", "-m", "the clone")
        self.desk.nox(f"checkout_{self.project}").well()
        return self

    def changed(self) -> dict[str, str]:
        """Return what git says of the clone's ``external-builds``: status by path below the project's folder."""
        lines = git(
            self.desk.clone, "status", "--porcelain", "--untracked-files=all", "--no-renames", "external-builds"
        ).splitlines()
        prefix = f"external-builds/{self.project}/"
        return {line[3:].strip('"').removeprefix(prefix): line[:2].strip() for line in lines}

    def commit_clone(self) -> None:
        """Commit what has changed in the clone."""
        git(self.desk.clone, "add", "--all", "external-builds")
        git(self.desk.clone, "commit", "--quiet", "--allow-empty", "-m", "more")

    def entries(self) -> list[dict[str, Any]]:
        """Return the entries of the series, as they are on disk."""
        entries = tomllib.loads((self.place / "series.toml").read_text(encoding="utf-8")).get("patch", [])
        assert isinstance(entries, list)
        return entries

    def names(self) -> list[str]:
        """Return the patch files that the series names, in its order; they are those on disk."""
        names = [entry["file"] for entry in self.entries()]
        assert sorted(names) == sorted(path.relative_to(self.place).as_posix() for path in self.place.rglob("*.patch"))
        return names

    def git(self, module: str, *words: str, name: str = "A Person", env: Mapping[str, str] | None = None) -> str:
        """Run git in a module as the person does."""
        return git(self.tree / module, *words, env={**identity(name), **(env or {})})

    def commit(self, module: str, files: Mapping[str, str | bytes], message: str, *more: str) -> str:
        """Write files and commit them, with plain ``git add`` and ``git commit``; return the commit. Folders that hipify fills are often ignored."""
        write(self.tree / module, files)
        self.git(module, "add", "--force", "--", *files)
        self.git(module, "commit", "--quiet", "-m", message, *more)
        return self.git(module, "rev-parse", "HEAD")

    def append(self, module: str, file: str, text: str, message: str, *more: str) -> str:
        """Add lines to a file and commit it, as ``git commit -a`` would; return the commit."""
        old = (self.tree / module / file).read_bytes()
        return self.commit(module, {file: old + text.encode()}, message, *more)

    def heads(self) -> dict[str, str]:
        """Return each module's HEAD."""
        return {module: self.git(module, "rev-parse", "HEAD") for module in MODULES}

    def is_clean(self) -> bool:
        """Return whether git finds nothing to commit, in any module."""
        found = self.git(".", "status", "--porcelain", "--ignored", "--untracked-files=all", "--ignore-submodules=none")
        return found == "" and all(self.git(module, "status", "--porcelain", "--untracked-files=all") == "" for module in MODULES)

    def made_again(self) -> dict[str, str]:
        """Take the tree back to upstream's commits and forward again, and return each module's HEAD."""
        before = self.heads()
        self.desk.nox(f"checkout_{self.project}", "--until", "checkout").well()
        assert self.heads() != before
        self.desk.nox(f"checkout_{self.project}").well()
        return self.heads()

    def elsewhere(self, name: str) -> PatchDesk:
        """Return the same clone with a work dir and a cache where nothing has been made, the project checked out there."""
        desk = self.desk
        other = type(desk)(
            clone=desk.clone, work=desk.work.with_name(name), cache=desk.work.with_name(f"{name}-cache"), variables=desk.variables
        )
        other.nox(f"checkout_{self.project}").well()
        return PatchDesk(desk=other, project=self.project, line=self.line)
