"""ROCm's libraries by their short names: found, and loaded into this process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ._dist_info import description, platform_key
from ._errors import MissingLibraryError, MissingPackageError
from ._packages import (
    chosen_package,
    extra_for,
    find_module,
    folder_of,
    install_line,
    module_beside,
    note,
    reinstall_line,
    without,
)

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable
    from pathlib import Path

    from ._dist_info import Library

__all__ = ["find_libraries", "here", "may_lack", "preload_libraries"]

_loaded: dict[str, ctypes.CDLL] = {}
_searched: dict[str, object] = {}
"""Folders that Windows was told to look in; each is looked in as long as its handle lives."""


def find_libraries(*names: str) -> list[Path]:
    """Return where libraries are, by their short names, in the order asked.

    A library that this platform does not have is left out (``rccl`` on Windows), so that one list of names serves both.

    Raises
    ------
    MissingPackageError
        (a ``ModuleNotFoundError``) naming every package that is not installed and the command that installs them; also for a name
        that the SDK does not know.
    MissingLibraryError
        (a ``FileNotFoundError``) when an installed package lacks the library.
    MixedPackagesError
        (an ``ImportError``) when a package is of another build than ``rocm``.
    SdkError
        When it cannot be told for which GPU family the libraries are wanted.
    """
    return [path for _, path in _find(names)]


def preload_libraries(*names: str, rtld_global: bool = True) -> None:
    """Load libraries, by their short names, so that what is loaded later and needs them finds them there.

    Each is loaded once and stays loaded. One that not every ROCm has, such as ``rccl``, is passed by where it is not installed.

    Parameters
    ----------
    names
        The short names.
    rtld_global
        Whether what they define is offered to whatever is loaded later; always so on Windows.

    Raises
    ------
    MissingPackageError, MissingLibraryError, MixedPackagesError, SdkError
        As :func:`find_libraries` does.
    OSError
        When the system cannot load one.
    """
    import ctypes  # noqa: PLC0415 - slow to import, and not all that find libraries load them

    for name, path in _at_hand(names):
        if name in _loaded:
            continue
        note(f"load {name}: {path}")
        if sys.platform == "win32":
            _search_here(path.parent)
        _loaded[name] = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL if rtld_global else ctypes.RTLD_LOCAL)


def here(library: Library, *, platform: str | None = None) -> str | None:
    """Return a library's pattern for a platform, this one when not given; None when it has none there."""
    return library.patterns.get(platform or platform_key())


def may_lack(name: str) -> bool:
    """Return whether a library may be absent from its installed package: not every SDK has it, or this one was made without it."""
    library = description().libraries[name]
    folder = find_module(chosen_package(library.package).module)
    return library.optional or (folder is not None and name in without(folder))


def _at_hand(names: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Return where libraries are, in the order asked, without those that may be absent and are."""
    known = description().libraries
    found = dict(_find(tuple(name for name in names if name not in known or not may_lack(name))))
    for name in names:
        if name in known and name not in found and may_lack(name):
            try:
                found |= dict(_find((name,)))
            except (MissingPackageError, MissingLibraryError) as error:
                note(f"pass by {name}: {error}")
    return [(name, found[name]) for name in names if name in found]


def _find(names: tuple[str, ...]) -> list[tuple[str, Path]]:
    known = description().libraries
    unknown = [name for name in names if name not in known]
    if unknown:
        message = f"no ROCm library is called {', '.join(unknown)}; there are: {', '.join(sorted(known))}"
        raise MissingPackageError(message)
    wanted = [(name, known[name], pattern) for name in names if (pattern := here(known[name])) is not None]
    _prove_installed(library.package for _, library, _ in wanted)
    return [(name, _match(name, library, pattern)) for name, library, pattern in wanted]


def _prove_installed(keys: Iterable[str]) -> None:
    """Prove that packages are installed, so that one message names all that are not."""
    missing = [(key, package) for key in dict.fromkeys(keys) if find_module((package := chosen_package(key)).module) is None]
    if missing:
        names = [package.distribution for _, package in missing]
        extras = [extra_for(key, package) for key, package in missing if key != "core"]
        message = f"not installed here: {', '.join(names)}; to install: {install_line(extras)}"
        raise MissingPackageError(message, name=module_beside(missing[0][1]))


def _match(name: str, library: Library, pattern: str) -> Path:
    """Return the file that a pattern matches; of several the one with the shortest name, which other libraries ask for."""
    package = chosen_package(library.package)
    folder = folder_of(library.package, package)
    found = sorted(folder.glob(pattern), key=lambda path: (len(path.name), path.name))
    if not found:
        why = "; this SDK was built without it" if may_lack(name) else f"; to mend the package: {reinstall_line()}"
        message = f"{package.distribution} in {folder} has no library {name}: nothing matches {pattern}{why}"
        raise MissingLibraryError(message)
    return found[0]


def _search_here(folder: Path) -> None:
    if sys.platform == "win32" and str(folder) not in _searched:
        _searched[str(folder)] = os.add_dll_directory(str(folder))
