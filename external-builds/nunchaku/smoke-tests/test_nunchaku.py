"""An installed nunchaku goes with its torch, and its compiled part is there."""

from __future__ import annotations

import importlib.metadata
import re

import nunchaku
import pytest
import torch
from nunchaku import _C


def test_its_torch_is_for_rocm() -> None:
    """Its compiled part is for GPUs alone, so it is of use only beside such a torch."""
    assert torch.version.hip is not None


def test_it_has_a_version() -> None:
    assert re.match(r"\d+\.\d+", importlib.metadata.version("nunchaku"))


def test_block_sparse_attention_is_what_was_built() -> None:
    assert nunchaku.has_block_sparse_attention is _C.has_block_sparse_attention


@pytest.mark.parametrize("name", ["gemm_w4a4", "quantize_w4a4_act_fuse_lora", "gemm_awq", "gemv_awq"])
def test_its_kernels_have_their_functions(name: str) -> None:
    assert callable(getattr(_C.ops, name))
