"""The sample's SDK without packages: the files of its artifacts that are not compiled, as one ROCm tree."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["HIPCC", "SAMPLE", "SDK", "driver", "flattened"]

SAMPLE: Final = Path(__file__).parents[2] / "external-builds" / "sample"
SDK: Final = SAMPLE / "rocm"
HIPCC: Final = SDK / "artifacts" / "core-hip_run_generic" / "core" / "clr" / "stage" / "bin" / "hipcc.py"


def flattened(artifacts: Path, target: Path) -> Path:
    """Lay the files of all artifacts over each other, as an installed ROCm has them, and return the folder."""
    for manifest in sorted(artifacts.glob("*/artifact_manifest.txt")):
        for base in manifest.read_text(encoding="utf-8").splitlines():
            shutil.copytree(manifest.parent / base, target, symlinks=True, dirs_exist_ok=True)
    return target


def driver() -> ModuleType:
    """Return the compiler driver as a module."""
    spec = importlib.util.spec_from_file_location("hipcc", HIPCC)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
