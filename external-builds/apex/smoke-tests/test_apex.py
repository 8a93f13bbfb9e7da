"""An installed apex goes with its torch, and its compiled parts are there."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re

import pytest
import torch
from apex import git_version_info_installed as built


def compiled(name: str) -> object:
    """Return a compiled module, wherever this release of apex keeps it."""
    places = [place for place in (name, f"apex.{name}") if importlib.util.find_spec(place) is not None]
    assert places, f"no module {name}"
    return importlib.import_module(places[0])


def test_its_torch_is_for_rocm() -> None:
    """Its compiled parts are for GPUs alone, so they are of use only beside such a torch."""
    assert torch.version.hip is not None


def test_it_has_a_version() -> None:
    assert re.match(r"\d+\.\d+", importlib.metadata.version("apex"))


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{7,40}", built.git_hash)


def test_it_was_built_against_this_torch() -> None:
    assert built.torch_info["version"] == ".".join(torch.__version__.split(".")[:2])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("amp_C", "multi_tensor_scale"),
        ("amp_C", "multi_tensor_adam"),
        ("apex_C", "flatten"),
        ("syncbn", "welford_mean_var"),
        ("fused_layer_norm_cuda", "forward_affine"),
    ],
)
def test_its_compiled_parts_load(name: str, function: str) -> None:
    assert hasattr(compiled(name), function)


@pytest.mark.gpu
def test_a_fused_optimizer_does_what_torchs_does(record_testsuite_property) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    from apex.optimizers import FusedAdam  # noqa: PLC0415 - it needs a GPU to be imported

    start = torch.randn(64, generator=torch.Generator().manual_seed(0))
    results = []
    for kind in (FusedAdam, torch.optim.AdamW):
        weights = start.clone().cuda().requires_grad_()
        optimizer = kind([weights], lr=0.1, weight_decay=0.0)
        for _ in range(3):
            optimizer.zero_grad()
            (weights**2).sum().backward()
            optimizer.step()
        results.append(weights.detach().cpu())
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-5)
    name = getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").partition(":")[0]
    record_testsuite_property("gpu-target", name)


@pytest.mark.gpu
def test_a_fused_norm_does_what_torchs_does() -> None:
    from apex.normalization import FusedLayerNorm  # noqa: PLC0415

    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(0)).cuda()
    torch.testing.assert_close(FusedLayerNorm(32).cuda()(x), torch.nn.LayerNorm(32).cuda()(x), rtol=1e-4, atol=1e-4)
