from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.environment_under_test import ToyEnvironment, make_tested

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def tested(tmp_path_factory: pytest.TempPathFactory) -> ToyEnvironment:
    """An environment that no test may change."""
    return make_tested(tmp_path_factory.mktemp("tested") / "env")


@pytest.fixture
def own_tested(tmp_path: Path) -> ToyEnvironment:
    """An environment of the test's own."""
    return make_tested(tmp_path / "env")
