"""The command that marks files as solved: it can be pasted, whatever they are called and wherever they lie."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from build_tools.patches.pick import add_line

if TYPE_CHECKING:
    from build_tools.sources.modules import Module

FOLDER = Path("a place")
START = ["git", "-C", "a place", "add"]


def line(*names: bytes) -> list[str]:
    return shlex.split(add_line(cast("Module", SimpleNamespace(folder=FOLDER)), names))


def test_files_are_named_and_added_though_they_are_ignored() -> None:
    assert line(b"with space.c", "é.c".encode(), b"-dash") == [*START, "--force", "--", "with space.c", "é.c", "-dash"]


@pytest.mark.parametrize("names", [(b"\xff.c",), (b"a\nb",), (b":(top)x",), (b"x\x1b[2J",), tuple(b"%d" % n for n in range(11))])
def test_what_cannot_be_pasted_and_very_many_are_left_to_git(names: tuple[bytes, ...]) -> None:
    assert line(*names) == [*START, "--all"]
