"""The work dir keeps its lock: what contradicts it is refused with a way out, and a lock that is given is used alone."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import add_project, change_file

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


def test_what_moved_since_an_earlier_lock_is_told(desk: Desk, tmp_path: Path) -> None:
    desk = desk.with_work("moved")
    desk.nox("lock", "--projects", "sample,tiny-project").well()
    old = tmp_path / "old.json"
    old.write_bytes((desk.work / "lock.json").read_bytes())
    before = projects_of(old)["sample"]["sources"]

    ran = desk.nox("lock", "--projects", "sample", "--sample-ref", "nightly", "--relock", "--diff", old, "--json").well()
    after = ran.document["lock"]["projects"]["sample"]["sources"]
    rows = {row["what"]: (row["before"], row["after"]) for row in ran.document["moved"]}
    assert {row["project"] for row in ran.document["moved"]} == {"sample"}
    assert rows["ref"] == ("release/1.0", "nightly")
    assert rows["commit"] == (before["commit"], after["commit"])

    again = desk.nox("lock", "--diff", old, "--json").well()
    assert again.document["moved"] == ran.document["moved"]
    assert set(again.document["lock"]["projects"]) == {"sample", "tiny-project"}
    assert "stages" not in again.document
    assert "What moved" in desk.nox("lock", "--diff", old).well().out
    given = desk.with_work("moved-nothing")
    ran = given.nox("lock", "--lock", old, "--diff", old, "--json").well()
    assert ran.document["moved"] == []
    assert f"nothing moved since {old}" in ran.talk
    assert not given.work.exists()
    error = desk.nox("lock", "--diff", old, "--relock", "--sample-ref", "nightly", "--json").failed("option-conflict")
    assert "--sample-ref says what to lock" in error["message"]
    assert "--projects" in error["hint"]
    desk.nox("lock", "--diff", tmp_path / "none.json", "--json").failed("bad-receipt")
    given.nox("lock", "--diff", old, "--json").failed("stage-missing")


def test_a_lock_has_the_same_bytes_wherever_the_cache_lies(desk: Desk, tmp_path: Path) -> None:
    one, other = desk.with_work("cache-one"), dataclasses.replace(desk.with_work("cache-two"), cache=tmp_path / "cache")
    for each in (one, other):
        each.nox("lock", "--projects", "sample").well()
    assert (one.work / "lock.json").read_bytes() == (other.work / "lock.json").read_bytes()
    assert str(one.cache) not in (one.work / "lock.json").read_text(encoding="utf-8")


def test_a_source_manifest_takes_the_commits_to_another_work_dir(desk: Desk, tmp_path: Path) -> None:
    here, file = desk.with_work("manifest-made"), tmp_path / "manifest.json"
    here.nox("lock", "--projects", "sample,tiny-project", "--sample-ref", "nightly", "--manifest-out", file).well()
    made = projects_of(here.work / "lock.json")
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["schema_version"] == 1
    assert written["tiny_project"]["commit"] == made["tiny-project"]["sources"]["commit"]
    assert (written["sample"]["branch"], written["sample"]["repo"]) == ("nightly", "embedded://sample/sample")
    assert written["therock"] == {"version": "7.10.0"}

    there = desk.with_work("manifest-taken", HIPWRIGHT_MANIFEST=str(file), CI="true")
    there.nox("lock", "--projects", "sample,tiny-project").well()
    for name, entry in projects_of(there.work / "lock.json").items():
        taken, known = entry["sources"], made[name]["sources"]
        assert {key: taken[key] for key in taken if key != "reason"} == {key: known[key] for key in known if key != "reason"}
        assert taken["reason"] == "the source manifest names it"
    typed = there.nox("checkout_sample", "--sample-ref", "release/1.0", "--json").failed("lock-conflict")
    assert typed["message"] == "--sample-ref says release/1.0, and sample is locked to nightly"
    written["sample"]["commit"] = "sometimes"
    file.write_text(json.dumps(written), encoding="utf-8")
    error = there.nox("lock", "--projects", "sample", "--json").failed("bad-manifest")
    assert "sample.commit" in error["where"]


def test_a_pin_that_ci_requires_and_no_place_states_is_told_with_a_line_that_goes_on(desk: Desk) -> None:
    folder = add_project(desk.clone, "pinned")
    change_file(folder / "project.toml", "[version]", '[[pins]]\nkind = "commit-file"\nfile = "pin.txt"\n\n[version]')
    desk = desk.with_work("unpinned", CI="true")
    error = desk.nox("checkout_pinned", "--json").failed("no-pin")
    assert "pin.txt beside project.toml: there is no such file" in error["message"]
    assert not (desk.work / "lock.json").exists()
    command = re.search(r"nox(?:w\.py)? -s lock -- .*--pins allow-defaults.*", error["hint"])
    assert command is not None
    desk.paste(f"{sys.executable} -m {command[0].replace('noxw.py', 'nox')}").well()
    desk.nox("checkout_pinned", "--json").well()


def test_a_dry_run_of_locking_says_what_it_would_lock_and_writes_nothing(desk: Desk, tmp_path: Path) -> None:
    desk = desk.with_work("dry")
    out = tmp_path / "manifest.json"
    ran = desk.nox("lock", "--projects", "tiny-project", "--dry-run", "--manifest-out", out, "--json").well()
    assert ran.document["lock"]["projects"]["tiny-project"]["sources"]["ref"] == "main"
    assert not desk.work.exists()
    assert not out.exists()
