"""`invoke show-config`: every value with its origin, for people and as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.workplaces import CLONE

if TYPE_CHECKING:
    from tests.support.commands import Desk

pytestmark = pytest.mark.end_to_end


def test_each_value_has_its_origin(desk: Desk) -> None:
    (desk.clone / "hipwright.toml").write_text('jobs = 3\nrun-id = "mine"\nsample-ref = "nightly"\n', encoding="utf-8")
    machine = {"HIPWRIGHT_RUN_ID": "42", "PYTORCH_ROCM_ARCH": "gfx942;gfx1201", "ROCM_PATH": "/opt/rocm"}
    there = desk.with_work("shown", **machine)
    ran = there.invoke("show-config", "--channel", "dev", "--json").well()
    (desk.clone / "hipwright.toml").unlink()
    document = json.loads(ran.out)
    options = document["options"]
    assert options["--channel"] == {"value": "dev", "from": "command line --channel"}
    assert options["--run-id"] == {"value": "42", "from": "environment HIPWRIGHT_RUN_ID"}
    assert options["--gfx"] == {"value": "gfx942, gfx1201", "from": "environment PYTORCH_ROCM_ARCH"}
    assert options["--jobs"] == {"value": "3", "from": "hipwright.toml:1"}
    assert options["--sample-ref"] == {"value": "nightly", "from": "hipwright.toml:3"}
    assert options["--release-type"]["from"] == "default"
    assert options["--work-dir"]["value"] == str(there.work)
    assert document["ignored"] == {"ROCM_PATH": "/opt/rocm"}
    assert document["base-index"]


def test_people_see_a_table(desk: Desk) -> None:
    ran = desk.invoke("show-config", "--jobs", "2").well()
    assert re.search(r"^--jobs +2 +command line --jobs$", ran.out, re.MULTILINE)
    assert re.search(r"^--channel +rehearsal +default$", ran.out, re.MULTILINE)
    assert not desk.work.exists()


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("--chanel", "dev"), "unknown-option", "--channel"),
        (("--jobs", "many"), "bad-option-value", None),
        (("--projects", "smaple"), "unknown-project", "sample"),
    ],
)
def test_what_is_wrong_is_a_usage_error(desk: Desk, words: tuple[str, ...], code: str, hint: str | None) -> None:
    ran = desk.invoke("show-config", *words)
    assert ran.status == 2
    assert f"error[{code}]: " in ran.talk
    if hint is not None:
        assert re.search(rf"hint: did you mean .*{hint}", ran.talk)
    told = desk.invoke("show-config", *words, "--json")
    assert told.status == 2
    assert told.failed(code)["kind"] == "usage"


def test_an_unknown_task_is_refused(desk: Desk) -> None:
    ran = desk.invoke("show-confg")
    assert ran.status != 0
    assert "show-confg" in ran.talk


def test_a_reader_that_goes_away_is_no_fault_of_ours() -> None:
    command = [sys.executable, "-m", "invoke", "--search-root", str(CLONE), "show-config"]
    environment = {**os.environ, "PYTHONPATH": str(CLONE)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == 141
    assert said == ""
