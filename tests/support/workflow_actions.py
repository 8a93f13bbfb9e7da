"""What stands for third-party actions when workflows are executed here: a program that does what the action documents.

It is started as ``python workflow_actions.py ACTION``, with the inputs as JSON in ``INPUTS`` and the run's folder in ``RUN_FOLDER``.
"""

from __future__ import annotations

import fnmatch
import glob
import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["INPUTS", "STAND_INS", "checkout", "download_artifact", "upload_artifact"]

INPUTS: Final = (
    "aws-region",
    "compression-level",
    "fail_on_unmatched_files",
    "files",
    "if-no-files-found",
    "include-hidden-files",
    "merge-multiple",
    "name",
    "overwrite",
    "password",
    "path",
    "pattern",
    "python-version",
    "ref",
    "registry",
    "repository",
    "retention-days",
    "role-session-name",
    "role-to-assume",
    "tag_name",
    "username",
)
"""The inputs that workflows give to actions: what is not here does not reach a stand-in."""

_NO_NAME: Final = re.compile(r'["<>|*?:\\/\r\n]')
_NO_PATH: Final = re.compile(r'["<>|*?:\r\n]')


def upload_artifact(inputs: Mapping[str, str], artifacts: Path, workspace: Path) -> None:
    """Keep files as an artifact: a name is taken once, hidden files stay behind, and folders below what was named are kept."""
    name = inputs["name"] or "artifact"
    if _NO_NAME.search(name):
        sys.exit(f"no artifact may be called {name!r}")
    wanted = [line.strip() for line in inputs["path"].splitlines() if line.strip()]
    roots: list[Path] = []
    found: set[Path] = set()
    for pattern in wanted:
        if pattern.startswith("!"):
            found = {path for path in found if not fnmatch.fnmatch(str(path), str(workspace / pattern[1:]))}
            continue
        roots.append(_root(workspace, pattern))
        found |= _files(workspace, pattern, roots[-1], hidden=inputs["include-hidden-files"] == "true")
    if not found:
        if inputs["if-no-files-found"] == "error":
            sys.exit(f"no file was found for {inputs['path']}")
        return
    root = Path(os.path.commonpath(roots))
    target = artifacts / name
    if target.exists():
        # ``overwrite`` is for a later attempt of the run, and this is one attempt: two of its jobs would lose what one of them has.
        sys.exit(f"an artifact with the name {name} exists already in this run")
    for path in found:
        inside = path.relative_to(root) if path != root else Path(path.name)
        if _NO_PATH.search(inside.as_posix()):
            sys.exit(f"no file of an artifact may be called {inside}")
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / inside)


def download_artifact(inputs: Mapping[str, str], artifacts: Path, workspace: Path) -> None:
    """Bring an artifact by its name, which must be there, or those that a pattern fits, each in a folder of its own or in one."""
    place = workspace / inputs["path"]
    if inputs["name"]:
        if not (artifacts / inputs["name"]).is_dir():
            sys.exit(f"this run has no artifact {inputs['name']}")
        shutil.copytree(artifacts / inputs["name"], place, dirs_exist_ok=True)
        return
    for artifact in sorted(path for path in artifacts.iterdir() if fnmatch.fnmatch(path.name, inputs["pattern"] or "*")):
        to = place if inputs["merge-multiple"] == "true" else place / artifact.name
        shutil.copytree(artifact, to, dirs_exist_ok=True)


def _root(workspace: Path, pattern: str) -> Path:
    return workspace.joinpath(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))


def _files(workspace: Path, pattern: str, root: Path, *, hidden: bool) -> set[Path]:
    """Return the files of a pattern, those of folders that it names included; what is hidden at ``root`` or below counts not."""
    found: set[Path] = set()
    rest = Path(workspace / pattern).relative_to(root)
    for path in root.glob(rest.as_posix()) if rest.parts else [root] if root.exists() else []:
        found |= {one for one in path.rglob("*") if one.is_file()} if path.is_dir() else {path}
    if hidden:
        return found
    return {path for path in found if not any(part.startswith(".") for part in (root.name, *path.relative_to(root).parts))}


def checkout(inputs: Mapping[str, str], _artifacts: Path, workspace: Path) -> None:
    """Bring the clone, whatever repository is asked for: the runner itself does so only where none is named."""
    shutil.copytree(os.environ["RUN_CLONE"], workspace / inputs["path"], symlinks=True, dirs_exist_ok=True)


def _nothing(_inputs: Mapping[str, str], _artifacts: Path, _workspace: Path) -> None:
    """Do nothing: what was asked for is noted all the same."""


STAND_INS: Final[Mapping[str, Callable[[Mapping[str, str], Path, Path], None]]] = {
    "actions/checkout": checkout,
    "actions/download-artifact": download_artifact,
    "actions/setup-python": _nothing,
    "actions/upload-artifact": upload_artifact,
    "aws-actions/configure-aws-credentials": _nothing,
    "docker/login-action": _nothing,
    "softprops/action-gh-release": _nothing,
}
"""What stands for each action."""


def _main() -> None:
    action, inputs, folder = sys.argv[1], json.loads(os.environ["INPUTS"]), Path(os.environ["RUN_FOLDER"])
    with (folder / "actions.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(
            json.dumps({"action": action, "job": os.environ["GITHUB_JOB"], **{k: v for k, v in inputs.items() if v}}) + "\n"
        )
    STAND_INS[action](inputs, folder / "artifacts", Path(os.environ["GITHUB_WORKSPACE"]))


if __name__ == "__main__":
    _main()
