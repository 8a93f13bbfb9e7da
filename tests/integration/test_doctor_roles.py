"""``doctor`` with a role: this machine, and machines that files describe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.doctor import doctor
from build_tools.receipts.record import to_json
from tests.support.machines import FACTS
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.machine import MachineFacts


def described(folder: Path, facts: MachineFacts) -> Path:
    path = folder / "machine.json"
    path.write_bytes(to_json(facts))
    return path


def unfit(folder: Path, **settings: Any) -> HipwrightError:  # noqa: ANN401 - as the options are
    with pytest.raises(HipwrightError) as caught:
        doctor(workplace(folder, **settings))
    return caught.value


@pytest.mark.parametrize("platform", ["linux", "windows"])
def test_a_machine_that_a_file_describes_is_judged_on_any(tmp_path: Path, platform: str) -> None:
    machine = described(tmp_path, FACTS[platform])
    document = doctor(workplace(tmp_path, role="test", machine=machine))
    assert document["worst"] == "ok"
    assert document["fitness"]["worst"] == "ok"
    worse = described(tmp_path, msgspec.structs.replace(FACTS[platform], memory_bytes=8 * 10**9, python=None))
    error = unfit(tmp_path, role="build", machine=worse, platform=platform)
    assert error.code.name == "machine-unfit"
    assert "2 of" in error.message
    assert "first memory (found: 8 GB" in error.message
    assert error.hint is not None
    told: Any = error.document
    assert told["worst"] == "error"
    assert {point["what"] for point in told["fitness"]["points"] if point["status"] != "ok"} >= {"memory", "python"}


def test_of_this_machine_nothing_is_said_where_another_one_is_judged(tmp_path: Path) -> None:
    place = workplace(tmp_path, role="test", machine=described(tmp_path, FACTS["windows"]))
    doctor(place)
    assert not [line for line in memory_of(place).said if "GPUs:" in line or "this machine" in line]


def test_a_machine_has_no_less_than_nothing(tmp_path: Path) -> None:
    error = unfit(tmp_path, role="test", machine=described(tmp_path, msgspec.structs.replace(FACTS["linux"], disk_bytes=-1)))
    assert error.code.name == "bad-receipt"
    assert "disk_bytes" in error.message


def test_what_doctor_found_can_be_judged_elsewhere(tmp_path: Path) -> None:
    error = unfit(tmp_path, role="test", labels=("self-hosted",))
    told: Any = json.loads(json.dumps(error.document))
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(told["fitness"]["facts"]))
    again: Any = unfit(tmp_path, role="test", machine=path).document
    assert again["fitness"]["points"] == told["fitness"]["points"]


def test_an_unknown_is_worse_than_a_warning_and_no_pass(tmp_path: Path) -> None:
    machine = described(tmp_path, msgspec.structs.replace(FACTS["linux"], rocm=None))
    error = unfit(tmp_path, role="build", machine=machine)
    told: Any = error.document
    assert (error.code.name, told["worst"]) == ("machine-unfit", "unknown")


def test_another_system_is_not_judged_by_this_machine(tmp_path: Path) -> None:
    error = unfit(tmp_path, role="build", platform="windows")
    assert error.code.name == "bad-option-value"
    assert "--machine FILE" in (error.hint or "")
    error = unfit(tmp_path, role="build", platform="windows", machine=described(tmp_path, FACTS["linux"]))
    assert error.code.name == "bad-option-value"


def test_labels_of_the_command_count_for_a_file_too(tmp_path: Path) -> None:
    machine = described(tmp_path, msgspec.structs.replace(FACTS["linux"], labels=None))
    doctor(workplace(tmp_path, role="test", machine=machine))
    assert "labels" in unfit(tmp_path, role="test", machine=machine, labels=("self-hosted",)).message


@pytest.mark.parametrize("settings", [{"labels": ("a",)}, {"hosts": ("a",)}])
def test_what_belongs_to_a_role_needs_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    error = unfit(tmp_path, **settings)
    assert error.code.name == "bad-option-value"
    assert "--role build|test|publish" in (error.hint or "")


def test_a_file_that_describes_no_machine_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"schema": 1, "platform": "linux", "ram": 4}')
    assert unfit(tmp_path, role="build", machine=tmp_path / "x.json").code.name == "bad-receipt"
