"""A person edits what hipify read: the build stops, the command that it prints carries the edit through, and the build goes on."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import change_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

SOURCE = "csrc/cuda/saxpy.cu"
OUTPUT = "csrc/hip/saxpy.hip"
GREETER = "third_party/greeter"
EDIT = "// cudaMalloc, says a person\n"


def append(file: Path) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(EDIT)


def command_of(ran: Ran) -> str:
    """The command that a build which found hipify's result stale prints."""
    hint = str(ran.failed("stale-hipify")["hint"])
    return hint[hint.index(": ") + 2 :]


def test_the_printed_command_carries_the_edits_through_hipify_and_the_build_goes_on(desk: Desk) -> None:
    before = desk.nox("build_sample", "--json").well()
    tree = desk.work / "src" / "sample"
    patched = (tree / GREETER / "hip" / "greeter.hip").read_text(encoding="utf-8")
    append(tree / SOURCE)
    append(tree / GREETER / "cuda" / "greeter.h")
    ran = desk.nox("build_sample", "--json")
    error = ran.failed("stale-hipify")
    assert error["excerpt"].splitlines() == [f"edited {SOURCE}", f"edited {GREETER}: cuda/greeter.h"]
    assert f" -s checkout_sample -- --work-dir {desk.work} " in command_of(ran)
    assert command_of(ran).endswith(" --force hipify")
    for words in (("--from", "build"), ("--dry-run",)):
        assert command_of(desk.nox("build_sample", "--json", *words)).endswith("--force hipify")
    desk.paste(command_of(ran)).well()
    assert (tree / OUTPUT).read_text(encoding="utf-8").endswith("// hipMalloc, says a person\n")
    assert (tree / GREETER / "hip" / "greeter.h").read_text(encoding="utf-8").endswith("// hipMalloc, says a person\n")
    assert (tree / GREETER / "hip" / "greeter.hip").read_text(encoding="utf-8") == patched
    assert (tree / SOURCE).read_text(encoding="utf-8").endswith(EDIT)
    again = desk.nox("build_sample", "--json").well()
    assert again.states["build"] == "run"
    assert f"  hipified again {OUTPUT}\n" in again.talk
    value = again.receipt("build")["result"]["value"]
    assert re.search(r"\.local[0-9a-f]{8}$", value["version"])
    assert value["upstream"] == before.receipt("build")["result"]["value"]["upstream"]
    assert desk.nox("build_sample", "--json").well().states["build"] == "skipped"


def test_a_tree_without_the_edits_moves_again(desk: Desk) -> None:
    desk = desk.with_work("moves")
    desk.nox("checkout_sample").well()
    tree = desk.work / "src" / "sample"
    text = (tree / SOURCE).read_text(encoding="utf-8")
    shutil.copyfile(tree / SOURCE, tree / "csrc/cuda/mine.cu")
    append(tree / SOURCE)
    desk.nox("checkout_sample", "--force", "hipify").well()
    assert (tree / "csrc/hip/mine.hip").exists()
    ran = desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock", "--json")
    assert ran.failed("unsaved-work")["excerpt"].splitlines() == [f"edited {SOURCE}", "untracked csrc/cuda/mine.cu"]
    (tree / SOURCE).write_text(text, encoding="utf-8")
    (tree / "csrc/cuda/mine.cu").unlink()
    desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock").well()
    assert not (tree / "csrc/hip/mine.hip").exists()
    desk.nox("build_sample", "--json", "--dry-run").well()


def test_what_hipify_did_is_compared_between_two_locks(desk: Desk, tmp_path: Path) -> None:
    desk = desk.with_work("compared")
    desk.nox("lock").well()
    lock = desk.work / "lock.json"
    release = tmp_path / "release lock.json"
    shutil.copyfile(lock, release)
    desk.nox("lock", "--sample-ref", "nightly", "--relock").well()
    ran = desk.invoke("show-hipify", release, "--json").well()
    found = ran.document["hipify"]["sample"]
    (root,) = [part for part in found["modules"] if part["path"] == "."]
    assert "csrc/hip/scale.hip" in root["added"]
    assert not root["gone"]
    back = desk.invoke("show-hipify", lock, release, "--projects", "sample").well()
    assert re.search(r"csrc/hip/scale\.hip\s.*gone", back.out)
    same = desk.invoke("show-hipify", lock, "--json").well()
    assert same.document["hipify"]["sample"]["modules"] == []
    equal = desk.invoke("show-hipify", release, release, "--json").well()
    assert equal.document["hipify"]["sample"]["modules"] == []
    assert equal.document["hipify"]["sample"]["tool"] == {"from": found["tool"]["to"], "to": found["tool"]["to"]}
    assert "both locks have the same commits" in equal.talk
    assert "hipify ran on these sources" not in equal.talk
    assert not (desk.work / "show-hipify").exists()


def test_what_cannot_be_compared_is_refused(desk: Desk, tmp_path: Path) -> None:
    desk = desk.with_work("not compared")
    assert "no locks" in desk.invoke("show-hipify", "--json").failed("bad-option-value")["message"]
    desk.nox("lock").well()
    lock = tmp_path / "lock.json"
    shutil.copyfile(desk.work / "lock.json", lock)
    error = desk.invoke("show-hipify", lock, "--projects", "tiny-project", "--json").failed("lock-conflict")
    assert "tiny-project" in error["message"]
    change_file(lock, '"line": "1.0"', '"line": null')
    error = desk.invoke("show-hipify", lock, "--json").failed("lock-conflict")
    assert "patch series" in error["message"]
