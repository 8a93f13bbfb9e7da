"""The sample's own tree pins its companion: the commits that it names are those that the companion's sources become."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.config.project import RelatedCommitsPin, load_project
from build_tools.sources.embedded import import_embedded
from build_tools.sources.pins import PinFile, parse_related_commits
from build_tools.types import ProjectName
from tests.support.source_trees import git, new_git

if TYPE_CHECKING:
    from build_tools.sources.pins import RelatedCommit

EXTERNAL_BUILDS = Path(__file__).parents[2] / "external-builds"
COMPANION = load_project(EXTERNAL_BUILDS, ProjectName("sample-companion"))


def rows(branch: str) -> tuple[RelatedCommit, ...]:
    file = EXTERNAL_BUILDS / "sample" / "sources" / branch / "related_commits"
    return parse_related_commits(PinFile(name=str(file), of=None, data=file.read_bytes()))


@pytest.mark.parametrize("branch", ["release", "nightly"])
def test_the_sample_names_a_commit_that_the_companions_sources_become(tmp_path: Path, branch: str) -> None:
    place, name = import_embedded(
        EXTERNAL_BUILDS / COMPANION.name / "sources", cache=tmp_path, git=new_git(), say=lambda _line: None
    )
    for row in rows(branch):
        assert row.project == "sample-companion"
        assert row.origin == f"embedded://{COMPANION.name}/{name}.git"
        assert row.commit == git(place / f"{name}.git", "rev-parse", row.branch)


def test_release_and_nightly_of_the_sample_pin_different_commits_on_every_system() -> None:
    pins = {branch: {row.os: row.commit for row in rows(branch)} for branch in ("release", "nightly")}
    (pin,) = COMPANION.pins
    assert isinstance(pin, RelatedCommitsPin)
    assert {pin.linux, pin.windows} <= set(pins["release"])
    assert all(pins["release"][system] != pins["nightly"][system] for system in pins["release"])
