"""What only a GPU can show."""

from __future__ import annotations

import ctypes
import sys

import pytest
import torch

pytestmark = pytest.mark.gpu


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def architecture() -> str:
    found = torch.cuda.get_device_properties(0)
    # Only ROCm names an architecture; of NVIDIA's devices there is a number.
    return getattr(found, "gcnArchName", "").partition(":")[0] or f"sm_{found.major}{found.minor}"


def test_torch_sees_the_gpu_that_this_run_was_given() -> None:
    """A wheel built for CPUs, or for another HIP than the installed one, sees none: that is a failure and not a reason to skip."""
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1


def test_this_gpu_is_one_that_the_wheel_was_built_for() -> None:
    assert architecture() in {name.partition(":")[0] for name in torch.cuda.get_arch_list()}


def test_a_kernel_of_torch_itself_runs(record_testsuite_property) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """Its kernels are in the wheel: one without code for this architecture fails here, and no library could hide that."""
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    torch.cuda.synchronize()
    assert float((x * 2 + 1).sum()) == 1_000_000.0
    record_testsuite_property("gpu-target", architecture())


def test_sorting_and_random_numbers() -> None:
    torch.manual_seed(0)
    x = torch.randn(4096, device="cuda")
    torch.testing.assert_close(torch.sort(x).values.cpu(), torch.sort(x.cpu()).values)
    assert abs(float(x.mean())) < 0.1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_matrix_product(dtype: torch.dtype) -> None:
    a, b = seeded(64, 48), seeded(48, 32)
    found = (a.to("cuda", dtype) @ b.to("cuda", dtype)).float().cpu()
    torch.testing.assert_close(found, a.to(dtype).float() @ b.to(dtype).float(), rtol=2e-2, atol=2e-1)


def test_batched_product_and_vector_products() -> None:
    a, b = seeded(3, 8, 8).cuda(), seeded(3, 8, 8).cuda()
    torch.testing.assert_close(torch.bmm(a, b).cpu(), torch.bmm(a.cpu(), b.cpu()), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.mv(a[0], b[0, 0]).cpu(), torch.mv(a[0].cpu(), b[0, 0].cpu()), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.dot(a[0, 0], b[0, 0]).cpu(), torch.dot(a[0, 0].cpu(), b[0, 0].cpu()), rtol=1e-4, atol=1e-4)


def test_solver_library() -> None:
    a = seeded(16, 16) + 16 * torch.eye(16)
    torch.testing.assert_close(torch.linalg.solve(a.cuda(), a.cuda()).cpu(), torch.eye(16), rtol=1e-3, atol=1e-3)


def test_fourier_library() -> None:
    x = seeded(4, 64)
    torch.testing.assert_close(torch.fft.fft(x.cuda()).cpu(), torch.fft.fft(x), rtol=1e-3, atol=1e-3)


def test_sparse_library() -> None:
    dense = torch.relu(seeded(16, 16))
    torch.testing.assert_close((dense.cuda().to_sparse_csr() @ dense.cuda()).cpu(), dense @ dense, rtol=1e-4, atol=1e-4)


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


def test_attention() -> None:
    q, k, v = seeded(3, 2, 4, 32, 16).unbind(0)
    found = torch.nn.functional.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda()).cpu()
    torch.testing.assert_close(found, torch.nn.functional.scaled_dot_product_attention(q, k, v), rtol=1e-3, atol=1e-3)


def test_gradients() -> None:
    x = seeded(8, 4).cuda().requires_grad_()
    torch.nn.functional.gelu(x).sum().backward()
    y = x.detach().cpu().requires_grad_()
    torch.nn.functional.gelu(y).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), y.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(torch.version.hip is None, reason="this torch is not for ROCm")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no one table of symbols")
@pytest.mark.parametrize("symbol", ["hipGetDeviceCount", "hipblasCreate"])
def test_rocm_libraries_are_loaded_for_all_to_see(symbol: str) -> None:
    assert hasattr(ctypes.CDLL(None), symbol)
