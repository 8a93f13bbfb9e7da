"""What all tests of the whole chain share: a cache, and for each module a clone, a work dir and a desk to work at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import CASES, Desk, small_clone

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all desks of this process: mirrors and packages are made once."""
    if not os.environ.get("PIP_FIND_LINKS"):
        pytest.fail("PIP_FIND_LINKS names no folder of packages: run these tests by `nox -s tests`", pytrace=False)
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    """A desk of this module's own, whose clone has the sample and the tiny project."""
    folder = tmp_path_factory.mktemp("desk")
    return Desk(clone=small_clone(folder, "sample", CASES / "tiny-project"), work=folder / "work", cache=cache)
