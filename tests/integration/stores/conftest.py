"""Stores of every kind, for what holds for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from build_tools.stores.local import FolderStore

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.stores.base import Store

KINDS = ["folder", "s3_twin", "s3_server"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A store that is empty, the name of its kind, and in what that kind is not as Amazon's S3 is."""

    name: str
    store: Store
    deviations: frozenset[str] = field(default_factory=frozenset)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "folder":
        root = tmp_path / "store"
        root.mkdir()
        return Kind(name="folder", store=FolderStore(root))
    server = request.getfixturevalue(request.param)
    return Kind(name=request.param, store=server.store(server.bucket(), "a/prefix"), deviations=server.deviations)


@pytest.fixture
def store(kind: Kind) -> Store:
    return kind.store
