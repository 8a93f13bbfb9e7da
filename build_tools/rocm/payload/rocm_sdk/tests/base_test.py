"""Tests of the set as a whole: one version, one build, in one folder, with all its files."""

from __future__ import annotations

import importlib.metadata
import json
import re
import unittest

from .. import __version__
from .._devices import installed_devices
from .._dist_info import description
from .._packages import find_module, module_beside, set_id
from .utils import first, installed, recorded_faults, run, script_path


def distributions() -> list[str]:
    """Return the installed packages of the set, ``rocm`` first."""
    packages = [package for packages in description().packages.values() for package in packages]
    names = ["rocm", *(package.distribution for package in packages if find_module(module_beside(package)) is not None)]
    devices = installed_devices(each.folder for each in installed("libraries"))
    return [*names, *(device.distribution for device in devices.values())]


class SetTest(unittest.TestCase):
    """The installed packages fit each other."""

    def test_version_is_that_of_the_package(self) -> None:
        self.assertEqual(importlib.metadata.version("rocm"), __version__)

    def test_packages_are_of_one_version(self) -> None:
        versions = {name: importlib.metadata.version(name) for name in distributions()}
        self.assertEqual(set(versions.values()), {__version__}, msg=f"{versions}")

    def test_packages_are_of_one_build(self) -> None:
        """Each package bears the id of the set; asking for its folder compares it."""
        for key in ("core", "libraries", "profiler"):
            for each in installed(key):
                stated = json.loads((each.folder / "_set.json").read_bytes())["set_id"]
                self.assertEqual(stated, set_id(), msg=each.package.distribution)

    def test_no_other_rocm_packages_are_there(self) -> None:
        """A package of the same family of names and another version is what is left of another ROCm."""
        names = re.compile(r"rocm|rocm[-_.]sdk[-_.].*|rocm[-_.]profiler", re.IGNORECASE)
        others = {
            f"{name} {each.version}"
            for each in importlib.metadata.distributions()
            if (name := each.metadata["Name"]) and names.fullmatch(name) and each.version != __version__
        }
        self.assertEqual(others, set())

    def test_packages_lie_in_one_folder(self) -> None:
        """Their libraries look for each other beside their own package."""
        folders = {each.folder.parent for key in ("core", "libraries", "profiler") for each in installed(key)}
        self.assertEqual(len(folders), 1, msg=f"{sorted(map(str, folders))}")

    def test_all_files_are_there(self) -> None:
        for name in distributions():
            with self.subTest(package=name):
                count, faults = recorded_faults(name)
                self.assertGreater(count, 0, msg="its installer did not record what it installed")
                self.assertEqual(faults, [], msg=first(faults))

    def test_script_is_there(self) -> None:
        script = script_path("rocm-sdk")
        if script is None:
            self.fail("the script rocm-sdk is not in this environment")
        self.assertEqual(run([script, "version"]).stdout.strip(), __version__)
