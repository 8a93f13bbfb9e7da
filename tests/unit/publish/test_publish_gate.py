from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
import pytest

from build_tools import digest
from build_tools.config.channels import Channel, load_channels
from build_tools.publish import gate
from build_tools.publish.gate import BuildResult, Circumstances, TestResult, advice, decide
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.snapshot import IndexedFile
from build_tools.receipts.verdict import CPU_ONLY, TestCounts, Verdict
from build_tools.types import GfxTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANNELS = load_channels()
RELEASE = CHANNELS.find_channel("release")
REHEARSAL = CHANNELS.find_channel("rehearsal")
OF_A_RELEASE = Circumstances(release_type="release")
STRICT = msgspec.structs.replace(RELEASE, required_targets=(GfxTarget("gfx942"), GfxTarget("gfx1201")))


def indexed(version: str = "1.0+rocm7.1", bytes_: bytes = b"tested", *, yanked: str | None = None) -> IndexedFile:
    name = f"demo-{version}-py3-none-any.whl"
    return IndexedFile(
        project="demo",
        filename=name,
        key=f"dist/{name}",
        version=version,
        sha256=digest.of_bytes(bytes_),
        size=6,
        uploaded="2026-01-02T03:04:05Z",
        yanked=yanked,
    )


def verdict(
    *files: IndexedFile,
    target: str = "gfx942",
    outcome: Literal["passed", "failed"] = "passed",
    counts: TestCounts | None = None,
    local: bool = False,
) -> Verdict:
    return Verdict(
        project="demo",
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in files),
        target=target,
        outcome=outcome,
        counts=counts or TestCounts(passed=3),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
        local=digest.of_bytes(b"edits") if local else None,
    )


def refusals(
    files: Sequence[IndexedFile],
    verdicts: Sequence[Verdict],
    *,
    channel: Channel,
    circumstances: Circumstances = OF_A_RELEASE,
) -> tuple[str, ...]:
    return gate.refusals(files, verdicts, channel=channel, circumstances=circumstances)


FILE = indexed()
OTHER_BYTES = indexed(bytes_=b"built again")
CPU = verdict(FILE, target=CPU_ONLY)
GPU = verdict(FILE)


@pytest.mark.parametrize(
    ("channel", "verdicts", "said"),
    [
        (REHEARSAL, [CPU], None),
        (REHEARSAL, [GPU], None),
        (RELEASE, [GPU], None),
        (RELEASE, [CPU, GPU], None),
        (RELEASE, [CPU], "without a GPU only, which the channel release does not accept"),
        (RELEASE, [CPU, verdict(OTHER_BYTES)], "without a GPU only"),
        (REHEARSAL, [], "no verdict on its bytes"),
        (REHEARSAL, [verdict(OTHER_BYTES)], "the verdict at hand is on other bytes of that name"),
        (REHEARSAL, [verdict(indexed("2.0", b"another"))], "no verdict on its bytes"),
        (REHEARSAL, [verdict(FILE, outcome="failed")], "failed its tests on gfx942"),
        (REHEARSAL, [GPU, verdict(FILE, target="gfx1201", outcome="failed")], "failed its tests on gfx1201"),
        (REHEARSAL, [GPU, verdict(FILE, counts=TestCounts(passed=3, failed=1))], "failed its tests on gfx942"),
        (REHEARSAL, [verdict(FILE, counts=TestCounts(passed=3, errors=1))], "failed its tests on gfx942"),
        (REHEARSAL, [verdict(FILE, counts=TestCounts(passed=0, skipped=9))], "no test passed"),
        (REHEARSAL, [verdict(FILE, local=True)], "built from sources with local changes"),
        (STRICT, [GPU], "was not tested on gfx1201, which the channel release requires"),
        (STRICT, [CPU], "was not tested on gfx942, gfx1201"),
        (STRICT, [GPU, verdict(FILE, target="gfx1201")], None),
    ],
)
def test_what_a_channel_demands(channel: Channel, verdicts: list[Verdict], said: str | None) -> None:
    reasons = refusals([FILE], verdicts, channel=channel)
    if said is None:
        assert reasons == ()
    else:
        assert any(said in reason and FILE.filename in reason for reason in reasons), reasons


def test_every_file_needs_a_verdict_of_its_own() -> None:
    two = [FILE, indexed("2.0", b"another")]
    assert refusals(two, [GPU], channel=RELEASE) == (
        f"demo-2.0-py3-none-any.whl has no verdict on its bytes ({two[1].sha256[:12]})",
    )
    assert refusals(two, [verdict(*two)], channel=RELEASE) == ()


def test_nothing_is_refused() -> None:
    assert refusals([], [GPU], channel=REHEARSAL) == ("there is no file to promote",)


@pytest.mark.parametrize("version", ["1.0+rocm7.1.local0a1b2c3d", "1.0+local0a1b2c3d", "1.0+local0a1b2c3d.rocm7.1"])
def test_a_version_that_tells_of_local_changes_enters_no_channel(version: str) -> None:
    file = indexed(version)
    assert refusals([file], [verdict(file)], channel=REHEARSAL) == (f"{file.filename} was built from sources with local changes",)


@pytest.mark.parametrize("version", ["1.0+localized", "1.0+rocm7.1.locale1", "1.0"])
def test_a_version_that_only_looks_like_it_is_taken(version: str) -> None:
    file = indexed(version)
    assert refusals([file], [verdict(file)], channel=REHEARSAL) == ()


def test_a_yanked_file_enters_no_channel() -> None:
    file = indexed(yanked="")
    assert refusals([file], [verdict(file)], channel=REHEARSAL) == (f"{file.filename} is yanked",)


def documented_rows() -> list[tuple[str, ...]]:
    """Return the rows of the table that people read."""
    text = (Path(__file__).parents[3] / "docs" / "how-to" / "promote.md").read_text(encoding="utf-8")
    lines = text.partition("| build | tests |")[2].partition("\n\n")[0].splitlines()[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


@pytest.mark.parametrize("build", get_args(BuildResult))
@pytest.mark.parametrize("tests", get_args(TestResult))
@pytest.mark.parametrize("cpu_only_counts", [False, True])
@pytest.mark.parametrize("runner", [False, True])
@pytest.mark.parametrize("override", [False, True])
def test_the_gate_is_the_table_that_people_read(
    build: BuildResult, tests: TestResult, *, cpu_only_counts: bool, runner: bool, override: bool
) -> None:
    case = (build, tests, *("yes" if one else "no" for one in (cpu_only_counts, runner, override)))
    said = {row[-1] for row in documented_rows() if all(cell in {"any", one} for cell, one in zip(row, case, strict=False))}
    entered = decide(build, tests, cpu_only_counts=cpu_only_counts, runner=runner, override=override)
    assert said == {"yes" if entered else "no"}


@pytest.mark.parametrize(
    ("tested", "enters"),
    [
        ("gfx942", True),
        ("gfx942:xnack+", True),
        ("gfx942:sramecc+:xnack-", True),
        ("gfx9420", False),
        ("gfx94X-dcgpu", False),
        ("gfx94", False),
        ("", False),
    ],
)
def test_targets_are_compared_by_their_parts(tested: str, *, enters: bool) -> None:
    strict = msgspec.structs.replace(RELEASE, required_targets=(GfxTarget("gfx942"),))
    assert (refusals([FILE], [verdict(FILE, target=tested)], channel=strict) == ()) is enters


def test_a_verdict_on_what_is_no_target_is_none() -> None:
    assert refusals([FILE], [verdict(FILE, target="a machine of mine")], channel=RELEASE) != ()


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.9.0+rocm7.10.0", None),
        ("1!2.9.0+rocm7.10.0", None),
        ("1.8.0a0+rocm7.10.0", None),
        ("2.9.0", None),
        ("2.9.0+git1a2b3c4d.rocm7.10.0", None),
        ("2.9.0.dev20260101+rocm7.10.0", "a version of the kind dev"),
        ("2.9.0a1.dev2+rocm7.10.0", "a version of the kind dev"),
        ("2.9.0+rocm7.10.0a20260501", "a ROCm of the kind a"),
        ("2.9.0+rocm7.10.0rc2", "a ROCm of the kind rc"),
        ("2.9.0+rocm7.10.0.dev0", "a ROCm of the kind dev"),
        ("2.9.0+devrocm7.10.0.dev0", "a ROCm of the kind dev"),
        ("2.9.0+git1a2b3c4d.devrocm7.10.0.dev0", "a ROCm of the kind dev"),
        ("2.9.0+bundled.rocm7.10.0rc2", "a ROCm of the kind rc"),
        ("2.9.0+rocm7.10.0.dev0.1a2b3c", "odd version"),
    ],
)
def test_versions_that_a_release_takes(version: str, said: str | None) -> None:
    file = indexed(version)
    reasons = refusals([file], [verdict(file)], channel=RELEASE)
    assert reasons == () if said is None else any(said in reason for reason in reasons), reasons


@pytest.mark.parametrize(("release_type", "enters"), [("release", True), ("nightly", False), ("dev", False), (None, False)])
def test_a_release_takes_from_release_runs_only(release_type: str | None, *, enters: bool) -> None:
    given = Circumstances(release_type=release_type)
    assert (refusals([FILE], [GPU], channel=RELEASE, circumstances=given) == ()) is enters


def test_an_override_is_for_targets_that_no_machine_can_test() -> None:
    given = Circumstances(release_type="release", override="none yet", has_runner=lambda target: target != "gfx1201")
    assert refusals([FILE], [GPU], channel=STRICT, circumstances=given) == ()
    (reason,) = refusals([FILE], [verdict(FILE, target="gfx1201")], channel=STRICT, circumstances=given)
    assert "not tested on gfx942" in reason
    assert "machines that can test it on gfx942" in reason
    failed = [GPU, verdict(FILE, target="gfx1201", outcome="failed")]
    assert refusals([FILE], failed, channel=STRICT, circumstances=given) == (f"{FILE.filename} failed its tests on gfx1201",)


@pytest.mark.parametrize(
    ("file", "verdicts", "channel", "given", "said"),
    [
        (FILE, [], REHEARSAL, OF_A_RELEASE, "nox -s test_<project>"),
        (FILE, [CPU], RELEASE, OF_A_RELEASE, "on a machine with a GPU"),
        (FILE, [verdict(FILE, outcome="failed")], REHEARSAL, OF_A_RELEASE, "another version or build number"),
        (FILE, [GPU, verdict(FILE, target="gfx1201", counts=TestCounts(passed=0))], RELEASE, OF_A_RELEASE, "another version"),
        (FILE, [verdict(FILE, local=True, outcome="failed")], REHEARSAL, OF_A_RELEASE, "bring the changes upstream"),
        (indexed(yanked="broken"), [GPU], REHEARSAL, OF_A_RELEASE, "promote other wheels"),
        (indexed("1.0.dev1+rocm7.1"), [GPU], RELEASE, OF_A_RELEASE, "promote other wheels"),
        (FILE, [GPU], RELEASE, Circumstances(), "--release-type"),
        (FILE, [GPU], RELEASE, Circumstances(release_type="ci"), "--channel"),
    ],
)
def test_who_is_refused_hears_what_helps(
    file: IndexedFile, verdicts: list[Verdict], channel: Channel, given: Circumstances, said: str
) -> None:
    assert refusals([file], verdicts, channel=channel, circumstances=given)
    assert said in advice([file], verdicts, channel=channel, circumstances=given)


def test_the_advice_to_test_names_the_command_that_tests_the_files_where_they_lie() -> None:
    command = "nox -s test_wheels -- --from-run-id 17"
    for verdicts, channel in (([], REHEARSAL), ([CPU], RELEASE)):
        said = advice([FILE], verdicts, channel=channel, circumstances=OF_A_RELEASE, test_by=command)
        assert f"`{command}`" in said


PART = msgspec.structs.replace(GPU, suite="upstream", shards=(1,), num_shards=3)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        pytest.param([PART], "tested in some of 3 shards only", id="a shard is no suite"),
        pytest.param([PART, GPU], None, id="a shard does not stand in the way"),
        pytest.param([msgspec.structs.replace(PART, shards=(1, 2, 3))], None, id="all shards are one"),
        pytest.param([msgspec.structs.replace(PART, counts=TestCounts(passed=0, skipped=4)), GPU], None, id="a shard of skips"),
        pytest.param(
            [msgspec.structs.replace(PART, outcome="failed"), GPU], "failed its tests on gfx942", id="a shard that failed"
        ),
        pytest.param(
            [msgspec.structs.replace(GPU, mismatch="1" * 40)], "has no verdict on its bytes", id="tests of another commit"
        ),
        pytest.param([msgspec.structs.replace(GPU, mismatch="1" * 40, outcome="failed"), GPU], None, id="their failure neither"),
    ],
)
def test_what_a_suite_says_in_part_or_of_another_commit(verdicts: list[Verdict], said: str | None) -> None:
    found = refusals([FILE], verdicts, channel=REHEARSAL, circumstances=OF_A_RELEASE)
    assert [said in one for one in found if said] == ([True] if said else [])
    assert bool(found) is bool(said)


def test_tests_of_another_commit_tell_of_a_persons_changes_all_the_same() -> None:
    other = msgspec.structs.replace(verdict(FILE, local=True), mismatch="1" * 40)
    assert any("local changes" in one for one in refusals([FILE], [other, GPU], channel=REHEARSAL, circumstances=OF_A_RELEASE))
