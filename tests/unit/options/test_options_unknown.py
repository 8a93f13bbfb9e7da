"""Sessions that do not exist, as nox's own arguments name them."""

from __future__ import annotations

import pytest

from build_tools.options.unknown import refuse_unknown_sessions, refuse_unknown_tasks


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-s", "biuld_sample"], "did you mean build_sample"),
        (["--session=biuld_sample"], "did you mean build_sample"),
        (["-s", "tests", "biuld_sample"], "biuld_sample"),
        (["-e", "nothing-like-it"], "nox -l lists them"),
    ],
)
def test_an_unknown_session_is_named_with_those_near_it(arguments: list[str], words: str) -> None:
    known = ["tests", "build_sample", *(f"session_{number}" for number in range(20))]
    sentence = refuse_unknown_sessions(arguments, known)
    assert sentence is not None
    assert sentence.startswith("error[unknown-session]: there is no session")
    assert words in sentence


@pytest.mark.parametrize(
    "arguments",
    [["-s", "tests", "build_sample"], ["-l"], ["-s", "tests", "--", "-s", "nothing"], ["-s", "tests-3.12"], ["-p", "3.12"], []],
)
def test_known_sessions_pass(arguments: list[str]) -> None:
    assert refuse_unknown_sessions(arguments, ["tests", "build_sample"]) is None


@pytest.mark.parametrize(
    ("arguments", "words"), [(["save-patch"], "did you mean save-patches"), (["frobnicate"], "invoke --list lists them")]
)
def test_an_unknown_task_is_named_with_those_near_it(arguments: list[str], words: str) -> None:
    sentence = refuse_unknown_tasks(arguments, ["save-patches", *(f"task-{number}" for number in range(20))])
    assert sentence is not None
    assert sentence.startswith("error[unknown-session]: there is no task")
    assert words in sentence


@pytest.mark.parametrize("arguments", [["save-patches"], ["--list"], ["--search-root", "elsewhere"], []])
def test_known_tasks_and_the_options_of_invoke_pass(arguments: list[str]) -> None:
    assert refuse_unknown_tasks(arguments, ["save-patches"]) is None
