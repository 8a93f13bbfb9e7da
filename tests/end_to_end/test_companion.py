"""A project that is built with another one's wheel, and whose commit that one's tree states, goes through the whole chain."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.commands import Desk, change_file, small_clone

if TYPE_CHECKING:
    from tests.support.commands import Ran

pytestmark = pytest.mark.end_to_end

ORDER = ["sample", "sample-companion"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("companions")
    return Desk(clone=small_clone(folder, *ORDER), work=folder / "work", cache=cache)


@pytest.fixture(scope="module")
def both(desk: Desk) -> Ran:
    """The first run of the whole chain, the companion named first."""
    return desk.nox("pipeline", "--projects", "sample-companion,sample", "--json").well()


def pinned(desk: Desk, branch: str) -> str:
    """Return the commit that the sample's tree states."""
    text = (desk.clone / "external-builds/sample/sources" / branch / "related_commits").read_text(encoding="utf-8")
    return next(line.split("|")[4] for line in text.splitlines() if line.startswith("ubuntu|"))


def locked(ran: Ran, project: str) -> Any:  # noqa: ANN401 - plain data
    return ran.document["lock"]["projects"][project]["sources"]


def values_of(wheel: str | Path) -> dict[str, Any]:
    """Return what the companion's wheel says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        module = ast.parse(archive.read("hipwright_sample_companion/version.py"))
    return {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in module.body if isinstance(node, ast.Assign)}


def built_wheels(ran: Ran) -> tuple[Path, Path]:
    """Return the sample's wheel and the companion's."""
    sample, companion = sorted(ran.document["wheels"], key=lambda path: "companion" in path)
    return Path(sample), Path(companion)


def test_both_are_built_tested_and_promoted_in_the_right_order(desk: Desk, both: Ran) -> None:
    ends = [stage["project"] for stage in both.document["stages"] if stage["stage"] == "promote" and stage["state"] == "run"]
    assert ends == ORDER
    sample, companion = built_wheels(both)
    version = sample.name.split("-")[1]
    assert both.document["versions"] == {"hipwright-sample": version, "hipwright-sample-companion": "1.0.0"}
    assert both.document["skipped"] == []
    assert values_of(companion) == {
        "__version__": "1.0.0",
        "git_version": pinned(desk, "release"),
        "built_with": version,
        "runtime_version": (7, 10),
    }
    with zipfile.ZipFile(companion) as archive:
        metadata = archive.read("hipwright_sample_companion-1.0.0.dist-info/METADATA").decode()
    assert f"Requires-Dist: hipwright-sample=={version}\n" in metadata
    receipt = json.loads((companion.parents[1] / "receipt.json").read_bytes())
    (before,) = receipt["result"]["value"]["against"]
    assert before["sha256"] == hashlib.sha256(sample.read_bytes()).hexdigest()
    assert {row["stage"] for row in receipt["upstream"]} >= {"lock", "provision", "build"}
    lock = next(row for row in both.document["stages"] if row["stage"] == "lock" and row["project"] == "sample-companion")
    assert json.loads(Path(lock["receipt"]).read_bytes())["result"]["value"]["owned"] == []


@pytest.mark.usefixtures("both")
def test_again_nothing_is_done(desk: Desk) -> None:
    ran = desk.nox("pipeline", "--projects", "sample,sample-companion", "--json").well()
    assert {stage["state"] for stage in ran.document["stages"]} == {"skipped"}


@pytest.mark.usefixtures("both")
def test_alone_it_is_built_with_the_wheel_of_the_work_dir(desk: Desk) -> None:
    ran = desk.nox("build_sample_companion", "--from", "build", "--force", "build", "--json").well()
    assert ran.states["provision"] == "skipped"
    assert ran.states["build"] == "run"
    assert "which was built earlier in this work dir" in ran.talk


@pytest.mark.usefixtures("both")
def test_a_persons_changes_travel_and_go_with_the_sources(desk: Desk) -> None:
    source = desk.work / "src" / "sample" / "hipwright_sample" / "functions.py"
    pristine = source.read_bytes()
    source.write_bytes(pristine + b"# mine\n")
    try:
        assert ".local" in desk.nox("build_sample", "--json").well().wheel.name
        ran = desk.nox("pipeline", "--projects", "sample-companion", "--json")
        assert "which was built earlier in this work dir, and has a person's changes in it" in ran.talk
        error = ran.failed("promotion-refused")
        assert "sample" in error["message"]
        edited = ran.receipt("build")["result"]["value"]
        assert edited["local"] is not None
        assert edited["version"] == f"1.0.0+local{edited['local'][:8]}"
        shown = desk.invoke("show-config", "--stage", "build", "--projects", "sample-companion", "--json").well()
        assert shown.document["version"] == edited["version"]
    finally:
        source.write_bytes(pristine)
    # The build that ran last is no longer that of the sources.
    again = desk.nox("build_sample_companion", "--json").well()
    assert again.states["build"] == "skipped"
    assert again.receipt("build")["result"]["value"]["local"] is None


@pytest.mark.usefixtures("both")
def test_nothing_is_promoted_whose_requirements_are_not_there(desk: Desk, tmp_path: Path) -> None:
    words = ("pipeline", "--projects", "sample-companion", "--store", tmp_path / "store", "--json")
    error = desk.nox(*words).failed("promotion-refused")
    assert "hipwright_sample-1.0.0+rocm7.10.0-" in error["message"]
    assert "--projects sample" in error["hint"]
    # A plan of both counts on the one that comes first.
    desk.nox("pipeline", "--projects", "sample", "--store", tmp_path / "store", "--until", "test").well()
    planned = desk.nox("pipeline", "--projects", "sample,sample-companion", *words[3:], "--dry-run").well().document["promotions"]
    assert [one["project"] for one in planned] == ORDER
    assert not (tmp_path / "store" / "channels").exists()


def test_alone_with_nothing_built_before_it_both_ways_out_are_told(desk: Desk) -> None:
    other = desk.with_work("alone")
    error = other.nox("build_sample_companion", "--json").failed("requirement-missing")
    assert "sample-companion needs hipwright-sample" in error["message"]
    assert "--projects sample,sample-companion" in error["hint"]
    assert "--find-links" in error["hint"]


@pytest.mark.usefixtures("both")
def test_on_another_machine_receipts_bring_the_wheel_it_was_built_with(desk: Desk) -> None:
    receipt = next(desk.work.glob("publish/sample-companion/*/receipt.json"))
    other = desk.with_work("elsewhere")
    ran = other.nox("test_sample_companion", "--from-receipt", receipt, "--json").well()
    assert ran.states == {"lock": "received", "build": "received", "check": "received", "publish": "received", "test": "run"}
    assert list(other.work.glob("build/sample/*/dist/*.whl"))
    built = next(desk.work.glob("build/sample/*/receipt.json"))
    third = desk.with_work("third")
    ran = third.nox("build_sample_companion", "--from-receipt", built, "--json").well()
    assert ran.states["build"] == "run"
    assert values_of(ran.wheel)["built_with"].startswith("1.0.0+rocm")


def test_nothing_is_built_on_a_sample_that_cannot_be_imported(desk: Desk, tmp_path: Path) -> None:
    broken = Desk(clone=small_clone(tmp_path, *ORDER), work=tmp_path / "work", cache=desk.cache)
    hooks = broken.clone / "external-builds" / "sample" / "hooks.py"
    change_file(hooks, '"import rocm_sdk",', "\"raise OSError('libnowhere.so.1: cannot open shared object file')\",")
    ran = broken.nox("pipeline", "--projects", "sample,sample-companion", "--until", "build", "--json")
    error = ran.failed("import-failed")
    assert "hipwright_sample of hipwright_sample-" in error["message"]
    assert "libnowhere.so.1: cannot open shared object file" in error["excerpt"]
    ends = [(stage["project"], stage["stage"]) for stage in ran.document["stages"]]
    assert ("sample", "build") in ends
    assert ("sample-companion", "provision") not in ends


def test_what_the_support_table_rules_out_is_skipped_and_alone_it_is_an_error(desk: Desk, tmp_path: Path) -> None:
    other = Desk(clone=small_clone(tmp_path, *ORDER), work=tmp_path / "work", cache=desk.cache)
    table = other.clone / "build_tools" / "config" / "data" / "support.toml"
    row = (
        'project = "sample-companion"\nstate = "unsupported"\nreason = "it is only a sample"\nlink = "https://host.example/why"\n'
    )
    change_file(table, "schema = 1\n", f"schema = 1\n\n[[rows]]\n{row}")
    ran = other.nox("pipeline", "--projects", "sample-companion,sample", "--until", "provision", "--json").well()
    assert ran.document["skipped"] == [
        {
            "project": "sample-companion",
            "python": None,
            "state": "skipped-unsupported",
            "why": "it is only a sample",
            "link": "https://host.example/why",
        }
    ]
    assert {stage["project"] for stage in ran.document["stages"]} == {"sample"}
    error = other.nox("build_sample_companion", "--json").failed("not-supported")
    assert "it is only a sample" in error["message"]
    assert "https://host.example/why" in error["hint"]


def test_the_pin_of_the_release_and_of_the_nightly_is_followed(desk: Desk) -> None:
    release = desk.nox("lock", "--projects", "sample-companion", "--json").well()
    assert locked(release, "sample-companion")["commit"] == pinned(desk, "release")
    other = desk.with_work("nightly")
    nightly = other.nox("lock", "--projects", "sample-companion", "--sample-ref", "nightly", "--json").well()
    assert locked(nightly, "sample-companion")["commit"] == pinned(desk, "nightly")
    assert locked(nightly, "sample-companion")["base_version"] == "1.1.0a0"


def test_both_are_tested_from_receipts_whose_wheels_stayed_where_they_were_published(
    desk: Desk, both: Ran, tmp_path: Path
) -> None:
    handed = tmp_path / "receipts"
    for row in both.document["stages"]:
        folder = Path(row["receipt"]).parent
        if row["stage"] in {"lock", "build", "check", "publish"}:
            to = handed / folder.relative_to(desk.work)
            shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.whl"))
    here = desk.with_work("tested-elsewhere")
    ran = here.nox("test_wheels", "--projects", ",".join(ORDER), "--from-receipt", handed, "--json").well()
    ends = [stage["project"] for stage in ran.document["stages"] if stage["stage"] == "test" and stage["state"] == "run"]
    assert ends == ORDER
    assert not list(here.work.rglob("*.whl"))
    assert both.document["versions"] == ran.document["versions"]
