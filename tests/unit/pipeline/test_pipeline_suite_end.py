"""What a suite leaves behind, how its end is told, and whose tests may run on whose wheel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin, Project, Version
from build_tools.config.wheel_demands import SourceCommit, Wheel
from build_tools.console.events import Summarised, Table
from build_tools.errors import HipwrightError
from build_tools.pipeline.merge_tests import merge_tests
from build_tools.pipeline.suite_end import finish, times_path
from build_tools.pipeline.suite_target import SuiteTarget, prove_version
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import read_verdicts
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import read_record, to_json
from build_tools.receipts.suite import SkipFinding, SuiteCode, SuiteOutcome, SuiteResult, SuiteTest
from build_tools.receipts.values import SourceTree
from build_tools.receipts.verdict import FlakyTest, TestedDevice, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from build_tools.testing.junit import read_report
from build_tools.testing.upstream.merge import merge
from build_tools.types import CommitId
from tests.support.environment_under_test import TOY, WHEEL, make_tested
from tests.support.publishing import write_wheel
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.workplace import Workplace

PLAN = digest.of_bytes(b"plan")
COMMIT = CommitId("1" * 40)
OTHER = CommitId("2" * 40)


def result(number: int = 1, of: int = 1, planned: int | None = None, **ends: SuiteOutcome) -> SuiteResult:
    tests = {f"test_{name}.py::test_{name}": SuiteTest(outcome=how, seconds=2.0, message="why") for name, how in ends.items()}
    return SuiteResult(
        project="pytorch",
        line="2.13",
        configuration="default",
        plan=PLAN,
        num_shards=of,
        shards=(number,),
        planned=len(tests) if planned is None else planned,
        wheels=(WHEEL,),
        target="cpu-only",
        platform="linux",
        python_version="3.11.7",
        code=SuiteCode(tests_commit=COMMIT, tests_digest=PLAN, wheel_commit=COMMIT, same=True),
        started="2026-06-01T00:00:00Z",
        seconds=2.0,
        tests=tests,
        imported=True,
    )


def changed(one: SuiteResult, **values: object) -> SuiteResult:
    return msgspec.structs.replace(one, **values)


def end(one: SuiteResult, place: Workplace, folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = finish(one, folder, place, line=lambda file, names: f"again {file} {names}")["suite"]
    return told


def failed(one: SuiteResult, place: Workplace, folder: Path) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        end(one, place, folder)
    assert caught.value.document is not None
    return caught.value


def test_a_whole_result_becomes_a_verdict_on_the_wheel_and_its_report(tmp_path: Path) -> None:
    place, folder = workplace(tmp_path), tmp_path / "out"
    told = end(result(a="passed", b="skipped"), place, folder)
    verdict = read_record(folder / "verdict.json", Verdict)
    assert (verdict.outcome, verdict.wheels, verdict.target) == ("passed", (WHEEL,), "cpu-only")
    assert verdict.report_sha256 == digest.of_file(folder / "report.xml")
    assert read_report(folder / "report.xml").counts == verdict.counts
    assert told["verdict"] == str(folder / "verdict.json")
    assert (
        (folder / "summary.md")
        .read_text(encoding="utf-8")
        .startswith("## pytorch default on cpu-only: 1 passed, 0 failed, 1 skipped")
    )
    assert times_path("pytorch", place).read_bytes() == (folder / "times.json").read_bytes()
    json.dumps(told)


def test_a_verdict_by_tests_of_another_version_says_so(tmp_path: Path) -> None:
    code = SuiteCode(tests_commit=COMMIT, tests_digest=PLAN, wheel_commit=OTHER, same=False)
    for number, same in enumerate((True, False)):
        one = result(a="passed") if same else changed(result(a="passed"), code=code)
        end(one, workplace(tmp_path), tmp_path / str(number))
        verdict = read_record(tmp_path / str(number) / "verdict.json", Verdict)
        assert (verdict.suite, verdict.mismatch) == ("upstream", None if same else COMMIT)


def test_a_shard_or_a_choice_is_no_verdict_on_the_suite_and_changes_nothing_that_others_read(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    end(result(1, 2, a="passed"), place, tmp_path / "shard")
    assert not read_record(tmp_path / "shard" / "verdict.json", Verdict).whole
    assert not times_path("pytorch", place).exists(), "the other shards would be cut by other times"
    end(changed(result(a="passed"), narrowed="-k a"), place, tmp_path / "part")
    assert not (tmp_path / "part" / "verdict.json").exists()
    assert not (place.work_dir / "suite" / "pytorch" / "last").exists()


def test_failures_are_named_with_lines_that_repeat_them(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    error = failed(result(a="passed", b="failed", c="crashed"), place, tmp_path / "out")
    assert error.code.name == "tests-failed"
    assert error.message == "2 of 3 tests of pytorch failed, first test_b.py::test_b"
    assert read_record(tmp_path / "out" / "verdict.json", Verdict).outcome == "failed"
    events = memory_of(place).events
    assert any(
        isinstance(event, Table) and event.title == "Failures" and "again test_b.py test_b" in event.note for event in events
    )
    pages = [event.markdown for event in events if isinstance(event, Summarised)]
    assert "```sh\nagain test_b.py test_b\nagain test_c.py test_c\n```" in pages[0]


def test_skip_files_that_are_wrong_fail_a_run_in_which_all_tests_pass(tmp_path: Path) -> None:
    finding = SkipFinding(kind="no-match", where="all.toml:3", message="there is no test test_a.py::test_z")
    error = failed(changed(result(a="passed"), findings=(finding,)), workplace(tmp_path), tmp_path / "out")
    assert error.code.name == "skip-findings"
    assert "test_z" in error.message
    assert "all.toml:3" in (error.hint or "")


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (result(a="skipped", b="skipped-by-us"), "no-tests"),
        (changed(result(a="passed"), problems={"test_a.py": "it crashed"}), "truncated-report"),
        (changed(result(a="passed"), imported=False), "wheel-not-tested"),
    ],
)
def test_what_only_looks_like_a_pass_is_none(tmp_path: Path, one: SuiteResult, code: str) -> None:
    assert failed(one, workplace(tmp_path), tmp_path / "out").code.name == code
    assert read_record(tmp_path / "out" / "verdict.json", Verdict).outcome == "failed"


def test_the_next_result_tells_what_changed(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    failed(result(a="passed", b="failed"), place, tmp_path / "first")
    told = end(result(a="passed", b="passed", c="skipped"), place, tmp_path / "second")
    assert told["changes"] == {
        "newly_failing": [],
        "newly_passing": ["test_b.py::test_b"],
        "newly_skipped": ["test_c.py::test_c"],
        "gone": [],
    }
    other = workplace(tmp_path / "other", compare_with=tmp_path / "first" / "result.json")
    assert end(result(a="passed"), other, tmp_path / "third")["changes"]["gone"] == ["test_b.py::test_b"]


def test_merging_ends_as_an_unsharded_run_does(tmp_path: Path) -> None:
    shards = {1: result(1, 2, 2, a="passed"), 2: result(2, 2, 2, b="passed")}
    for number, one in shards.items():
        end(one, workplace(tmp_path), tmp_path / "shards" / str(number))
    place = workplace(tmp_path, paths=(tmp_path / "shards",), output_dir=tmp_path / "merged")
    told = merge_tests(place)["suite"]
    assert (told["shards"], told["counts"]["passed"]) == ([1, 2], 2)
    assert read_record(tmp_path / "merged" / "verdict.json", Verdict).outcome == "passed"
    assert len(read_report(tmp_path / "merged" / "report.xml").cases) == 2


@pytest.mark.parametrize(
    ("paths", "code"),
    [((), "bad-option-value"), (("nothing",), "no-report"), (("empty",), "no-report"), (("shard",), "shard-missing")],
)
def test_merging_what_is_not_all_there_is_an_error(tmp_path: Path, paths: tuple[str, ...], code: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "shard").mkdir()
    (tmp_path / "shard" / "result.json").write_bytes(to_json(result(1, 2, 2, a="passed")))
    with pytest.raises(HipwrightError) as caught:
        merge_tests(workplace(tmp_path, paths=tuple(tmp_path / path for path in paths)))
    assert caught.value.code.name == code


def project(member: str | None = "toywheel/version.py") -> Project:
    commit = SourceCommit(member=member) if member else None
    return Project(
        schema=1,
        name="toy",
        summary="a toy",
        origin=EmbeddedOrigin(folder="sources"),
        version=Version(fixed="1.0"),
        sdk="none",
        wheel=Wheel(distribution="toywheel", source_commit=commit),
    )


def target(folder: Path, stated: str | None, built_from: str | None = None) -> SuiteTarget:
    version = {"toywheel/version.py": "" if stated is None else f"git_version = {stated!r}\n"}
    tested = make_tested(folder / "env", {**TOY, **version})
    tree = SourceTree(project="toy", folder=str(folder), upstream=COMMIT, upstream_date=0, base_version="1.0", modules=())
    return SuiteTarget(tree=tree, wheels=(WHEEL,), environment=tested.record, local=None, built_from=built_from)


def test_tests_of_the_wheels_own_commit_may_run(tmp_path: Path) -> None:
    code = prove_version(project(), target(tmp_path, COMMIT), PLAN, workplace(tmp_path))
    assert (code.same, code.tests_commit, code.wheel_commit) == (True, COMMIT, COMMIT)


@pytest.mark.parametrize("stated", [OTHER, None, ""])
def test_tests_of_another_commit_stop(tmp_path: Path, stated: str | None) -> None:
    with pytest.raises(HipwrightError) as caught:
        prove_version(project(), target(tmp_path, stated), PLAN, workplace(tmp_path))
    assert caught.value.code.name == "tests-mismatch"
    assert COMMIT in caught.value.message
    assert "--allow-version-mismatch" in (caught.value.hint or "")


def test_tests_of_another_commit_run_when_somebody_says_so_and_the_result_says_it(tmp_path: Path) -> None:
    place = workplace(tmp_path, allow_version_mismatch=True)
    code = prove_version(project(), target(tmp_path, OTHER), PLAN, place)
    assert (code.same, code.wheel_commit) == (False, OTHER)
    assert any("--allow-version-mismatch" in line for line in memory_of(place).said)


def test_a_wheel_that_says_nothing_is_known_by_its_build(tmp_path: Path) -> None:
    assert prove_version(project(None), target(tmp_path, None, built_from=COMMIT), PLAN, workplace(tmp_path)).same
    (tmp_path / "other").mkdir()
    with pytest.raises(HipwrightError):
        prove_version(project(None), target(tmp_path / "other", None, built_from=OTHER), PLAN, workplace(tmp_path))


def test_a_verdict_names_devices_environment_and_flaky_tests(tmp_path: Path) -> None:
    card, more = TestedDevice(target="gfx942", name="one"), TestedDevice(target="gfx942", name="two")
    shards = [
        changed(result(1, 2, 2, a="passed"), devices=(card,), environment=PLAN),
        changed(result(2, 2, 2, b="passed"), devices=(more, card), environment=PLAN),
    ]
    again = SuiteTest(outcome="passed", seconds=1.0, message="it broke", attempts=2)
    shards[0] = changed(shards[0], tests={"test_a.py::test_a": again})
    end(merge(shards), workplace(tmp_path), tmp_path / "out")
    verdict = read_record(tmp_path / "out" / "verdict.json", Verdict)
    assert (verdict.devices, verdict.environment) == ((card, more), PLAN)
    assert verdict.flaky == (FlakyTest(test="test_a.py::test_a", attempts=2, message="it broke"),)
    # Shards that were installed differently share no environment.
    shards[1] = changed(shards[1], environment=digest.of_bytes(b"other"))
    assert merge(shards).environment is None


def published(folder: Path) -> PublishedIndex:
    store = FolderStore(folder / "store")
    wheel = write_wheel(folder / "wheels", "torch")
    return publish_wheels([wheel], store=store, prefix="17-linux/pytorch", replace=False, say=lambda _line: None)


def verdicts_beside(index: PublishedIndex) -> dict[tuple[int, ...], Verdict]:
    """Return the verdicts beside an index by their shards."""
    found = read_verdicts(FolderStore(Path(index.store)), IndexFolder(index.prefix), [index.files[0].sha256])
    return {verdict.shards: verdict for verdict in found}


@pytest.mark.parametrize("known_by", ["pages", "index"])
def test_verdicts_of_shards_and_of_all_lie_beside_the_index(tmp_path: Path, known_by: str) -> None:
    index = published(tmp_path)
    wheels = (JudgedWheel(filename=index.files[0].filename, sha256=index.files[0].sha256),)
    source = {"pages": (index.find_links_url,)} if known_by == "pages" else {"index": index}
    shards = (result(1, 2, 2, a="passed"), result(2, 2, 2, b="skipped"))
    for number, one in enumerate(shards):
        told = end(changed(one, wheels=wheels, **source), workplace(tmp_path), tmp_path / "shards" / str(number))
        assert len(told["kept"]) == 1
    place = workplace(tmp_path, paths=(tmp_path / "shards",), output_dir=tmp_path / "merged")
    told = merge_tests(place)["suite"]
    found = verdicts_beside(index)
    assert {shard: (one.num_shards, one.outcome, one.whole) for shard, one in found.items()} == {
        (1,): (2, "passed", False),
        (2,): (2, "passed", False),
        (1, 2): (2, "passed", True),
    }
    assert to_json(found[1, 2]) == (tmp_path / "merged" / "verdict.json").read_bytes()
    assert all((one.suite, one.configuration, one.wheels) == ("upstream", "default", wheels) for one in found.values())


def test_a_store_that_cannot_be_written_is_told_with_the_way_to_it(tmp_path: Path) -> None:
    index = published(tmp_path)
    (tmp_path / "store" / index.prefix / "verdicts").write_text("in the way")
    place = workplace(tmp_path)
    assert end(changed(result(a="passed"), index=index), place, tmp_path / "out")["kept"] == []
    assert any("merge_tests" in line and "could not be put" in line for line in memory_of(place).said)


def test_a_part_that_a_person_chose_is_no_verdict(tmp_path: Path) -> None:
    index = published(tmp_path)
    told = end(changed(result(a="passed"), index=index, narrowed="-k a"), workplace(tmp_path), tmp_path / "out")
    assert (told["verdict"], told["kept"], verdicts_beside(index)) == (None, [], {})
