"""What publishing refuses it refuses with a hint, wherever a person can do something."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import build_tools

WITHOUT = {
    # Caught by publishers, who look again; a person never sees them as they are.
    "stores/listing.py": {"write-conflict"},
    "stores/local.py": {"write-conflict", "bad-key"},
    "stores/s3.py": {"write-conflict"},
    "stores/s3_access.py": {"write-conflict"},
    "stores/s3_kept_copy.py": {"write-conflict"},
    "stores/reading.py": {"nothing-published"},
    # Reasons why a run is kept, gathered.
    "publish/retain_runs.py": {"bad-index"},
    "publish/papers.py": {"internal"},
}
"""The codes without a hint, by module."""


@pytest.mark.parametrize("room", ["publish", "stores", "index"])
def test_every_refusal_says_what_to_do(room: str) -> None:
    above = Path(build_tools.__file__).parent
    found: dict[str, set[str]] = {}
    for module in sorted((above / room).glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "HipwrightError":
                code = node.args[0]
                if isinstance(code, ast.Constant) and not any(word.arg == "hint" for word in node.keywords):
                    found.setdefault(module.relative_to(above).as_posix(), set()).add(str(code.value))
    assert found == {name: codes for name, codes in WITHOUT.items() if name.startswith(f"{room}/")}
