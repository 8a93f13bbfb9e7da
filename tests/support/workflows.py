"""The real workflow files, executed by a local runner: third-party actions are stand-ins, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support.commands import CLONE, program_there
from tests.support.stand_in import stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ACT", "Job", "WorkflowRun", "WorkflowSite"]

ACT: Final = program_there("act")
"""Whether the local runner is there."""

_USES: Final = re.compile(r"uses: (?P<action>[\w./-]+)@(?P<commit>[0-9a-f]{40})")
_BUILT_IN: Final = "actions/checkout"
_LABELS: Final = ("ubuntu-24.04", "ubuntu-22.04", "windows-2022", "self-hosted")

_ACTIONS: Final = {
    "actions/setup-python": "true",
    "actions/upload-artifact": """
shopt -s nullglob
target="$ARTIFACTS/$INPUT_NAME"; mkdir -p "$target"; found=0
for file in $INPUT_PATH; do cp -r "$file" "$target/"; found=1; done
[[ $found == 1 || $INPUT_MISSING != error ]]
""",
    "actions/download-artifact": 'mkdir -p "$INPUT_PATH" && cp -r "$ARTIFACTS/$INPUT_NAME/." "$INPUT_PATH/"',
}
"""What stands for each action: a script of bash."""

_ACTION: Final = """
name: {name}
description: Stands for {name}
inputs:
  name: {{required: false, default: ""}}
  path: {{required: false, default: ""}}
  python-version: {{required: false, default: ""}}
  retention-days: {{required: false, default: ""}}
  compression-level: {{required: false, default: ""}}
  if-no-files-found: {{required: false, default: "warn"}}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        INPUT_NAME: ${{{{ inputs.name }}}}
        INPUT_PATH: ${{{{ inputs.path }}}}
        INPUT_MISSING: ${{{{ inputs.if-no-files-found }}}}
      run: |
{script}
"""

_PYTHON: Final = """
import os, sys
words = sys.argv[1:]
if words[:1] == ["noxw.py"]:
    # The wrapper makes its environment from a package index; here it is there already.
    words = ["-m", "nox", *words[1:]]
os.execv({python!r}, [{python!r}, *words])
"""


@dataclass(frozen=True, kw_only=True)
class Job:
    """How a job ended, and what its steps printed."""

    result: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All that it printed."""
        return "\n".join(self.lines)


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """A workflow that was executed: its jobs by name, its artifacts by name, and what the runner said."""

    jobs: Mapping[str, Job]
    artifacts: Path
    talk: str
    status: int

    def artifact(self, name: str) -> list[str]:
        """Return the names of an artifact's files."""
        return sorted(path.name for path in (self.artifacts / name).iterdir())


@dataclass(frozen=True, kw_only=True)
class WorkflowSite:
    """A clone that workflows run in; ``programs`` is first on the search path of their steps."""

    clone: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def programs(self) -> Path:
        """The folder of programs that stand for others."""
        return self.folder / "bin"

    def run(self, workflow: str, *, event: str = "workflow_dispatch", inputs: Mapping[str, str] | None = None) -> WorkflowRun:
        """Execute a workflow file of this clone as it is, for an event."""
        file = self.clone / ".github" / "workflows" / workflow
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CLONE / ".github" / "workflows" / workflow, file)
        self._commit()
        stand_in(self.programs, "python3", _PYTHON.format(python=sys.executable))
        artifacts, home = self.folder / "artifacts", self.folder / "home"
        artifacts.mkdir(exist_ok=True)
        home.mkdir(exist_ok=True)
        command = [str(self._act()), event, "--workflows", str(file), "--json", "--pull=false"]
        for label in _LABELS:
            command += ["--platform", f"{label}=-self-hosted"]
        for action, commit in sorted(set(_USES.findall(file.read_text(encoding="utf-8")))):
            if action != _BUILT_IN:
                command += ["--local-repository", f"{action}@{commit}={self._action(action)}"]
        for name, value in (inputs or {}).items():
            command += ["--input", f"{name}={value}"]
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        environment = {"ARTIFACTS": str(artifacts), "PATH": path, **self.variables}
        for name, value in environment.items():
            command += ["--env", f"{name}={value}"]
        done = subprocess.run(
            command,
            cwd=self.clone,
            env={"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        return WorkflowRun(jobs=_jobs(done.stdout), artifacts=artifacts, talk=done.stdout + done.stderr, status=done.returncode)

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
            script = "\n".join(f"        {line}" for line in _ACTIONS[action].strip().splitlines())
            (place / "action.yml").write_text(_ACTION.format(name=action, script=script), encoding="utf-8")
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "an action"]):
                subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True)
        return place


def _jobs(text: str) -> dict[str, Job]:
    results: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for row in text.splitlines():
        try:
            event: Any = json.loads(row)
        except ValueError:
            continue
        name = event.get("jobID") or event.get("job")
        if not name:
            continue
        lines.setdefault(name, []).append(str(event.get("msg", "")).rstrip("\n"))
        if "jobResult" in event:
            results[name] = event["jobResult"]
    return {name: Job(result=result, lines=tuple(lines[name])) for name, result in results.items()}
