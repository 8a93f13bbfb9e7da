"""The lock that a run replaced comes back when the tree could not follow, and only then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline import run
from build_tools.types import Stage


@pytest.mark.parametrize(
    ("checkout", "restored"), [(None, True), ("skipped", True), ("run", False)], ids=["refused", "stood", "moved"]
)
def test_a_lock_is_restored_unless_the_tree_has_followed_it(
    monkeypatch: pytest.MonkeyPatch, checkout: str | None, *, restored: bool
) -> None:
    said: list[str] = []
    chain: Any = SimpleNamespace(
        done={},
        own_tree=None,
        locked_before="the earlier entry",
        project=SimpleNamespace(name="toy"),
        locked=lambda: SimpleNamespace(requested=SimpleNamespace(origin=None)),
        workplace=SimpleNamespace(origin=lambda *_: SimpleNamespace(git=None), console=SimpleNamespace(say=said.append)),
    )
    taken: list[object] = []

    def run_sources(chain: Any, *_: object) -> None:  # noqa: ANN401 - stands in for a chain
        if checkout is not None:
            chain.done[Stage.CHECKOUT] = SimpleNamespace(state=checkout)
        raise HipwrightError("unsaved-work", "moving the tree would lose 1 change of yours")

    monkeypatch.setattr(run, "prove_build", lambda *_: None)
    monkeypatch.setattr(run, "run_sources", run_sources)
    monkeypatch.setattr(run, "restore", lambda entry, _place: taken.append(entry))
    with pytest.raises(HipwrightError):
        run._advance(chain, Stage.HIPIFIED_PATCHES)
    assert taken == (["the earlier entry"] if restored else [])
    assert bool(said) is restored
