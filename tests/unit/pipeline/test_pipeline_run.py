"""The lock that a run replaced comes back when the tree could not follow, and only then."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline import run
from build_tools.process import Runner, base_environment
from build_tools.sources.modules import own_folder
from build_tools.types import Stage
from tests.support.source_trees import write

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "1" * 40 + "\n", "2" * 40 + "\n"


@pytest.mark.parametrize("code", ["unsaved-work", "locked", "origin-unreachable", "command-failed"])
@pytest.mark.parametrize("what", ["stood", "never there", "moved", "made", "is moving"])
def test_a_lock_is_restored_unless_the_tree_has_followed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, what: str
) -> None:
    said: list[str] = []
    tree = tmp_path / "src" / "toy"
    if what not in {"never there", "made"}:
        write(tree, {".git/HEAD": OLD})
    chain: Any = SimpleNamespace(
        done={},
        own_tree=None,
        tree=tree,
        locked_before="the earlier entry",
        project=SimpleNamespace(name="toy"),
        locked=lambda: SimpleNamespace(requested=SimpleNamespace(origin=None)),
        workplace=SimpleNamespace(
            origin=lambda *_: SimpleNamespace(git=None),
            console=SimpleNamespace(say=said.append),
            runner=Runner(environment=base_environment(os.environ)),
        ),
    )
    taken: list[object] = []

    def run_sources(_chain: Any, *_: object) -> None:  # noqa: ANN401 - stands in for a chain
        if what in {"moved", "made"}:
            write(tree, {".git/HEAD": NEW})
        elif what == "is moving":
            write(own_folder(tree), {"moving.json": "{}"})
        raise HipwrightError(code, "it could not be done")

    monkeypatch.setattr(run, "prove_build", lambda *_: None)
    monkeypatch.setattr(run, "run_sources", run_sources)
    monkeypatch.setattr(run, "restore", lambda entry, _place: taken.append(entry))
    with pytest.raises(HipwrightError):
        run._advance(chain, Stage.HIPIFIED_PATCHES, [chain], {})
    restored = what in {"stood", "never there"}
    assert taken == (["the earlier entry"] if restored else [])
    assert bool(said) is restored
