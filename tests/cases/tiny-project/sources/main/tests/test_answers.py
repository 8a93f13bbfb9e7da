import pytest
import tiny_project


@pytest.mark.parametrize("number", range(3))
def test_answers(number):
    assert tiny_project.answer() == 42
