"""What the tests share: the installed packages, programs run for real, libraries loaded in processes of their own."""

from __future__ import annotations

import concurrent.futures
import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._dist_info import description
from .._libraries import find_libraries, here, may_lack
from .._packages import extra_for, find_module, folder_of, install_line, module_beside, seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._dist_info import Package

__all__ = [
    "LIBRARY",
    "Installed",
    "RocmTest",
    "gpus",
    "installed",
    "installed_families",
    "libraries_of",
    "load_each",
    "missing_libraries",
    "not_installed",
    "ran_on",
    "recorded_faults",
    "run",
    "script_path",
    "shared_libraries",
]

LIBRARY = re.compile(r"(\.so(\.\d+)*|\.dll)$")
ran_on: set[str] = set()
"""The GPU targets on which a test made the GPU work, as far as tests can tell."""

_SECONDS = 120
_LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"


@dataclass(frozen=True)
class Installed:
    """An installed package of the set."""

    key: str
    package: Package
    folder: Path


class RocmTest(unittest.TestCase):
    """A test whose failures are sentences for people: what unittest says of a comparison shows values as Python writes them."""

    longMessage = False

    def deny(self, found: Iterable[str], *, before: str = "") -> None:
        """Fail for things that should not be, and name the first of them."""
        listed = list(found)
        if listed:
            self.fail(f"{before}{first(listed)}")

    def find(self, library: str) -> None:
        """Find a library by its short name; the test is skipped where this ROCm may lack it and does."""
        try:
            find_libraries(library)
        except FileNotFoundError as error:
            if not may_lack(library):
                raise
            self.skipTest(str(error))


def libraries_of(key: str) -> list[str]:
    """Return the short names of the libraries that a package should have on this platform."""
    return [name for name, each in description().libraries.items() if each.package == key and here(each) is not None]


@functools.cache
def installed(key: str) -> tuple[Installed, ...]:
    """Return the installed packages of a key; several where they are made for a GPU family each."""
    packages = description().packages.get(key, ())
    return tuple(
        Installed(key, package, folder_of(key, package))
        for package in packages
        if find_module(module_beside(package)) is not None
    )


def installed_families() -> tuple[str, ...]:
    """Return the GPU families whose packages are installed, of those that are made for a family each."""
    packages = [*description().packages.get("libraries", ()), *description().packages.get("devel", ())]
    there = [each.family for each in packages if each.family is not None and find_module(module_beside(each)) is not None]
    return tuple(sorted(set(there)))


def not_installed(key: str) -> str:
    """Return the sentence that says that a package is not there, and what installs it."""
    packages = description().packages.get(key, ())
    if not packages:
        return f"this ROCm was made without a package {key}"
    lines = "; ".join(install_line(() if key == "core" else (extra_for(key, package),)) for package in packages)
    return f"not installed; to install it: {lines}"


@functools.cache
def gpus() -> tuple[str, ...]:
    """Return the targets of the GPUs that this process sees."""
    return seen()


def run(command: Sequence[str | Path], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it said; one that does not end in time is a failure."""
    return subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def script_path(name: str) -> Path | None:
    """Return the console script of this environment; never one of the same name elsewhere on the machine."""
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    with_user = sysconfig.get_path("scripts", f"{os.name}_user") if f"{os.name}_user" in sysconfig.get_scheme_names() else None
    found = shutil.which(name, path=os.pathsep.join(map(str, [*folders, *([with_user] if with_user else [])])))
    return Path(found) if found is not None else None


def shared_libraries(folder: Path) -> list[Path]:
    """Return the shared libraries below a folder; no link is followed."""
    return sorted(path for path in folder.rglob("*") if LIBRARY.search(path.name) and path.is_file() and not path.is_symlink())


def load_each(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Load each library in a process of its own, since not all are made for one process, and give what went wrong, if anything."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        yield from zip(paths, pool.map(_load, paths), strict=True)


def missing_libraries(fault: str) -> str | None:
    """Return the name of the library of the machine, and not of ROCm, that a fault is about; None for another fault."""
    match = re.search(r"(\S+): cannot open shared object file", fault)
    return match[1] if match else None


def recorded_faults(distribution: str) -> tuple[int, list[str]]:
    """Return how many files an installed distribution brought, and what is wrong with them: gone, or of another size.

    What is recorded without a size was made here after the installation.
    """
    files = [file for file in importlib.metadata.distribution(distribution).files or [] if file.size is not None]
    faults = []
    for file in files:
        path = Path(str(file.locate()))
        if not path.exists():
            faults.append(f"{file} is gone")
        elif path.stat().st_size != file.size:
            faults.append(f"{file} has {path.stat().st_size} bytes, not {file.size}")
    return len(files), faults


def _load(path: Path) -> str:
    # Isolated: nothing of the current folder or of PYTHONPATH is imported.
    done = run([sys.executable, "-I", "-c", _LOAD, path])
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"ended by {done.returncode}"])[-1]


def first(sentences: Iterable[str], count: int = 5) -> str:
    """Return the first of many sentences, and how many more there are."""
    listed = list(sentences)
    return "; ".join(listed[:count]) + (f"; and {len(listed) - count} more" if len(listed) > count else "")
