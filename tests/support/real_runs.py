"""Running hipwright's commands as a person does, in a process of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CLONE", "Ran", "clone_with", "find_links", "nox"]

CLONE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command that ended: its status, its talk, and the one JSON document on its stdout."""

    status: int
    talk: str
    document: dict[str, Any]

    def states(self) -> dict[str, str]:
        """Return what became of each stage."""
        return {stage["stage"]: stage["state"] for stage in self.document["stages"]}


def nox(session: str, *words: str | Path, cwd: Path, clone: Path = CLONE, links: Iterable[Path] = ()) -> Ran:
    """Run ``nox -s SESSION -- WORDS --json`` of a clone, typed in ``cwd``; ``links`` are further folders for the base index."""
    command = [
        sys.executable,
        "-m",
        "nox",
        "--noxfile",
        str(clone / "noxfile.py"),
        "-s",
        session,
        "--",
        *map(str, words),
        "--json",
    ]
    # The clone's own code, so that its noxfile has nothing to hand over.
    environment = {**os.environ, "PIP_FIND_LINKS": find_links(links), "PYTHONPATH": str(clone)}
    ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    try:
        document = json.loads(ended.stdout)
    except ValueError:
        document = {"stdout": ended.stdout}
    return Ran(status=ended.returncode, talk=ended.stderr, document=document)


def find_links(more: Iterable[Path]) -> str:
    """Return the base index's folders as pip's variable takes them: those of the session, and more."""
    return " ".join([*os.environ.get("PIP_FIND_LINKS", "").split(), *(path.as_uri() for path in more)])


def clone_with(folder: Path, *projects: Path) -> Path:
    """Make a clone in ``folder`` whose only projects are these folders, and return it; the code is this clone's own."""
    clone = folder / "clone"
    clone.mkdir()
    for name in ("build_tools", "requirements"):
        shutil.copytree(CLONE / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("noxfile.py", "noxw.py", "pyproject.toml"):
        shutil.copyfile(CLONE / name, clone / name)
    for project in projects:
        shutil.copytree(project, clone / "external-builds" / project.name)
    return clone
