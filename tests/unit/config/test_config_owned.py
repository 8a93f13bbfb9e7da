from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.owned import is_owned, owned_names
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name", ["rocm", "ROCm", "rocm-sdk-core", "rocm_sdk_libraries_gfx94X.dcgpu", "torch", "Torch", "torchvision", "torchaudio", "triton", "apex", "amd-torch-device-gfx942", "pytorch_triton_rocm"]
)  # fmt: skip
def test_owned(name: str) -> None:
    assert is_owned(name)


@pytest.mark.parametrize(
    "name",
    [
        "torchmetrics",
        "torch-spline-conv",
        "rocminfo",
        "amd-torch-device",
        "amd-smi",
        "numpy",
        "apexlib",
        "my-rocm-sdk",
        "tritonclient",
    ],
)
def test_not_owned(name: str) -> None:
    assert not is_owned(name)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rcom", "rocm"), ("roc", "rocm"), ("rocmm", "rocm"), ("torch-vision", "torchvision"), ("Trition", "triton"),
        ("rcom-sdk-core", "rocm-sdk-core"), ("amd-torch_devices-gfx942", "amd-torch-device-gfx942"),
        ("rocm", None), ("rocm-sdk-cor", None), ("torchao", None), ("torchrec", None), ("numpy", None),
        ("a", None),
    ],
)  # fmt: skip
def test_what_is_a_slip_away_from_an_owned_name(typed: str, meant: str | None) -> None:
    assert owned_names().meant_by(typed) == meant


def test_a_list_with_a_loose_glob_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "owned.toml"
    for prefix in ("torch", "torch*", "-", "Rocm-"):
        file.write_text(f'schema = 1\nnames = ["torch"]\nprefixes = ["{prefix}"]\n')
        owned_names.cache_clear()
        with pytest.raises(HipwrightError, match="regex") as caught:
            owned_names(file)
        assert caught.value.code.name == "bad-data-file"
