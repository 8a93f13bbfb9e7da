"""What the support table rules out is skipped with its reason; when nothing is left, that is an error."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.pipeline.report import UNSUPPORTED, document, show_report
from build_tools.pipeline.ruling_out import left, rule_out
from build_tools.types import Platform
from tests.support.earlier_builds import chain_of, locked_with
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.pipeline.chain import Chain
    from build_tools.workplace import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path)


def chains(place: Workplace, torch: str) -> list[Chain]:
    return [
        chain_of(place, "pytorch", locked_with("pytorch", "7.10.0", version=torch)),
        chain_of(place, "apex", locked_with("apex", "7.10.0")),
    ]


def on_windows(place: Workplace) -> Workplace:
    return dataclasses.replace(place, platform=Platform.WINDOWS)


def test_apex_is_skipped_beside_a_torch_that_it_refuses(place: Workplace) -> None:
    torch, apex = chains(place, "2.9.1a0")
    rule_out([torch, apex])
    assert [chain.project.name for chain in left([torch, apex])] == ["pytorch"]
    assert apex.ruled_out is not None
    assert "TheRock/pull/3458" in str(apex.ruled_out.link)
    (said,) = [line for line in memory_of(place).said if "apex" in line]
    assert said.startswith("apex for Python 3.")
    assert apex.ruled_out.reason in said


def test_and_is_built_beside_a_later_one(place: Workplace) -> None:
    both = chains(place, "2.10.0a0")
    rule_out(both)
    assert left(both) == both


def test_it_is_told_once(place: Workplace) -> None:
    both = chains(place, "2.9.0")
    rule_out(both)
    rule_out(both)
    assert len([line for line in memory_of(place).said if "apex" in line]) == 1


def test_the_one_project_that_is_asked_for_is_an_error(place: Workplace) -> None:
    apex = chain_of(on_windows(place), "apex", locked_with("apex", "7.10.0"))
    rule_out([apex])
    with pytest.raises(HipwrightError, match=r"apex for Python 3.* on windows: its extensions are not built") as caught:
        left([apex])
    assert caught.value.code.name == "not-supported"
    assert "https://" in str(caught.value.hint)


def test_nothing_asked_for_is_nothing_ruled_out() -> None:
    assert left([]) == []


def test_what_is_built_with_a_project_that_is_skipped_is_skipped_too(place: Workplace) -> None:
    torch = chain_of(place, "pytorch", locked_with("pytorch", "7.10.0", version="2.13.0"))
    audio = chain_of(place, "pytorch-audio", locked_with("pytorch-audio", "7.10.0"))
    windows = chain_of(on_windows(place), "apex", locked_with("apex", None))
    rule_out([windows])
    torch.ruled_out = windows.ruled_out
    rule_out([torch, audio])
    assert audio.ruled_out is not None
    assert audio.ruled_out.reason == "it is built with pytorch, which is skipped"


def test_torch_goes_without_a_triton_that_is_skipped(place: Workplace) -> None:
    triton = chain_of(place, "triton", locked_with("triton", "7.10.0"))
    torch = chain_of(place, "pytorch", locked_with("pytorch", "7.10.0", version="2.13.0"))
    apex = chain_of(on_windows(place), "apex", locked_with("apex", None))
    rule_out([apex])
    triton.ruled_out = apex.ruled_out
    rule_out([triton, torch])
    assert torch.ruled_out is None


def test_table_summary_and_document_say_it(place: Workplace) -> None:
    both = chains(place, "2.9.0")
    rule_out(both)
    show_report(both, place)
    stages, summary = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert any("apex" in row and UNSUPPORTED in row for row in stages.rows)
    assert any(row[0] == "apex" and "skipped" in row[-1] for row in summary.rows)
    (skipped,) = document(both)["skipped"]
    assert (skipped["project"], skipped["state"]) == ("apex", UNSUPPORTED)
    assert skipped["link"] == "https://github.com/ROCm/TheRock/pull/3458"
