"""The installed extension computes what its paper says (Fey et al., SplineCNN), against plain torch."""

from __future__ import annotations

import importlib.metadata
import itertools

import pytest
import torch
import torch_spline_conv


def linear_basis(pseudo: torch.Tensor, kernel_size: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and indices of the open linear B-spline basis, one edge after the other."""
    values, indices = [], []
    for point in pseudo:
        for corner in itertools.product((0, 1), repeat=len(kernel_size)):
            value, index, stride = 1.0, 0, 1
            # The first coordinate's corner changes fastest.
            for coordinate, size, step in zip(point.tolist(), kernel_size, corner[::-1], strict=True):
                position = coordinate * (size - 1)
                fraction = position - int(position)
                value *= fraction if step else 1 - fraction
                index += (int(position) + step) % size * stride
                stride *= size
            values.append(value)
            indices.append(index)
    shape = (len(pseudo), 2 ** len(kernel_size))
    return torch.tensor(values).reshape(shape), torch.tensor(indices).reshape(shape)


@pytest.fixture
def edges() -> torch.Tensor:
    return torch.rand(11, 2, generator=torch.Generator().manual_seed(0)) * 0.98


def test_the_version_is_the_distributions() -> None:
    assert torch_spline_conv.__version__ == importlib.metadata.version("torch-spline-conv") == "1.2.2"


def test_it_was_built_for_the_cpu_alone() -> None:
    assert torch.ops.torch_spline_conv.cuda_version() == -1


def test_basis(edges: torch.Tensor) -> None:
    sizes = [5, 3]
    values, indices = torch_spline_conv.spline_basis(edges, torch.tensor(sizes), torch.ones(2, dtype=torch.uint8), 1)
    expected_values, expected_indices = linear_basis(edges, sizes)
    assert torch.equal(indices, expected_indices)
    torch.testing.assert_close(values, expected_values)


def test_weighting(edges: torch.Tensor) -> None:
    sizes = [5, 3]
    values, indices = torch_spline_conv.spline_basis(edges, torch.tensor(sizes), torch.ones(2, dtype=torch.uint8), 1)
    x = torch.randn(len(edges), 4, generator=torch.Generator().manual_seed(1))
    weight = torch.randn(15, 4, 6, generator=torch.Generator().manual_seed(2))
    expected = torch.einsum("ei,es,esio->eo", x, values, weight[indices])
    torch.testing.assert_close(torch_spline_conv.spline_weighting(x, weight, values, indices), expected)


def test_convolution_of_a_graph() -> None:
    x = torch.tensor([[9.0, 10.0], [1.0, 2.0], [3.0, 4.0]])
    edge_index = torch.tensor([[0, 0], [1, 2]])
    weight = torch.ones(3, 2, 1)
    out = torch_spline_conv.spline_conv(
        x, edge_index, torch.tensor([[0.25], [0.75]]), weight, torch.tensor([3]), torch.ones(1, dtype=torch.uint8)
    )
    # The basis adds up to one, so each edge gives the sum of its node's features; two edges are averaged.
    torch.testing.assert_close(out, torch.tensor([[5.0], [0.0], [0.0]]))
