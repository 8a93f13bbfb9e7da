"""Tests of the libraries package: each library is found by its short name, and loads."""

from __future__ import annotations

import os
import sys
import unittest
from unittest import mock

from .._packages import FAMILY_VARIABLE
from .utils import RocmTest, first, installed, libraries_of, load_each, not_installed, run, shared_libraries

_PRELOAD = "import sys, rocm_sdk; rocm_sdk.initialize_process(preload_shortnames=sys.argv[1:])"


class LibrariesTest(RocmTest):
    """The math, communication and deep-learning libraries."""

    @classmethod
    def setUpClass(cls) -> None:
        """Find the package."""
        if not installed("libraries"):
            raise unittest.SkipTest(not_installed("libraries"))

    def test_libraries_are_found_and_load(self) -> None:
        """Each loads in a fresh process, alone, as a framework's first call would have it."""
        names = libraries_of("libraries")
        self.assertTrue(names, msg="the set describes no library of this package")
        for each in installed("libraries"):
            environment = {FAMILY_VARIABLE: each.package.family} if each.package.family is not None else {}
            with mock.patch.dict(os.environ, environment):
                for name in names:
                    with self.subTest(library=name, package=each.package.distribution):
                        self.find(name)
                        done = run([sys.executable, "-I", "-c", _PRELOAD, name])
                        self.assertEqual(done.returncode, 0, msg=first(done.stderr.splitlines()[-1:]))

    def test_shared_libraries_load(self) -> None:
        for each in installed("libraries"):
            paths = shared_libraries(each.folder)
            self.assertTrue(paths, msg=f"there is no shared library in {each.folder}")
            for path, fault in load_each(paths):
                with self.subTest(library=path.relative_to(each.folder).as_posix()):
                    self.deny([fault] if fault else ())
