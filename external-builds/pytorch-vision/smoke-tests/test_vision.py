"""An installed torchvision goes with its torch and computes, also in its compiled parts."""

from __future__ import annotations

import importlib.metadata
import re

import pytest
import torch
import torchvision
from torchvision.version import git_version

VERSION = importlib.metadata.version("torchvision")
BOXES = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
SCORES = torch.tensor([0.9, 0.8, 0.7])

# hipwright's wheels for ROCm say so in their version; a wheel from elsewhere may be for CPUs.
ROCM_ONLY = pytest.mark.skipif(re.search(r"\+(dev)?rocm", VERSION) is None, reason=f"torchvision {VERSION} is not a ROCm wheel")


def test_the_module_says_what_the_metadata_say() -> None:
    assert torchvision.__version__.partition("+")[0] == VERSION.partition("+")[0]


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", git_version)


@ROCM_ONLY
def test_it_requires_exactly_the_torch_it_was_built_against() -> None:
    pins = [text for text in importlib.metadata.requires("torchvision") or () if re.match(r"torch\b", text)]
    assert pins == [f"torch=={importlib.metadata.version('torch')}"]


def test_boxes_that_overlap_are_dropped_by_the_compiled_library() -> None:
    assert torchvision.ops.nms(BOXES, SCORES, 0.5).tolist() == [0, 2]


def test_regions_are_pooled_by_the_compiled_library() -> None:
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    found = torchvision.ops.roi_pool(image, torch.tensor([[0.0, 0, 0, 3, 3]]), output_size=2)
    assert found.flatten().tolist() == [5.0, 7.0, 13.0, 15.0]


def test_an_image_survives_its_file_format() -> None:
    image = torch.randint(0, 256, (3, 8, 9), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    assert torch.equal(torchvision.io.decode_png(torchvision.io.encode_png(image)), image)


def test_a_model_answers() -> None:
    model = torchvision.models.squeezenet1_1(weights=None).eval()
    with torch.inference_mode():
        assert model(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)


@pytest.mark.parametrize("operator", ["nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"])
def test_its_operators_are_registered(operator: str) -> None:
    """A library that was built for another torch does not load, and torchvision goes on without it."""
    assert hasattr(torch.ops.torchvision, operator)


def test_an_image_survives_a_format_that_loses_something() -> None:
    image = torch.full((3, 16, 16), 128, dtype=torch.uint8)
    found = torchvision.io.decode_jpeg(torchvision.io.encode_jpeg(image, quality=95))
    assert int((found.int() - image.int()).abs().max()) <= 4


@ROCM_ONLY
def test_its_torch_is_for_rocm() -> None:
    assert torch.version.hip is not None


def architecture() -> str:
    return getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").partition(":")[0]


@pytest.mark.gpu
def test_boxes_that_overlap_are_dropped_on_the_gpu(record_testsuite_property) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """The kernel is torchvision's own: a wheel without GPU code fails here."""
    assert torchvision.ops.nms(BOXES.cuda(), SCORES.cuda(), 0.5).tolist() == [0, 2]
    record_testsuite_property("gpu-target", architecture())


@pytest.mark.gpu
def test_regions_are_pooled_on_the_gpu() -> None:
    image = torch.arange(16.0).reshape(1, 1, 4, 4).cuda()
    found = torchvision.ops.roi_pool(image, torch.tensor([[0.0, 0, 0, 3, 3]]).cuda(), output_size=2)
    assert found.flatten().tolist() == [5.0, 7.0, 13.0, 15.0]
