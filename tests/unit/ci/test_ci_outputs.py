"""What a job hands on: plain words under the names that workflows read, and nothing that could be taken for more."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.bodies import BODIES
from build_tools.ci.outputs import hand_on, package_outputs, prove_file, wheel_outputs
from build_tools.commands import Call, execute
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS
from build_tools.types import ProjectName
from tests.support.publishing import write_wheel
from tests.support.workplaces import CLONE, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.options.commands import Command
    from build_tools.workplace import Workplace

PAGE = "https://bucket.s3.amazonaws.com/7-linux/pytorch/gfx94X-dcgpu/index.html"


def read(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def of_job(place: Workplace, folder: Path) -> Workplace:
    return replace(place, machine={**place.machine, "GITHUB_OUTPUT": str(folder / "output")})


def test_each_project_hands_on_its_version() -> None:
    warned: list[str] = []
    versions = [("torch", "2.9.1+rocm7.10.0"), ("torch", "2.9.1+rocm7.10.0"), ("pytorch-triton.rocm", "3.5"), ("apex", "1.0")]
    found = wheel_outputs([PAGE, PAGE], versions, warn=warned.append)
    assert found == {
        "pytorch_package_find_links_url": PAGE,
        "torch_version": "2.9.1+rocm7.10.0",
        "pytorch_triton_rocm_version": "3.5",
        "apex_version": "1.0",
    }
    assert warned == []


def test_what_has_two_values_is_not_handed_on() -> None:
    warned: list[str] = []
    found = wheel_outputs([PAGE, f"{PAGE}x"], [("torch", "1"), ("torch", "2"), ("apex", "1")], warn=warned.append)
    assert found == {"apex_version": "1"}
    assert ["torch_version" in line for line in warned] == [False, True]


def test_without_a_runner_nothing_is_written() -> None:
    assert hand_on(package_outputs("7.10", page=PAGE), {}) is None


def test_what_earlier_steps_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("other=1")
    assert hand_on(package_outputs("7.10", page=PAGE), {"GITHUB_OUTPUT": str(path)}) == path
    assert read(path) == {"other": "1", "rocm_package_find_links_url": PAGE, "rocm_version": "7.10"}


def test_a_file_that_cannot_be_written_ends_a_command_before_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def do(command: Command, *_given: object) -> dict[str, Any]:
        done.append(command.name)
        return {}

    for name in ("upload_wheels", "verify"):
        monkeypatch.setitem(cast("dict[str, object]", BODIES), name, do)

    def status(name: str, output: Path) -> int:
        machine = {**os.environ, "GITHUB_OUTPUT": str(output)}
        arguments = ("--work-dir", str(tmp_path / "work"))
        return execute(Call(command=COMMANDS[name], clone=CLONE, typed_in=tmp_path, machine=machine, arguments=arguments)).status

    assert status("upload_wheels", tmp_path) != 0
    assert "folder-not-writable" in capsys.readouterr().err
    assert done == []
    # What hands nothing on needs no such file.
    assert status("verify", tmp_path) == 0
    kept = tmp_path / "output"
    kept.write_text("other=1\n")
    assert status("upload_wheels", kept) == 0
    assert done == ["verify", "upload_wheels"]
    assert kept.read_text() == "other=1\n"
    prove_file("upload_wheels", {})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(max_size=12))
def test_a_value_is_one_line_or_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "output"
    path.write_text("")
    with contextlib.suppress(HipwrightError):
        hand_on({"first_version": "1", "torch_version": value}, {"GITHUB_OUTPUT": str(path)})
    assert path.read_text() == "" or read(path) == {"first_version": "1", "torch_version": value}


@pytest.mark.parametrize("value", ["1\nPATH=/x", "", "$(id)", "a b", "-x", "`id`", "1;id", "${{ x }}", "'"])
def test_what_could_be_more_than_a_word_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(HipwrightError):
        hand_on({"torch_version": value}, {"GITHUB_OUTPUT": str(tmp_path / "output")})
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("page", [PAGE, "file:///a%20b/index.html", "http://[::1]:8333/b/7-linux/index.html"])
def test_addresses_of_all_stores_are_words(tmp_path: Path, page: str) -> None:
    hand_on(package_outputs("7.10.0a1+x", page=page), {"GITHUB_OUTPUT": str(tmp_path / "output")})
    assert read(tmp_path / "output")["rocm_package_find_links_url"] == page


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_upload_of_wheels_hands_on_its_page_and_versions(tmp_path: Path, *, dry_run: bool) -> None:
    write_wheel(tmp_path / "dist", "torch", "2.9.1+rocm7.1")
    write_wheel(tmp_path / "dist", "triton", "3.5")
    place = workplace(
        tmp_path,
        paths=(tmp_path / "dist",),
        artifact_group="gfx94X-dcgpu",
        run_id="77",
        store=str(tmp_path / "store"),
        dry_run=dry_run,
    )
    document = BODIES["upload_wheels"](COMMANDS["upload_wheels"], None, of_job(place, tmp_path))
    if dry_run:
        assert not (tmp_path / "output").exists()
    else:
        page = document["upload"]["find_links_url"]
        wanted = {"pytorch_package_find_links_url": page, "torch_version": "2.9.1+rocm7.1", "triton_version": "3.5"}
        assert read(tmp_path / "output") == wanted


def test_a_chain_that_published_hands_on_its_page_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"indexes": [{"project": "sample", "find-links": PAGE}], "versions": {"hipwright_sample": "1.0.0+rocm7.10.0"}}
    monkeypatch.setattr("build_tools.pipeline.run.run_pipeline", lambda *_given, **_named: done)
    command = PROJECT_COMMANDS["upload"]
    assert BODIES["upload"](command, ProjectName("sample"), of_job(workplace(tmp_path), tmp_path)) == done
    assert read(tmp_path / "output") == {
        "pytorch_package_find_links_url": PAGE,
        "hipwright_sample_version": "1.0.0+rocm7.10.0",
    }


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("fork", [False, True])
def test_an_upload_of_rocm_packages_hands_on_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, dry_run: bool, fork: bool
) -> None:
    done = {
        "packages": {
            "dry_run": dry_run,
            "find_links_url": PAGE,
            "version": "7.10.0",
            "platform": "linux",
            "artifact_group": "gfx94X-dcgpu",
        }
    }
    monkeypatch.setattr("build_tools.pipeline.upload_rocm_packages.upload_rocm_packages", lambda _workplace: done)
    monkeypatch.setattr("build_tools.pipeline.publishing.publishes_nothing", lambda _workplace: fork)
    BODIES["upload_rocm_packages"](COMMANDS["upload_rocm_packages"], None, of_job(workplace(tmp_path), tmp_path))
    assert (tmp_path / "output").exists() is not dry_run
    if not dry_run:
        # A page on the disk of a job's machine would be of no use to the next one.
        place = {"rocm_packages_artifact": "rocm-packages-linux-gfx94X-dcgpu"} if fork else {"rocm_package_find_links_url": PAGE}
        assert read(tmp_path / "output") == {**place, "rocm_version": "7.10.0"}
