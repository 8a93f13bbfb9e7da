"""Stores of every kind, for what holds for all of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from build_tools.stores.local import FolderStore

if TYPE_CHECKING:
    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

KINDS = ["folder", "s3_twin", "s3_server"]
DEVIATIONS: Final = Path(__file__).with_name("deviations.toml")


def deviations_of(server: S3Server) -> dict[str, str]:
    """Return what a server does instead of what Amazon's does, by behaviour."""
    rows = tomllib.loads(DEVIATIONS.read_text())["deviation"]
    return {row["behaviour"]: row["instead"] for row in rows if row["server"] == server.name}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A store that is empty, the name of its kind, and its server."""

    name: str
    store: Store
    server: S3Server | None = None

    def is_like_amazon(self, behaviour: str) -> bool:
        """Return whether the store's server does as Amazon's; of a folder, True."""
        return self.server is None or behaviour not in deviations_of(self.server)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "folder":
        root = tmp_path / "store"
        root.mkdir()
        return Kind(name="folder", store=FolderStore(root))
    server = request.getfixturevalue(request.param)
    return Kind(name=request.param, store=server.store(server.bucket(), "a/prefix"), server=server)


@pytest.fixture
def store(kind: Kind) -> Store:
    return kind.store
