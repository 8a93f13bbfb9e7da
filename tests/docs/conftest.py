from __future__ import annotations

from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", action="store_true", help="write the generated pages instead of comparing them")


@pytest.fixture(scope="session")
def clone() -> Path:
    return CLONE
