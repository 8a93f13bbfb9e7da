"""A ROCm in a folder, as a system package, a tarball or an artifact tree leaves it, taken as the SDK instead of packages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.types import Sha256

__all__ = ["FolderSdk", "hip_version", "read_folder_sdk", "version_of_folder"]

_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)+")
_DEFINED: Final = r"^\s*#\s*define\s+{name}\s+(\d+)\b"
_ROCM_HEADERS: Final = ("include/rocm-core/rocm_version.h", "include/rocm_version.h")
_VERSION_FILES: Final = (".info/version", ".info/version-rocm")
_HIP_HEADERS: Final = ("include/hip/hip_version.h",)
_TARGETS: Final = "share/therock/dist_info.json"
_STATING: Final = (*_VERSION_FILES, *_ROCM_HEADERS, *_HIP_HEADERS, _TARGETS)
"""The small files that say which ROCm a folder is."""

_ENOUGH: Final = 2
_LIMIT: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderSdk:
    """A ROCm in a folder: its version, the GPU targets that it says it is for, and the digest of the files that say so."""

    folder: Path
    version: str
    targets: tuple[str, ...]
    digest: Sha256


def read_folder_sdk(folder: Path) -> FolderSdk:
    """Read what a folder says that it is.

    Parameters
    ----------
    folder
        The root: the folder with ``bin``, ``include`` and ``lib``.

    Raises
    ------
    HipwrightError
        ``sdk-incomplete`` when it is no ROCm, or does not say which.
    """
    hint = "name the folder that has bin/hipcc and include/hip in it: --rocm-path DIR"
    if not folder.is_dir():
        raise HipwrightError("sdk-incomplete", f"there is no ROCm folder {folder}", where=Where(file=folder), hint=hint)
    version = version_of_folder(folder)
    if version is None:
        message = (
            f"{folder} does not say which ROCm it is: none of {', '.join((*_VERSION_FILES, *_ROCM_HEADERS))} states a version"
        )
        raise HipwrightError("sdk-incomplete", message, where=Where(file=folder), hint=hint)
    stating = {name: digest.of_file(folder / name) for name in _STATING if (folder / name).is_file()}
    return FolderSdk(folder=folder, version=version, targets=_targets(folder), digest=digest.of_value(stating))


def version_of_folder(folder: Path) -> str | None:
    """Return the ROCm version that a folder states, None where it states none; HIP's own where there is nothing better."""
    for name in _VERSION_FILES:
        found = _NUMBERS.match(_text(folder / name).strip())
        if found:
            return found[0]
    for name in _ROCM_HEADERS:
        found_numbers = _defined(_text(folder / name), ("ROCM_VERSION_MAJOR", "ROCM_VERSION_MINOR", "ROCM_VERSION_PATCH"))
        if found_numbers:
            return found_numbers
    return hip_version(folder)


def hip_version(folder: Path) -> str | None:
    """Return the version that HIP's headers state, None where there are none."""
    for name in _HIP_HEADERS:
        found = _defined(_text(folder / name), ("HIP_VERSION_MAJOR", "HIP_VERSION_MINOR", "HIP_VERSION_PATCH"))
        if found:
            return found
    return None


def _targets(folder: Path) -> tuple[str, ...]:
    try:
        said = json.loads(_text(folder / _TARGETS) or "{}")
    except ValueError:
        return ()
    text = said.get("dist_amdgpu_targets", "") if isinstance(said, dict) else ""
    return tuple(part for part in re.split(r"[;,\s]+", text) if part) if isinstance(text, str) else ()


def _defined(text: str, names: tuple[str, str, str]) -> str | None:
    """Return the version that three macros define, of which the last may be lacking."""
    numbers = []
    for name in names:
        found = re.search(_DEFINED.format(name=name), text, re.MULTILINE)
        if found is None:
            break
        numbers.append(found[1])
    return ".".join(numbers) if len(numbers) >= _ENOUGH else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
