"""What PyTorch's data cannot say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from build_tools.builds.hooks import BuildContext

__all__ = ["build_environment", "generated_files", "prepare_sources"]

# Architectures for which aotriton has attention kernels; it filters its own list, and an empty list breaks its configure step.
_ATTENTION: Final = ("gfx90a", "gfx942", "gfx950", "gfx11", "gfx12")

_FLASH: Final = "USE_FLASH_ATTENTION"
_ON: Final = frozenset({"1", "on", "true", "y", "yes"})
"""What CMake takes for a yes."""

_OPENMP: Final = "libomp140.x86_64.dll"
_REDISTRIBUTABLE: Final = "repair Visual Studio's C++ tools with its installer, or name their folder: VC\\Redist\\MSVC\\VERSION"


def build_environment(context: BuildContext) -> dict[str, str]:
    """Return the settings that depend on targets, system and what the SDK has."""
    attention = "ON" if _has_attention(context) else "OFF"
    values = {_FLASH: attention, "USE_MEM_EFF_ATTENTION": attention}
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
    """Say whether the attention kernels are built: as a person says, else where they can be."""
    has_triton = "triton" in context.packages
    asked = context.overrides.get(_FLASH)
    if asked:
        wanted = asked.lower() in _ON
        if wanted and context.platform is Platform.LINUX and not has_triton:
            message = (
                f"{_FLASH}={asked} is set, and its kernels are compiled by a triton of the same build, which this one has not"
            )
            raise HipwrightError("option-conflict", message, hint=f"build triton too, or leave --build-env {_FLASH} out")
        return wanted
    if context.platform is Platform.LINUX and not has_triton:
        return False
    return any(target.startswith(_ATTENTION) for target in context.targets)


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Refuse sources whose wheel would never make a process ready for the ROCm packages that it requires."""
    del context
    package = tree / "torch" / "__init__.py"
    if "_rocm_init" not in package.read_text(encoding="utf-8"):
        message = "torch/__init__.py never loads torch._rocm_init, so the wheel would not find ROCm's libraries"
        hint = "build a ref that has the hook, or whose patch line brings it"
        raise HipwrightError("bad-source-tree", message, where=Where(file=package), hint=hint)


def generated_files(context: BuildContext) -> dict[str, bytes | Path]:
    """Return the module that loads ROCm's libraries, and on Windows the libraries of others that torch's own ones need.

    Newer trees have git ignore them, and their build backend leaves out of the wheel what git ignores.
    """
    lines = (
        "def initialize():",
        "    import rocm_sdk",
        "",
        "    rocm_sdk.initialize_process(",
        f"        preload_shortnames={list(context.preloads)!r},",
        f"        check_version={context.rocm_version!r},",
        "    )",
        "",
    )
    files: dict[str, bytes | Path] = {"torch/_rocm_init.py": "\n".join(lines).encode()}
    if context.platform is Platform.WINDOWS:
        files[f"torch/lib/{_OPENMP}"] = _openmp(context)
        if context.overrides.get("USE_GLOO", "ON").lower() in _ON:
            files["torch/lib/uv.dll"] = (
                _machine_folder(context, "libuv_ROOT", "name the folder of libuv by it") / "bin" / "uv.dll"
            )
        if _has_attention(context):
            # The build itself puts these there.
            files |= {f"torch/lib/{name}": Path("torch", "lib", name) for name in ("aotriton_v2.dll", "liblzma.dll")}
    return files


def _openmp(context: BuildContext) -> Path:
    """Return the run-time library of the compiler's OpenMP; of several, one that may be handed on."""
    root = _machine_folder(context, "VCToolsRedistDir", _REDISTRIBUTABLE)
    found = sorted(root.rglob(_OPENMP), key=lambda path: ("debug_nonredist" in path.parts, path))
    if not found:
        raise HipwrightError("missing-tool", f"there is no {_OPENMP} in {root}", where=Where(file=root), hint=_REDISTRIBUTABLE)
    return found[0]


def _machine_folder(context: BuildContext, variable: str, hint: str) -> Path:
    value = context.machine.get(variable)
    if not value:
        message = f"{variable} is not set, and a torch wheel for Windows holds a library from there"
        raise HipwrightError("missing-tool", message, hint=hint)
    return Path(value)
