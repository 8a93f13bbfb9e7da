"""Where ROCm's packages and others come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from build_tools.options.declare import declare

__all__ = ["PackageOptions"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class PackageOptions:
    """Where ROCm's packages and others come from."""

    rocm_find_links: tuple[str, ...] = declare(
        (),
        "locations",
        "rocm",
        "Folder or page that lists the ROCm packages.",
        metavar="URL|DIR",
        says="the source of the ROCm packages",
    )
    rocm_index_url: str | None = declare(
        None,
        "location",
        "rocm",
        "Package index of the ROCm packages.",
        metavar="URL",
        other_environment=("THEROCK_NIGHTLY_INDEX_URL",),
        says="the source of the ROCm packages",
    )
    rocm_run_id: str | None = declare(
        None,
        "text",
        "rocm",
        "Run whose outputs hold the ROCm packages, under --artifact-group.",
        metavar="ID",
        says="the source of the ROCm packages",
    )
    rocm_path: str | None = declare(
        None,
        "location",
        "rocm",
        "Folder with an installed ROCm, taken instead of packages; `env` takes the one that ROCM_PATH, ROCM_HOME or HIP_PATH names.",
        metavar="DIR|env",
        words=("env",),
        says="the source of the ROCm packages",
    )
    rocm_version: str | None = declare(None, "text", "rocm", "Exact version of the ROCm packages.", metavar="V")
    artifact_group: str | None = declare(None, "text", "rocm", "Folder name of this set in run outputs.", metavar="G")
    gpu_family: str | None = declare(
        None,
        "text",
        "rocm",
        "GPU family to build for, or to install the code of; a build takes several, parted by commas.",
        metavar="F",
        other_environment=("AMDGPU_FAMILY",),
        says="the GPU targets",
    )
    gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets to build for, or to fetch or install the code of.",
        metavar="gfx942,gfx1201",
        other_flags=("--target", "--amdgpu-targets"),
        other_environment=("PYTORCH_ROCM_ARCH",),
        says="the GPU targets",
    )
    gpu_policy: Literal["single", "unique", "all"] = declare(
        "unique",
        "choice",
        "rocm",
        "Which of this machine's GPUs tests run on: the first, the first of each architecture, or all; one process for each.",
        choices=("single", "unique", "all"),
        metavar="POLICY",
    )
    linux_gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets or families that the packages of this version have on Linux; with --windows-gfx both share one `rocm`.",
        metavar="gfx942,gfx120X-all",
        other_flags=("--linux-amdgpu-families",),
    )
    windows_gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets or families that the packages of this version have on Windows.",
        metavar="gfx1151,gfx120X-all",
        other_flags=("--windows-amdgpu-families",),
    )
    find_links: tuple[str, ...] = declare(
        (),
        "locations",
        "packages",
        "Folder or page that lists owned packages.",
        metavar="URL|DIR",
        other_flags=("--find-links-url",),
    )
    index_url: str | None = declare(
        None, "location", "packages", "Package index of owned packages.", metavar="URL", says="the index of owned packages"
    )
    index_name: str | None = declare(
        None,
        "choice",
        "packages",
        "The index that the channel data name for this release type.",
        choices=("dev", "nightly", "prerelease", "release"),
        metavar="TYPE",
        says="the index of owned packages",
    )
    index_subdir: str | None = declare(
        None, "text", "packages", "Folder below the index, such as a GPU family's.", metavar="NAME"
    )
    from_run_id: str | None = declare(
        None,
        "text",
        "packages",
        "Run whose outputs hold the owned packages, under --artifact-group.",
        metavar="ID",
        says="the index of owned packages",
    )
    packages: tuple[str, ...] = declare(
        (), "requirements", "packages", "Requirements to install, parted by blanks.", metavar='"R1 R2"'
    )
    pre: bool = declare(False, "flag", "packages", "Take pre-releases of owned packages too.")
    installer: str | None = declare(
        None,
        "choice",
        "packages",
        "What installs; uv where there is one when not given.",
        choices=("pip", "uv"),
        metavar="pip|uv",
        short_for=(("--use-uv", "uv"),),
    )
    disable_cache: bool = declare(
        False, "flag", "packages", "Let the installer neither take from its cache nor keep anything in it."
    )
    activate_in_future_github_actions_steps: bool = declare(
        False, "flag", "packages", "Activate the environment for the following steps of this GitHub Actions job."
    )
