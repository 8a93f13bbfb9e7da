"""What the packages' own test says of a GPU that works, of one that does not, and of none; the runtime is a stand-in."""

from __future__ import annotations

import ctypes
import unittest
from typing import Any

import pytest

from build_tools.rocm.payload.rocm_sdk.tests import device_test, utils


class Runtime:
    """Memory of GPUs: what is written is kept, but for one byte of each of ``broken``."""

    def __init__(self, count: int, broken: tuple[int, ...] = (), *, full: bool = False) -> None:
        self._count, self._broken, self._full, self._at = count, broken, full, 0
        self._memory = bytearray()
        self.freed = 0

    def hipGetDeviceCount(self, count: Any) -> int:  # noqa: ANN401, N802 - as ctypes has it, here and below
        count._obj.value = self._count
        return 0

    def hipSetDevice(self, number: Any) -> int:  # noqa: ANN401, N802
        self._at = number.value
        return 0

    def hipMalloc(self, place: Any, size: Any) -> int:  # noqa: ANN401, N802
        del place
        self._memory = bytearray(size.value)
        return 2 if self._full else 0

    def hipMemset(self, place: Any, value: Any, size: Any) -> int:  # noqa: ANN401, N802
        del place
        self._memory = bytearray([value.value]) * size.value
        if self._at in self._broken:
            self._memory[0] ^= 1
        return 0

    def hipMemcpy(self, back: Any, place: Any, size: Any, kind: Any) -> int:  # noqa: ANN401, N802
        del place
        assert kind.value == 2
        ctypes.memmove(back, bytes(self._memory), size.value)
        return 0

    def hipFree(self, place: Any) -> int:  # noqa: ANN401, N802
        del place
        self.freed += 1
        return 0


@pytest.mark.parametrize(
    ("gpus", "runtime", "reason", "ran_on"),
    [
        (("gfx942",), Runtime(2), None, {"gfx942"}),
        (("gfx1201", "gfx942"), Runtime(2), None, set()),
        (("gfx942",), Runtime(2, broken=(1,)), "1 of 1048576 bytes are not what the GPU was told to write", set()),
        (("gfx942",), Runtime(1, full=True), "hipMalloc fails with the HIP error 2", set()),
        (("gfx942",), Runtime(0), "the runtime sees no GPU", set()),
        ((), Runtime(1), None, set()),
    ],
)
def test_a_gpu_has_to_keep_what_is_written(
    gpus: tuple[str, ...], runtime: Runtime, reason: str | None, ran_on: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_test, "gpus", lambda: gpus)
    monkeypatch.setattr(device_test, "_runtime", lambda: runtime)
    monkeypatch.setattr(device_test, "ran_on", claimed := set[str]())
    result = unittest.TestResult()
    case = device_test.DeviceTest("test_gpus_keep_what_is_written")
    monkeypatch.setattr(case, "setUpClass", lambda: None)
    case.run(result)
    failed = [text for _, text in [*result.failures, *result.errors]]
    assert claimed == ran_on
    assert [(reason or "") in text for text in failed] == ([] if reason is None else [True])
    assert bool(result.skipped) is not bool(gpus)
    assert utils.ran_on == set()
