from __future__ import annotations

import io
from typing import TYPE_CHECKING

from build_tools.console.events import Console
from build_tools.console.kept import KeptRenderer
from build_tools.console.render import GitHubRenderer
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path


def console(log: Path) -> tuple[Console, io.StringIO]:
    shown = io.StringIO()
    renderer = GitHubRenderer(out=shown, err=shown, summary=None)
    return Console(renderer=KeptRenderer(shown_by=renderer, log=log)), shown


def test_what_is_said_up_to_the_failure_is_kept_as_people_read_it(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "fetch_artifacts.log"
    for text in ("an earlier run", "looking"):
        talking, shown = console(log)
        talking.warn(text)
        talking.table("here", ("target",), [("gfx942",)])
        talking.fail(HipwrightError("artifact-missing", "there is none"))
        talking.close()
        assert f"::warning::{text}" in shown.getvalue()
    assert log.read_text(encoding="utf-8") == ("warning: looking\nhere\ntarget\ngfx942\nerror[artifact-missing]: there is none\n")


def test_a_log_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    talking, shown = console(tmp_path / "logs" / "x.log")
    talking.say("on it")
    talking.close()
    assert shown.getvalue() == "on it\n"
