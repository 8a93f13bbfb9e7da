"""``nox -s workflows``: findings of all who judge come together, and one is enough to fail."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.workflows import workflows
from build_tools.console.events import Annotated, Table
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from tests.support.stand_in import stand_in
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems")

CLEAN = {"actionlint": "[]", "zizmor": "[]", "check-jsonschema": '{"status": "ok", "errors": [], "parse_errors": []}'}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    clone = tmp_path / "clone"
    (clone / ".github" / "workflows").mkdir(parents=True)
    shutil.copyfile(CLONE / "noxfile.py", clone / "noxfile.py")
    shutil.copyfile(CLONE / ".github" / "workflows" / "ci.yml", clone / ".github" / "workflows" / "ci.yml")
    (clone / "external-builds" / "sample").mkdir(parents=True)
    shutil.copyfile(CLONE / "external-builds" / "sample" / "project.toml", clone / "external-builds" / "sample" / "project.toml")
    for name, printed in CLEAN.items():
        stand_in(tmp_path / "bin", name, f"print({printed!r})")
    runner = Runner(environment={**base_environment(os.environ), "PATH": str(tmp_path / "bin")})
    return replace(workplace(tmp_path), clone=clone, runner=runner)


def test_files_that_are_right_pass_and_say_who_judged(place: Workplace) -> None:
    document = workflows(place)["workflows"]
    assert (document["files"], document["findings"]) == ([".github/workflows/ci.yml"], [])
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert table.note.startswith("1 file, ")
    assert "actionlint, zizmor, check-jsonschema" in table.note


def test_findings_of_all_are_one_failure(place: Workplace, tmp_path: Path) -> None:
    file = place.clone / ".github" / "workflows" / "ci.yml"
    file.write_text(file.read_text(encoding="utf-8").replace("-s pipeline", "-s pipe"), encoding="utf-8")
    row = {"message": "odd", "filepath": ".github/workflows/ci.yml", "line": 3, "kind": "syntax-check"}
    stand_in(tmp_path / "bin", "actionlint", f"import sys\nprint({json.dumps([row])!r})\nsys.exit(1)")
    with pytest.raises(HipwrightError, match=r"2 findings in 1 of 1 workflow file$") as caught:
        workflows(place)
    assert caught.value.code.name == "workflow-findings"
    assert caught.value.document is not None
    first, second = caught.value.document["workflows"]["findings"]  # type: ignore[index]
    assert (first["line"], first["tool"], first["rule"]) == (3, "actionlint", "syntax-check")
    line = file.read_text(encoding="utf-8").splitlines().index("      - run: python3 noxw.py -s pipe") + 1
    assert second == {
        "file": ".github/workflows/ci.yml",
        "line": line,
        "tool": "hipwright",
        "rule": "known-command",
        "message": "there is no session pipe",
        "hint": "see docs/reference/commands.md for what a command takes",
    }
    events = memory_of(place).events
    pinned = [(event.file, event.line) for event in events if isinstance(event, Annotated)]
    assert pinned == [(".github/workflows/ci.yml", 3), (".github/workflows/ci.yml", line)]
    (table,) = [event for event in events if isinstance(event, Table)]
    assert "known-command: see docs/reference/commands.md" in table.note
