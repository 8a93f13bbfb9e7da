"""What is wrong is named, with a code, where it is and what to do next; nothing is half-done, and there is never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from build_tools import commands, files
from build_tools.options.commands import COMMANDS
from tests.support.commands import Desk, add_project, change_file, small_clone, tree_of, until

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.end_to_end

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}-none-any"


def text_of(error: dict[str, str]) -> str:
    return "\n".join(value for value in error.values() if value)


def without_objects(tree: dict[str, tuple[int, int, str]]) -> dict[str, tuple[int, int, str]]:
    # Where the tree stands is taken back to what it was, in a file that is written anew.
    times = {name: (0, *seen[1:]) for name, seen in tree.items() if name.endswith("/applied-patches.json")}
    return {name: seen for name, seen in (tree | times).items() if "/objects/" not in name}


def test_an_unknown_option_names_close_ones_before_anything_is_made(desk: Desk) -> None:
    fresh = desk.with_work("untouched")
    error = fresh.nox("pipeline", "--unitl", "build", "--json").failed("unknown-option")
    assert error["message"] == "there is no option --unitl"
    assert "--until" in error["hint"]
    assert error["kind"] == "usage"
    error = fresh.nox("checkout_sample", "--until", "biuld", "--json").failed("unknown-stage")
    assert "build" in error["hint"]
    assert not fresh.work.exists()


def test_an_unknown_session_names_close_ones(desk: Desk) -> None:
    ran = desk.run("-m", "nox", "-s", "biuld_sample", "--", "--work-dir", desk.work)
    assert ran.status != 0
    assert "error[unknown-session]: there is no session 'biuld_sample'" in ran.talk
    assert "did you mean build_sample" in ran.talk


def test_an_unknown_project_names_close_ones(desk: Desk) -> None:
    error = desk.nox("pipeline", "--projects", "smaple", "--json").failed("unknown-project")
    assert error["message"] == "there is no project 'smaple'"
    assert error["hint"] == "did you mean sample?"


def test_a_mistake_in_one_project_s_data_leaves_the_others_alone(desk: Desk) -> None:
    path = add_project(desk.clone, "mistaken") / "project.toml"
    change_file(path, "sdk = ", "sdkk = ")
    line = next(n for n, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text.startswith("sdkk"))
    error = desk.nox("build_mistaken", "--json").failed("bad-data-file")
    assert error["where"] == f"{path}:{line}, key sdkk"
    assert "sdk" in text_of(error)
    listed = desk.run("-m", "nox", "-l").well()
    assert "build_mistaken" in listed.out
    desk.nox("checkout_tiny_project").well()


def test_a_ref_that_does_not_exist_names_the_origin_and_close_refs(desk: Desk) -> None:
    error = desk.with_work("no-ref").nox("checkout_sample", "--sample-ref", "relaese/1.0", "--json").failed("unknown-ref")
    assert error["message"] == "embedded://sample/sample.git has no branch, tag or commit 'relaese/1.0'"
    assert error["hint"] == "close to it: release/1.0"
    assert error["reproduce"].startswith("nox -s lock -- ")
    assert "--sample-ref relaese/1.0" in error["reproduce"]


def bare(desk: Desk, folder: Path, *, cache: Path) -> Desk:
    """Return a desk in the same clone whose search path has no compiler."""
    for program in ("git", "python3"):
        (folder / program).symlink_to(shutil.which(program) or "")
    return Desk(clone=desk.clone, work=folder / "work", cache=cache, variables={"PATH": str(folder)})


@pytest.mark.skipif(os.name == "nt", reason="makes a search path of links")
def test_without_a_compiler_the_build_is_refused_before_anything_long(desk: Desk, tmp_path: Path) -> None:
    # With one, the sample's ROCm packages are made; they stay in the cache.
    desk.nox("lock").well()
    there = bare(desk, tmp_path, cache=desk.cache)
    error = there.nox("build_sample", "--json").failed("no-compiler")
    assert error["message"] == "there is no C++ compiler; looked for c++, g++, clang++"
    assert "install" in error["hint"]
    assert error["kind"] == "machine"
    assert not (there.work / "envs").exists()
    there.nox("checkout_sample").well()


@pytest.mark.skipif(os.name == "nt", reason="makes a search path of links")
def test_without_a_compiler_a_fresh_clone_is_checked_out_and_its_rocm_packages_wait(desk: Desk, tmp_path: Path) -> None:
    there = bare(desk, tmp_path, cache=tmp_path / "cache")
    there.nox("checkout_sample").well()
    error = there.nox("build_sample", "--json").failed("no-compiler")
    assert "the project's own ROCm packages are compiled on the spot; looked for cc, gcc, clang" in error["message"]
    assert "install" in error["hint"]
    assert not (there.work / "envs").exists()


def test_a_work_dir_that_cannot_be_made_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = Desk(clone=desk.clone, work=tmp_path / "file" / "work", cache=desk.cache)
    error = below.nox("pipeline", "--json").failed("folder-not-writable")
    assert str(below.work) in error["message"]
    assert "--work-dir" in error["hint"]


def test_too_little_space_is_said_before_work_begins(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("build_tools.files.shutil.disk_usage", lambda _path: usage._replace(free=100 * 2**20))
    command = COMMANDS["pipeline"]
    words = ("--work-dir", str(tmp_path / "work"), "--cache-dir", str(desk.cache), "--json")
    ending = commands.execute(
        commands.Call(command=command, clone=desk.clone, typed_in=tmp_path, machine=dict(os.environ), arguments=words)
    )
    said = capfd.readouterr()
    error = json.loads(said.out)["error"]
    assert (ending.status, ending.words) == (4, "error[disk-space]")
    assert error["message"] == f"{tmp_path / 'work'} has 0.1 GiB free, and 0.5 GiB are needed"
    assert "--work-dir" in error["hint"]
    assert not list((tmp_path / "work").iterdir())


def test_a_patch_that_does_not_apply_changes_nothing(cache: Path, tmp_path: Path) -> None:
    desk = Desk(clone=small_clone(tmp_path, "sample"), work=tmp_path / "work", cache=cache)
    first = desk.nox("checkout_sample", "--json").well()
    tree = desk.work / "src" / "sample"
    before = tree_of(tree)
    (patch,) = (desk.clone / "external-builds/sample/patches/1.0/root/base").glob("0001-*.patch")
    good = patch.read_bytes()
    lines = good.decode().splitlines(keepends=True)
    wrong = next(n for n, text in enumerate(lines) if text.startswith("-") and not text.startswith("--"))
    lines[wrong] = "-nobody has ever written this line\n"
    patch.write_text("".join(lines), encoding="utf-8")

    error = desk.nox("checkout_sample", "--json").failed("patch-conflict")
    assert patch.name in error["message"]
    assert "csrc/cuda/saxpy.cu" in error["message"]
    assert str(patch) in error["where"]
    assert "nobody has ever written this line" in error["excerpt"]
    # The commits that a patch before it made stay among git's objects, where nothing names them.
    assert without_objects(tree_of(tree)) == without_objects(before)

    patch.write_bytes(good)
    again = desk.nox("checkout_sample", "--json").well()
    modules = [ran.receipt("hipified-patches")["result"]["value"]["modules"] for ran in (first, again)]
    assert modules[0] == modules[1]


@pytest.mark.parametrize(
    ("behaviour", "code", "message"),
    [
        ("no-wheel", "no-wheel", "the build of {name} ended well and wrote no wheel"),
        (
            "two-wheels",
            "several-wheels",
            f"the build of {{name}} wrote 2 wheels: tiny_project-0.9.0-{TAG}.whl, tiny_project-1.0.0-{TAG}.whl",
        ),
    ],
)
def test_a_build_has_to_write_one_wheel(desk: Desk, behaviour: str, code: str, message: str) -> None:
    add_project(desk.clone, f"writes-{behaviour}", behaviour=behaviour)
    error = desk.nox(f"build_writes_{behaviour.replace('-', '_')}", "--json").failed(code)
    assert error["message"] == message.format(name=f"writes-{behaviour}")
    assert not list((desk.work / "build" / f"writes-{behaviour}").iterdir())


def test_a_build_that_fails_shows_the_first_real_error_and_how_to_repeat_it(desk: Desk) -> None:
    add_project(desk.clone, "failing", behaviour="fails")
    ran = desk.nox("build_failing", "--json")
    error = ran.failed("build-failed")
    assert set(error) == {"code", "kind", "message", "where", "hint", "log", "excerpt", "reproduce"}
    assert (error["kind"], error["message"]) == ("finding", "the build of failing ended with status 1")
    assert error["excerpt"].splitlines()[0] == "ops.cpp:7:3: error: 'stream_t' was not declared"
    log = desk.work / "logs" / "failing"
    assert error["log"].startswith(str(log))
    with open(error["log"], encoding="utf-8") as stream:  # noqa: PTH123 - a text of the document
        assert "ninja: build stopped" in stream.read()
    for text in (
        "error[build-failed]: ",
        "\n  first error:\n    ops.cpp:7:3: error",
        "\n  log: ",
        "\n  repeat this stage alone: ",
    ):
        assert text in ran.talk
    repeated = desk.paste(f"{error['reproduce']} --json").failed("build-failed")
    assert repeated["excerpt"] == error["excerpt"]
    assert repeated["reproduce"] == error["reproduce"]
    table = desk.paste(error["reproduce"])
    assert table.status != 0
    assert "provision" in table.out
    assert "Session build_failing aborted: error[build-failed]" in table.talk


def test_a_build_whose_wheel_is_gone_is_not_there(desk: Desk) -> None:
    add_project(desk.clone, "emptied")
    built = desk.nox("build_emptied", "--json").well()
    built.wheel.unlink()
    error = desk.nox("check_emptied", "--from", "check", "--json").failed("stage-missing")
    assert f"dist/{built.wheel.name} is gone" in error["message"]
    desk.paste(error["hint"]).well()
    desk.nox("check_emptied", "--from", "check").well()


def test_a_folder_without_wheels_is_no_pass(desk: Desk, tmp_path: Path) -> None:
    error = desk.run("-m", "nox", "-s", "check_wheels", "--", tmp_path, "--json").failed("no-wheel")
    assert str(tmp_path) in error["message"]
    desk.run("-m", "nox", "-s", "check_wheels", "--", "--json").failed("no-wheel")


def test_a_store_that_was_removed_is_filled_again(desk: Desk, tmp_path: Path) -> None:
    words = ("upload_tiny_project", "--store", tmp_path / "store", "--json")
    first = desk.nox(*words).well()
    shutil.rmtree(tmp_path / "store")
    again = desk.nox(*words).well()
    assert (first.states["publish"], again.states["publish"]) == ("run", "run")
    assert list((tmp_path / "store").rglob("*.whl"))


def test_a_store_that_is_a_file_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    error = desk.nox("upload_tiny_project", "--store", tmp_path / "store", "--json").failed("store-unusable")
    assert error["message"] == f"the store {tmp_path / 'store'} is a file, not a folder"
    assert "--store" in error["hint"]
    assert "--store" in error["reproduce"]


def test_smoke_tests_there_have_to_be(desk: Desk) -> None:
    tests = add_project(desk.clone, "untested") / "smoke-tests"
    (tests / "test_tiny.py").unlink()
    error = desk.nox("test_untested", "--json").failed("no-tests")
    assert error["message"] == f"untested has no smoke tests in {tests}"
    (tests / "test_tiny.py").write_text("import tiny_project\n", encoding="utf-8")
    desk.nox("test_untested", "--json").failed("no-tests")
    assert not list((desk.work / "test" / "untested").iterdir())


def test_a_failing_smoke_test_ends_the_run_and_its_report_is_kept(desk: Desk) -> None:
    tests = add_project(desk.clone, "broken") / "smoke-tests"
    change_file(tests / "test_tiny.py", "== 42", "== 43")
    ran = desk.nox("pipeline", "--projects", "broken", "--json")
    error = ran.failed("tests-failed")
    assert "1 of 1 smoke tests of broken failed" in error["message"]
    assert "test_it_answers" in error["excerpt"]
    assert "assert 42 == 43" in error["excerpt"]
    with open(error["where"], encoding="utf-8") as report:  # noqa: PTH123 - a text of the document
        assert 'failures="1"' in report.read()
    (path,) = (desk.work / "logs" / "broken").glob("test-*.verdict.json")
    verdict = json.loads(path.read_text(encoding="utf-8"))
    assert (verdict["outcome"], verdict["counts"]["failed"], verdict["target"]) == ("failed", 1, "cpu-only")
    assert verdict["wheels"][0]["filename"].startswith("tiny_project-1.0.0-")
    assert not (desk.work / "promote" / "broken").exists()
    assert not (desk.work / "store" / "channels" / "rehearsal" / "dist").exists()
    change_file(tests / "test_tiny.py", "== 43", "== 42")
    until(lambda: files.utc_now() > verdict["started"], "later second, as a failure is taken back only later")
    mended = desk.nox("pipeline", "--projects", "broken", "--json").well()
    assert (mended.states["publish"], mended.states["test"], mended.states["promote"]) == ("skipped", "run", "run")
    assert f"failed its tests on cpu-only at {verdict['started']}, and passed them at " in mended.talk
