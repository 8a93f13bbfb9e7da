"""Builds hipwright-sample-companion with the hipwright-sample that is installed.

The environment may say more:

SAMPLE_COMPANION_BUILD_VERSION
    The version of the package; without it ``version.txt`` has it.
HIPWRIGHT_SAMPLE_VERSION
    The version of hipwright-sample that becomes an exact requirement; it has to be the installed one.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

ROOT = Path(__file__).resolve().parent


def package_version() -> str:
    """Return the version asked for, or the tree's own."""
    return os.environ.get("SAMPLE_COMPANION_BUILD_VERSION") or (ROOT / "version.txt").read_text(encoding="utf-8").strip()


def sample_version() -> str:
    """Return the version of the sample that this is built with, which has to load.

    As an extension compiles against the torch that it imports, so what is written below comes from the sample itself.
    """
    import hipwright_sample

    asked = os.environ.get("HIPWRIGHT_SAMPLE_VERSION")
    if asked and asked != hipwright_sample.__version__:
        raise SetupError(f"hipwright-sample {asked} is asked for, and {hipwright_sample.__version__} is installed")
    return hipwright_sample.__version__


def runtime_version() -> tuple[int, int]:
    """Return which GPU runtime the sample's library was built against, by its own word."""
    import hipwright_sample

    return hipwright_sample.runtime_version()


def git_commit() -> str:
    """Return the commit that this tree is a checkout of."""
    try:
        return subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return "Unknown"


class BuildPython(build_py):
    """Adds the module that says what was built."""

    def run(self) -> None:
        """Write ``version.py``, then collect the modules."""
        lines = [
            f"__version__ = {package_version()!r}",
            f"git_version = {git_commit()!r}",
            f"built_with = {sample_version()!r}",
            f"runtime_version = {runtime_version()!r}",
        ]
        (ROOT / "hipwright_sample_companion" / "version.py").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        super().run()


setup(
    version=package_version(),
    install_requires=[f"hipwright-sample=={sample_version()}"],
    cmdclass={"build_py": BuildPython},
)
