"""What a workplace finds out by starting programs: each is asked once, ahead of time where a command says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_asked_ahead_is_asked_once_and_answers_the_same(tmp_path: Path) -> None:
    ahead, later = workplace(tmp_path), workplace(tmp_path)
    ahead.ask_ahead()
    assert ahead.interpreters == later.interpreters
    assert ahead.base == later.base
    assert ahead.base is ahead.base
    assert len(ahead.runner.record) == len(later.runner.record) == 2


def test_a_question_that_fails_fails_where_its_answer_is_needed(tmp_path: Path) -> None:
    broken = tmp_path / "pip.conf"
    broken.write_text("index-url = nowhere\n")
    place = replace(workplace(tmp_path), machine={"PIP_CONFIG_FILE": str(broken)})
    place.ask_ahead()
    assert place.interpreters
    with pytest.raises(HipwrightError) as caught:
        _ = place.base
    assert caught.value.code.name == "bad-data-file"
