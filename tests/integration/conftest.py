"""The place with origins that tests on real git begin from, and where its one source tree lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.rebase_site import Site, make_site, make_usual
from tests.support.shelf import Shelf
from tests.support.source_trees import Yard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(folder=tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def site(shelf: Shelf) -> Site:
    """Origins, a clone with a project and an empty work dir."""
    return Site(place=shelf.put_back("site", make_site))


@pytest.fixture
def usual(shelf: Shelf) -> Site:
    """The same with patches of both phases and modules, checked out."""
    return Site(place=shelf.put_back("usual", lambda place: make_usual(make_site(place))))


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


@pytest.fixture
def tree(yard: Yard) -> Path:
    return yard.place / "src" / "toy"
