"""Tests of the development files: expanded, whole, and what a build asks for is there."""

from __future__ import annotations

import re
import sys
import unittest
from typing import TYPE_CHECKING

from .. import find_libraries
from .._devel import devel_root
from .._devices import installed_devices
from .._dist_info import description, platform_key
from .._errors import MissingPackageError
from .._plan import faults_of, files_of
from .utils import RocmTest, installed, run

if TYPE_CHECKING:
    from pathlib import Path

_MAJOR = re.compile(r"\.so\.(\d+)|_(\d+)\.dll$")
_HIP_VERSION = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR)\s+(\d+)", re.MULTILINE)


class DevelTest(RocmTest):
    """The headers, CMake packages and all that a build needs."""

    root: Path

    @classmethod
    def setUpClass(cls) -> None:
        """Expand them."""
        try:
            cls.root = devel_root()
        except MissingPackageError as error:
            raise unittest.SkipTest(str(error)) from None

    def test_files_are_there(self) -> None:
        self.deny(faults_of(self.root), before="run rocm-sdk init: ")

    def test_links_stay_inside(self) -> None:
        """A link leads into the tree or into the folder of another package."""
        folders = [self.root.resolve(), *(each.folder.resolve() for key in ("core", "libraries") for each in installed(key))]
        for path in files_of(self.root):
            if (self.root / path).is_symlink():
                real = (self.root / path).resolve()
                self.assertTrue(any(real.is_relative_to(folder) for folder in folders), msg=f"{path} leads to {real}")

    def test_command_names_the_folders(self) -> None:
        for option, folder in (("--root", self.root), ("--bin", self.root / "bin"), ("--cmake", self.root / "lib" / "cmake")):
            with self.subTest(option=option):
                done = run([sys.executable, "-I", "-m", "rocm_sdk", "path", option])
                self.assertEqual(done.stdout.strip(), str(folder), msg=done.stderr.strip() or f"it prints {done.stdout.strip()}")
                self.assertTrue(folder.is_dir(), msg=f"there is no folder {folder}")

    def test_cmake_finds_hip(self) -> None:
        config = self.root / "lib/cmake/hip/hip-config.cmake"
        self.assertTrue(config.is_file(), msg=f"there is no {config}")

    def test_headers_are_of_the_runtime(self) -> None:
        """The HIP headers and the HIP runtime have one major version; whether ROCm has it too is told."""
        header = self.root / "include/hip/hip_version.h"
        self.assertTrue(header.is_file(), msg=f"there is no {header}")
        numbers = dict(_HIP_VERSION.findall(header.read_text("utf-8", errors="replace")))
        runtime = find_libraries("amdhip64")[0].name
        major = _MAJOR.search(runtime)
        if major is not None:
            self.assertEqual(numbers.get("MAJOR"), major[1] or major[2], msg=f"{header} is not of {runtime}")
        hip, rocm = f"{numbers.get('MAJOR')}.{numbers.get('MINOR')}", ".".join(description().version.split(".")[:2])
        if hip != rocm:
            self.skipTest(
                f"the HIP headers are of {hip}, and ROCm is {rocm}: right where HIP numbers itself otherwise, else packages are mixed"
            )

    def test_libraries_can_be_linked(self) -> None:
        """Each library that is installed has the name that a linker asks for."""
        if platform_key() != "linux":
            self.skipTest("Windows links against import libraries")
        count = 0
        for name, library in description().libraries.items():
            pattern = library.patterns.get("linux")
            if pattern is None or library.package == "profiler" or library.optional:
                continue
            if any(next(each.folder.glob(pattern), None) for each in installed(library.package)):
                count += 1
                with self.subTest(library=name):
                    self.assertTrue((self.root / pattern.rstrip("*")).exists(), msg=f"there is no {pattern.rstrip('*')}")
        self.assertGreater(count, 0, msg="no library is installed")

    def test_device_files_are_there(self) -> None:
        devices = installed_devices(each.folder for each in installed("libraries"))
        if not devices:
            self.skipTest("no device package is installed")
        for target, device in devices.items():
            with self.subTest(target=target):
                self.deny(f"{path} is gone" for path in device.files if not (self.root / path).is_file())
