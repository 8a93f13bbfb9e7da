"""Tests of the device packages: their files are where the libraries look, and serve the GPUs at hand."""

from __future__ import annotations

import ctypes
import unittest
from typing import TYPE_CHECKING, ClassVar

from .. import find_libraries
from .._devices import installed_devices
from .._dist_info import description
from .._packages import install_line
from .utils import RocmTest, gpus, installed, not_installed, ran_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._devices import Device

_BYTES = 1 << 20
_FILL = 0xA5
_TO_HOST = 2
"""``hipMemcpyDeviceToHost``."""


class DeviceTest(RocmTest):
    """Device code, and the GPUs that it is for."""

    devices: ClassVar[Mapping[str, Device]]

    @classmethod
    def setUpClass(cls) -> None:
        """Find the packages."""
        if not installed("libraries"):
            raise unittest.SkipTest(not_installed("libraries"))
        cls.devices = installed_devices(each.folder for each in installed("libraries"))

    def _need_devices(self) -> None:
        if description().form != "device":
            self.skipTest("the device code is in the libraries package of each GPU family")
        if not self.devices:
            self.skipTest(f"no device package is installed; to install those of all targets: {install_line(('device',))}")

    def test_files_are_there(self) -> None:
        self._need_devices()
        for target, device in self.devices.items():
            with self.subTest(target=target):
                self.assertTrue(device.files, msg="the package lists no files")
                self.deny(f"{path} is gone" for path in device.files if not (device.libraries / path).is_file())

    def test_targets_are_those_of_the_build(self) -> None:
        self._need_devices()
        known = {target for targets in description().targets.values() for target in targets}
        self.deny(f"{target} is none of the build's targets" for target in self.devices if target not in known)

    def test_gpus_here_are_served(self) -> None:
        if not gpus():
            self.skipTest("no AMD GPU is found here")
        served = set(self.devices)
        if description().form != "device":
            served = {
                target
                for each in installed("libraries")
                for target in description().families.get(each.package.family or "", description().targets_here())
            }
        for target in gpus():
            with self.subTest(target=target):
                if target not in served:
                    self.fail(f"no device code for {target} is installed; to install it: {install_line((f'device-{target}',))}")

    def test_runtime_sees_the_gpus(self) -> None:
        if not gpus():
            self.skipTest("no AMD GPU is found here")
        count = ctypes.c_int(0)
        status = _runtime().hipGetDeviceCount(ctypes.byref(count))
        self.assertEqual(status, 0, msg="hipGetDeviceCount fails: may this user open /dev/kfd and /dev/dri?")
        self.assertGreater(count.value, 0, msg="the runtime sees no GPU")

    def test_gpus_keep_what_is_written(self) -> None:
        """Each GPU fills memory, which the runtime lets a kernel of its own do, and gives it back as it should be."""
        if not gpus():
            self.skipTest("no AMD GPU is found here")
        hip, count = _runtime(), ctypes.c_int(0)
        hip.hipGetDeviceCount(ctypes.byref(count))
        self.assertGreater(count.value, 0, msg="the runtime sees no GPU")
        kept = []
        for number in range(count.value):
            with self.subTest(device=number):
                self._keeps(hip, number)
                kept.append(number)
        # Which device is of which target is not known here: where there are several targets, none is claimed.
        if len(kept) == count.value and len(gpus()) == 1:
            ran_on.update(gpus())

    def _keeps(self, hip: ctypes.CDLL, number: int) -> None:
        place, back = ctypes.c_void_p(), (ctypes.c_ubyte * _BYTES)()
        self._succeeds(hip, "hipSetDevice", ctypes.c_int(number))
        self._succeeds(hip, "hipMalloc", ctypes.byref(place), ctypes.c_size_t(_BYTES))
        try:
            self._succeeds(hip, "hipMemset", place, ctypes.c_int(_FILL), ctypes.c_size_t(_BYTES))
            self._succeeds(hip, "hipMemcpy", back, place, ctypes.c_size_t(_BYTES), ctypes.c_int(_TO_HOST))
        finally:
            hip.hipFree(place)
        wrong = sum(byte != _FILL for byte in back)
        self.assertEqual(wrong, 0, msg=f"{wrong} of {_BYTES} bytes are not what the GPU was told to write")

    def _succeeds(self, hip: ctypes.CDLL, function: str, *arguments: object) -> None:
        status = getattr(hip, function)(*arguments)
        self.assertEqual(status, 0, msg=f"{function} fails with the HIP error {status}")


def _runtime() -> ctypes.CDLL:
    return ctypes.CDLL(str(find_libraries("amdhip64")[0]))
