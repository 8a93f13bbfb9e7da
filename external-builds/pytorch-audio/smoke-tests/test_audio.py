"""An installed torchaudio goes with its torch and computes, also in its compiled parts."""

from __future__ import annotations

import importlib.metadata
import math
import re

import pytest
import torch
import torchaudio
from torchaudio.version import git_version

VERSION = importlib.metadata.version("torchaudio")
RATE = 8000

# hipwright's wheels for ROCm say so in their version; a wheel from elsewhere may be for CPUs.
ROCM_ONLY = pytest.mark.skipif(re.search(r"\+(dev)?rocm", VERSION) is None, reason=f"torchaudio {VERSION} is not a ROCm wheel")


def tone(frequency: float) -> torch.Tensor:
    return torch.sin(2 * math.pi * frequency * torch.arange(RATE) / RATE).unsqueeze(0)


def test_the_module_says_what_the_metadata_say() -> None:
    assert torchaudio.__version__.partition("+")[0] == VERSION.partition("+")[0]


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", git_version)


@ROCM_ONLY
def test_it_requires_exactly_the_torch_it_was_built_against() -> None:
    pins = [text for text in importlib.metadata.requires("torchaudio") or () if re.match(r"torch\b", text)]
    assert pins == [f"torch=={importlib.metadata.version('torch')}"]


def test_a_spectrogram_has_its_peak_at_the_tone() -> None:
    spectrum = torchaudio.transforms.Spectrogram(n_fft=400)(tone(1000)).mean(dim=-1).squeeze()
    assert int(spectrum.argmax()) == 1000 * 400 // RATE


def test_resampling_keeps_a_tone() -> None:
    found = torchaudio.functional.resample(tone(100), RATE, RATE // 2)
    torch.testing.assert_close(found[:, 200:-200], tone(100)[:, ::2][:, 200:-200], rtol=0, atol=1e-2)


def test_a_filter_of_the_compiled_library() -> None:
    x = tone(100)[:, :400]
    found = torchaudio.functional.lfilter(x, torch.tensor([1.0, -0.5]), torch.tensor([1.0, 0.0]), clamp=False)
    expected = torch.zeros_like(x)
    last = torch.tensor(0.0)
    for index in range(x.shape[1]):
        last = x[0, index] + 0.5 * last
        expected[0, index] = last
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_the_compiled_library_aligns() -> None:
    """Alignment has no other implementation, so a wheel without its library fails here."""
    chances = torch.log_softmax(torch.tensor([[[9.0, 0, 0], [0, 9, 0], [9, 0, 0], [0, 0, 9]]]), dim=-1)
    path, _ = torchaudio.functional.forced_align(chances, torch.tensor([[1, 2]], dtype=torch.int32), blank=0)
    assert path.tolist() == [[0, 1, 0, 2]]


@pytest.mark.parametrize("operator", ["forced_align", "_lfilter"])
def test_its_operators_are_registered(operator: str) -> None:
    """A library that was built for another torch does not load, and torchaudio goes on without it."""
    assert hasattr(torch.ops.torchaudio, operator)


@ROCM_ONLY
def test_its_torch_is_for_rocm() -> None:
    assert torch.version.hip is not None


def architecture() -> str:
    return getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").partition(":")[0]


@pytest.mark.gpu
def test_the_compiled_library_aligns_on_the_gpu(record_testsuite_property) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """The kernel is torchaudio's own: a wheel without GPU code fails here."""
    chances = torch.log_softmax(torch.tensor([[[9.0, 0, 0], [0, 9, 0], [9, 0, 0], [0, 0, 9]]]), dim=-1).cuda()
    path, _ = torchaudio.functional.forced_align(chances, torch.tensor([[1, 2]], dtype=torch.int32).cuda(), blank=0)
    assert path.tolist() == [[0, 1, 0, 2]]
    record_testsuite_property("gpu-target", architecture())


@pytest.mark.gpu
def test_a_spectrogram_on_the_gpu() -> None:
    transform = torchaudio.transforms.MelSpectrogram(sample_rate=RATE, n_fft=400, n_mels=32)
    torch.testing.assert_close(transform.cuda()(tone(1000).cuda()).cpu(), transform.cpu()(tone(1000)), rtol=1e-3, atol=1e-3)
