"""What the ROCm SDK of an environment is, asked of the SDK itself, and whether it has what a build needs.

A broken SDK shows here, in a second, and not as a configure error an hour later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.receipts.values import EnvironmentRecord, Sdk
from build_tools.rocm.devices import FAMILY_VARIABLE, installed_families, installed_family
from build_tools.rocm.folder import hip_version, read_folder_sdk
from build_tools.rocm.payload.rocm_sdk._devices import list_name
from build_tools.rocm.payload.rocm_sdk._plan import MARK, faults_of
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.process import Runner

__all__ = ["describe_folder", "describe_sdk", "header_doubts", "lost_files", "missing_parts"]

_SECONDS: Final = 1800.0
"""The first question may unpack the development files, several GiB of them."""

_SEPARATORS: Final = re.compile(r"[;,\s]+")
_DEVEL: Final = "rocm[devel]"
_CORE: Final = "rocm-sdk-core"

_CMAKE: Final = ("lib/cmake/hip/hip-config.cmake", "lib64/cmake/hip/hip-config.cmake", "lib/*/cmake/hip/hip-config.cmake")
"""Where HIP's CMake package is; a distribution of Linux keeps it in a folder of the machine's kind, as it does its libraries."""

_LIBRARY: Final = ("lib/libamdhip64.so*", "lib64/libamdhip64.so*", "lib/*/libamdhip64.so*")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """Something that a build needs: one of several paths (patterns) below the SDK's root, what it is, and the package that brings it."""

    what: str
    paths: tuple[str, ...]
    package: str


_PARTS: Final = {
    Platform.LINUX: (
        _Part(what="the compiler hipcc", paths=("bin/hipcc",), package=_CORE),
        _Part(what="the HIP runtime library", paths=_LIBRARY, package=_CORE),
        _Part(what="the HIP header", paths=("include/hip/hip_runtime.h",), package=_DEVEL),
        _Part(what="the CMake package hip", paths=_CMAKE, package=_DEVEL),
    ),
    Platform.WINDOWS: (
        _Part(what="the compiler hipcc", paths=("bin/hipcc.exe", "bin/hipcc.bat"), package=_CORE),
        _Part(what="the HIP runtime library", paths=("bin/amdhip64*.dll",), package=_CORE),
        _Part(what="the HIP header", paths=("include/hip/hip_runtime.h",), package=_DEVEL),
        _Part(what="the CMake package hip", paths=_CMAKE, package=_DEVEL),
    ),
}

_LLVM: Final = "lib/llvm"
_BITCODE: Final = _Part(
    what="the device bitcode",
    paths=("lib/llvm/amdgcn/bitcode", "amdgcn/bitcode"),
    package=_CORE,
)
"""Needed where the SDK has a device compiler of its own."""


def describe_sdk(
    environment: EnvironmentRecord,
    *,
    requirement: str | None,
    runner: Runner,
    platform: Platform,
    warn: Callable[[str], None] = lambda _line: None,
    targets: Sequence[str] = (),
    family: str | None = None,
    mend: bool = False,
) -> Sdk:
    """Ask the SDK in an environment for its folders, version and targets, and prove that a build finds what it needs.

    Parameters
    ----------
    environment
        The environment.
    requirement
        The name of the package that was asked for, such as ``rocm``; None for a project without ROCm.
    runner
        Starts the environment's interpreter.
    platform
        The operating system of this machine.
    warn
        Told where headers state another version than the packages.
    targets, family
        The GPU targets that are wanted, and the family that named them: which of several families that are installed is meant.
    mend
        Whether each development file is looked for first, and what is lost is brought back.

    Raises
    ------
    HipwrightError
        ``sdk-incomplete`` naming everything that is missing and the packages that bring it, or versions that disagree;
        ``bad-option-value`` where it is not told which of several families is meant.
    """
    if requirement is None:
        return Sdk(environment=environment)
    version = next((package.version for package in environment.packages if package.name == requirement), None)
    if version is None:
        raise HipwrightError("sdk-incomplete", f"{environment.folder} has no package {requirement}")
    names = [package.name for package in environment.packages]
    chosen = installed_family(names, targets=targets, family=family)
    if chosen is None and (several := installed_families(names)):
        message = f"the ROCm packages in {environment.folder} are for {', '.join(several)}, and it is not told which is meant"
        raise HipwrightError("bad-option-value", message, hint=f"name one: --gpu-family {several[0]}")
    asker = _Asker(environment=environment, runner=runner, family=chosen)
    if mend:
        asker.tell("init", "--quiet")
    root = asker.folder("path", "--root")
    missing = missing_parts(root, platform)
    if missing:
        raise HipwrightError("sdk-incomplete", f"the ROCm SDK in {root} lacks {'; '.join(missing)}", where=Where(file=root))
    for doubt in header_doubts(root, version):
        warn(doubt)
    said = asker.ask("version")
    if not _agree(said, version):
        message = f"the package {requirement} is {version}, and its rocm_sdk says {said}: packages of two versions are mixed"
        raise HipwrightError("sdk-incomplete", message, where=Where(file=root))
    return Sdk(
        environment=environment,
        version=version,
        root=str(root),
        bin=str(asker.folder("path", "--bin")),
        cmake=str(asker.folder("path", "--cmake")),
        targets=tuple(target for target in _SEPARATORS.split(asker.ask("targets")) if target),
        family=chosen,
    )


def describe_folder(environment: EnvironmentRecord, *, folder: Path, platform: Platform) -> Sdk:
    """Describe a ROCm in a folder that stands for the packages, and prove that a build finds what it needs there.

    Parameters
    ----------
    environment
        The environment that the build runs in, which holds no ROCm.
    folder
        The root of the ROCm.
    platform
        The operating system of this machine.

    Raises
    ------
    HipwrightError
        ``sdk-incomplete`` naming everything that is missing.
    """
    found = read_folder_sdk(folder)
    missing = missing_parts(folder, platform)
    if missing:
        raise HipwrightError("sdk-incomplete", f"the ROCm in {folder} lacks {'; '.join(missing)}", where=Where(file=folder))
    config = next(path for pattern in _CMAKE for path in sorted(folder.glob(pattern)))
    return Sdk(
        environment=environment,
        version=found.version,
        root=str(folder),
        bin=str(folder / "bin"),
        cmake=str(config.parents[1]),
        targets=found.targets,
    )


def missing_parts(root: Path, platform: Platform) -> tuple[str, ...]:
    """Return what a build needs and an SDK lacks, each with the package that brings it."""
    parts = [*_PARTS[platform], *((_BITCODE,) if (root / _LLVM).is_dir() else ())]
    return tuple(
        f"{part.what} ({part.paths[0]}; {part.package} brings it)"
        for part in parts
        if not any(next(root.glob(path), None) for path in part.paths)
    )


def lost_files(root: Path) -> tuple[str, ...]:
    """Return what is wrong with the files of expanded development files, a clause each; nothing where they keep no list of themselves."""
    if not (root / MARK).is_file():
        return ()
    # Files of device packages are listed apart.
    lists = sorted(root.glob(list_name("*")))
    paths = [path for each in lists for path in each.read_text(encoding="utf-8").splitlines()]
    return (*faults_of(root), *(f"{path} is gone" for path in paths if not (root / path).is_file()))


def header_doubts(root: Path, version: str) -> tuple[str, ...]:
    """Return where an SDK's headers state another version than its packages have, a sentence each.

    HIP's first two numbers are ROCm's. It is a doubt and no failure: a build works, and configures itself for what the headers say.
    """
    stated = hip_version(root)
    try:
        wanted = Version(version).release[:2]
    except InvalidVersion:
        return ()
    if stated is None or Version(stated).release[:2] == wanted:
        return ()
    return (f"the packages are ROCm {version}, and {root / 'include/hip/hip_version.h'} says HIP {stated}",)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asker:
    """Asks ``rocm_sdk`` in an environment; isolated, so that nothing of the current folder or the machine is imported."""

    environment: EnvironmentRecord
    runner: Runner
    family: str | None

    def ask(self, *question: str) -> str:
        """Return the answer, one line.

        Raises
        ------
        HipwrightError
            ``sdk-incomplete`` when there is none.
        """
        lines = self.tell(*question).splitlines()
        if not lines:
            raise HipwrightError("sdk-incomplete", f"rocm_sdk {' '.join(question)} in {self.environment.folder} says nothing")
        return lines[-1].strip()

    def tell(self, *words: str) -> str:
        """Let it do something, and return all that it says.

        Raises
        ------
        HipwrightError
            ``sdk-incomplete`` when it fails.
        """
        # `-I` and not `-P`, which Python 3.10 does not know.
        command = [self.environment.python, "-I", "-X", "utf8", "-m", "rocm_sdk", *words]
        what = f"rocm_sdk {' '.join(words)}"
        folder = Path(self.environment.folder)
        env = {FAMILY_VARIABLE: self.family} if self.family else None
        done = self.runner.capture(command, cwd=folder, env=env, timeout=_SECONDS, code="sdk-incomplete", what=what)
        return done.text.strip()

    def folder(self, *question: str) -> Path:
        """Return a folder that the SDK names.

        Raises
        ------
        HipwrightError
            ``sdk-incomplete`` when it is not there.
        """
        path = Path(self.ask(*question))
        if not (path.is_absolute() and path.is_dir()):
            raise HipwrightError("sdk-incomplete", f"rocm_sdk {' '.join(question)} names {path}, and there is no such folder")
        return path


def _agree(first: str, second: str) -> bool:
    try:
        return Version(first).public == Version(second).public
    except InvalidVersion:
        return first == second
