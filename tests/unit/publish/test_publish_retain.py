"""Retention as a plan: what leaves, what stays and why, and what is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from packaging.requirements import Requirement

from build_tools import digest
from build_tools.index.snapshots import merged
from build_tools.publish.retain import deleted, hidden, plan_retention
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.receipts.verdict import TestCounts, Verdict

if TYPE_CHECKING:
    from build_tools.publish.retain_required import Requires

OLD, NEW, NOW = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"
TAG = "cp312-cp312-manylinux_2_28_x86_64"


def row(version: str, *, project: str = "torch", tag: str = TAG, uploaded: str = OLD, yanked: str | None = None) -> IndexedFile:
    name = f"{project.replace('-', '_')}-{version}-{tag}.whl"
    return IndexedFile(
        project=project,
        filename=name,
        key=f"dist/{name}",
        version=version,
        sha256=digest.of_bytes(name.encode()),
        size=5,
        uploaded=uploaded,
        yanked=yanked,
    )


def index(*rows: IndexedFile) -> Snapshot:
    return merged(Snapshot(files=()), rows)


def leaving(snapshot: Snapshot, **more: object) -> set[str]:
    settings: dict[str, object] = {"keep_days": 30, "grace_days": 14, "now": NOW, "referred": {}} | more
    return {file.version for file in plan_retention(snapshot, **settings).hide}  # type: ignore[arg-type]


def test_the_newest_of_each_kind_stays_however_old_and_the_others_go() -> None:
    files = [row("2.9.0.dev1+rocm7.1"), row("2.9.0.dev2+rocm7.1"), row("2.10.0.dev1+rocm7.1"), row("2.9.0.dev0+rocm7.2")]
    files += [row("2.9.0.dev1+rocm7.1", tag="cp313-cp313-win_amd64")]
    assert leaving(index(*files)) == {"2.9.0.dev1+rocm7.1"}
    plan = plan_retention(index(*files), keep_days=30, grace_days=14, now=NOW, referred={})
    assert [file.filename for file in plan.hide] == [f"torch-2.9.0.dev1+rocm7.1-{TAG}.whl"]


def test_builds_of_one_line_are_one_kind_whatever_commit_they_name() -> None:
    nightly = [f"3.5.{day}+git{day:08x}.rocm7.10.0a2026010{day}" for day in range(1, 5)]
    assert leaving(index(*map(row, nightly))) == set(nightly[:-1])
    lines = ["2.9.0+bundled.rocm7.1.0", "2.9.1+bundled.rocm7.10.0", "2.9.2+rocm7.1.0", "2.9.3+devrocm7.10.0.dev0", "2.9.4+cpu"]
    assert leaving(index(*map(row, lines))) == set()


def test_a_yanked_file_is_not_the_newest_while_another_is_there() -> None:
    assert leaving(index(row("2.9.0"), row("2.9.1", yanked="broken"))) == {"2.9.1"}


@pytest.mark.parametrize("uploaded", [NEW, "2027-01-01T00:00:00Z", "some day", "2026-01-01"])
def test_what_is_new_or_has_no_age_that_can_be_told_stays(uploaded: str) -> None:
    assert leaving(index(row("2.9.0", uploaded=uploaded), row("2.9.1"))) == set()


def test_a_channel_without_a_limit_keeps_everything() -> None:
    assert leaving(index(row("2.9.0"), row("2.9.1")), keep_days=None) == set()


def test_what_is_referred_to_stays_and_so_does_what_was_tested_with_what_stays() -> None:
    old, other, newest = row("2.9.0"), row("1.0.0", project="triton"), row("2.9.1")
    more = row("1.0.1", project="triton")
    verdict = Verdict(
        project="torch",
        wheels=tuple(JudgedWheel(filename=one.filename, sha256=one.sha256) for one in (newest, other)),
        target="gfx942",
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b""),
        python_version="3.12",
        platform="linux",
    )
    snapshot = index(old, other, newest, more)
    assert leaving(snapshot) == {"2.9.0", "1.0.0"}
    assert leaving(snapshot, verdicts=[verdict]) == {"2.9.0"}
    assert leaving(snapshot, verdicts=[verdict], referred={old.sha256: "in the channel release"}) == set()


def test_bytes_go_after_the_grace_period_and_never_those_that_are_referred_to_or_came_back() -> None:
    old, newest = row("2.9.0"), row("2.9.1")
    gone = hidden(index(old, newest), {old.filename}, time="2026-02-01T00:00:00Z")
    plan = plan_retention(gone, keep_days=30, grace_days=14, now=NOW, referred={})
    assert [one.file for one in plan.delete] == [old]
    for later, settings in (
        (gone, {"grace_days": 60}),
        (gone, {"referred": {old.sha256: "named by a lock"}}),
        (merged(gone, [old]), {}),
        (hidden(index(old, newest), {old.filename}, time="2027-01-01T00:00:00Z"), {}),
        (deleted(gone, {old.filename}, time=NOW), {}),
    ):
        wanted: dict[str, object] = {"keep_days": 30, "grace_days": 14, "now": NOW, "referred": {}, **settings}
        assert plan_retention(later, **wanted).delete == ()  # type: ignore[arg-type]


def test_a_file_that_comes_back_is_retired_no_longer() -> None:
    old, newest = row("2.9.0"), row("2.9.1")
    gone = hidden(index(old, newest), {old.filename}, time=NOW)
    assert [one.file.filename for one in gone.retired] == [old.filename]
    assert merged(gone, [msgspec.structs.replace(old, uploaded=NOW)]).retired == ()


def needing(**requirements: str) -> Requires:
    """Return what tells that each file of a project requires the same, ``VERSION`` standing for its own version."""

    def requires(file: IndexedFile) -> list[Requirement]:
        text = requirements.get(file.project, "").replace("VERSION", file.version)
        return [Requirement(one) for one in text.split(", ") if one]

    return requires


def test_what_a_file_that_stays_requires_stays_and_what_that_requires_too() -> None:
    audio, torch, triton = row("2.9.0", project="torchaudio"), row("2.9.0"), row("2.9.0", project="triton")
    newer = [row("2.9.1"), row("2.9.1", project="triton")]
    snapshot = index(audio, torch, triton, *newer)
    assert leaving(snapshot) == {"2.9.0"}
    requires = needing(torchaudio="torch==VERSION", torch="triton==VERSION")
    assert leaving(snapshot, requires=requires) == set()
    plan = plan_retention(snapshot, keep_days=30, grace_days=14, now=NOW, referred={}, requires=requires)
    assert {one.file.project: one.why for one in plan.kept if one.file in {torch, triton}} == {
        "torch": f"required by {audio.filename}",
        "triton": f"required by {torch.filename}",
    }
    # What another one meets as well, or nobody could install together, is not needed.
    assert leaving(snapshot, requires=needing(torchaudio="torch>=2.9")) == {"2.9.0"}
    windows = index(row("2.9.0", project="torchaudio", tag="cp312-cp312-win_amd64"), torch, newer[0])
    assert leaving(windows, requires=requires) == {"2.9.0"}
    other_python = index(row("2.9.0", project="torchaudio", tag="cp313-cp313-manylinux_2_28_x86_64"), torch, newer[0])
    assert leaving(other_python, requires=requires) == {"2.9.0"}
    pure = index(row("2.9.0", project="torchaudio", tag="py3-none-any"), torch, newer[0])
    assert leaving(pure, requires=requires) == set()


def test_bytes_that_a_file_which_stays_requires_are_not_deleted() -> None:
    torch, newest, audio = row("2.9.0"), row("2.9.1"), row("2.9.0", project="torchaudio")
    gone = hidden(index(torch, newest, audio), {torch.filename}, time="2026-02-01T00:00:00Z")
    for requires, deleting in ((needing(), [torch]), (needing(torchaudio="torch==VERSION"), [])):
        plan = plan_retention(gone, keep_days=30, grace_days=14, now=NOW, referred={}, requires=requires)
        assert [one.file for one in plan.delete] == deleting
