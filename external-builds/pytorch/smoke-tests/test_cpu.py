"""Every wheel computes on the CPU, GPU or not."""

from __future__ import annotations

import torch


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_matrix_product() -> None:
    a, b = seeded(17, 9), seeded(9, 5)
    expected = (a.unsqueeze(2) * b.unsqueeze(0)).sum(dim=1)
    torch.testing.assert_close(a @ b, expected)


def test_singular_values_put_a_matrix_together_again() -> None:
    a = seeded(8, 6)
    u, s, v = torch.linalg.svd(a, full_matrices=False)
    torch.testing.assert_close(u @ torch.diag(s) @ v, a)


def test_convolution() -> None:
    x, kernel = seeded(1, 1, 6, 6), seeded(1, 1, 3, 3)
    windows = x.unfold(2, 3, 1).unfold(3, 3, 1)
    torch.testing.assert_close(torch.nn.functional.conv2d(x, kernel), (windows * kernel).sum(dim=(-1, -2)))


def test_gradients() -> None:
    x = seeded(4).requires_grad_()
    (x**3).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)
