"""What only a GPU can show."""

from __future__ import annotations

import ctypes
import sys

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU on this machine")


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_this_gpu_is_one_that_the_wheel_was_built_for() -> None:
    name = torch.cuda.get_device_properties(0).gcnArchName.partition(":")[0]
    assert name in torch.cuda.get_arch_list()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_matrix_product(dtype: torch.dtype) -> None:
    a, b = seeded(64, 48), seeded(48, 32)
    found = (a.to("cuda", dtype) @ b.to("cuda", dtype)).float().cpu()
    torch.testing.assert_close(found, a.to(dtype).float() @ b.to(dtype).float(), rtol=2e-2, atol=2e-1)


def test_batched_product_and_vector_product() -> None:
    a, b = seeded(3, 8, 8).cuda(), seeded(3, 8, 8).cuda()
    torch.testing.assert_close(torch.bmm(a, b).cpu(), torch.bmm(a.cpu(), b.cpu()), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.mv(a[0], b[0, 0]).cpu(), torch.mv(a[0].cpu(), b[0, 0].cpu()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_convolution(memory_format: torch.memory_format) -> None:
    x = seeded(2, 3, 16, 16).contiguous(memory_format=memory_format)
    kernel = seeded(4, 3, 3, 3).contiguous(memory_format=memory_format)
    found = torch.nn.functional.conv2d(x.cuda(), kernel.cuda()).cpu()
    torch.testing.assert_close(found, torch.nn.functional.conv2d(x, kernel), rtol=1e-3, atol=1e-3)


def test_transposed_convolution() -> None:
    x, kernel = seeded(2, 4, 8, 8), seeded(4, 3, 3, 3)
    found = torch.nn.functional.conv_transpose2d(x.cuda(), kernel.cuda()).cpu()
    torch.testing.assert_close(found, torch.nn.functional.conv_transpose2d(x, kernel), rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no one table of symbols")
@pytest.mark.parametrize("symbol", ["hipGetDeviceCount", "hipblasCreate"])
def test_rocm_libraries_are_loaded_for_all_to_see(symbol: str) -> None:
    assert hasattr(ctypes.CDLL(None), symbol)
