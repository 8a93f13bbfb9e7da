"""The environment of a build as pure functions of what is built, with what, and where.

A build inherits only what the runner's base environment lets through; what these functions return comes on top of that, in this
order: common to all builds, the machine's that are let in, on Windows those of Visual Studio, the project's constants, computed values, the
project's hook, the compiler cache, and what a person set for this build. An empty value takes a variable away.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_tools.builds.hooks import fault_of_variable
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.devices import FAMILY_VARIABLE
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath

    from build_tools.builds.developer_prompt import VisualStudio
    from build_tools.config.project import Project
    from build_tools.receipts.values import Sdk
    from build_tools.types import CommitId, GfxTarget

__all__ = [
    "BuildFolders",
    "SdkParts",
    "common_variables",
    "compiling_environment",
    "computed_variables",
    "constants",
    "find_sdk_parts",
    "judge_overrides",
    "machine_variables",
    "merge",
    "sdk_variables",
    "studio_variables",
]

_APPENDED: Final = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildFolders:
    """The folders of one build: its copy of the sources, a home and a folder for temporary files that are nobody else's."""

    tree: Path
    home: Path
    temporary: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SdkParts:
    """Parts of a ROCm SDK that not every one has: the device code library, and the folder of its own compilers."""

    device_library: str | None = None
    clang: str | None = None


def find_sdk_parts(sdk: Sdk) -> SdkParts:
    """Look which optional parts an installed SDK has."""
    if sdk.root is None:
        return SdkParts()
    root = Path(sdk.root)
    device_library = root / "lib" / "llvm" / "amdgcn" / "bitcode"
    clang = root / "lib" / "llvm" / "bin"
    return SdkParts(
        device_library=str(device_library) if device_library.is_dir() else None,
        clang=str(clang) if clang.is_dir() else None,
    )


def common_variables(
    sdk: Sdk,
    *,
    parts: SdkParts,
    folders: BuildFolders,
    platform: Platform,
    path: str,
    source_date: int,
    jobs: int | None,
    studio: VisualStudio | None = None,
) -> dict[str, str]:
    """Return what every build gets, whatever the project.

    Programs of the environment and of its SDK come before the machine's, so that a stray ROCm is never picked. Home and temporary
    folder are the build's own, and git reads no configuration of the person's and does not look above the build's tree. The rest
    makes two builds of the same input equal: the date (SOURCE_DATE_EPOCH of reproducible-builds.org), the hash seed, the time zone,
    and the folder's name in compiled files (as dpkg-buildflags' ``fixfilepath`` does).

    Parameters
    ----------
    sdk, parts
        The environment that the build runs in, and what its SDK has.
    folders
        The build's own folders.
    platform
        The system that is built on.
    path
        The machine's search path.
    source_date
        The time of the upstream commit, in seconds since 1970.
    jobs
        How many programs may run at once; None leaves it to the project's build system.
    studio
        The compiler environment of Windows, whose folders come before the machine's search path.
    """
    windows = platform is Platform.WINDOWS
    python = _pure(sdk.environment.python, platform)
    compilers = studio.path if studio is not None and windows else ()
    programs = [str(python.parent), *([sdk.bin] if sdk.bin else []), *compilers, *([path] if path else [])]
    values = {
        "PATH": (";" if windows else ":").join(programs),
        "VIRTUAL_ENV": sdk.environment.folder,
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(source_date),
        "GIT_CONFIG_GLOBAL": "NUL" if windows else "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folders.tree.parent),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    if windows:
        values |= {"TEMP": str(folders.temporary), "TMP": str(folders.temporary)}
        # What a build fetches by itself lies deeper than our own clones.
        values |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "core.longPaths", "GIT_CONFIG_VALUE_1": "true"}
    else:
        prefix_map = f"-ffile-prefix-map={folders.tree}=."
        values |= {"HOME": str(folders.home), "TMPDIR": str(folders.temporary), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        values |= {"CFLAGS": prefix_map, "CXXFLAGS": prefix_map}
    if jobs is not None:
        values |= {"MAX_JOBS": str(jobs), "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)}
    return values | sdk_variables(sdk, platform, parts=parts)


def sdk_variables(sdk: Sdk, platform: Platform, *, parts: SdkParts | None = None) -> dict[str, str]:
    """Return what leads a build to its ROCm; ``parts`` are looked for where they are not given."""
    parts, windows = parts or find_sdk_parts(sdk), platform is Platform.WINDOWS
    values: dict[str, str] = {}
    if sdk.root is not None:
        values |= {"ROCM_HOME": sdk.root, "ROCM_PATH": sdk.root}
    if sdk.family is not None:
        values[FAMILY_VARIABLE] = sdk.family
    if sdk.cmake is not None:
        values["CMAKE_PREFIX_PATH"] = sdk.cmake
    if parts.device_library is not None:
        values["HIP_DEVICE_LIB_PATH"] = parts.device_library
    if windows and parts.clang is not None:
        compiler = str(PureWindowsPath(parts.clang) / "clang-cl.exe")
        values |= {"HIP_CLANG_PATH": parts.clang, "CC": compiler, "CXX": compiler}
    return values


def machine_variables(project: Project, platform: Platform, machine: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the machine that a project's build may have, as far as they are set; no other one reaches it.

    These are what ``build.machine-variables`` names; names have no case on Windows.

    Parameters
    ----------
    project
        The project.
    platform
        The system that is built on.
    machine
        The machine's environment as found.
    """
    if platform is not Platform.WINDOWS:
        return {name: machine[name] for name in project.build.machine_variables if machine.get(name)}
    names = {name.upper(): name for name in project.build.machine_variables}
    return {names[name.upper()]: value for name, value in machine.items() if value and name.upper() in names}


def studio_variables(project: Project, platform: Platform, studio: VisualStudio | None) -> dict[str, str]:
    """Return what Visual Studio sets in a project's build; nothing on other systems.

    What the recipe names is spelled as it does: names have no case on Windows, and a hook looks them up by the recipe's.
    """
    if platform is not Platform.WINDOWS or studio is None:
        return {}
    names = {name.upper(): name for name in project.build.machine_variables}
    return {names.get(name.upper(), name): value for name, value in studio.variables.items()}


def compiling_environment(
    environment: Mapping[str, str], *, studio: VisualStudio | None, overrides: Mapping[str, str]
) -> dict[str, str]:
    """Return an environment with what compilers work by outside a build: what Visual Studio sets, and over it what a person sets.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` as :func:`judge_overrides`.
    """
    judge_overrides(overrides)
    return merge(environment if studio is None else studio.laid_over(environment), overrides)


def judge_overrides(overrides: Mapping[str, str]) -> None:
    """Refuse what a person sets for builds and no program can be given.

    Raises
    ------
    HipwrightError
        ``bad-option-value``.
    """
    for name, value in overrides.items():
        if (fault := fault_of_variable(name, value)) is not None:
            raise HipwrightError("bad-option-value", f"--build-env sets {name!a}, and {fault}")


def constants(project: Project, platform: Platform) -> dict[str, str]:
    """Return the constants of ``project.toml`` for a platform; the platform's own win."""
    own = project.build.windows if platform is Platform.WINDOWS else project.build.linux
    return {**project.build.environment, **own}


def computed_variables(
    project: Project,
    project_folder: Path,
    *,
    version: str,
    targets: tuple[GfxTarget, ...],
    rocm_home: str | None,
    pins: tuple[str, ...],
    commit: CommitId,
    build_number: int = 1,
) -> dict[str, str]:
    """Return the computed values under the names that ``project.toml`` gives them.

    Targets are joined with ``;`` and requirements with ``|``, as PyTorch reads them; under the project's own name for them with commas.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the project wants targets and there are none: an empty list never means all of them.
        ``bad-data-file`` when it wants the ROCm folder and has no ROCm, or the version of a package that the wheel does not pin.
    """
    names = project.build.variables
    own = project.build.target_variable
    if ("targets" in names or own is not None) and not targets:
        message = f"{project.name} is built for GPU targets, and neither an option nor the ROCm packages name any"
        hint = "name them: --gfx gfx942,gfx1201" + (f", or {own}=gfx942,gfx1201 in the environment" if own is not None else "")
        raise HipwrightError("bad-option-value", message, hint=hint)
    if "rocm-home" in names and rocm_home is None:
        message = "build.variables names a variable for the ROCm folder, and the project is built without ROCm"
        where = Where(file=project_folder / "project.toml", key="build.variables.rocm-home")
        raise HipwrightError("bad-data-file", message, where=where)
    values = {
        "version": version,
        "version-suffix": "".join(version.partition("+")[1:]),
        "build-number": str(build_number),
        "targets": ";".join(targets),
        "rocm-home": rocm_home or "",
        "install-requirements": "|".join(pins),
        "source-commit": commit,
    }
    of_project = {} if own is None else {own: ",".join(targets)}
    return of_project | {name: values[kind] for kind, name in names.items()} | _package_versions(project, project_folder, pins)


def _package_versions(project: Project, project_folder: Path, pins: tuple[str, ...]) -> dict[str, str]:
    pinned = {canonicalize_name(wanted.name): str(wanted.specifier).removeprefix("==") for wanted in map(Requirement, pins)}
    values = {}
    for package, name in project.build.package_versions.items():
        version = pinned.get(canonicalize_name(package))
        if version is None:
            message = f"build.package-versions wants the version of {package}, which is none of wheel.pinned-requirements"
            where = Where(file=project_folder / "project.toml", key="build.package-versions")
            raise HipwrightError("bad-data-file", message, where=where)
        values[name] = version
    return values


def merge(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return layers of variables as one; a later layer wins, but compiler and linker flags add up, and an empty value takes away."""
    whole: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.items():
            earlier = whole.get(name)
            whole[name] = f"{earlier} {value}" if name in _APPENDED and earlier and value else value
    return {name: value for name, value in whole.items() if value}


def _pure(path: str, platform: Platform) -> PurePath:
    return PureWindowsPath(path) if platform is Platform.WINDOWS else PurePosixPath(path)
