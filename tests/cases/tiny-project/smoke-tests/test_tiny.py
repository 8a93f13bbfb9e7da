from __future__ import annotations

import tiny_project


def test_it_answers() -> None:
    assert tiny_project.answer() == 42
