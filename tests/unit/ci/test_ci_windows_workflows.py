"""What is executed on Linux alone stands for Windows: the files are the same but for the system, and their commands take what they are given."""

from __future__ import annotations

import shlex

import pytest

from build_tools.ci.reproduce import commands_of
from build_tools.ci.workflow_file import read_workflows
from build_tools.config.project import project_names
from build_tools.options.command_line import fault_of_line
from tests.support.commands import CLONE

FOLDER = CLONE / ".github" / "workflows"
WORDS = (("build_portable_linux", "build_windows"), ("portable Linux", "Windows"), ("Linux", "Windows"), ("linux", "windows"))


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        ("ci_linux.yml", "ci_windows.yml"),
        ("build_portable_linux_python_packages.yml", "build_windows_python_packages.yml"),
    ],
)
def test_twins_differ_in_the_name_of_the_system_alone(linux: str, windows: str) -> None:
    text = (FOLDER / linux).read_text(encoding="utf-8").replace("build_runs_on:", "\0")
    for word, other in WORDS:
        text = text.replace(word, other)
    machines = text.replace("default: ubuntu-24.04", "default: windows-2025").replace("\0", "build_runs_on:")
    assert machines == (FOLDER / windows).read_text(encoding="utf-8")


def test_every_command_of_the_chain_for_windows_takes_its_options() -> None:
    workflows = {workflow.name: workflow for workflow in read_workflows(CLONE)}
    projects = project_names(CLONE / "external-builds")
    chain = workflows["ci_windows.yml"]
    lines = [
        line
        for job in chain.jobs
        for line in commands_of(job, chain, workflows=workflows, inputs={}, results={}, projects=projects)
    ]
    commands = {line.split(" -- ")[0].rpartition(" ")[2] for line in lines}
    assert commands >= {
        *("matrix", "fetch_artifacts", "build_rocm_packages", "upload_rocm_packages", "upload_run_logs"),
        *("test_rocm", "pipeline", "test_wheels", "preflight", "notify", "summary"),
    }
    # What a run alone knows stands in angle brackets, which are good for most names.
    known = {line: line.replace("'<matrix.projects>'", "pytorch") for line in lines}
    faults = {line: fault_of_line(shlex.split(text), projects=projects, others=(), clone=CLONE) for line, text in known.items()}
    assert {line: fault for line, fault in faults.items() if fault} == {}
    told = [
        line for line in lines if any(f" {name} " in line for name in ("matrix", "build_rocm_packages", "upload_rocm_packages"))
    ]
    assert told
    assert all("--platform windows" in line for line in told)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"package_find_links_url": "https://host.invalid/index.html"}, "--rocm-find-links https://host.invalid/index.html"),
        ({"package_run_id": "17", "artifact_group": "gfx1151"}, "--rocm-run-id 17"),
        (
            {"package_index_url": "https://host.invalid/simple/", "rocm_version": "7.1"},
            "--rocm-index-url https://host.invalid/simple/",
        ),
    ],
)
def test_packages_of_rocm_are_tested_from_each_kind_of_place(inputs: dict[str, str], words: str) -> None:
    workflows = {workflow.name: workflow for workflow in read_workflows(CLONE)}
    lines = commands_of(
        "test-rocm-wheels",
        workflows["test_rocm_wheels.yml"],
        workflows=workflows,
        inputs=inputs,
        results={},
        projects=project_names(CLONE / "external-builds"),
    )
    (line,) = [line for line in lines if " test_rocm " in line]
    assert words in line
    assert sum(flag in line for flag in ("--rocm-find-links", "--rocm-run-id", "--rocm-index-url")) == 1
    assert fault_of_line(shlex.split(line), projects=(), others=(), clone=CLONE) is None
