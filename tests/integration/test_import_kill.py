"""Taking a foreign series over, killed at any file that it writes: the line is not there or can be finished, by the same command."""

from __future__ import annotations

import dataclasses
import os
import shutil
from typing import TYPE_CHECKING

from build_tools.config.project import load_project
from build_tools.pipeline.run import run_pipeline
from build_tools.sources.modules import own_folder
from build_tools.types import ProjectName, Stage
from tests.support.source_trees import snapshot, write
from tests.support.warm_python import run_python
from tests.support.workplaces import CLONE, workplace

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

DIFF = "--- a/version.txt\n+++ b/version.txt\n@@ -1 +1 @@\n-1.0.0\n+1.0.1\n"
MORE = "--- /dev/null\n+++ b/third_party/greeter/more.txt\n@@ -0,0 +1 @@\n+more\n--- /dev/null\n+++ b/more.txt\n@@ -0,0 +1 @@\n+more\n"

DRIVER = """
import dataclasses, os, signal, sys
from pathlib import Path
from build_tools.pipeline.import_patches import import_patches
from tests.support.workplaces import workplace

place, at, when = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
real, done = os.replace, []

def replace(self, target):
    done.append(str(target))
    if len(done) == at and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, target)
    if len(done) == at and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return self.__class__(target)

Path.replace = replace
here = workplace(place, projects=("sample",), paths=(place / "quilt",), line="theirs")
import_patches(dataclasses.replace(here, clone=place / "clone", typed_in=place))
print(*done, sep="\\n")
"""


def drive(place: Path, at: int, when: str) -> subprocess.CompletedProcess[str]:
    words = ["-c", DRIVER, str(place), str(at), when]
    return run_python(words, clone=CLONE, cwd=CLONE, env={**os.environ, "PYTHONPATH": str(CLONE)})


def checkout(place: Path, **settings: str) -> None:
    here = dataclasses.replace(workplace(place, **settings), clone=place / "clone", typed_in=place)
    run_pipeline([load_project(here.external_builds, ProjectName("sample"))], until=Stage.HIPIFIED_PATCHES, workplace=here)


def points(writes: list[str], line: Path) -> list[tuple[int, str]]:
    """Return one write of each kind, counted from 1, and on which side of it to kill; of like ones, the first or the last."""
    staged = [number for number, name in enumerate(writes, start=1) if ".saving-" in name]
    placed = [number for number, name in enumerate(writes, start=1) if name.startswith(str(line)) and number not in staged]
    journal = staged[-1]
    assert writes[journal - 1].endswith("journal.json")
    assert [len(staged), len(placed)] == [5, 4], "each file is staged, and put in its place, with the journal between"
    assert staged[0] > 1, "before it, locks are taken"
    assert placed == list(range(journal + 1, len(writes) + 1))
    before = [(1, "before"), (journal, "before"), (placed[-1], "before")]
    return [*before, (staged[0], "after"), (journal, "after"), (placed[0], "after"), (placed[-1], "after")]


def test_the_same_command_finishes_what_was_killed(tmp_path: Path) -> None:
    place = tmp_path / "pl ace"
    folder = place / "clone" / "external-builds" / "sample"
    shutil.copytree(CLONE / "external-builds" / "sample", folder)
    checkout(place)
    write(place / "quilt", {"one.patch": DIFF, "two.patch": MORE, "series": "one.patch\ntwo.patch\n"})
    line = folder / "patches" / "theirs"
    whole = drive(place, -1, "never")
    assert whole.returncode == 0, whole.stderr
    wanted = snapshot(folder)
    names = {path.name for path in line.rglob("*.patch")}
    assert names == {"0001-one.patch", "0002-two.patch", "0001-two.patch"}
    for at, when in points(whole.stdout.splitlines(), line):
        shutil.rmtree(line)
        assert drive(place, at, when).returncode == -9
        again = drive(place, -1, "never")
        assert again.returncode == 0, again.stderr
        assert snapshot(folder) == wanted, f"killed {when} the write {at}"
    checkout(place, line="theirs")
    tree = place / "work" / "src" / "sample"
    assert (tree / "version.txt").read_text(encoding="utf-8") == "1.0.1\n"
    assert not [path for path in own_folder(tree).iterdir() if path.name.startswith("temporary-")]
