"""Hipify by the commands that a person types: done once on a machine, done anew for other sources, and left out when asked."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

TOOL = "build_amd.py"
MODULES = (".", "third_party/greeter")
TRANSLATED = "csrc/hip/saxpy.hip"


def ran_tool(ran: Ran) -> bool:
    return any(TOOL in word for command in ran.receipt("hipify")["commands"] for word in command["argv"])


def heads(tree: Path) -> list[str]:
    command = ["git", "-c", "safe.directory=*", "-C"]
    return [
        subprocess.run([*command, tree / module, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
        for module in MODULES
    ]


def sources(desk: Desk) -> Path:
    return desk.work / "src" / "sample"


@pytest.fixture(scope="module")
def first(desk: Desk) -> Ran:
    return desk.nox("checkout_sample", "--force", "hipify", "--json").well()


def test_another_work_dir_takes_what_the_first_one_made(desk: Desk, first: Ran) -> None:
    assert ran_tool(first)
    second = desk.with_work("second")
    ran = second.nox("checkout_sample", "--json").well()
    assert ran.states["hipify"] == "run"
    assert not ran_tool(ran)
    assert "hipify ran on these sources before" in ran.talk
    assert heads(sources(second)) == heads(sources(desk))
    (log,) = (second.work / "logs" / "sample").glob("hipify-*.log")
    (kept,) = [word for word in log.read_text(encoding="utf-8").split() if word.endswith("hipify.log")]
    assert TOOL in (desk.cache / "hipify" / kept.split("/")[-2] / "hipify.log").read_text(encoding="utf-8")


def test_the_same_sources_are_hipified_once_and_other_ones_anew(desk: Desk) -> None:
    desk = desk.with_work("moving")
    desk.nox("checkout_sample").well()
    assert desk.nox("checkout_sample", "--json").well().states["hipify"] == "skipped"
    ran = desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock", "--explain", "--json").well()
    assert ran.states["hipify"] == "run"
    assert "hipify sample: runs: changed: sources" in ran.talk
    back = desk.nox("checkout_sample", "--sample-ref", "release/1.0", "--relock", "--json").well()
    assert back.states["hipify"] == "run"
    assert not ran_tool(back)


@pytest.mark.usefixtures("first")
def test_hipify_is_left_out_when_asked_and_comes_back_when_not(desk: Desk) -> None:
    whole = heads(sources(desk))
    desk = desk.with_work("plain")
    ran = desk.nox("checkout_sample", "--no-hipify", "--json").well()
    tree = sources(desk)
    assert "sample: hipify and hipified patches are left out" in ran.talk
    assert not (tree / TRANSLATED).exists()
    assert desk.nox("checkout_sample", "--no-hipify", "--json").well().states["hipified-patches"] == "skipped"
    modules = {module["path"]: module for module in ran.receipt("hipified-patches")["result"]["value"]["modules"]}
    for module in modules.values():
        assert module["hipified"] == module["expected"] == module["base"]
    again = desk.nox("checkout_sample", "--explain", "--json").well()
    assert [again.states[stage] for stage in ("base-patches", "hipify", "hipified-patches")] == ["skipped", "run", "run"]
    assert "hipify sample: runs: changed: tool (left out →" in again.talk
    assert (tree / TRANSLATED).is_file()
    assert heads(tree) == whole
    desk.nox("checkout_sample", "--no-hipify").well()
    assert not (tree / TRANSLATED).exists()


@pytest.mark.usefixtures("first")
def test_without_hipify_a_persons_work_on_hipifys_result_is_not_dropped(desk: Desk) -> None:
    desk = desk.with_work("mine")
    desk.nox("checkout_sample").well()
    file = sources(desk) / TRANSLATED
    file.write_text("mine\n", encoding="utf-8")
    error = desk.nox("checkout_sample", "--no-hipify", "--json").failed("unsaved-work")
    assert TRANSLATED in json.dumps(error)
    assert file.read_text(encoding="utf-8") == "mine\n"
