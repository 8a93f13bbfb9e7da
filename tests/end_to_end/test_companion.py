"""A project whose commit another project's tree states goes through the whole chain."""

from __future__ import annotations

import ast
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import Desk, small_clone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Ran

pytestmark = pytest.mark.end_to_end

ORDER = ["sample", "sample-companion"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("companions")
    return Desk(clone=small_clone(folder, *ORDER), work=folder / "work", cache=cache)


def pinned(desk: Desk, branch: str) -> str:
    """Return the commit that the sample's tree states."""
    text = (desk.clone / "external-builds/sample/sources" / branch / "related_commits").read_text(encoding="utf-8")
    return next(line.split("|")[4] for line in text.splitlines() if line.startswith("ubuntu|"))


def locked(ran: Ran, project: str) -> Any:  # noqa: ANN401 - plain data
    return ran.document["lock"]["projects"][project]["sources"]


def test_both_are_built_tested_and_promoted(desk: Desk) -> None:
    ran = desk.nox("pipeline", "--projects", "sample-companion,sample", "--json").well()
    ends = {stage["project"] for stage in ran.document["stages"] if stage["stage"] == "promote" and stage["state"] == "run"}
    assert ends == set(ORDER)
    companion = next(path for path in ran.document["wheels"] if "companion" in path)
    with zipfile.ZipFile(companion) as archive:
        module = ast.parse(archive.read("hipwright_sample_companion/version.py"))
    values = {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in module.body if isinstance(node, ast.Assign)}
    assert values == {"__version__": "1.0.0", "git_version": pinned(desk, "release")}


def test_the_pin_of_the_release_and_of_the_nightly_is_followed(desk: Desk) -> None:
    release = desk.nox("lock", "--projects", "sample-companion", "--json").well()
    assert locked(release, "sample-companion")["commit"] == pinned(desk, "release")
    other = desk.with_work("nightly")
    nightly = other.nox("lock", "--projects", "sample-companion", "--sample-ref", "nightly", "--json").well()
    assert locked(nightly, "sample-companion")["commit"] == pinned(desk, "nightly")
    assert locked(nightly, "sample-companion")["base_version"] == "1.1.0a0"
