"""Commands of patches in a process of their own, whose git kills that process at a call: as a machine that loses power leaves things."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.support.source_trees import write
from tests.support.warm_python import run_python

__all__ = ["drive"]

_CLONE = Path(__file__).parents[2]

_DRIVER = """
import sys
from pathlib import Path
from build_tools.types import Stage
from tests.support.patch_desk import PatchDesk
desk = PatchDesk(place=Path(sys.argv[1]))
desk.save() if sys.argv[2] == "save" else desk.checkout(until=Stage(sys.argv[2]))
"""

# It starts no more programs than it must: each call of git pays for them.
_GIT = """#!/bin/sh
said="$*"
until mkdir '{place}/held' 2> /dev/null; do :; done
read -r n < '{place}/count'
n=$((n + 1))
echo $n > '{place}/count'
printf '%s\\n' "${{said%%
*}}" >> '{place}/calls'
rmdir '{place}/held'
if [ "$n" = '{kill_at}' ]; then
  if [ '{mode}' = after ]; then '{git}' "$@" > /dev/null 2>&1; fi
  kill -9 $PPID
  exit 1
fi
exec '{git}' "$@"
"""


def drive(place: Path, what: str, *, kill_at: int = -1, mode: str = "before") -> tuple[int, list[str]]:
    """Save, or check out until a stage; return the exit status and the calls of git.

    Parameters
    ----------
    place
        That of the desk.
    what
        ``save``, or the stage.
    kill_at
        The call of git, counted from 1, that kills the process.
    mode
        Whether that call is carried out first: ``before`` or ``after``.
    """
    folder = place / "bin"
    real = shutil.which("git")
    write(folder, {"git": _GIT.format(place=folder, kill_at=kill_at, mode=mode, git=real), "calls": "", "count": "0\n"})
    (folder / "git").chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(_CLONE), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = run_python(["-c", _DRIVER, place, what], clone=_CLONE, cwd=_CLONE, env=environment)
    assert done.returncode in {0, -9}, done.stderr
    return done.returncode, (folder / "calls").read_text(encoding="utf-8").splitlines()
