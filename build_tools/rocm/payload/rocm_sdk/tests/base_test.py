"""Tests of the set as a whole: one version, one build, in one folder, with all its files."""

from __future__ import annotations

import importlib.metadata
import json
import re

from .. import __version__
from .._devices import installed_devices
from .._dist_info import description
from .._packages import find_module, module_beside, set_id
from .utils import RocmTest, installed, recorded_faults, run, script_path


def distributions() -> list[str]:
    """Return the installed packages of the set, ``rocm`` first."""
    packages = [package for packages in description().packages.values() for package in packages]
    names = ["rocm", *(package.distribution for package in packages if find_module(module_beside(package)) is not None)]
    devices = installed_devices(each.folder for each in installed("libraries"))
    return [*names, *(device.distribution for device in devices.values())]


class SetTest(RocmTest):
    """The installed packages fit each other."""

    def test_version_is_that_of_the_package(self) -> None:
        version = importlib.metadata.version("rocm")
        self.assertEqual(version, __version__, msg=f"the package rocm is {version}, and rocm_sdk in it says {__version__}")

    def test_packages_are_of_one_version(self) -> None:
        versions = {name: importlib.metadata.version(name) for name in distributions()}
        self.deny(f"{name} is {version}, not {__version__}" for name, version in versions.items() if version != __version__)

    def test_packages_are_of_one_build(self) -> None:
        """Each package bears the id of the set; asking for its folder compares it."""
        for key in ("core", "libraries", "profiler"):
            for each in installed(key):
                stated = json.loads((each.folder / "_set.json").read_bytes())["set_id"]
                if stated != set_id():
                    self.fail(f"{each.package.distribution} is of the build {stated[:12]}, and rocm of {set_id()[:12]}")

    def test_no_other_rocm_packages_are_there(self) -> None:
        """A package of the same family of names and another version is what is left of another ROCm."""
        names = re.compile(r"rocm|rocm[-_.]sdk[-_.].*|rocm[-_.]profiler", re.IGNORECASE)
        others = {
            f"{name} {each.version}"
            for each in importlib.metadata.distributions()
            if (name := each.metadata["Name"]) and names.fullmatch(name) and each.version != __version__
        }
        self.deny(sorted(others), before="of another ROCm: ")

    def test_packages_lie_in_one_folder(self) -> None:
        """Their libraries look for each other beside their own package."""
        folders = {str(each.folder.parent) for key in ("core", "libraries", "profiler") for each in installed(key)}
        self.deny(sorted(folders) if len(folders) != 1 else (), before="they lie in several folders: ")

    def test_all_files_are_there(self) -> None:
        for name in distributions():
            with self.subTest(package=name):
                count, faults = recorded_faults(name)
                self.assertGreater(count, 0, msg="its installer did not record what it installed")
                self.deny(faults)

    def test_script_is_there(self) -> None:
        script = script_path("rocm-sdk")
        if script is None:
            self.fail("the script rocm-sdk is not in this environment")
        done = run([script, "version"])
        self.assertEqual(
            done.stdout.strip(), __version__, msg=f"{script} version says: {done.stdout.strip() or done.stderr.strip()}"
        )
