"""Real inputs: where they lie is told by the session that fetched them; none of them missing is a reason to skip."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from build_tools.inputs.catalogue import Tier, inputs_of, known_inputs

VARIABLE = "HIPWRIGHT_TEST_INPUTS"
"""Names the JSON file with the path of each input by key."""


def _told() -> dict[str, Path]:
    """Return the inputs of the file; what else is in it is no path of an input."""
    file = os.environ.get(VARIABLE)
    if not file:
        return {}
    keys = {entry.key for entry in known_inputs().input}
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{VARIABLE} names no file of inputs: {error}"
        raise pytest.UsageError(message) from error
    return {key: Path(value) for key, value in document.items() if key in keys}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the larger tier unless its inputs were fetched: ``@pytest.mark.real("real")``."""
    wanted = {entry.key for entry in inputs_of(known_inputs(), Tier.REAL)}
    if wanted <= set(_told()):
        return
    larger = [item for item in items if any(Tier.REAL in mark.args for mark in item.iter_markers("real"))]
    config.hook.pytest_deselected(items=larger)
    items[:] = [item for item in items if item not in larger]


@pytest.fixture(scope="session")
def inputs() -> dict[str, Path]:
    """Where each real input lies, by key."""
    told = _told()
    missing = [entry.key for entry in inputs_of(known_inputs(), Tier.CI) if entry.key not in told]
    if missing:
        pytest.fail(f"{VARIABLE} names no {', '.join(missing)}: run these tests by `nox -s tests_real`", pytrace=False)
    for key, path in told.items():
        if not path.exists():
            pytest.fail(f"{key} is said to lie at {path}, and nothing is there", pytrace=False)
    return told
