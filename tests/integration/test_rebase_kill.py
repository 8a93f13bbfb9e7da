"""Carrying a series over, killed at any note of where it stands: the next command goes on to the same line, or gives it up for good."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.rebase_site import LIB, LINES, Site, make_site, make_usual, with_line
from tests.support.source_trees import git, snapshot, write
from tests.support.warm_python import run_python

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

CLONE = Path(__file__).parents[2]
NOTES = 12
"""The beginning; the tree, the patch and the end of each of three groups; that the line is written now, and that it is.

The second group is of the same kind as the first, and the third has another tree only.
"""

DRIVER = """
import json, os, signal, sys
from pathlib import Path
from build_tools.patches.rebase import write_state
from build_tools.pipeline import rebase_end, rebase_patches, rebase_work
from tests.support.rebase_site import Site

place, at, when, settings = sys.argv[1:]
at, noted = int(at), 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def note(folder, state):
    global noted
    noted += 1
    if noted == at and when == "before":
        die()
    write_state(folder, state)
    if noted == at and when == "after":
        die()
    if noted == at and when == "in the clone":
        # The line is in its place, and no rule names it.
        rebase_end.files.write_bytes = lambda *_: die()
    if noted == at and when == "in the end":
        rebase_work.clear = lambda folder: (rebase_work.shutil_rmtree(folder / "src"), die())

import shutil
rebase_work.shutil_rmtree = shutil.rmtree
rebase_work.write_state = rebase_patches.write_state = note
Site(place=Path(place)).rebase(**json.loads(settings))
print(noted)
"""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A site whose old line is checked out, as it is kept; and what its clone holds when the series is carried over."""

    kept: Path
    wanted: Mapping[str, Any]

    def fresh(self) -> Site:
        """Return the site anew; it can be used at its own path only, since its origins are named by it."""
        place = self.kept.with_name("place")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.kept, place, symlinks=True)
        return Site(place=place)


def drive(site: Site, at: int, when: str, **settings: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - any option
    words = ["-c", DRIVER, str(site.place), str(at), when, json.dumps(settings)]
    return run_python(words, clone=CLONE, cwd=CLONE, env={**os.environ, "PYTHONPATH": str(CLONE)})


def kill(site: Site, at: int, when: str, **settings: Any) -> None:  # noqa: ANN401 - any option
    done = drive(site, at, when, **settings)
    assert done.returncode == -9, done.stderr


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    top = tmp_path_factory.mktemp("kill")
    site = make_usual(make_site(top / "place"))
    site.upstream({"a.c": f"new\n{LINES}", "k.cu": (site.tree / "k.cu").read_text(encoding="utf-8"), "version": "2.0\n"})
    shutil.copytree(top / "place", top / "kept", symlinks=True)
    done = drive(site, -1, "never", onto="release/2.0")
    assert done.stdout.split() == [str(NOTES)], done.stderr
    return Prepared(kept=top / "kept", wanted=snapshot(site.folder))


@pytest.mark.parametrize("at", [2, 3, 4, 8, 11, 12])
def test_what_was_not_noted_is_done_again(prepared: Prepared, at: int) -> None:
    site = prepared.fresh()
    kill(site, at, "before", onto="release/2.0")
    assert "--continue" in str(site.stops("rebase-state", onto="release/2.0").hint)
    assert site.rebase(go_on=True)["state"] == "done"
    assert snapshot(site.folder) == prepared.wanted
    assert not site.scratch.parent.exists()


@pytest.mark.parametrize(("at", "when"), [(11, "after"), (11, "in the clone"), (12, "in the end"), (12, "after")])
def test_what_was_noted_is_not_done_again(prepared: Prepared, at: int, when: str) -> None:
    site = prepared.fresh()
    kill(site, at, when, onto="release/2.0")
    done = site.rebase(go_on=True)
    assert (done["state"], done["line"]) == ("done", "2.0")
    assert snapshot(site.folder) == prepared.wanted
    assert not site.scratch.parent.exists()


def test_the_same_command_begins_anew_what_was_killed_before_its_first_note(prepared: Prepared) -> None:
    site = prepared.fresh()
    kill(site, 1, "before", onto="release/2.0")
    site.stops("rebase-state", go_on=True)
    assert site.rebase(onto="release/2.0")["state"] == "done"
    assert snapshot(site.folder) == prepared.wanted


@pytest.mark.parametrize(("at", "when"), [(1, "before"), (6, "before"), (11, "in the clone"), (12, "in the end")])
def test_it_is_given_up_wherever_it_was_killed(prepared: Prepared, at: int, when: str) -> None:
    site = prepared.fresh()
    before = snapshot(site.folder)
    kill(site, at, when, onto="release/2.0")
    left = snapshot(site.folder)
    done = site.rebase(abort=True)
    assert done["state"] == ("done" if when == "in the end" else "given up")
    assert not site.scratch.parent.exists()
    assert snapshot(site.folder) == left
    if when == "before":
        assert left == before
    if at == 6:
        assert site.rebase(onto="release/2.0")["state"] == "done"


def test_a_line_that_is_carried_over_in_place_is_finished_too(prepared: Prepared) -> None:
    site = prepared.fresh()
    kill(site, 11, "in the clone", onto="release/2.0", line="1.0")
    assert site.rebase(go_on=True, line="1.0")["state"] == "done"
    new = prepared.wanted["patches/2.0/root/base/0001-five.patch"]
    assert snapshot(site.folder)["patches/1.0/root/base/0001-five.patch"] == new


def test_a_conflict_is_found_and_solved_again(prepared: Prepared) -> None:
    site = prepared.fresh()
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    kill(site, 3, "before", onto="release/2.0")
    assert "root/base/0001-five.patch" in site.stops(go_on=True).message
    write(site.scratch_tree, {"a.c": with_line(5, "BOTH")})
    git(site.scratch_tree, "add", "a.c")
    kill(site, 1, "before", go_on=True)
    assert site.fates(site.rebase(go_on=True)) == {"0001-five": "solved", "0001-lib": "carried", "0001-hip": "carried"}


def test_a_patch_that_a_conflict_left_nothing_of_is_told_as_such(prepared: Prepared) -> None:
    site = prepared.fresh()
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    git(site.scratch_tree, "checkout", "--quiet", "HEAD", "--", "a.c")
    for when in ("before", "after"):
        kill(site, 1, when, go_on=True)
    done = site.rebase(go_on=True)
    assert site.fates(done) == {"0001-five": "upstream", "0001-lib": "carried", "0001-hip": "carried"}
    assert site.names("2.0") == [f"{LIB}/base/0001-lib.patch", "root/hipified/0001-hip.patch"]
