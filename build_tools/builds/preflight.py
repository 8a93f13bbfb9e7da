"""What a build needs of the machine, found out in a second and not after an hour."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.files import temporary_folder
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.process import Runner
    from build_tools.receipts.values import Sdk

__all__ = ["Compiler", "find_compiler", "prove_compiler", "prove_hip_compiler"]

_CANDIDATES: Final = {Platform.LINUX: ("c++", "g++", "clang++"), Platform.WINDOWS: ("cl", "clang-cl", "g++")}
_PROGRAM: Final = "#include <cstdlib>\n#include <new>\nint main() { return new (std::nothrow) int(1) != nullptr ? EXIT_SUCCESS : EXIT_FAILURE; }\n"
_HINTS: Final = {
    Platform.LINUX: "install one: apt-get install g++, or dnf install gcc-c++",
    Platform.WINDOWS: "install the Build Tools for Visual Studio with the workload 'Desktop development with C++'",
}
_LIMIT_SECONDS: Final = 60.0
_MICROSOFT: Final = frozenset({"cl", "clang-cl"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiler:
    """A C++ compiler that works, and how it calls itself."""

    path: Path
    version: str


def find_compiler(runner: Runner, *, platform: Platform, environment: Mapping[str, str], cwd: Path) -> Compiler | None:
    """Return the compiler that a build would take and how it calls itself, without proof that it works; None when there is none.

    Parameters
    ----------
    runner
        Starts the compiler; its search path counts unless ``environment`` has another.
    platform
        The system, which decides what to look for.
    environment
        What the build's environment adds; its ``CXX`` is the one candidate when set.
    cwd
        A folder to run it in.
    """
    for name in _candidates(platform, environment):
        if shutil.which(name, path=environment.get("PATH") or runner.environment.get("PATH", "")) is not None:
            return _introduce(name, runner, cwd, dict(environment))
    return None


def prove_compiler(
    runner: Runner, *, platform: Platform, scratch: Path, environment: Mapping[str, str] | None = None
) -> Compiler:
    """Find a C++ compiler that compiles, links and makes a program that runs.

    Parameters
    ----------
    runner
        Starts the compilers; its search path counts unless ``environment`` has another.
    platform
        The system, which decides what to look for.
    scratch
        A folder for a moment's files.
    environment
        What the build's environment adds; its ``CXX`` is the one candidate when set.

    Raises
    ------
    HipwrightError
        ``no-compiler`` with what was tried and why each failed.
    """
    extra = dict(environment or {})
    candidates = _candidates(platform, extra)
    failures = []
    with temporary_folder(scratch, "compiler") as folder:
        (folder / "works.cpp").write_text(_PROGRAM, encoding="utf-8")
        for name in candidates:
            try:
                return _try(name, runner, folder, extra)
            except HipwrightError as error:
                if error.code.name == "missing-tool":
                    continue
                failures.append((f"{name}: {error.message}", error.excerpt))
    looked = ", ".join(candidates)
    if not failures:
        raise HipwrightError("no-compiler", f"there is no C++ compiler; looked for {looked}", hint=_HINTS[platform])
    message = f"no C++ compiler works: {'; '.join(text for text, _ in failures)}"
    raise HipwrightError("no-compiler", message, hint=_HINTS[platform], excerpt=failures[0][1])


def prove_hip_compiler(
    runner: Runner, sdk: Sdk, *, platform: Platform, scratch: Path, environment: Mapping[str, str]
) -> Compiler | None:
    """Prove that a build finds the HIP compiler of its SDK, and no other one; return it, or None in a build without ROCm.

    Parameters
    ----------
    runner
        Starts the compiler.
    sdk
        The environment that the build runs in; its own programs and those of its ROCm are the right ones.
    platform
        The system that is built on.
    scratch
        A folder to run it in.
    environment
        What the build's environment adds; its search path counts.

    Raises
    ------
    HipwrightError
        ``mixed-stack`` when the search path leads to the compiler of another ROCm; ``sdk-incomplete`` when it leads to none.
    """
    if sdk.root is None:
        return None
    name = "hipcc.exe" if platform is Platform.WINDOWS else "hipcc"
    found = shutil.which(name, path=environment.get("PATH", "")) or shutil.which("hipcc", path=environment.get("PATH", ""))
    if found is None:
        raise HipwrightError(
            "sdk-incomplete", f"a build against the ROCm in {sdk.root} finds no hipcc", where=Where(file=sdk.root)
        )
    own = [Path(place) for place in (sdk.root, sdk.bin, str(Path(sdk.environment.python).parent)) if place]
    if not any(Path(found).absolute().is_relative_to(folder) for folder in own):
        message = f"the build would take the HIP compiler {found}, which is not that of the ROCm in {sdk.root}"
        hint = f"let {Path(found).parent} be no part of the build's PATH: see what --build-env sets"
        raise HipwrightError("mixed-stack", message, where=Where(file=found), hint=hint)
    return _introduce(found, runner, scratch, dict(environment))


def _candidates(platform: Platform, environment: Mapping[str, str]) -> tuple[str, ...]:
    return (environment["CXX"],) if environment.get("CXX") else _CANDIDATES[platform]


def _try(name: str, runner: Runner, folder: Path, environment: dict[str, str]) -> Compiler:
    microsoft = Path(name).stem.lower() in _MICROSOFT
    output = ["/nologo", "/EHsc", "/Fe:works.exe"] if microsoft else ["-o", "works.exe"]
    runner.capture([name, *output, "works.cpp"], cwd=folder, env=environment, timeout=_LIMIT_SECONDS)
    runner.capture([folder / "works.exe"], cwd=folder, env=environment, timeout=_LIMIT_SECONDS, what="the program it made")
    return _introduce(name, runner, folder, environment)


def _introduce(name: str, runner: Runner, folder: Path, environment: dict[str, str]) -> Compiler:
    question = [] if Path(name).stem.lower() in _MICROSOFT else ["--version"]
    told = runner.capture([name, *question], cwd=folder, env=environment, timeout=_LIMIT_SECONDS, check=False)
    lines = (told.stdout or told.stderr).decode("utf-8", "replace").splitlines()
    if Path(name).is_absolute():
        found = Path(name)
    else:
        # The build's own path decides where it has one.
        there = shutil.which(name, path=environment["PATH"]) if environment.get("PATH") else None
        found = Path(there) if there else runner.find(name) or Path(name)
    return Compiler(path=found, version=lines[0].strip() if lines else "")
