"""What the sample's data cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_tools.builds.hooks import BuildContext

__all__ = ["generated_files"]


def generated_files(context: BuildContext) -> dict[str, bytes]:
    """Return the module that makes a process ready for the ROCm packages that the wheel requires."""
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
        f"    rocm_sdk.initialize_process(preload_shortnames={list(context.preloads)!r}, check_version=ROCM_VERSION)",
        "",
    )
    return {"hipwright_sample/_rocm_init.py": "\n".join(lines).encode()}
