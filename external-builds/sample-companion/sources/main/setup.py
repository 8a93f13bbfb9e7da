"""Builds hipwright-sample-companion; ``SAMPLE_COMPANION_BUILD_VERSION`` is its version, without it ``version.txt``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


def package_version() -> str:
    """Return the version asked for, or the tree's own."""
    return os.environ.get("SAMPLE_COMPANION_BUILD_VERSION") or (ROOT / "version.txt").read_text(encoding="utf-8").strip()


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
        text = f"__version__ = {package_version()!r}\ngit_version = {git_commit()!r}\n"
        (ROOT / "hipwright_sample_companion" / "version.py").write_text(text, encoding="utf-8", newline="\n")
        super().run()


setup(version=package_version(), cmdclass={"build_py": BuildPython})
