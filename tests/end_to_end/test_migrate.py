"""The right column of the page for people who come from the scripts of today, run as it stands there."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from build_tools.options.command_line import find_command, parse_line
from tests.support.commands import CLONE, Desk, add_project, small_clone
from tests.support.pages import shown_commands
from tests.support.rocm_trees import archive_tree, make_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(sys.platform != "linux", reason="the run that the page names is one for Linux"),
]

PAGE: Final = CLONE / "docs" / "how-to" / "migrate.md"
COMPANIONS: Final = ("pytorch-audio", "pytorch-vision", "triton", "apex")
PROJECTS: Final = ("sample", "pytorch", *COMPANIONS)
PARSED: Final = "*parsed*"
WHOLE: Final = (
    "checkout_pytorch -- --pytorch-ref nightly",
    "--manifest-out",
    "--dist-dir dist",
    "--artifact-group gfx94X-dcgpu --output-dir .work/artifacts",
    "--dest-dir .work/packages",
    "upload_rocm_packages",
    "upload_wheels",
    "promote --",
)
"""Commands that others need the results of; of the rest the plan is enough."""


def lines() -> Iterator[tuple[str, bool]]:
    """Return the commands of the page, and whether each is run."""
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    for shown in shown_commands(PAGE):
        yield shlex.join(shown.words), PARSED not in rows[shown.line - 1]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("migrate")
    clone = small_clone(folder, "sample")
    for name in ("pytorch", *COMPANIONS):
        place = add_project(clone, name, distribution="torch" if name == "pytorch" else None)
        with (place / "sources" / "repository.toml").open("a", encoding="utf-8") as stream:
            stream.write('\n[[repository.branch]]\nname = "nightly"\nfolders = ["main"]\n')
        with (place / "project.toml").open("a", encoding="utf-8") as stream:
            stream.write('\n[[lines]]\nref = "nightly"\nwhy = "the sources are our own"\n')
    tree = make_tree(folder / "tree", targets=("gfx942", "gfx1201"), kernels=1, headers=1)
    archive_tree(tree.folder, folder / "runs" / "17843211-linux")
    for git in (
        ["init", "-q"],
        ["add", "README.md"],
        ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "a clone"],
    ):
        subprocess.run(["git", *git], cwd=clone, check=True)
    return Desk(clone=clone, work=clone / ".work", cache=cache, variables={"HIPWRIGHT_CACHE_DIR": str(cache)})


def test_the_right_column_runs(desk: Desk) -> None:
    ran = [line for line, run in lines() if run and try_line(desk, line)]
    assert len(ran) > 45
    assert [line for line in WHOLE if not any(line in one for one in ran)] == []


def try_line(desk: Desk, line: str) -> bool:
    """Run a line, to the plan where it has one and nothing that comes later needs more."""
    words = shlex.split(line)
    command = find_command(parse_line(words).names[0], PROJECTS, invoke=words[0] == "invoke")
    assert command is not None
    if "dry-run" in command.option_names and "--dry-run" not in words and not any(whole in line for whole in WHOLE):
        words += ["--dry-run"] if "--" in words or words[0] == "invoke" else ["--", "--dry-run"]
    if command.name == "fetch_artifacts":
        desk = replace(desk, variables={**desk.variables, "HIPWRIGHT_STORE": str(desk.clone.parent / "runs")})
    desk.run("-m", *words).well()
    return True
