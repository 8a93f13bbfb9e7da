"""Console scripts that hand over to the programs in ``_rocm_sdk_core/bin``."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path

__all__ = ["hipcc"]


def hipcc() -> None:
    """Run the compiler driver with this process's arguments."""
    spec = find_spec("_rocm_sdk_core")
    if spec is None or spec.origin is None:
        message = "the package rocm-sdk-core is not whole: install it again"
        raise SystemExit(message)
    runpy.run_path(str(Path(spec.origin).parent / "bin" / "hipcc.py"), run_name="__main__")
