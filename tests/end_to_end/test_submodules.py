"""Submodules that move: with the ref, and by a base patch, by the commands that a person types."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

GREETER = "third_party/greeter"
OF_RELEASE = {".", GREETER, f"{GREETER}/words"}
OF_NIGHTLY = {".", GREETER, f"{GREETER}/phrases"}
SOURCE_STAGES = ("checkout", "base-patches", "hipify", "hipified-patches")
PATCH = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Some One <some.one@example.com>
Date: Mon, 5 Jan 2026 10:00:00 +0000
Subject: Move the greeter

diff --git a/third_party/greeter b/third_party/greeter
index {old}..{new} 160000
--- a/third_party/greeter
+++ b/third_party/greeter
@@ -1 +1 @@
-Subproject commit {old}
+Subproject commit {new}
"""
ENTRY = """
[[patch]]
file = "root/base/0002-Move-the-greeter.patch"
why = "a test"
upstream = "none"
owner = "tests"
added = 2026-01-05
"""


def git(tree: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(tree), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commits(ran: Ran, stage: str) -> dict[str, dict[str, Any]]:
    """Return the state of each module after a stage."""
    return {module["path"]: module for module in ran.receipt(stage)["result"]["value"]["modules"]}


def locked(desk: Desk) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads((desk.work / "lock.json").read_text(encoding="utf-8"))["projects"]["sample"]


def files(tree: Path) -> set[str]:
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if ".git" not in path.parts and path.is_file()}


def test_a_tree_moves_with_its_ref_and_back(desk: Desk) -> None:
    desk = desk.with_work("refs")
    tree = desk.work / "src" / "sample"
    first = desk.nox("checkout_sample", "--json").well()
    before = files(tree)
    assert commits(first, "hipified-patches").keys() == OF_RELEASE
    there = desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock", "--json").well()
    assert commits(there, "hipified-patches").keys() == OF_NIGHTLY
    assert not (tree / GREETER / "words").exists()
    assert git(tree, "status", "--porcelain", "--ignored") == ""
    back = desk.nox("checkout_sample", "--sample-ref", "release/1.0", "--relock", "--json").well()
    assert commits(back, "hipified-patches") == commits(first, "hipified-patches")
    assert files(tree) == before
    assert git(tree, "status", "--porcelain", "--ignored") == ""


def test_a_base_patch_moves_a_submodule_and_what_is_in_it(desk: Desk) -> None:
    nightly = desk.with_work("nightly")
    nightly.nox("lock", "--projects", "sample", "--sample-ref", "nightly").well()
    new = {pin["path"]: pin["commit"] for pin in locked(nightly)["sources"]["submodules"]}
    desk = desk.with_work("pins")
    tree = desk.work / "src" / "sample"
    first = desk.nox("checkout_sample", "--json").well()
    old = commits(first, "checkout")
    place = desk.clone / "external-builds" / "sample" / "patches" / "1.0"
    series = (place / "series.toml").read_text(encoding="utf-8")
    patch = place / "root" / "base" / "0002-Move-the-greeter.patch"
    (place / "series.toml").write_text(series + ENTRY, encoding="utf-8")
    try:
        missing = "1" * 40
        patch.write_text(PATCH.format(old=old[GREETER]["upstream"], new=missing), encoding="utf-8")
        error = desk.nox("checkout_sample", "--json").failed("submodule-commit-missing")
        assert missing in error["message"]
        assert f"{patch.name}:12" in json.dumps(error)
        patch.write_text(PATCH.format(old=old[GREETER]["upstream"], new=new[GREETER]), encoding="utf-8")

        moved = desk.nox("build_sample", "--json").well()
        assert {stage: moved.states[stage] for stage in SOURCE_STAGES} == {
            "checkout": "skipped",
            **dict.fromkeys(SOURCE_STAGES[1:], "run"),
        }
        assert commits(moved, "hipified-patches").keys() == OF_NIGHTLY
        assert {path: module["upstream"] for path, module in commits(moved, "hipified-patches").items() if path != "."} == new
        assert git(tree, "status", "--porcelain", "--ignored") == ""
        assert {pin["path"] for pin in locked(desk)["patches"]["submodules"]} == OF_NIGHTLY - {"."}
        assert {pin["path"] for pin in locked(desk)["sources"]["submodules"]} == OF_RELEASE - {"."}
        assert moved.receipt("build")["result"]["value"]["local"] is None
        again = desk.nox("build_sample", "--json").well()
        assert set(again.states.values()) == {"skipped"}

        back = desk.nox("checkout_sample", "--until", "checkout", "--json").well()
        assert commits(back, "checkout") == old
        assert (tree / GREETER / "words").is_dir()
        assert not (tree / GREETER / "phrases").exists()
        forward = desk.nox("checkout_sample", "--json").well()
        assert commits(forward, "hipified-patches") == commits(moved, "hipified-patches")
    finally:
        patch.unlink(missing_ok=True)
        (place / "series.toml").write_text(series, encoding="utf-8")
    last = desk.nox("checkout_sample", "--json").well()
    assert commits(last, "hipified-patches") == commits(first, "hipified-patches")
