"""The installed extension computes what torch computes."""

from __future__ import annotations

import importlib.metadata

import pytest
import stable_abi_extension
import torch


def test_the_version_is_the_distributions() -> None:
    assert stable_abi_extension.__version__ == importlib.metadata.version("stable-abi-extension") == "1.0.0"


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 4), (2, 3, 5)])
def test_it_agrees_with_torch(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(stable_abi_extension.leaky(x, 0.1), torch.nn.functional.leaky_relu(x, 0.1))


def test_a_view_is_read_as_it_is_seen() -> None:
    x = torch.arange(-6.0, 6.0).reshape(3, 4).t()
    torch.testing.assert_close(stable_abi_extension.leaky(x, 2.0), torch.nn.functional.leaky_relu(x, 2.0))


def test_other_types_are_refused() -> None:
    with pytest.raises(RuntimeError, match="float32"):
        stable_abi_extension.leaky(torch.zeros(2, dtype=torch.float64), 0.5)
