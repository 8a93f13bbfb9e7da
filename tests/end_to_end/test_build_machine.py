"""Builds as people run them: through a compiler cache, built twice, failed and taken up again, on the sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import Desk, program_there, small_clone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Ran

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("machine")
    return Desk(clone=small_clone(folder, "sample"), work=folder / "work", cache=cache)


def built(ran: Ran) -> Any:  # noqa: ANN401 - plain data
    """Return what the build's receipt says of it."""
    return ran.receipt("build")["result"]["value"]


def test_a_build_fails_goes_on_and_makes_the_same_bytes_twice(desk: Desk) -> None:
    desk.nox("build_sample").well()
    kernel = desk.work / "src" / "sample" / "csrc" / "hip" / "saxpy.hip"
    good = kernel.read_text(encoding="utf-8")
    kernel.write_text(f"{good}\nthis is no C++;\n", encoding="utf-8")
    failed = desk.nox("build_sample", "--json")
    error = failed.failed("build-failed")
    assert "saxpy.hip:" in error["excerpt"]
    assert "(compiler, line " in error["excerpt"]
    [folder] = (desk.work / "trees" / "sample").iterdir()
    assert f"what was compiled is kept in {folder}" in failed.talk
    kernel.write_text(f"{good}\n// an edit\n", encoding="utf-8")
    ran = desk.nox("build_sample", "--verify-reproducible", "--json").well()
    assert f"the build goes on in {folder}" in ran.talk
    assert "made the same bytes" in ran.talk
    assert built(ran)["reproducible"] is True
    assert f"{folder} is kept" in ran.talk
    again = desk.nox("build_sample", "--verify-reproducible").well()
    assert "made the same bytes" not in again.talk


def test_a_cache_that_is_named_wrongly_is_told_at_once(desk: Desk) -> None:
    desk.nox("build_sample", "--compiler-cache-size", "3G", "--force", "build", "--json").failed("bad-option-value")
    desk.nox(
        "build_sample", "--compiler-cache", "ccache", "--compiler-cache-store", "s3://bucket", "--force", "build", "--json"
    ).failed("bad-option-value" if program_there("ccache") else "missing-tool")


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_what_a_cache_did_is_told(desk: Desk, tool: str) -> None:
    if not program_there(tool):
        pytest.skip(f"there is no {tool} on this machine")
    ran = desk.nox("build_sample", "--compiler-cache", tool, "--force", "build", "--json").well()
    # The sample is compiled by a hipcc that is older than the launchers.
    assert f"takes no launcher, so what it compiles is not kept by {tool}" in ran.talk
    assert built(ran)["cache"]["tool"] == tool
    assert (desk.cache / "compiler" / tool).is_dir()
    # What can be said of it before a build is in the script: all variables but the name of the server that each build starts.
    shown = desk.invoke("show-config", "--stage", "build", "--compiler-cache", tool, "--json").well().document
    recorded = ran.receipt("build")["environment"]
    own = {name for name in recorded if name.startswith((f"{tool.upper()}_", "CMAKE_")) or name in {"CC", "CXX"}}
    assert own - shown["environment"].keys() == ({"SCCACHE_SERVER_UDS"} if tool == "sccache" else set())
    settled = own - {"SCCACHE_SERVER_UDS", "SCCACHE_CONF", "CCACHE_CONFIGPATH", "CCACHE_STATSLOG", "CCACHE_TEMPDIR", "CC", "CXX"}
    assert {name: shown["environment"][name] for name in settled} == {name: recorded[name] for name in settled}
    assert ("SCCACHE_SERVER_UDS names it, which is known only then" in shown["script"]) is (tool == "sccache")
    assert ("# That server alone gets: SCCACHE_CACHE_SIZE=20480M, SCCACHE_DIR=" in shown["script"]) is (tool == "sccache")
