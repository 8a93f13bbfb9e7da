"""The work dir keeps its lock: what contradicts it is refused with a way out, and a lock that is given is used alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk

pytestmark = pytest.mark.end_to_end


def projects_of(lock: Path) -> dict[str, Any]:
    document = json.loads(lock.read_text(encoding="utf-8"))
    assert document["schema"] == 1
    projects = document["projects"]
    assert isinstance(projects, dict)
    return projects


def new_upstream_commit(desk: Desk) -> None:
    """Let the tiny project's origin move on."""
    file = desk.clone / "external-builds" / "tiny-project" / "sources" / "main" / "tiny_project" / "__init__.py"
    with file.open("a", encoding="utf-8") as stream:
        stream.write("# and on\n")


def test_an_option_against_the_lock_is_refused_with_both_values_and_a_command_that_works(desk: Desk) -> None:
    desk = desk.with_work("contradicted")
    desk.nox("lock", "--projects", "sample,tiny-project").well()
    before = projects_of(desk.work / "lock.json")
    assert set(before) == {"sample", "tiny-project"}
    new_upstream_commit(desk)

    error = desk.nox("checkout_sample", "--sample-ref", "nightly", "--json").failed("lock-conflict")
    assert error["message"] == "--sample-ref says nightly, and sample is locked to release/1.0"
    assert projects_of(desk.work / "lock.json") == before
    assert not (desk.work / "src").exists()

    command = re.search(r"nox -s lock -- .*--relock.*", error["hint"])
    assert command is not None
    desk.paste(command[0]).well()
    after = projects_of(desk.work / "lock.json")
    assert after["sample"]["sources"]["ref"] == "nightly"
    assert after["sample"]["sources"]["commit"] != before["sample"]["sources"]["commit"]
    assert after["tiny-project"] == before["tiny-project"]
    desk.nox("lock", "--sample-ref", "nightly").well()


def test_what_is_locked_is_used_until_it_is_locked_anew(desk: Desk) -> None:
    desk = desk.with_work("kept")
    first = desk.nox("checkout_tiny_project", "--json").well()
    new_upstream_commit(desk)
    again = desk.nox("checkout_tiny_project", "--json").well()
    assert set(again.states.values()) == {"skipped"}
    moved = desk.nox("checkout_tiny_project", "--relock", "--json").well()
    assert (moved.states["lock"], moved.states["checkout"]) == ("run", "run")
    commits = [ran.receipt("lock")["result"]["value"]["sources"]["commit"] for ran in (first, again, moved)]
    assert commits[0] == commits[1] != commits[2]


def test_a_given_lock_is_used_alone(desk: Desk) -> None:
    first = desk.with_work("locked-here")
    first.nox("lock", "--projects", "tiny-project").well()
    given = first.work / "lock.json"
    commit = projects_of(given)["tiny-project"]["sources"]["commit"]
    new_upstream_commit(desk)

    other = desk.with_work("used-there")
    ran = other.nox("checkout_tiny_project", "--lock", given, "--json").well()
    assert ran.receipt("lock")["result"]["value"]["sources"]["commit"] == commit
    head = (other.work / "src" / "tiny-project" / ".git" / "HEAD").read_text(encoding="utf-8").strip()
    assert re.fullmatch(r"[0-9a-f]{40}", head)
    assert not (other.work / "lock.json").exists()

    error = other.nox("checkout_sample", "--lock", given, "--json").failed("lock-conflict")
    assert error["message"] == "the lock has no project sample; it has tiny-project"
    assert str(given) in error["where"]
    other.nox("checkout_tiny_project", "--lock", given, "--relock", "--json").failed("option-conflict")
    error = other.nox("checkout_tiny_project", "--lock", given, "--tiny-project-ref", "next", "--json").failed("lock-conflict")
    assert error["message"] == "--tiny-project-ref says next, and tiny-project is locked to main"


def test_a_lock_that_is_none_is_refused(desk: Desk, tmp_path: Path) -> None:
    broken = tmp_path / "lock.json"
    broken.write_text('{"schema": 1, "projects": {}, "color": "red"}', encoding="utf-8")
    error = desk.nox("checkout_tiny_project", "--lock", broken, "--json").failed("bad-receipt")
    assert str(broken) in f"{error['message']} {error['where']}"
    missing = desk.nox("checkout_tiny_project", "--lock", tmp_path / "none.json", "--json").failed("bad-receipt")
    assert "none.json" in f"{missing['message']} {missing['where']}"


def test_locking_anew_keeps_what_was_asked_for_before(desk: Desk) -> None:
    desk = desk.with_work("asked")
    desk.nox("lock", "--projects", "sample", "--sample-ref", "nightly", "--rocm-version", "7.10.0").well()
    desk.nox("lock", "--projects", "sample", "--relock").well()
    entry = projects_of(desk.work / "lock.json")["sample"]
    assert entry["sources"]["ref"] == "nightly"
    assert entry["requested"]["rocm_version"] == "7.10.0"
    hint = desk.nox("lock", "--projects", "sample", "--sample-ref", "release/1.0", "--json").failed("lock-conflict")["hint"]
    assert "--rocm-version 7.10.0" in hint
    assert "--sample-ref release/1.0" in hint


def test_another_recipe_than_the_locked_one_is_told(desk: Desk) -> None:
    desk = desk.with_work("recipe")
    desk.nox("lock", "--projects", "tiny-project").well()
    file = desk.clone / "external-builds" / "tiny-project" / "project.toml"
    kept = file.read_text(encoding="utf-8")
    file.write_text(kept.replace("[version]", "# more\n[version]"), encoding="utf-8")
    desk.nox("lock", "--projects", "tiny-project").well()
    file.write_text(kept.replace('folder = "sources"', 'folder = "sources/"'), encoding="utf-8")
    error = desk.nox("lock", "--projects", "tiny-project", "--json").failed("lock-conflict")
    file.write_text(kept, encoding="utf-8")
    assert "tiny-project" in error["message"]
    assert "--relock" in error["hint"]


def test_an_option_against_a_lock_that_was_handed_over_is_refused(desk: Desk) -> None:
    here = desk.with_work("handing")
    receipt = here.nox("lock", "--projects", "sample", "--json").well().receipt_path("lock")
    there = desk.with_work("handed")
    there.nox("checkout_sample", "--from-receipt", receipt, "--dry-run").well()
    assert not (there.work / "lock").exists()
    error = there.nox("checkout_sample", "--from-receipt", receipt, "--sample-ref", "nightly", "--json").failed("lock-conflict")
    assert error["message"] == "--sample-ref says nightly, and sample is locked to release/1.0"
    there.nox("checkout_sample", "--from-receipt", receipt, "--relock", "--json").failed("option-conflict")
    there.nox("checkout_sample", "--from-receipt", receipt, "--lock", receipt, "--json").failed("option-conflict")
    assert not (there.work / "src").exists()
