"""The source stages of a tree of a person's own: what was locked is what is built, and what is not done to the tree is said."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from build_tools.config.project import load_project
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.pipeline.own_stages import take_own_sources
from build_tools.sources.export import materialise
from build_tools.types import ProjectName, Stage
from tests.support.source_trees import Person, git, new_git, write
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
schema = 1
name = "toy"
summary = "a test"
sdk = "none"

[origin]
kind = "git"
url = "https://example.com/toy.git"

[[lines]]
ref = "*"
why = "none needed"

[version]
file = "version.txt"

[wheel]
distribution = "toy"
"""

HIPIFY = '\n[hipify]\nscript = "tools/hip.py"\n'
STAGES = (Stage.CHECKOUT, Stage.BASE_PATCHES, Stage.HIPIFY, Stage.HIPIFIED_PATCHES)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    origin = Person(tmp_path / "origin")
    origin.commit({"version.txt": "1.2.0\n", "pyproject.toml": "[build-system]\n"})
    git(tmp_path, "clone", "--quiet", origin.folder, tmp_path / "mine")
    return tmp_path / "mine"


def chain_of(place: Path, tree: Path, *, more: str = "") -> Chain:
    write(place / "clone" / "external-builds" / "toy", {"project.toml": TOML + more})
    (place / "desk").mkdir()
    desk = dataclasses.replace(workplace(place / "desk", dir={"toy": tree}), clone=place / "clone")
    return Chain(project=load_project(desk.external_builds, ProjectName("toy")), workplace=desk, targets=())


def take(chain: Chain) -> None:
    assert chain.own_tree is not None
    take_own_sources(chain, chain.own_tree, STAGES)


def test_what_is_edited_after_it_was_locked_is_not_built(tmp_path: Path, tree: Path) -> None:
    chain = chain_of(tmp_path, tree)
    lock_chains([chain], chain.workplace, Stage.BUILD)
    write(tree, {"version.txt": "2.0.0\n"})
    git(tree, "commit", "--quiet", "--all", "-m", "mine")
    take(chain)
    locked, source = chain.locked().sources, chain.source()
    assert (locked.base_version, source.base_version) == ("1.2.0", "1.2.0")
    assert source.local is None
    assert source.modules[0].expected == locked.commit
    materialise(source, tmp_path / "copy", git=new_git())
    assert (tmp_path / "copy" / "version.txt").read_text(encoding="utf-8") == "1.2.0\n"


@pytest.mark.parametrize(
    ("more", "said", "reason"),
    [
        ("", "(no patches are applied)", "a tree of your own is taken as it stands"),
        (
            HIPIFY,
            "(no patches are applied, and hipify does not run)",
            "a tree of your own is taken as it stands, and hipify does not run",
        ),
    ],
)
def test_what_is_not_done_to_the_tree_is_said(tmp_path: Path, tree: Path, more: str, said: str, reason: str) -> None:
    chain = chain_of(tmp_path, tree, more=more)
    lock_chains([chain], chain.workplace, Stage.BUILD)
    take(chain)
    assert any(said in line for line in memory_of(chain.workplace).said)
    assert chain.locked().patches.reason == reason
