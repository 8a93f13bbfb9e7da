"""The place with origins that tests on real git begin from, and where its one source tree lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.source_trees import Yard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


@pytest.fixture
def tree(yard: Yard) -> Path:
    return yard.place / "src" / "toy"
