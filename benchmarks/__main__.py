"""Run benchmarks by name, each in a process of its own; without a name, all that need no input of the caller's.

Usage: ``python -m benchmarks [NAME ...] [ARGUMENTS]``. Arguments begin with the first word that is an option or a number, and go to each
benchmark that is named.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.process import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

GOALS: Final = (
    "nox_list",
    "wrapper",
    "fresh_clone",
    "second_run",
    "stage_overhead",
    "foreign_extension",
    "checkout",
    "hipify_cache",
    "nothing_to_do",
    "patches_apply",
    "patches_save",
    "rocm_packages",
    "fetch_artifacts",
    "upload",
    "promote",
    "environment",
    "compiler_cache",
    "wheel_rewrite",
    "fat_wheel",
    "index_pages",
    "runner_overhead",
    "shard_balance",
)
"""Those that need no input of the caller's, in the order in which they run."""


def known() -> tuple[str, ...]:
    """Return the names of all benchmarks."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def split(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and the arguments after them.

    Raises
    ------
    SystemExit
        A name is no benchmark's, or there are arguments and no name that they could be for.
    """
    names: list[str] = []
    for word in words:
        if names and word not in known() and (word.startswith("-") or not word.isidentifier()):
            break
        if word not in known():
            message = f"there is no benchmark {word!r}; there are: {', '.join(known())}"
            raise SystemExit(message)
        names.append(word)
    return tuple(names), tuple(words[len(names) :])


def main(words: Sequence[str]) -> int:
    """Run what was asked for and return the worst exit status."""
    names, arguments = split(words)
    runner = Runner(environment={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])})
    status = 0
    for name in names or GOALS:
        done = runner.capture([sys.executable, "-m", f"benchmarks.{name}", *arguments], cwd=Path.cwd(), check=False)
        sys.stderr.buffer.write(done.stderr)
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
        status = max(status, abs(done.returncode))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
