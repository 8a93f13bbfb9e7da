"""What the sample's data cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["prepare_sources"]


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Write the module that makes a process ready for the ROCm packages that the wheel requires."""
    lines = (
        '"""Makes a process ready for the ROCm packages that this package was built against."""',
        "",
        "import rocm_sdk",
        "",
        f"ROCM_VERSION = {context.rocm_version!r}",
        "",
        "",
        "def initialize() -> None:",
        '    """Load what the kernels need, and tell when another ROCm is installed."""',
        "    rocm_sdk.initialize_process(preload_shortnames=[], check_version=ROCM_VERSION)",
        "",
    )
    (tree / "hipwright_sample" / "_rocm_init.py").write_text("\n".join(lines), encoding="utf-8", newline="\n")
