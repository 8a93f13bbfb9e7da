"""Every wheel computes on the CPU, GPU or not."""

from __future__ import annotations

import re
import sys
import time

import pytest
import torch


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_blas_and_lapack_are_in() -> None:
    """A build that found neither falls back to loops of its own, or raises when linear algebra is asked for."""
    shown = torch.__config__.show()
    assert torch._C.has_lapack  # noqa: SLF001
    found = re.search(r"(?:BLAS_INFO|blas)=(\w+)", shown, re.IGNORECASE)
    assert found, shown
    assert found[1].lower() in {"mkl", "open", "openblas", "flame", "blis", "nvpl"}, found[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the libraries there bring no dispatcher of their own to compare with")
def test_blas_is_a_fast_one() -> None:
    """Torch's own loops take some 30 times as long for this as any BLAS; half a second leaves room for a busy machine."""
    a = torch.ones(768, 768)
    a @ a
    best = min(_seconds(a) for _ in range(5))
    assert best < 0.5


def _seconds(a: torch.Tensor) -> float:
    started = time.perf_counter()
    a @ a
    return time.perf_counter() - started


def test_matrix_product() -> None:
    a, b = seeded(17, 9), seeded(9, 5)
    expected = (a.unsqueeze(2) * b.unsqueeze(0)).sum(dim=1)
    torch.testing.assert_close(a @ b, expected)


def test_singular_values_put_a_matrix_together_again() -> None:
    a = seeded(8, 6)
    u, s, v = torch.linalg.svd(a, full_matrices=False)
    torch.testing.assert_close(u @ torch.diag(s) @ v, a)


def test_eigenvalues_and_solutions() -> None:
    a = seeded(6, 6) + 6 * torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(torch.linalg.solve(a, a), torch.eye(6, dtype=torch.float64))
    symmetric = a + a.T
    values, vectors = torch.linalg.eigh(symmetric)
    torch.testing.assert_close(vectors @ torch.diag(values) @ vectors.T, symmetric)


def test_fourier_transform_there_and_back() -> None:
    x = seeded(3, 50)
    torch.testing.assert_close(torch.fft.irfft(torch.fft.rfft(x), n=50), x)


def test_convolution() -> None:
    x, kernel = seeded(1, 1, 6, 6), seeded(1, 1, 3, 3)
    windows = x.unfold(2, 3, 1).unfold(3, 3, 1)
    torch.testing.assert_close(torch.nn.functional.conv2d(x, kernel), (windows * kernel).sum(dim=(-1, -2)))


def test_gradients() -> None:
    x = seeded(4).requires_grad_()
    (x**3).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)


def test_a_model_learns() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    x = seeded(64, 4)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 10


def test_threads_share_the_work() -> None:
    assert torch.__config__.parallel_info().count("OpenMP") or "native thread pool" in torch.__config__.parallel_info()


def test_what_is_saved_is_read_again(tmp_path) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    torch.save({"x": seeded(3)}, tmp_path / "saved.pt")
    assert torch.equal(torch.load(tmp_path / "saved.pt", weights_only=True)["x"], seeded(3))


def test_a_library_of_operators_is_taken_and_found() -> None:
    """Extensions register theirs so; a wheel whose symbols are hidden from others has none to offer."""
    library = torch.library.Library("hipwright_smoke", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    assert torch.equal(torch.ops.hipwright_smoke.twice(torch.ones(3)), torch.full((3,), 2.0))


def test_a_distributed_group_of_one_agrees(tmp_path) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    if not torch.distributed.is_available():
        pytest.skip("this torch was built without distributed")
    store = f"file://{(tmp_path / 'store').as_posix()}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        x = torch.ones(3)
        torch.distributed.all_reduce(x)
        assert torch.equal(x, torch.ones(3))
    finally:
        torch.distributed.destroy_process_group()
