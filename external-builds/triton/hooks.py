"""What triton's data cannot say."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Final

from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["build_environment", "prepare_sources"]

_BRANCH: Final = "refs/heads/release/hipwright"
_LLVM: Final = ("LLVM_BUILD_DIR", "LLVM_INCLUDE_DIRS", "LLVM_LIBRARY_DIR", "LLVM_SYSPATH")
_OF_ROCM: Final = ("CC", "CMAKE_PREFIX_PATH", "CXX", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "ROCM_HOME", "ROCM_PATH")


def build_environment(context: BuildContext) -> dict[str, str]:
    """Keep ROCm out of the compilation on Windows, where nobody publishes an LLVM for triton and the machine's own one is named.

    Elsewhere triton fetches the very LLVM that its sources name, and no other is let in.
    """
    if context.platform is not Platform.WINDOWS:
        return dict.fromkeys(_LLVM, "")
    values = dict.fromkeys(_OF_ROCM, "")
    build = context.machine.get("LLVM_BUILD_DIR") or context.machine.get("LLVM_SYSPATH")
    if build:
        folder = PureWindowsPath(build)
        meant = (folder, folder / "include", folder / "lib", folder)
        values |= {name: context.machine.get(name) or str(path) for name, path in zip(_LLVM, meant, strict=True)}
    return values


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Put the copy's HEAD on a branch whose name begins with ``release``, at the commit that it names already.

    On any other HEAD triton's ``setup.py`` puts the commit into the local version, in front of what it is given.
    """
    git = tree / ".git"
    branch = git / _BRANCH
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{context.upstream}\n", encoding="utf-8", newline="\n")
    (git / "HEAD").write_text(f"ref: {_BRANCH}\n", encoding="utf-8", newline="\n")
