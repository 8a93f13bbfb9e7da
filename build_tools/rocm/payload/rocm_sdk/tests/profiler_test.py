"""Tests of the profiler package: its programs start."""

from __future__ import annotations

import json
import unittest

from .._packages import find_module
from .utils import RocmTest, first, installed, not_installed, run, script_path


class ProfilerTest(RocmTest):
    """The profilers."""

    @classmethod
    def setUpClass(cls) -> None:
        """Find the package."""
        if not installed("profiler"):
            raise unittest.SkipTest(not_installed("profiler"))

    def test_files_are_there(self) -> None:
        folder = installed("profiler")[0].folder
        own = {"__init__.py", "_set.json"}
        there = any(path.is_file() for path in folder.rglob("*") if path.name not in own)
        self.assertTrue(there, msg=f"there are no files in {folder}")

    def test_scripts_start(self) -> None:
        module = find_module("rocm_profiler")
        if module is None or not (module / "scripts.json").is_file():
            self.skipTest("the package has no scripts")
        for name in sorted(json.loads((module / "scripts.json").read_bytes())):
            with self.subTest(script=name):
                script = script_path(name)
                if script is None:
                    self.fail(f"the script {name} is not in this environment")
                done = run([script, "--version"])
                self.assertEqual(done.returncode, 0, msg=first(done.stderr.splitlines()))
