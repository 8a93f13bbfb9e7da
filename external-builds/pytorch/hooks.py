"""What PyTorch's data cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["build_environment", "prepare_sources"]

# Architectures for which aotriton has attention kernels; it filters its own list, and an empty list breaks its configure step.
_ATTENTION: Final = ("gfx90a", "gfx942", "gfx950", "gfx11", "gfx12")

# Libraries of the ROCm packages that torch's own libraries need, in the order in which they are loaded. The packages hold no
# unversioned names, so what is looked up by symbol at run time has to be there before.
_PRELOADS: Final = {
    Platform.LINUX: (
        "amd_comgr", "amd_smi", "amdhip64", "hiprtc", "hipblas", "hipfft", "hiprand", "hipsparse", "hipsparselt", "hipsolver",
        "hipblaslt", "miopen", "hipdnn", "rocm_sysdeps_liblzma", "rocm-openblas", "rocm_smi64", "rocprofiler-sdk",
        "rocprofiler-sdk-roctx", "roctracer64", "roctx64", "rccl", "hipfile",
    ),
    Platform.WINDOWS: (
        "amd_comgr", "amdhip64", "hiprtc", "hipblas", "hipfft", "hiprand", "hipsparse", "hipsparselt", "hipsolver", "hipblaslt",
        "miopen", "hipdnn", "rocm-openblas",
    ),
}  # fmt: skip


def build_environment(context: BuildContext) -> dict[str, str]:
    """Return the settings that depend on targets, system and what the SDK has."""
    attention = "ON" if _has_attention(context) else "OFF"
    values = {"USE_FLASH_ATTENTION": attention, "USE_MEM_EFF_ATTENTION": attention}
    root = context.rocm_root
    if root is None:
        return values
    blas = root / "lib" / "host-math"
    if blas.is_dir():
        values |= {"BLAS": "OpenBLAS", "OpenBLAS_HOME": str(blas), "OpenBLAS_LIB_NAME": "rocm-openblas"}
    if context.platform is Platform.LINUX:
        dependencies = root / "lib" / "rocm_sysdeps"
        values |= {
            "CXXFLAGS": f"-I{dependencies / 'include'} -I{root / 'include' / 'roctracer'}",
            "LDFLAGS": f"-L{dependencies / 'lib'}",
            "PKG_CONFIG_PATH": str(dependencies / "lib" / "pkgconfig"),
            # A tool of the build is linked against the dependencies that ROCm brings.
            "LD_LIBRARY_PATH": str(dependencies / "lib"),
        }
    return values


def _has_attention(context: BuildContext) -> bool:
    # On Linux its kernels are compiled by the triton wheel of the same build, and there is none.
    return context.platform is Platform.WINDOWS and any(target.startswith(_ATTENTION) for target in context.targets)


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Write ``torch/_rocm_init.py``, which makes a process ready for the ROCm packages that the wheel requires."""
    package = tree / "torch" / "__init__.py"
    if "_rocm_init" not in package.read_text(encoding="utf-8"):
        message = "torch/__init__.py never loads torch._rocm_init, so the wheel would not find ROCm's libraries"
        hint = "build a ref that has the hook, or whose patch line brings it"
        raise HipwrightError("bad-source-tree", message, where=Where(file=package), hint=hint)
    lines = (
        "def initialize():",
        "    import rocm_sdk",
        "",
        "    rocm_sdk.initialize_process(",
        f"        preload_shortnames={list(_PRELOADS[context.platform])!r},",
        f"        check_version={context.rocm_version!r},",
        "    )",
        "",
    )
    (package.parent / "_rocm_init.py").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    # Newer trees ignore the file, and their build backend leaves out of the wheel what git ignores.
    ignored = tree / ".gitignore"
    if ignored.is_file():
        kept = [line for line in ignored.read_text(encoding="utf-8").splitlines() if line.strip("/ ") != "torch/_rocm_init.py"]
        ignored.write_text("\n".join(kept) + "\n", encoding="utf-8", newline="\n")
