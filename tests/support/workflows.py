"""The real workflow files, executed by a local runner: third-party actions are stand-ins, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support import workflow_actions
from tests.support.commands import CLONE, program_there
from tests.support.stand_in import stand_in
from tests.support.workflow_actions import INPUTS, STAND_INS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ACT", "Job", "WorkflowRun", "WorkflowSite"]

ACT: Final = program_there("act")
"""Whether the local runner is there."""

_USES: Final = re.compile(r"uses: (?P<action>[\w./-]+)@(?P<commit>[0-9a-f]{40})")
_OF_JOBS: Final = "HIPWRIGHT_TEST_OF_JOBS"
_HOSTED: Final = ("ubuntu-24.04", "ubuntu-22.04", "windows-2022", "windows-2025", "self-hosted")

_ACTION: Final = """
name: {name}
description: Stands for {name}
inputs:
{inputs}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        INPUTS: ${{{{ toJSON(inputs) }}}}
      run: {python} {script} {name}
"""

_PYTHON: Final = """
import json, os, sys
words = sys.argv[1:]
os.environ.update(json.loads(os.environ.get({of_jobs!r}, "{{}}")).get(os.environ.get("GITHUB_JOB"), {{}}))
if words[:1] == ["noxw.py"]:
    # The wrapper makes its environment from a package index; here it is there already.
    words = ["-m", "nox", *words[1:]]
os.execv({python!r}, [{python!r}, *words])
"""


@dataclass(frozen=True, kw_only=True)
class Job:
    """How a job ended, what its steps printed and wrote to the run's page, and what they handed on."""

    result: str
    lines: tuple[str, ...]
    outputs: Mapping[str, str]
    summary: str

    @property
    def text(self) -> str:
        """All that it printed."""
        return "\n".join(self.lines)


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """A workflow that was executed: its jobs, its artifacts by name, the actions that it asked for, and what the runner said.

    A job goes by its id, also one of a workflow that was called; where several have one id (a matrix, or two calls), each goes by the
    names on its way, parted by slashes, as the runner tells them.
    """

    jobs: Mapping[str, Job]
    folder: Path
    talk: str
    status: int

    @property
    def artifacts(self) -> Path:
        """The folder of the artifacts, each in a folder of its name."""
        return self.folder / "artifacts"

    @property
    def results(self) -> dict[str, str]:
        """How each job ended."""
        return {name: job.result for name, job in self.jobs.items()}

    def artifact(self, name: str) -> list[str]:
        """Return the files of an artifact, by their paths in it."""
        place = self.artifacts / name
        return sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())

    def actions(self, action: str) -> list[dict[str, str]]:
        """Return what was given to an action each time: its inputs that are not empty, and the ``job``."""
        file = self.folder / "actions.jsonl"
        given = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
        return [one for one in given if one["action"] == action]


@dataclass(frozen=True, kw_only=True)
class WorkflowSite:
    """A clone that workflows run in.

    ``programs`` is first on the search path of their steps; ``variables`` are in their environment, and ``of_jobs`` in that of the
    commands of a job, by its id, as the machine that it would run on has them; ``secrets`` and ``settings`` are those of the repository
    (``secrets.NAME``, ``vars.NAME``).
    """

    clone: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    of_jobs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def programs(self) -> Path:
        """The folder of programs that stand for others."""
        return self.folder / "bin"

    def run(
        self,
        workflow: str,
        *,
        event: str = "workflow_dispatch",
        inputs: Mapping[str, str] | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> WorkflowRun:
        """Execute a workflow file as it is, and those that it calls, for an event; ``payload`` is the event's own data.

        The runner knows workflows that a workflow calls, but loses the results and outputs of those which these call in turn; and when a
        job of a called workflow fails, it starts no job any more, not even one that always runs.
        """
        place = self.clone / ".github" / "workflows"
        shutil.copytree(CLONE / ".github" / "workflows", place, dirs_exist_ok=True)
        self._commit()
        stand_in(self.programs, "python3", _PYTHON.format(python=sys.executable, of_jobs=_OF_JOBS))
        folder, home = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder)), self.folder / "home"
        (folder / "artifacts").mkdir()
        home.mkdir(exist_ok=True)
        command = [str(self._act()), event, "--workflows", str(place / workflow), "--json", "--pull=false"]
        for label in sorted({*_HOSTED, *_machine_labels()}):
            command += ["--platform", f"{label}=-self-hosted"]
        used = {found for file in place.glob("*.yml") for found in _USES.findall(file.read_text(encoding="utf-8"))}
        for action, commit in sorted(used):
            command += ["--local-repository", f"{action}@{commit}={self._action(action)}"]
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        environment = {
            "RUN_FOLDER": str(folder),
            "RUN_CLONE": str(self.clone),
            "PATH": path,
            _OF_JOBS: json.dumps(self.of_jobs),
            **self.variables,
        }
        given = {"--input": inputs or {}, "--env": environment, "--secret": self.secrets, "--var": self.settings}
        command += [
            word for option, values in given.items() for name, value in values.items() for word in (option, f"{name}={value}")
        ]
        if payload is not None:
            (folder / "event.json").write_text(json.dumps(payload), encoding="utf-8")
            command += ["--eventpath", str(folder / "event.json")]
        done = subprocess.run(
            command,
            cwd=self.clone,
            env={"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        return WorkflowRun(jobs=_jobs(done.stdout), folder=folder, talk=done.stdout + done.stderr, status=done.returncode)

    def _act(self) -> Path:
        beside = Path(sys.executable).with_name("act")
        return beside if beside.is_file() else Path(str(shutil.which("act")))

    def _commit(self) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "a clone"]):
            subprocess.run(["git", *identity, *words], cwd=self.clone, check=True, capture_output=True)

    def _action(self, action: str) -> Path:
        """Make the repository of what stands for an action."""
        place = self.folder / "actions" / action
        if not place.is_dir():
            place.mkdir(parents=True)
            assert action in STAND_INS, f"nothing stands for {action}"
            inputs = "\n".join(f'  {name}: {{required: false, default: ""}}' for name in INPUTS)
            text = _ACTION.format(name=action, inputs=inputs, python=sys.executable, script=workflow_actions.__file__)
            (place / "action.yml").write_text(text, encoding="utf-8")
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "an action"]):
                subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True)
        return place


def _machine_labels() -> set[str]:
    """Return the labels of all machines that the project's own table names."""
    text = (CLONE / "build_tools" / "config" / "data" / "runners.toml").read_text(encoding="utf-8")
    return set(re.findall(r'(?:label|default|sanitizer|pytorch|fork) = "([^"]+)"', text))


def _jobs(text: str) -> dict[str, Job]:
    told: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in text.splitlines():
        try:
            event: Any = json.loads(row)
        except ValueError:
            continue
        if "jobID" in event:
            told.setdefault((event["jobID"], event["job"].strip()), []).append(event)
    ids = Counter(job for job, _ in told)
    return {(job if ids[job] == 1 else names): _job(events) for (job, names), events in told.items()}


def _job(events: Sequence[Mapping[str, Any]]) -> Job:
    return Job(
        result=next((event["jobResult"] for event in events if "jobResult" in event), "unfinished"),
        lines=tuple(str(event.get("msg", "")).rstrip("\n") for event in events),
        outputs={event["name"]: event["arg"] for event in events if event.get("command") == "set-output"},
        summary="".join(event["content"] for event in events if event.get("command") == "summary"),
    )
